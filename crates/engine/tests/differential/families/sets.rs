//! Sets.

use crate::frame::Compare::{Exact, Scan, Shape, Success, Unordered};
use crate::grammar::{CLIENTS, Family, Gen, Template};

pub(crate) fn sets() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Puts a set somewhere: of integers, of anything, now and then a large one; now and then something that is none.
fn feed(g: &mut Gen) {
    match g.rng.u32(..30) {
        0..=5 => {
            g.command("SET").key("string").value();
        }
        6..=11 => {
            g.command("XADD").key("stream").arg("*").arg("a").arg("b");
        }
        12 => integers(g.command("SADD").key("set"), 500),
        13..=20 => integers(g.command("SADD").key("set"), 8),
        _ => members(g.command("SADD").key("set"), 6),
    }
}

const TEMPLATES: &[Template] = &[
    Template::new("SADD", &["integers"], Exact, |g| {
        g.command("SADD").key("set");
        some(g);
    }),
    Template::new("SREM", &["all"], Exact, srem),
    Template::new("SMOVE", &["same"], Exact, smove),
    Template::new("SISMEMBER", &[], Exact, |g| {
        g.command("SISMEMBER").key("set");
        member(g);
    }),
    Template::new("SMISMEMBER", &[], Exact, |g| {
        g.command("SMISMEMBER").key("set");
        members(g, 4);
    }),
    Template::new("SCARD", &[], Exact, |g| {
        g.command("SCARD").key("set");
    }),
    Template::new("SMEMBERS", &["integers"], Unordered, smembers),
    Template::new("SPOP", &["count", "all", "few", "bad"], Shape, spop),
    Template::new("SRANDMEMBER", &["count", "negative", "all", "bad"], Shape, srandmember),
    Template::new("SINTER", &["same", "integers"], Unordered, |g| combine(g, "SINTER")),
    Template::new("SUNION", &["same", "integers"], Unordered, |g| combine(g, "SUNION")),
    Template::new("SDIFF", &["same", "integers"], Unordered, |g| combine(g, "SDIFF")),
    Template::new("SINTERSTORE", &["same"], Exact, |g| store(g, "SINTERSTORE")),
    Template::new("SUNIONSTORE", &["same"], Exact, |g| store(g, "SUNIONSTORE")),
    Template::new("SDIFFSTORE", &["same"], Exact, |g| store(g, "SDIFFSTORE")),
    Template::new("SINTERCARD", &["LIMIT", "bad", "few"], Exact, sintercard),
    Template::new("SSCAN", &["MATCH", "COUNT", "cursor", "bad"], Scan, sscan),
    Template::new("walk", &[], Exact, |g| {
        g.walk("SSCAN").key("set");
    }),
    Template::new("OBJECT ENCODING", &[], Exact, |g| {
        g.command("OBJECT ENCODING").key("set");
    }),
    Template::keyless("outgrown", &[], Exact, outgrown),
    Template::keyless("few left", &[], Exact, few_left),
    Template::keyless("integers left", &[], Exact, integers_left),
    Template::keyless("watched", &["SADD", "SREM", "SMOVE", "SPOP", "SDIFFSTORE"], Exact, watched),
    Template::keyless("arity", &[], Exact, |g| {
        let words = g.pick(&[
            "SADD set:0",
            "SREM set:0",
            "SMOVE set:0 set:1",
            "SISMEMBER set:0",
            "SMEMBERS",
            "SMEMBERS set:0 set:1",
            "SINTER",
            "SINTERSTORE set:0",
            "SINTERCARD 1",
            "SPOP",
            "SPOP set:0 1 2",
            "SRANDMEMBER set:0 1 2",
            "SSCAN set:0",
        ]);
        g.command(words);
    }),
];

/// A member that other sets may have too.
fn member(g: &mut Gen) {
    if g.one_in(3) {
        let integer = g.rng.i32(-6..20);
        g.number(integer);
    } else {
        g.value();
    }
}

fn members(g: &mut Gen, most: u32) {
    for _ in 0..g.rng.u32(1..=most) {
        member(g);
    }
}

/// Integers; many of them are far apart.
fn integers(g: &mut Gen, most: usize) {
    let step = g.pick(&[1, 1, 7, 40_000, 3_000_000_000_i64]);
    for _ in 0..g.rng.usize(1..=most) {
        let integer = g.rng.i64(-6..if most > 100 { 1000 } else { 20 });
        g.number(integer * step);
    }
}

fn some(g: &mut Gen) {
    if g.option("integers") {
        integers(g, 8);
    } else {
        members(g, 5);
    }
}

fn srem(g: &mut Gen) {
    g.command("SREM").key("set");
    if g.option("all") {
        (-6..20).for_each(|integer| {
            g.number(integer);
        });
        (0..8).for_each(|number| {
            g.arg(format!("m{number}"));
        });
    }
    members(g, 4);
}

fn smove(g: &mut Gen) {
    let from = g.key_name("set");
    g.command("SMOVE").arg(from.as_str());
    if g.option("same") {
        g.arg(from);
    } else {
        g.key("set");
    }
    member(g);
}

/// A set of integers only under a key of its own, and sent first, so that the order of what follows is known.
fn of_integers(g: &mut Gen, key: &str) {
    g.command("DEL").arg(key).compared(Success);
    g.command("SADD").arg(key).compared(Success);
    integers(g, 30);
    g.command("SREM").arg(key).compared(Success);
    integers(g, 30);
}

fn smembers(g: &mut Gen) {
    if g.option("integers") {
        let key = g.key_name("set");
        g.command("SMEMBERS").arg(key.as_str());
        of_integers(g, &key);
        g.command("SMEMBERS").arg(key).compared(Exact);
    } else {
        g.command("SMEMBERS").key("set");
    }
}

/// What chance took differs, so the key goes too.
fn spop(g: &mut Gen) {
    let key = g.key_name("set");
    g.command("SPOP").arg(key.as_str());
    if g.option("all") {
        g.arg("1000");
        return;
    }
    if g.option("bad") {
        let bad = g.pick(&["-1", "x", "", "1.5", "9223372036854775808", "-9223372036854775808"]);
        g.arg(bad);
    } else if g.option("few") {
        g.within(0, 30);
    } else if g.option("count") {
        g.within(0, 3);
    }
    g.command("SCARD").arg(key.as_str()).compared(Exact);
    g.replay_now_and_then();
    g.command("DEL").arg(key).compared(Exact);
}

fn srandmember(g: &mut Gen) {
    g.command("SRANDMEMBER").key("set");
    if g.option("bad") {
        let bad = g.pick(&["x", "", "-9223372036854775808", "9223372036854775808"]);
        g.arg(bad);
    } else if g.option("negative") {
        g.within(-30, -1);
    } else if g.option("all") {
        g.arg("9223372036854775807").compared(Unordered);
    } else if g.option("count") {
        g.within(0, 12);
    }
}

fn keys(g: &mut Gen) {
    let first = g.key_name("set");
    g.arg(first.as_str());
    for _ in 0..g.rng.u32(..4) {
        if g.one_in(5) {
            g.key("none")
        } else {
            g.key("set")
        };
    }
    if g.option("same") {
        g.arg(first);
    }
}

fn combine(g: &mut Gen, command: &str) {
    g.command(command);
    keys(g);
    if g.option("integers") {
        of_integers(g, "set:0");
        of_integers(g, "set:1");
        g.command(command).arg("set:0").arg("set:1").compared(Exact);
    }
}

fn store(g: &mut Gen, command: &str) {
    g.command(command);
    keys(g);
    g.key("set");
}

fn sintercard(g: &mut Gen) {
    g.command("SINTERCARD");
    let few = g.option("few");
    let count: usize = g.rng.usize(1..4);
    if g.option("bad") {
        let bad = g.pick(&["0", "-1", "x", "100", "9223372036854775807"]);
        g.arg(bad);
    } else {
        g.number(count);
    }
    for _ in 0..count {
        g.key("set");
    }
    if few {
        g.word("LIMIT");
    } else if g.word("LIMIT") {
        g.int();
    }
}

fn sscan(g: &mut Gen) {
    g.command("SSCAN").key("set");
    if g.option("cursor") {
        let bad = g.pick(&["x", "1 2", " 0", "0x", "99999999999999999999"]);
        g.arg(bad);
    } else {
        g.arg("0");
    }
    g.arg("COUNT");
    if g.option("COUNT") {
        let count = g.pick(&["0", "-1", "x", "5000", "2000"]);
        g.arg(count);
    } else {
        g.arg("1000");
    }
    if g.word("MATCH") {
        let pattern = g.pick(&["*", "m*", "?", "[1-5]*", "x"]);
        g.arg(pattern);
    }
    if g.option("bad") {
        let bad = g.pick(&["TYPE", "COUNT", "WHAT", "TYPE set"]);
        bad.split(' ').for_each(|word| {
            g.arg(word);
        });
    }
}

/// Around the size at which a set of integers stops being a small one.
fn outgrown(g: &mut Gen) {
    let key = "set:2";
    g.command("DEL").arg(key).compared(Success);
    g.command("SADD").arg(key);
    let first: i32 = g.rng.i32(-3..3);
    let count = g.pick(&[511, 512, 513]);
    for integer in 0..count {
        // Not in the order of their values.
        g.number(first + (integer * 7) % count);
    }
    g.command("OBJECT ENCODING").arg(key);
    g.command("SSCAN").arg(key).arg("0").arg("COUNT").arg("3000").compared(Scan);
    g.command("SREM").arg(key).number(first).arg(format!("{}", first + 1));
    g.command("OBJECT ENCODING").arg(key);
    g.command("SADD").arg(key).number(first).number(100_000);
    g.command("OBJECT ENCODING").arg(key);
    g.command("SCARD").arg(key);
    g.command("DEL").arg(key);
}

/// A set that had outgrown, of integers only: whether it is a small one again when most of it was taken.
fn few_left(g: &mut Gen) {
    let key = "set:2";
    g.command("DEL").arg(key).compared(Success);
    g.command("SADD").arg(key).arg("x");
    let count = g.rng.i32(2..20);
    (0..count).for_each(|integer| {
        g.number(integer);
    });
    g.command("SREM").arg(key).arg("x").compared(Exact);
    g.command("SPOP").arg(key).within(1, i64::from(count)).compared(Shape);
    g.command("OBJECT ENCODING").arg(key).compared(Exact);
    g.command("DEL").arg(key);
}

/// Only integers are left of a set that had others: whether the result is a small one depends on the sizes.
fn integers_left(g: &mut Gen) {
    for (key, most) in [("set:0", 20), ("set:1", 4), ("set:2", 12)] {
        g.command("DEL").arg(key).compared(Success);
        g.command("SADD").arg(key).arg("x");
        for _ in 0..g.rng.u32(1..most) {
            g.within(0, 40);
        }
    }
    let command = g.pick(&["SDIFFSTORE", "SDIFFSTORE", "SINTERSTORE", "SUNIONSTORE"]);
    g.command(command).arg("set:2").arg("set:0").arg("set:1").compared(Exact);
    for _ in 0..g.rng.u32(..4) {
        let other = g.pick(&["set:1", "set:1", "set:1", "set:2", "none:1"]);
        g.arg(other);
    }
    g.command("OBJECT ENCODING").arg("set:2");
}

/// Whether a change breaks a transaction of somebody else.
fn watched(g: &mut Gen) {
    let own = g.client();
    let key = g.key_name("set");
    let change = g.one_of(&["SADD", "SREM", "SMOVE", "SPOP", "SDIFFSTORE"]);
    g.command("WATCH").arg(key.as_str());
    g.by((own + 1) % CLIENTS);
    match change {
        Some("SADD") => {
            g.command("SADD").arg(key.as_str());
            member(g);
        }
        Some("SREM") => {
            g.command("SREM").arg(key.as_str());
            member(g);
        }
        Some("SMOVE") => {
            g.command("SMOVE").key("set").arg(key.as_str());
            member(g);
        }
        Some("SPOP") => {
            g.command("SPOP").arg(key.as_str()).arg("1000").compared(Unordered);
        }
        Some(_) => {
            g.command("SDIFFSTORE").arg(key.as_str()).key("set").key("set");
        }
        None => {
            g.command("SMEMBERS").arg(key.as_str()).compared(Unordered);
        }
    }
    g.by(own);
    g.command("MULTI");
    g.command("SCARD").arg(key);
    g.command("EXEC");
}
