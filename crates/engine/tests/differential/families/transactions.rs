//! Transactions of several clients that get in each other's way.

use crate::frame::Compare::Exact;
use crate::grammar::{CLIENTS, Family, Gen, Template};

pub(crate) fn transactions() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Puts something somewhere, now and then with an end.
fn feed(g: &mut Gen) {
    let key = g.key_name("string");
    match g.rng.u32(..4) {
        0 => g.command("RPUSH").key("list").arg("a").arg("b"),
        1 => g.command("PEXPIRE").arg(key.as_str()).within(1, 3000),
        _ => g.command("SET").arg(key.as_str()).value(),
    };
}

const TEMPLATES: &[Template] = &[
    Template::keyless("MULTI", &["arity"], Exact, |g| plain(g, "MULTI")),
    Template::keyless("EXEC", &["arity"], Exact, |g| plain(g, "EXEC")),
    Template::keyless("DISCARD", &["arity"], Exact, |g| plain(g, "DISCARD")),
    Template::keyless("UNWATCH", &["arity"], Exact, |g| plain(g, "UNWATCH")),
    Template::new("WATCH", &["several"], Exact, |g| {
        g.command("WATCH").key("string");
        if g.option("several") {
            g.key("list").key("string");
        }
    }),
    Template::keyless("part", PARTS, Exact, part),
    Template::keyless("transaction", &["refused", "DISCARD", "SELECT"], Exact, transaction),
    Template::keyless("race", RACES, Exact, race),
    Template::keyless("FLUSHALL", &[], Exact, |g| {
        g.command("FLUSHALL");
    }),
    Template::keyless("leaving", &[], Exact, |g| {
        g.command("!leave");
    }),
];

fn plain(g: &mut Gen, command: &str) {
    g.command(command);
    if g.option("arity") {
        g.arg("x");
    }
}

const PARTS: &[&str] = &[
    "SET", "GET", "INCR", "DEL", "RPUSH", "LPOP", "BLPOP", "BLMOVE", "EXPIRE", "RENAME", "SETNX", "LTRIM",
    "refused",
];

/// A command that may stand in a transaction or be sent by someone else meanwhile.
fn part(g: &mut Gen) {
    match g.one_of(PARTS) {
        Some("SET") => g.command("SET").key("string").value(),
        Some("INCR") => g.command("INCR").key("string"),
        Some("DEL") => g.command("DEL").key("string"),
        Some("RPUSH") => g.command("RPUSH").key("list").value(),
        Some("LPOP") => g.command("LPOP").key("list"),
        Some("BLPOP") => waits_or_not(g).command("BLPOP").key("list").key("none").arg("0.1"),
        Some("BLMOVE") => {
            waits_or_not(g).command("BLMOVE").key("list").key("list").arg("LEFT").arg("LEFT").arg("0.1")
        }
        Some("EXPIRE") => g.command("PEXPIRE").key("string").within(-1, 2000),
        Some("RENAME") => g.command("RENAME").key("string").key("string"),
        Some("SETNX") => g.command("SETNX").key("string").value(),
        Some("LTRIM") => g.command("LTRIM").key("list").int().int(),
        Some("refused") => {
            let words = g.pick(&["NOSUCH", "GET", "GETRANGE", "MULTI", "EXEC", "UNWATCH", "OBJECT"]);
            g.command(words).key("string")
        }
        _ => g.command("GET").key("string"),
    };
}

/// Client 0 does not wait, so that someone is always there.
fn waits_or_not(g: &mut Gen) -> &mut Gen {
    let client = g.client().max(1);
    g.by(client)
}

/// All of one from MULTI to its end, by one client.
fn transaction(g: &mut Gen) {
    let client = g.client();
    let key = g.key_name("string");
    g.command("WATCH").arg(key.as_str());
    let (refused, discard, select) = (g.option("refused"), g.option("DISCARD"), g.option("SELECT"));
    g.command("MULTI");
    if select {
        g.command("SELECT 1");
    }
    g.command("SET").arg(key.as_str()).value();
    for _ in 0..g.rng.u32(..4) {
        part(g);
        g.by(client);
    }
    if refused {
        let words =
            g.pick(&["NOSUCH", "GET", "SET a", "EXEC x", "MULTI x", "WATCH", "MULTI", "WATCH a", "LPOP a b"]);
        g.command(words);
    }
    g.command("GET").arg(key.as_str());
    g.command(if discard { "DISCARD" } else { "EXEC" });
    if select {
        g.command("GET").arg(key.as_str());
        g.command("SELECT 0");
    }
}

/// What happens to a watched key before EXEC.
const RACES: &[&str] = &[
    "nothing",
    "read",
    "own",
    "own inside",
    "other",
    "same value",
    "nothing changed",
    "trimmed",
    "created",
    "deleted",
    "renamed",
    "renamed to",
    "moved away",
    "ended",
    "ended quietly",
    "over before",
    "over and gone",
    "over and set",
    "flushed",
    "flushed over",
    "emptied",
    "swapped",
    "swapped over",
    "expire",
    "persist",
    "unwatched",
    "discarded",
    "served",
    "again",
];

/// A client watches a key, something happens, and it executes a transaction.
fn race(g: &mut Gen) {
    let race = g.one_of(RACES).unwrap_or("other");
    let client = g.client();
    let other = (client + g.rng.usize(1..CLIENTS)) % CLIENTS;
    let key = g.key_name("string");
    let key = key.as_str();
    // Counted for the first command, which is this one.
    g.command("EXISTS").arg(key);
    g.command("DISCARD");
    g.by(other).command("DISCARD");
    let over =
        matches!(race, "over before" | "over and gone" | "over and set" | "flushed over" | "swapped over");
    if over || race.starts_with("ended") {
        g.command("SET").arg(key).arg("5").arg("PX").arg("50");
    }
    if over {
        g.command("!quietly").arg("60");
    }
    g.by(client).command("WATCH").arg(key);
    if g.one_in(3) {
        g.command("MULTI");
    }
    happens(g, race, (client, other), key);
    g.by(client).command("MULTI");
    if race == "own inside" {
        g.command("SET").arg(key).arg("inside");
    }
    g.command("PING");
    g.command("GET").arg(key);
    g.command("EXEC");
    if race == "again" {
        g.command("MULTI");
        g.command("APPEND").arg(key).arg("x");
        g.command("EXEC");
    }
    // From here on nobody waits for a look at what is over.
    g.command("!pass").arg("0");
}

fn happens(g: &mut Gen, race: &str, (client, other): (usize, usize), key: &str) {
    g.by(other);
    match race {
        "read" => g.command("GET").arg(key),
        "own" => g.by(client).command("SET").arg(key).arg("own"),
        "other" | "again" => g.command("SET").arg(key).arg("other"),
        "same value" => {
            g.command("SET").arg(key).arg("same");
            g.by(client).command("UNWATCH");
            g.command("WATCH").arg(key);
            g.by(other).command("SET").arg(key).arg("same")
        }
        "nothing changed" => {
            g.command("SETNX").arg(key).arg("x");
            g.by(client).command("UNWATCH");
            g.command("WATCH").arg(key);
            g.by(other).command("SETNX").arg(key).arg("x")
        }
        "trimmed" => {
            g.command("DEL").arg(key);
            g.command("RPUSH").arg(key).arg("x");
            g.by(client).command("UNWATCH");
            g.command("WATCH").arg(key);
            // Redis calls this a change.
            g.by(other).command("LTRIM").arg(key).arg("0").arg("-1")
        }
        "created" => {
            g.command("DEL").arg(key);
            g.by(client).command("UNWATCH");
            g.command("WATCH").arg(key);
            g.by(other).command("SETNX").arg(key).arg("x")
        }
        "deleted" => g.command("DEL").arg(key),
        "renamed" => g.command("RENAME").arg(key).key("string"),
        "renamed to" => g.command("RENAME").key("string").arg(key),
        "moved away" => {
            g.command("MOVE").arg(key).arg("1");
            g.command("SELECT 1");
            g.command("DEL").arg(key);
            g.command("SELECT 0")
        }
        "ended" => g.command("!pass").arg("60"),
        "ended quietly" => g.command("!quietly").arg("60"),
        "over and gone" => g.command("EXISTS").arg(key),
        "over and set" => g.command("SET").arg(key).arg("new"),
        "flushed" | "flushed over" => g.command("FLUSHALL"),
        "emptied" => g.command("FLUSHDB"),
        "swapped" | "swapped over" => {
            if g.one_in(2) {
                g.command("SELECT 1");
                g.command("SET").arg(key).arg("there");
                g.command("SELECT 0");
            }
            let way = g.pick(&["SWAPDB 0 1", "SWAPDB 1 0"]);
            g.command(way)
        }
        "expire" => g.command("PEXPIRE").arg(key).arg("5000"),
        "persist" => g.command("PERSIST").arg(key),
        "unwatched" => {
            g.command("SET").arg(key).arg("other");
            g.by(client).command("UNWATCH")
        }
        "discarded" => {
            g.command("SET").arg(key).arg("other");
            g.by(client).command("MULTI");
            g.command("DISCARD")
        }
        "served" => served(g, (client, other), key),
        _ => g,
    };
}

/// The key is fed, and whoever waits for it takes it away again.
fn served<'g>(g: &'g mut Gen, (client, other): (usize, usize), key: &str) -> &'g mut Gen {
    g.command("DEL").arg(key);
    g.by(client).command("UNWATCH");
    g.command("WATCH").arg(key);
    let third = (0..CLIENTS).find(|third| *third != client && *third != other).unwrap_or(0);
    g.by(third).command("BLPOP").arg(key).arg("0.1");
    g.by(other).command("RPUSH").arg(key).arg("x")
}
