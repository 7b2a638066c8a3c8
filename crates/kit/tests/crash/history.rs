//! The journal that machines have left, held against what they said.

use std::collections::BTreeMap;

use keyplane_testing::{Server, Settings};

use crate::machine::Machine;
use crate::setup::{Keyspace, east};

/// What was answered is on the disk.
pub(crate) fn settings() -> Settings {
    Settings::tcp().appendonly().line("appendfsync always")
}

pub(crate) fn journal(server: &Server) -> Vec<String> {
    let key = Keyspace::default().journal(&east()).to_string();
    redis::cmd("LRANGE").arg(key).arg(0).arg(-1).query(&mut server.admin()).unwrap()
}

pub(crate) fn term(fence: &str) -> u64 {
    fence.split_once(':').expect("a fence").0.parse().expect("a term")
}

/// Everything that was acknowledged is there, and nothing that was refused; no line twice; terms rise and each has one writer.
pub(crate) fn check(server: &Server, machines: &[&Machine]) -> usize {
    let journal = journal(server);
    let mut writers = BTreeMap::new();
    let mut last = 0;
    for (place, line) in journal.iter().enumerate() {
        let (fence, rest) = line.split_once(' ').unwrap();
        let writer = (fence, rest.split_once(' ').unwrap().0);
        assert!(term(fence) >= last, "`{line}` after a line of term {last}");
        assert_eq!(*writers.entry(term(fence)).or_insert(writer), writer, "two writers of one term");
        assert!(!journal[..place].contains(line), "`{line}` is there twice");
        last = term(fence);
    }
    for said in machines.iter().flat_map(|machine| &machine.said) {
        if let Some(line) = said.strip_prefix("wrote ") {
            assert!(journal.iter().any(|there| there == line), "`{line}` was acknowledged and is not there");
        }
        if let Some(line) = said.strip_prefix("fenced ") {
            assert!(!journal.iter().any(|there| there == line), "`{line}` was refused and is there");
        }
    }
    journal.len()
}
