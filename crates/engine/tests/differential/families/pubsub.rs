//! Channels, patterns and keyspace notifications.
//!
//! Clients 1 and 2 listen for as long as chance has it, in RESP2, where they can do nothing else meanwhile. The last one
//! listens in RESP3 only for the length of a template, and hears what itself does as well: outside of it, it may be in a
//! transaction, in whose answer the server mixes what it hears.

use crate::frame::Compare::{Exact, Shape, Success, Unordered};
use crate::grammar::{CLIENTS, Family, Gen, Template};

use super::{keys, strings};

pub(crate) fn pubsub() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Somebody listens to what happens to keys.
fn feed(g: &mut Gen) {
    let letters = g.pick(&["KEA", "KEA", "KEAnm", "K$g", "Ex", "Eglshzt"]);
    g.command("CONFIG SET notify-keyspace-events").arg(letters);
    let client = g.pick(&[1, 2]);
    g.by(client).command("DISCARD");
    g.command("PSUBSCRIBE").arg("__key*@*__:*");
    g.by(0);
}

const CHANNELS: &[&str] = &["news", "sport", "n", "__keyevent@0__:del", "__keyspace@0__:string:0"];
const PATTERNS: &[&str] = &["n*", "*", "[ns]*", "__keyspace*", "__keyevent@?__:*", "?port"];

const TEMPLATES: &[Template] = &[
    Template::keyless("SUBSCRIBE", &["several"], Exact, |g| listen(g, "SUBSCRIBE", CHANNELS)),
    Template::keyless("PSUBSCRIBE", &["several"], Exact, |g| listen(g, "PSUBSCRIBE", PATTERNS)),
    Template::keyless("UNSUBSCRIBE", &["named"], Exact, |g| leave(g, "UNSUBSCRIBE", CHANNELS)),
    Template::keyless("PUNSUBSCRIBE", &["named"], Exact, |g| leave(g, "PUNSUBSCRIBE", PATTERNS)),
    Template::keyless("PUBLISH", &[], Exact, |g| {
        publish(g);
    }),
    Template::keyless("PUBSUB CHANNELS", &["pattern", "bad"], Unordered, |g| {
        g.command("PUBSUB CHANNELS");
        if g.option("pattern") {
            let pattern = g.pick(PATTERNS);
            g.arg(pattern);
        }
        if g.option("bad") {
            g.arg("x").arg("y");
        }
    }),
    Template::keyless("PUBSUB NUMSUB", &[], Exact, |g| {
        g.command("PUBSUB NUMSUB");
        for _ in 0..g.rng.u32(..4) {
            let channel = g.pick(CHANNELS);
            g.arg(channel);
        }
    }),
    Template::keyless("PUBSUB NUMPAT", &[], Exact, |g| {
        g.command("PUBSUB NUMPAT");
    }),
    Template::keyless("while listening", &[], Exact, |g| {
        let client = g.pick(&[1, 2]);
        let words = g.pick(&["PING", "PING x", "PING x y", "GET string:0", "HELLO 9", "PUBSUB NUMPAT", "no"]);
        g.by(client).command(words);
    }),
    Template::keyless("wrong", &[], Exact, |g| {
        let words =
            g.pick(&["SUBSCRIBE", "PSUBSCRIBE", "PUBLISH a", "PUBSUB", "PUBSUB NO", "PUBSUB NUMPAT x"]);
        g.command(words);
    }),
    Template::keyless("RESET", &[], Exact, |g| {
        let client = g.pick(&[1, 2]);
        g.by(client).command("RESET");
    }),
    Template::keyless("QUIT", &[], Exact, |g| {
        let client = g.pick(&[1, 2]);
        g.by(client).command("QUIT");
    }),
    Template::keyless("in a transaction", &[], Exact, in_a_transaction),
    Template::keyless("notify-keyspace-events", &[], Exact, |g| {
        let letters = g.pick(&["KEA", "KEAmn", "Kg", "E$", "Ex", "Kxnm", "AK", "", "KEq", "lshzd", "Em"]);
        g.by(0).command("CONFIG SET notify-keyspace-events").arg(letters);
        g.command("CONFIG GET notify-keyspace-events");
    }),
    Template::keyless("of keys", &[], Exact, of_keys),
    Template::keyless("in RESP3", &["reply off"], Exact, in_resp3),
];

/// A client in RESP2 begins to listen.
fn listen(g: &mut Gen, command: &str, names: &[&'static str]) {
    let client = g.pick(&[1, 2]);
    g.by(client).command(command);
    let several = if g.option("several") { 3 } else { 1 };
    for _ in 0..several {
        let name = g.pick(names);
        g.arg(name);
    }
}

fn leave(g: &mut Gen, command: &str, names: &[&'static str]) {
    let client = g.pick(&[1, 2]);
    g.by(client).command(command);
    if g.option("named") {
        for _ in 0..g.rng.u32(1..4) {
            let name = g.pick(names);
            g.arg(name);
        }
    } else if command == "UNSUBSCRIBE" {
        // Channels are left in no order.
        g.compared(Shape);
    }
}

fn publish(g: &mut Gen) {
    let client = g.pick(&[0, CLIENTS - 1]);
    let channel = g.pick(CHANNELS);
    g.by(client).command("PUBLISH").arg(channel).value();
}

fn in_a_transaction(g: &mut Gen) {
    let client = g.pick(&[1, 2, CLIENTS - 1]);
    let channel = g.pick(CHANNELS);
    g.by(client).command("RESET");
    if client == CLIENTS - 1 {
        g.command("HELLO 3").compared(Success);
    }
    g.command("MULTI").compared(Exact);
    g.command("PING");
    g.command("SUBSCRIBE").arg(channel);
    g.command("UNSUBSCRIBE").arg(channel);
    g.command("EXEC");
}

/// A command of the families of strings and keys, by a client that does not listen itself.
fn of_keys(g: &mut Gen) {
    let families = [strings(), keys()];
    let family = &families[g.rng.usize(..families.len())];
    let template = &family.templates[g.rng.usize(..family.templates.len())];
    g.by(0).compared(template.compare);
    (template.make)(g);
}

/// The last client listens and acts.
fn in_resp3(g: &mut Gen) {
    let last = CLIENTS - 1;
    let replies = if g.option("reply off") { Some(g.pick(&["OFF", "SKIP"])) } else { None };
    g.by(last).command("RESET").compared(Exact);
    g.command("HELLO 3").compared(Success);
    g.command("CONFIG SET notify-keyspace-events KEA").compared(Exact);
    let (channel, pattern) = (g.pick(CHANNELS), g.pick(PATTERNS));
    g.command("SUBSCRIBE").arg(channel).arg("news");
    g.command("PSUBSCRIBE").arg(pattern);
    g.command("PUBLISH").arg(channel).arg("to itself");
    if let Some(how) = replies {
        g.command("CLIENT REPLY").arg(how);
        g.command("PUBLISH").arg(channel).arg("without an answer");
        g.command("CLIENT REPLY ON");
    }
    g.command("PING");
    for _ in 0..g.rng.u32(..4) {
        if g.one_in(2) {
            publish(g);
        } else {
            of_keys(g);
            g.by(last).command("SET string:0 x PX 100").compared(Exact);
        }
    }
    g.by(last).command("UNSUBSCRIBE").compared(Shape);
    g.command("PUNSUBSCRIBE").compared(Exact);
    g.command("UNSUBSCRIBE");
}
