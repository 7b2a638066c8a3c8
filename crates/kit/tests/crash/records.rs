//! kill -9 of a machine that changes records, feeds an index and lets timers fire, after each of these steps; and of the server.

use std::collections::BTreeSet;

use keyplane_testing::{Program, Server};

use crate::history::settings;
use crate::machine::Machine;
use crate::setup::{Keyspace, east};

/// What begins like this in what they said, without that.
fn said<'m>(machines: &'m [&Machine], begins: &str) -> Vec<&'m str> {
    let all = machines.iter().flat_map(|machine| &machine.said);
    all.filter_map(|said| said.strip_prefix(begins)).collect()
}

/// Holds what they said against what is there, once everything is settled.
fn check(server: &Server, machines: &[&Machine]) {
    let keys = Keyspace::default();
    let mut admin = server.admin();
    let ask = |words: &[&str], admin: &mut redis::Connection| -> redis::Value {
        words.iter().fold(redis::Cmd::new(), |mut cmd, word| cmd.arg(*word).clone()).query(admin).unwrap()
    };
    type Entry = (String, Vec<String>);
    let entries = ask(&["XRANGE", keys.history(&east()).as_str(), "-", "+"], &mut admin);
    let entries: Vec<Entry> = redis::from_redis_value(entries).unwrap();
    let history: Vec<&str> = entries.iter().map(|(_, fields)| fields[1].as_str()).collect();
    let once: BTreeSet<&str> = history.iter().copied().collect();
    assert_eq!(once.len(), history.len(), "a change was made twice");
    for id in said(machines, "changed ") {
        assert!(once.contains(id), "{id} was acknowledged and is not there");
    }
    let counted = ask(&["HMGET", keys.pool(&east()).as_str(), "version", "updates"], &mut admin);
    let counted: Vec<usize> = redis::from_redis_value(counted).unwrap();
    assert_eq!(counted, [history.len(), history.len()], "a change without its event, or the other way round");
    let members = ask(&["SMEMBERS", keys.all_pools().as_str()], &mut admin);
    assert_eq!(redis::from_redis_value::<Vec<String>>(members).unwrap(), ["east"]);
    for id in said(machines, "set ") {
        assert!(said(machines, "fired ").contains(&id), "the timer {id} never fired");
    }
    // In the order in which the machines lived.
    let mut done = BTreeSet::new();
    for line in machines.iter().flat_map(|machine| &machine.said) {
        if let Some(id) = line.strip_prefix("fired ") {
            assert!(!done.contains(id), "the timer {id} fired after it was acknowledged");
        } else if let Some(id) = line.strip_prefix("done ") {
            done.insert(id);
        }
    }
}

/// Works until this was said so often, and is killed; then the next one settles everything.
fn killed_after(step: &str, times: usize, with_the_server: bool) {
    let server = Server::start(Program::Redis, &settings());
    let mut first = Machine::start(&server, "first");
    first.lead();
    first.tell("work 100000");
    (0..times).for_each(|_| first.hear_until(step));
    if with_the_server {
        server.kill();
    }
    first.kill();
    if with_the_server {
        server.restart();
    }
    let mut second = Machine::start(&server, "second");
    second.lead();
    second.tell("work 3");
    second.hear_until("worked");
    check(&server, &[&first, &second]);
}

#[test]
fn a_machine_killed_after_each_step_loses_nothing() {
    for step in ["changed", "fed", "set", "fired", "done"] {
        for times in [1, 9] {
            killed_after(step, times, false);
        }
    }
}

#[test]
fn a_server_killed_after_each_step_loses_nothing() {
    for step in ["changed", "fed", "set", "fired", "done"] {
        killed_after(step, 5, true);
    }
}
