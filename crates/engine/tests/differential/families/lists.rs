//! Lists, and clients that wait for one.
//!
//! Client 0 never waits: it feeds those that do.

use crate::frame::Compare::Exact;
use crate::grammar::{CLIENTS, Family, Gen, Template};

pub(crate) fn lists() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Makes a list, or makes one longer; now and then something that is none, or that ends.
fn feed(g: &mut Gen) {
    match g.rng.u32(..12) {
        0 | 1 => {
            g.command("SET").key("string").value();
            return;
        }
        2 => {
            g.command("PEXPIRE").key("list").within(1, 9000);
            return;
        }
        _ => {}
    }
    let command = g.pick(&["LPUSH", "RPUSH"]);
    g.command(command).key("list");
    elements(g);
}

const PLAIN: &[&str] = &[];
const SIDES: &[&str] = &["LEFT", "RIGHT", "bad"];
const MOVES: &[&str] = &["LEFT", "RIGHT", "bad", "same", "alone"];

const TEMPLATES: &[Template] = &[
    Template::new("LPUSH", &["several"], Exact, |g| push(g, "LPUSH")),
    Template::new("RPUSH", &["several"], Exact, |g| push(g, "RPUSH")),
    Template::new("LPUSHX", &["several"], Exact, |g| push(g, "LPUSHX")),
    Template::new("RPUSHX", &["several"], Exact, |g| push(g, "RPUSHX")),
    Template::new("LPOP", &["count", "more"], Exact, |g| pop(g, "LPOP")),
    Template::new("RPOP", &["count", "more"], Exact, |g| pop(g, "RPOP")),
    Template::new("LLEN", PLAIN, Exact, |g| {
        g.command("LLEN").key("list");
    }),
    Template::new("LINDEX", PLAIN, Exact, |g| {
        g.command("LINDEX").key("list").int();
    }),
    Template::new("LINSERT", &["BEFORE", "AFTER", "bad"], Exact, |g| {
        g.command("LINSERT").key("list");
        word_of(g, &["BEFORE", "AFTER", "bad"]);
        element(g);
        element(g);
    }),
    Template::new("LSET", PLAIN, Exact, |g| {
        g.command("LSET").key("list").int();
        element(g);
    }),
    Template::new("LRANGE", PLAIN, Exact, |g| {
        g.command("LRANGE").key("list").int().int();
    }),
    Template::new("LTRIM", &["all"], Exact, |g| {
        g.command("LTRIM").key("list");
        if g.option("all") {
            g.arg("0").arg("-1")
        } else {
            g.int().int()
        };
    }),
    Template::new("LREM", PLAIN, Exact, |g| {
        g.command("LREM").key("list");
        if g.one_in(3) {
            g.int()
        } else {
            g.within(-2, 2)
        };
        element(g);
    }),
    Template::new("LPOS", &["RANK", "COUNT", "MAXLEN", "twice", "bad"], Exact, lpos),
    Template::keyless("LPOS among few", PLAIN, Exact, lpos_among_few),
    Template::new("LMOVE", MOVES, Exact, |g| {
        from_to(g, "LMOVE");
        word_of(g, SIDES);
        word_of(g, SIDES);
    }),
    Template::new("RPOPLPUSH", &["same", "alone"], Exact, |g| from_to(g, "RPOPLPUSH")),
    Template::new("LMPOP", &["LEFT", "RIGHT", "COUNT", "several", "bad"], Exact, |g| {
        g.command("LMPOP");
        mpop(g);
    }),
    Template::new("BLPOP", &["several", "timeout"], Exact, |g| bpop(g, "BLPOP")),
    Template::new("BRPOP", &["several", "timeout"], Exact, |g| bpop(g, "BRPOP")),
    Template::new("BLMOVE", &["LEFT", "RIGHT", "bad", "timeout"], Exact, |g| {
        waits(g).command("BLMOVE").key("list").key("list");
        word_of(g, SIDES);
        word_of(g, SIDES);
        timeout(g);
    }),
    Template::new("BRPOPLPUSH", &["timeout"], Exact, |g| {
        waits(g).command("BRPOPLPUSH").key("list").key("list");
        timeout(g);
    }),
    Template::new("BLMPOP", &["LEFT", "RIGHT", "COUNT", "several", "bad", "timeout"], Exact, |g| {
        waits(g).command("BLMPOP");
        timeout(g);
        mpop(g);
    }),
    Template::keyless("waiting", FED, Exact, waiting),
    Template::keyless("leaving", PLAIN, Exact, |g| {
        waits(g).command("!leave");
    }),
    Template::keyless("arity", PLAIN, Exact, |g| {
        let words = g.pick(&[
            "LPUSH a",
            "RPUSHX",
            "LPOP",
            "RPOP a 1 2",
            "LLEN a b",
            "LINDEX a",
            "LINSERT a BEFORE b",
            "LSET a 1",
            "LRANGE a 0",
            "LTRIM a 0",
            "LREM a 0",
            "LPOS a",
            "LMOVE a b LEFT",
            "RPOPLPUSH a",
            "LMPOP 1 a",
            "BLPOP a",
            "BRPOP 0",
            "BLMOVE a b LEFT RIGHT",
            "BRPOPLPUSH a b",
            "BLMPOP 0 1 a",
        ]);
        g.command(words);
    }),
];

/// One of a few, so that it is met again; now and then anything.
fn element(g: &mut Gen) {
    if g.one_in(4) {
        g.value();
    } else {
        let element = g.pick(&["a", "b", "c", "1", "2"]);
        g.arg(element);
    }
}

fn elements(g: &mut Gen) {
    let count = if g.one_in(30) { 150 } else { g.rng.u32(1..8) };
    (0..count).for_each(|_| element(g));
}

/// One of these words; `bad` stands for another.
fn word_of(g: &mut Gen, words: &[&'static str]) {
    let word = match g.one_of(words) {
        Some("bad") => g.pick(&["MIDDLE", "", "LEFTT"]),
        Some(word) => word,
        None => g.pick(&["left", "Right", "LEFT", "RIGHT", "before"]),
    };
    g.arg(word);
}

fn push(g: &mut Gen, command: &str) {
    g.command(command).key("list");
    element(g);
    if g.option("several") {
        elements(g);
    }
}

fn pop(g: &mut Gen, command: &str) {
    g.command(command).key("list");
    if g.option("count") {
        g.int();
    } else if g.option("more") {
        g.int().int();
    }
}

/// From one list to another, or to itself; now and then from one with a single element.
fn from_to(g: &mut Gen, command: &str) {
    let (same, alone) = (g.option("same"), g.option("alone"));
    let from = g.key_name("list");
    let to = if same { from.clone() } else { g.key_name("list") };
    if alone {
        g.command("LTRIM").arg(from.as_str()).arg("0").arg("0");
    }
    g.command(command).arg(from).arg(to);
}

fn lpos(g: &mut Gen) {
    g.command("LPOS").key("list");
    element(g);
    for _ in 0..if g.option("twice") { 2 } else { 1 } {
        for word in ["RANK", "COUNT", "MAXLEN"] {
            if g.word(word) {
                if g.one_in(3) {
                    g.int()
                } else {
                    g.within(-1, 3)
                };
            }
        }
    }
    if g.option("bad") {
        let word = g.pick(&["RANK", "COUNT", "WHAT"]);
        g.arg(word);
    }
}

/// In a list of two letters, where there is something to find from both ends. Chance alone seldom gives options that depend
/// on each other together with an element that is there.
fn lpos_among_few(g: &mut Gen) {
    g.by(0).command("DEL list:0");
    g.command("RPUSH list:0");
    for _ in 0..g.rng.u32(3..10) {
        let element = g.pick(&["a", "b"]);
        g.arg(element);
    }
    for _ in 0..g.rng.u32(1..4) {
        g.command("LPOS list:0 a");
        for (word, least, most) in [("RANK", -3, 3), ("COUNT", 0, 3), ("MAXLEN", 0, 8)] {
            if g.one_in(2) {
                g.arg(word).within(least, most);
            }
        }
    }
}

/// Of LMPOP and BLMPOP, from the number of keys on.
fn mpop(g: &mut Gen) {
    let keys = if g.option("several") { g.rng.u32(2..4) } else { 1 };
    if g.option("bad") {
        let count = g.pick(&["0", "-1", "x", "7", "1.5", "9223372036854775806"]);
        g.arg(count);
    } else {
        g.number(keys);
    }
    (0..keys).for_each(|_| {
        g.key("list");
    });
    word_of(g, &["LEFT", "RIGHT"]);
    if g.word("COUNT") {
        if g.one_in(3) {
            g.int()
        } else {
            g.within(1, 4)
        };
        if g.one_in(10) {
            g.arg("COUNT").arg("1");
        }
    }
    if g.one_in(20) {
        g.arg("COUNT");
    }
}

/// Not client 0.
fn waits(g: &mut Gen) -> &mut Gen {
    let client = g.rng.usize(1..CLIENTS);
    g.by(client)
}

fn timeout(g: &mut Gen) {
    let seconds = if g.option("timeout") {
        g.pick(&["-1", "-0.5", "x", "", "nan", "inf", "-inf", "1e300", " 1", "1 ", "-0.0001", "0x", "1e18"])
    } else {
        g.pick(&["0", "0.1", "0.001", "0.0001", "1", "1", "2", "0.5", "1.5", "1e0", "+1", ".25", "0.0"])
    };
    g.arg(seconds);
}

fn bpop(g: &mut Gen, command: &str) {
    waits(g).command(command).key("list");
    if g.option("several") {
        for _ in 0..g.rng.u32(1..4) {
            g.key("list");
        }
    }
    timeout(g);
}

/// Ways in which a key comes to be.
const FED: &[&str] = &[
    "push",
    "several",
    "EXEC",
    "gone again",
    "RENAME",
    "COPY",
    "MOVE",
    "SWAPDB",
    "elsewhere",
    "chain",
    "circle",
    "wrong target",
    "LMOVE",
    "another type",
    "time",
    "leave",
];

/// Clients wait for a key, and then it is fed in one way or another.
fn waiting(g: &mut Gen) {
    let way = g.one_of(FED).unwrap_or("push");
    let (key, other) = (a_key(g), a_key(g));
    // Counted for the first command, which is this one.
    g.by(0).command("DEL").arg(key.as_str());
    if g.one_in(2) {
        g.command("DEL").arg(other.as_str());
    }
    if matches!(way, "chain" | "circle" | "wrong target") {
        chain(g, [&key, &other], way);
    }
    for _ in 0..g.rng.u32(1..4) {
        wait_at(g, &key, &other);
    }
    g.by(0);
    match way {
        "several" => {
            g.command("RPUSH").arg(key.as_str());
            elements(g);
        }
        "EXEC" => {
            g.command("MULTI");
            g.command("LPUSH").arg(other.as_str()).arg("o");
            g.command("RPUSH").arg(key.as_str()).arg("x").arg("y");
            g.command("LPUSH").arg(key.as_str()).arg("z");
            g.command("EXEC");
        }
        "gone again" => {
            g.command("MULTI");
            g.command("RPUSH").arg(key.as_str()).arg("x");
            g.command("DEL").arg(key.as_str());
            if g.one_in(2) {
                g.command("SET").arg(key.as_str()).arg("x");
            }
            g.command("EXEC");
        }
        "RENAME" => {
            let command = g.pick(&["RENAME", "RENAMENX"]);
            g.command(command).key("list").arg(key.as_str());
        }
        "COPY" => {
            g.command("COPY").key("list").arg(key.as_str());
        }
        "MOVE" | "SWAPDB" => from_other_database(g, &key, way),
        "elsewhere" => elsewhere(g, &key),
        "LMOVE" => {
            g.command("LMOVE").key("list").arg(key.as_str()).arg("LEFT").arg("RIGHT");
        }
        "another type" => {
            g.command("SET").arg(key.as_str()).arg("x");
            g.command("DEL").arg(key.as_str());
            g.command("LPUSH").arg(key.as_str()).arg("a");
        }
        "time" => {
            let millis = g.pick(&["1", "99", "100", "101", "1000", "1001"]);
            g.command("!pass").arg(millis);
        }
        "leave" => {
            waits(g).command("!leave");
            g.by(0).command("LPUSH").arg(key.as_str()).arg("a");
        }
        _ => {
            g.command("LPUSH").arg(key.as_str());
            element(g);
        }
    }
}

fn a_key(g: &mut Gen) -> String {
    let of = g.pick(&["none", "list", "list", "string"]);
    format!("{of}:{}", g.rng.u32(..3))
}

/// In one of the commands that wait, for this key among others.
fn wait_at(g: &mut Gen, key: &str, other: &str) {
    let seconds = g.pick(&["0", "0.1", "1", "1"]);
    let (from, to) = (g.pick(&["LEFT", "RIGHT"]), g.pick(&["LEFT", "RIGHT"]));
    let third = a_key(g);
    let (source, target) = match g.rng.u32(..6) {
        0 => (other, key),
        1 => (key, key),
        2 => (key, third.as_str()),
        _ => (key, other),
    };
    waits(g);
    match g.rng.u32(..6) {
        0 => g.command("BLPOP").arg(key).arg(seconds),
        1 => g.command("BRPOP").arg(other).arg(key).arg(seconds),
        2 => g.command("BLPOP").arg(key).arg(key).arg(third.as_str()).arg(seconds),
        3 => g.command("BLMOVE").arg(source).arg(target).arg(from).arg(to).arg(seconds),
        4 => g.command("BRPOPLPUSH").arg(source).arg(target).arg(seconds),
        _ => g.command("BLMPOP").arg(seconds).arg("2").arg(other).arg(key).arg(from).arg("COUNT").arg("2"),
    };
}

/// What feeds one client is moved on to where another waits, or cannot be.
fn chain(g: &mut Gen, [key, other]: [&str; 2], way: &str) {
    if way == "wrong target" {
        g.command("SET").arg(other).arg("x");
    } else {
        g.command("DEL").arg(other);
    }
    let mut clients: Vec<usize> = (1..CLIENTS).collect();
    g.rng.shuffle(&mut clients);
    g.by(clients[0]).command("BLMOVE").arg(key).arg(other).arg("LEFT").arg("RIGHT").arg("0");
    g.by(clients[1]);
    if way == "circle" {
        g.command("BRPOPLPUSH").arg(other).arg(key).arg("0");
    } else {
        g.command("BLPOP").arg("none:0").arg(other).arg("0");
    }
}

/// Nothing else is in the other database: Redis keeps no order among several keys that a swap brings.
fn from_other_database(g: &mut Gen, key: &str, way: &str) {
    g.command("SELECT 1");
    g.command("FLUSHDB");
    g.command("RPUSH").arg(key).arg("m1").arg("m2");
    if way == "MOVE" {
        g.command("MOVE").arg(key).arg("0");
        g.command("DEL").arg(key);
    } else {
        g.command("SWAPDB 0 1");
    }
    g.command("SELECT 0");
}

/// A client waits in the other database, where the same name is another key.
fn elsewhere(g: &mut Gen, key: &str) {
    waits(g).command("SELECT 1");
    g.command("BLPOP").arg(key).arg("1");
    g.by(0).command("LPUSH").arg(key).arg("here");
    if g.one_in(2) {
        g.command("MOVE").arg(key).arg("1");
    } else {
        g.command("COPY").key("list").arg(key).arg("DB").arg("1");
    }
    g.command("!pass").arg("1001");
    // Not again by those that are still busy.
    (1..CLIENTS).for_each(|client| {
        g.by(client).command("SELECT 0");
    });
}
