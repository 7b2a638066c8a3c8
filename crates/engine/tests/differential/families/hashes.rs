//! Hashes.

use super::strings::long_double;
use crate::frame::Compare::{Exact, Pairs, ScanPairs, Shape, Unordered};
use crate::grammar::{Family, Gen, Template};

pub(crate) fn hashes() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Puts fields somewhere: mostly a few, now and then so many that Redis keeps them in another way. Now and then something
/// else, which these commands refuse.
fn feed(g: &mut Gen) {
    if g.one_in(8) {
        g.command("SET").key("string").value();
        return;
    }
    g.command("HSET").key("hash");
    if g.one_in(12) {
        let count = g.pick(&[511, 512, 513, 600]);
        for number in 0..count {
            g.arg(format!("f{number}")).number(number);
        }
        return;
    }
    for _ in 0..g.rng.u32(1..6) {
        field(g);
        value(g);
    }
}

const TEMPLATES: &[Template] = &[
    Template::new("HSET", &["odd"], Exact, |g| pairs(g, "HSET")),
    Template::new("HMSET", &["odd"], Exact, |g| pairs(g, "HMSET")),
    Template::new("HSETNX", &[], Exact, |g| {
        one(g, "HSETNX");
        value(g);
    }),
    Template::new("HGET", &[], Exact, |g| one(g, "HGET")),
    Template::new("HMGET", &[], Exact, |g| several(g, "HMGET")),
    Template::new("HGETALL", &[], Pairs, |g| {
        g.command("HGETALL").key("hash");
    }),
    Template::new("HKEYS", &[], Unordered, |g| {
        g.command("HKEYS").key("hash");
    }),
    Template::new("HVALS", &[], Unordered, |g| {
        g.command("HVALS").key("hash");
    }),
    Template::new("HLEN", &[], Exact, |g| {
        g.command("HLEN").key("hash");
    }),
    Template::new("HSTRLEN", &[], Exact, |g| one(g, "HSTRLEN")),
    Template::new("HEXISTS", &[], Exact, |g| one(g, "HEXISTS")),
    Template::new("HDEL", &["all"], Exact, hdel),
    Template::new("HINCRBY", &[], Exact, |g| {
        one(g, "HINCRBY");
        g.int();
    }),
    Template::new("HINCRBYFLOAT", &["twice"], Exact, hincrbyfloat),
    Template::new("HRANDFIELD", &["COUNT", "WITHVALUES", "far", "bad"], Shape, hrandfield),
    Template::new("HRANDFIELD all", &["WITHVALUES"], Unordered, hrandfield_all),
    Template::new("HSCAN", &["MATCH", "COUNT", "cursor", "bad"], ScanPairs, hscan),
    Template::new("walk", &[], Exact, |g| {
        g.walk("HSCAN").key("hash");
    }),
    Template::new("OBJECT ENCODING", &[], Exact, |g| {
        g.command("OBJECT ENCODING").key("hash");
    }),
    Template::keyless("in order", &[], Exact, in_order),
    Template::keyless("arity", &[], Exact, |g| {
        let words = g.pick(&[
            "HSET hash:0",
            "HSET hash:0 f",
            "HMSET hash:0 f",
            "HSETNX hash:0 f",
            "HSETNX hash:0 f v x",
            "HGET hash:0",
            "HGET hash:0 f g",
            "HMGET hash:0",
            "HGETALL",
            "HGETALL hash:0 f",
            "HKEYS hash:0 f",
            "HVALS",
            "HLEN hash:0 f",
            "HSTRLEN hash:0",
            "HEXISTS hash:0",
            "HDEL hash:0",
            "HINCRBY hash:0 f",
            "HINCRBYFLOAT hash:0 f 1 1",
            "HRANDFIELD",
            "HSCAN hash:0",
        ]);
        g.command(words);
    }),
];

/// One of a few; now and then one that is empty, a number, long or made of any bytes.
fn field(g: &mut Gen) {
    let name = match g.rng.u32(..12) {
        0 => g.value_bytes(),
        1 => format!("f{}", g.rng.u32(..600)).into_bytes(),
        _ => g.member().into_bytes(),
    };
    g.arg(name);
}

/// A number often enough for counters to work.
fn value(g: &mut Gen) {
    match g.rng.u32(..6) {
        0 => long_double(g),
        1 => {
            g.int();
        }
        _ => {
            g.value();
        }
    }
}

fn one(g: &mut Gen, command: &str) {
    g.command(command).key("hash");
    field(g);
}

fn several(g: &mut Gen, command: &str) {
    one(g, command);
    for _ in 0..g.rng.u32(..4) {
        field(g);
    }
}

fn pairs(g: &mut Gen, command: &str) {
    one(g, command);
    value(g);
    for _ in 0..g.rng.u32(..3) {
        field(g);
        value(g);
    }
    if g.option("odd") {
        field(g);
    }
}

fn hdel(g: &mut Gen) {
    several(g, "HDEL");
    if g.option("all") {
        for number in 0..8 {
            g.arg(format!("m{number}"));
        }
        if g.one_in(2) {
            for number in 0..600 {
                g.arg(format!("f{number}"));
            }
        }
    }
}

fn hincrbyfloat(g: &mut Gen) {
    let (key, member) = (g.key_name("hash"), g.member());
    g.command("HINCRBYFLOAT").arg(key.as_str()).arg(member.as_str());
    long_double(g);
    if g.option("twice") {
        g.command("HSET").arg(key.as_str()).arg(member.as_str());
        long_double(g);
        g.command("HINCRBYFLOAT").arg(key.as_str()).arg(member.as_str());
        long_double(g);
    }
}

fn hrandfield(g: &mut Gen) {
    g.command("HRANDFIELD").key("hash");
    let [counted, far, with_values, bad] =
        ["COUNT", "far", "WITHVALUES", "bad"].map(|option| g.option(option));
    if far {
        // A long way below zero Redis would answer until its memory ends.
        let far = g.pick(&[
            "9223372036854775807",
            "4611686018427387903",
            "4611686018427387904",
            "-9223372036854775808",
            "9223372036854775808",
            "-2000",
        ]);
        g.arg(far);
    } else if counted && g.one_in(8) {
        let none = g.pick(&["", "x", "1.0", " 1", "-0"]);
        g.arg(none);
    } else if counted || with_values || bad {
        g.within(-12, 12);
    }
    if with_values {
        g.arg("WITHVALUES");
    }
    if bad {
        g.arg("WITHVALUE");
    }
}

/// With a count that no hash exceeds everything is answered.
fn hrandfield_all(g: &mut Gen) {
    g.command("HRANDFIELD").key("hash").arg("2000");
    if g.option("WITHVALUES") {
        let compare = if g.client() == crate::grammar::CLIENTS - 1 { Unordered } else { Pairs };
        g.arg("withvalues").compared(compare);
    }
}

/// With a count that takes all at once; without one, or with an unusual cursor, how much comes is left to Redis.
fn hscan(g: &mut Gen) {
    g.command("HSCAN").key("hash");
    if g.option("cursor") {
        let cursor = g.pick(&["-1", "+0", "", "7", "x", " 0", "18446744073709551616", "0x1", "-"]);
        g.arg(cursor).compared(Shape);
    } else {
        g.arg("0");
    }
    if g.word("MATCH") {
        let pattern = g.pick(&["*", "m*", "*1", "f5*", "m[^0-3]", "x", ""]);
        g.arg(pattern);
    }
    if g.option("COUNT") {
        let count = g.pick(&["1", "10", "0", "-1", "x", "9223372036854775807"]);
        g.arg("COUNT").arg(count).compared(Shape);
    } else {
        g.arg("COUNT").arg("5000");
    }
    if g.option("bad") {
        let bad = g.pick(&["TYPE", "COUNT", "MATCH", "NOVALUES"]);
        g.arg(bad);
    }
}

/// Small hashes keep the order in which fields came.
fn in_order(g: &mut Gen) {
    let key = format!("small:{}", g.rng.u32(..2));
    let command =
        g.pick(&["HSET", "HSET", "HSET", "HDEL", "HGETALL", "HKEYS", "HVALS", "HSCAN", "HRANDFIELD"]);
    g.command(command).arg(key);
    match command {
        "HSET" => {
            for _ in 0..g.rng.u32(1..4) {
                let (member, value) = (g.member(), g.member());
                g.arg(member).arg(value);
            }
        }
        "HDEL" => {
            let member = g.member();
            g.arg(member);
        }
        "HSCAN" => {
            let cursor = g.pick(&["0", "1", "3", "-1"]);
            g.arg(cursor);
        }
        "HRANDFIELD" => {
            g.arg("9");
        }
        _ => {}
    }
}
