//! kill -9 of the holder, at every step of its term.

use std::thread::sleep;
use std::time::Duration;

use keyplane_testing::{Program, Server};

use crate::history::{check, settings, term};
use crate::machine::Machine;

/// Kills a machine after it has done so much; then another takes over.
fn killed_after(what: impl Fn(&mut Machine)) {
    let server = Server::start(Program::Redis, &settings());
    let mut first = Machine::start(&server, "first");
    what(&mut first);
    first.kill();
    let mut second = Machine::start(&server, "second");
    let fence = second.lead();
    let before = first.said.iter().filter_map(|said| said.strip_prefix("leads in ")).next_back();
    assert!(before.is_none_or(|before| term(&fence) > term(before)), "{fence} after {before:?}");
    second.tell("write 3");
    (0..3).for_each(|_| drop(second.hear("wrote")));
    second.tell("release");
    second.hear("released: true");
    let lines = check(&server, &[&first, &second]);
    assert!(lines >= 3);
}

#[test]
fn before_it_asks_for_the_lock() {
    killed_after(|_| {});
}

/// The question may be on its way, answered or not.
#[test]
fn while_it_asks_for_the_lock() {
    for after in [0, 1, 2, 5, 20] {
        killed_after(|machine| {
            machine.tell("acquire");
            sleep(Duration::from_millis(after));
        });
    }
}

#[test]
fn when_it_has_the_lock() {
    killed_after(|machine| drop(machine.lead()));
}

#[test]
fn when_it_has_renewed_the_lock() {
    killed_after(|machine| {
        machine.lead();
        machine.tell("renewals 3");
        machine.hear("renewed");
    });
}

#[test]
fn in_the_middle_of_writing() {
    for heard in [1, 7, 40] {
        killed_after(|machine| {
            machine.lead();
            machine.tell("write 100000");
            (0..heard).for_each(|_| drop(machine.hear("wrote")));
        });
    }
}

#[test]
fn before_it_gives_the_lock_back() {
    killed_after(|machine| {
        machine.lead();
        machine.tell("write 5");
        (0..5).for_each(|_| drop(machine.hear("wrote")));
    });
}

/// The next has it without waiting for its end, or, when it was killed first, at its end.
#[test]
fn while_it_gives_the_lock_back() {
    for after in [0, 1, 3] {
        killed_after(|machine| {
            machine.lead();
            machine.tell("release");
            sleep(Duration::from_millis(after));
        });
    }
}

/// Machines that kill each other in turns, while the others wait.
#[test]
fn one_after_the_other() {
    let server = Server::start(Program::Redis, &settings());
    let mut machines: Vec<Machine> =
        (0..5).map(|number| Machine::start(&server, &format!("m{number}"))).collect();
    let mut last = 0;
    let mut dead: Vec<Machine> = Vec::new();
    while !machines.is_empty() {
        let mut leader = machines.remove(0);
        let now = term(&leader.lead());
        assert!(now > last, "{now} after {last}");
        last = now;
        leader.tell("write 100000");
        (0..10).for_each(|_| drop(leader.hear("wrote")));
        leader.kill();
        dead.push(leader);
    }
    let lines = check(&server, &dead.iter().collect::<Vec<_>>());
    println!("{lines} lines of {} machines that were killed", dead.len());
}
