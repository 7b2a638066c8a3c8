//! kill -9 of the server, which comes back with what is on its disk.

use keyplane_testing::{Program, Server};

use crate::history::{check, journal, settings, term};
use crate::machine::Machine;

#[test]
fn what_was_acknowledged_survives_the_server_and_the_fence_still_guards() {
    let server = Server::start(Program::Redis, &settings());
    let (mut first, mut second) = (Machine::start(&server, "first"), Machine::start(&server, "second"));
    let mut last = term(&first.lead());
    for round in 0..3 {
        first.tell("write 100000");
        (0..20).for_each(|_| drop(first.hear("wrote")));
        server.kill();
        // The writes fail one by one; the machine is killed too, so that none of them waits for the server.
        first.kill();
        server.restart();
        check(&server, &[&first, &second]);
        // The lock that was on the disk runs out, and its fence does not.
        let fence = second.lead();
        assert!(term(&fence) > last, "{fence} after {last}");
        last = term(&fence);
        second.tell("write 5");
        (0..5).for_each(|_| drop(second.hear("wrote")));
        println!("round {round}: {} lines", journal(&server).len());
        check(&server, &[&first, &second]);
        first = std::mem::replace(&mut second, Machine::start(&server, &format!("next{round}")));
    }
}

/// The holder lives on while the server is gone, and the next term begins while it does not look.
#[test]
fn an_old_holder_is_fenced_after_a_restart() {
    let server = Server::start(Program::Redis, &settings());
    let (mut first, mut second) = (Machine::start(&server, "first"), Machine::start(&server, "second"));
    let before = first.lead();
    first.tell("write 3");
    (0..3).for_each(|_| drop(first.hear("wrote")));
    first.stop();
    server.kill();
    server.restart();
    let after = second.lead();
    assert!(term(&after) > term(&before));
    server.kill();
    server.restart();
    first.go_on();
    first.tell("write 1");
    // Its connection broke with the server: the first write may be told as unknown, and was not applied all the same.
    if first.hear("").starts_with("unknown") {
        first.tell("write 1");
        first.hear("fenced");
    }
    assert!(journal(&server).iter().filter(|line| line.contains(" first ")).count() == 3);
    check(&server, &[&first, &second]);
}
