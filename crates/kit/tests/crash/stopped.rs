//! SIGSTOP: a holder that stands still while its lock runs out, and wakes.

use keyplane_testing::{Program, Server};

use crate::history::{check, settings, term};
use crate::machine::Machine;

#[test]
fn a_holder_that_wakes_after_its_end_is_refused_by_itself_and_by_the_fence() {
    let server = Server::start(Program::Redis, &settings());
    let (mut first, mut second) = (Machine::start(&server, "first"), Machine::start(&server, "second"));
    let before = first.lead();
    first.tell("write 2");
    (0..2).for_each(|_| drop(first.hear("wrote")));
    first.stop();
    // It waits for the end of the lock: nobody renews it.
    let after = second.lead();
    assert!(term(&after) > term(&before));
    second.tell("write 2");
    (0..2).for_each(|_| drop(second.hear("wrote")));
    first.go_on();
    first.tell("fence");
    assert_eq!(first.hear("fence:"), "lapsed");
    // What it already had in its hands.
    first.tell("write 1");
    first.hear("fenced");
    first.tell("lost");
    first.hear("lost");
    first.tell("release");
    assert_eq!(first.hear("released:"), "false");
    // None of that has touched the other.
    second.tell("write 1");
    second.hear("wrote");
    assert_eq!(check(&server, &[&first, &second]), 5);
}

/// Stopped while it writes: the write that is under way lands or not, and none after the next term began.
#[test]
fn a_holder_that_is_stopped_in_the_middle_of_writing_writes_nothing_into_the_next_term() {
    let server = Server::start(Program::Redis, &settings());
    for round in 0..3 {
        let mut first = Machine::start(&server, &format!("first{round}"));
        let mut second = Machine::start(&server, &format!("second{round}"));
        first.lead();
        first.tell("write 20000");
        first.hear("wrote");
        first.stop();
        second.lead();
        second.tell("write 5");
        (0..5).for_each(|_| drop(second.hear("wrote")));
        first.go_on();
        // It was writing, and after the answer that it missed it hears of the fence.
        while !first.hear("").starts_with("fenced") {}
        first.kill();
        second.tell("release");
        second.hear("released: true");
        check(&server, &[&first, &second]);
    }
}
