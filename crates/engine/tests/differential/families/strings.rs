//! Strings.

use crate::frame::Compare::Exact;
use crate::grammar::{Family, Gen, Template};

pub(crate) fn strings() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Puts a string somewhere.
fn feed(g: &mut Gen) {
    g.command("SET").key("string").value();
}

const TEMPLATES: &[Template] = &[
    Template::new("SET", &["NX", "XX", "GET", "EX", "PX", "EXAT", "PXAT", "KEEPTTL"], Exact, set),
    Template::new("GET", &[], Exact, |g| {
        g.command("GET").key("string");
    }),
    Template::new("GETSET", &[], Exact, |g| {
        g.command("GETSET").key("string").value();
    }),
    Template::new("GETDEL", &[], Exact, |g| {
        g.command("GETDEL").key("string");
    }),
    Template::new("GETEX", &["EX", "PX", "EXAT", "PXAT", "PERSIST"], Exact, getex),
    Template::new("SETNX", &[], Exact, |g| {
        g.command("SETNX").key("string").value();
    }),
    Template::new("SETEX", &[], Exact, |g| {
        g.command("SETEX").key("string").int().value();
    }),
    Template::new("PSETEX", &[], Exact, |g| {
        g.command("PSETEX").key("string").within(-2, 5000).value();
    }),
    Template::new("MGET", &[], Exact, |g| {
        g.command("MGET").key("string").key("string").key("list");
    }),
    Template::new("MSET", &["odd"], Exact, |g| pairs(g, "MSET")),
    Template::new("MSETNX", &["odd"], Exact, |g| pairs(g, "MSETNX")),
    Template::new("APPEND", &[], Exact, |g| {
        g.command("APPEND").key("string").value();
    }),
    Template::new("STRLEN", &[], Exact, |g| {
        g.command("STRLEN").key("string");
    }),
    Template::new("GETRANGE", &[], Exact, |g| {
        g.command("GETRANGE").key("string").int().int();
    }),
    Template::new("SUBSTR", &[], Exact, |g| {
        g.command("SUBSTR").key("string").int().int();
    }),
    Template::new("SETRANGE", &["far"], Exact, setrange),
    Template::new("INCR", &[], Exact, |g| {
        g.command("INCR").key("string");
    }),
    Template::new("DECR", &[], Exact, |g| {
        g.command("DECR").key("string");
    }),
    Template::new("INCRBY", &[], Exact, |g| {
        g.command("INCRBY").key("string").int();
    }),
    Template::new("DECRBY", &[], Exact, |g| {
        g.command("DECRBY").key("string").int();
    }),
    Template::new("INCRBYFLOAT", &[], Exact, |g| {
        g.command("INCRBYFLOAT").key("string").float();
    }),
];

fn set(g: &mut Gen) {
    g.command("SET").key("string").value();
    for word in ["NX", "XX", "GET"] {
        g.word(word);
    }
    end(g, &["EX", "PX", "EXAT", "PXAT", "KEEPTTL"]);
}

fn getex(g: &mut Gen) {
    g.command("GETEX").key("string");
    end(g, &["EX", "PX", "EXAT", "PXAT", "PERSIST"]);
}

/// One of the ways to say when a key ends; now and then two.
fn end(g: &mut Gen, words: &[&'static str]) {
    for _ in 0..if g.one_in(10) { 2 } else { 1 } {
        let Some(word) = g.one_of(words) else { continue };
        g.arg(word);
        match word {
            "EX" => g.int(),
            "PX" => g.within(-2, 4000),
            "EXAT" => g.moment(true),
            "PXAT" => g.moment(false),
            _ => g,
        };
    }
}

fn pairs(g: &mut Gen, command: &str) {
    g.command(command).key("string").value();
    for _ in 0..g.rng.u32(..3) {
        g.key("string").value();
    }
    if g.option("odd") {
        g.key("string");
    }
}

fn setrange(g: &mut Gen) {
    g.command("SETRANGE").key("string");
    if g.option("far") {
        g.number(536_870_912)
    } else {
        g.int()
    };
    g.value();
}
