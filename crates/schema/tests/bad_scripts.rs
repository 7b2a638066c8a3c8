//! Broken scripts are refused with the exact words that help.
//!
//! Every `tests/bad_scripts/NAME.lua` has one fault, said in its last line; `NAME.txt` holds the findings as they are
//! shown. The contract is `keys.toml` beside them; what is right about these scripts is in `good/`. After a deliberate
//! change of wording run the tests with `KEYPLANE_BLESS=1`, which writes the texts anew, and read the difference: each
//! text must be true, point at the fault, and say what to do.

// These lints spare `#[test]` functions, but not what they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use keyplane_schema::{Broken, Contract, parse, script};
use keyplane_testing::{Fixtures, file_name as name};

/// Every word of [`keyplane_schema::Code`] that is about scripts. A code without a broken file has never been seen at
/// work.
const CODES: [&str; 13] = [
    "syntax",
    "unknown-name",
    "cross-slot",
    "script-header",
    "script-access",
    "script-command",
    "key-origin",
    "script-expiry",
    "script-global",
    "script-function",
    "script-unpack",
    "script-time",
    "script-unused",
];

/// Scripts whose first line does not tell the name of their file.
const FILES: [(&str, &str); 2] = [("no_header", "change"), ("header_names_another_script", "claim")];

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    let source = fs::read_to_string(folder().join("keys.toml")).unwrap();
    parse("keys.toml", &source).unwrap_or_else(|broken| panic!("{broken}"))
});

#[test]
fn every_fault_is_told_in_the_expected_words() {
    fixtures().compare(|file| refused(file).render(false) + "\n");
}

#[test]
fn files_and_texts_come_in_pairs() {
    fixtures().come_in_pairs(80);
}

#[test]
fn the_last_line_of_a_file_says_what_is_wrong() {
    for file in broken_files() {
        let source = fs::read_to_string(&file).unwrap();
        let last = source.lines().last().unwrap_or_default();
        assert!(last.starts_with("-- fault: ") && last.ends_with('.'), "{}: {last}", name(&file));
    }
}

/// One fault, one finding: whatever else were told would be a consequence that sends the reader astray.
#[test]
fn every_fault_is_told_once() {
    for file in broken_files() {
        let broken = refused(&file);
        assert_eq!(broken.diagnostics.len(), 1, "{}:\n{broken}", name(&file));
    }
}

#[test]
fn every_finding_says_what_to_do() {
    for file in broken_files() {
        for found in refused(&file).diagnostics {
            assert!(found.help.is_some() || found.labels.len() > 1, "{}: {}", name(&file), found.message);
        }
    }
}

#[test]
fn every_code_occurs() {
    let broken: Vec<Broken> = broken_files().iter().map(|file| refused(file)).collect();
    let seen: BTreeSet<&str> =
        broken.iter().flat_map(|broken| &broken.diagnostics).map(|found| found.code.word()).collect();
    assert_eq!(seen, BTreeSet::from(CODES));
}

#[test]
fn several_faults_come_at_once_in_the_order_of_the_script() {
    let source = "\
-- depot/change v1: change a job.
-- keys: job(rw keep)
-- args: field, text
-- returns: version
-- repeat: unsafe

version = 1
redis.call('HSET', 'job', ARGV[1], ARGV[2])
redis.call('FLUSHALL')
return redis.call('LPOP', KEYS[1]) + redis.call('HGET', KEYS[2], ARGV[9]) + now
";
    let broken = script::check(&CONTRACT, "change.lua", source).unwrap_err();
    let told: Vec<(usize, &str)> =
        broken.diagnostics.iter().map(|found| (found.line_column(source).0, found.code.word())).collect();
    assert_eq!(
        told,
        [
            (7, "script-global"),
            (8, "key-origin"),
            (9, "script-command"),
            (10, "script-command"),
            (10, "key-origin"),
            (10, "unknown-name"),
            (10, "script-global"),
        ]
    );
}

/// The findings of a broken file, under the name that its script has.
fn refused(file: &Path) -> Broken {
    let source = fs::read_to_string(file).unwrap();
    match script::check(&CONTRACT, &format!("scripts/{}.lua", script_name(file, &source)), &source) {
        Ok(_) => panic!("{} was accepted", name(file)),
        Err(broken) => *broken,
    }
}

fn script_name(file: &Path, source: &str) -> String {
    let own = name(&file.with_extension(""));
    if let Some((_, script)) = FILES.iter().find(|(name, _)| *name == own) {
        return (*script).to_owned();
    }
    let title = source.split_once('/').expect("a title").1;
    title.split([' ', ':']).next().unwrap().to_owned()
}

fn fixtures() -> Fixtures {
    Fixtures::new(folder(), "lua")
}

fn broken_files() -> Vec<PathBuf> {
    fixtures().files()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_scripts")
}
