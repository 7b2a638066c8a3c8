//! Keys of any type.

use crate::frame::Compare::{Exact, Scan, Shape, Unordered};
use crate::grammar::{Family, Gen, TYPES, Template};

pub(crate) fn keys() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Gives some key an end.
fn feed(g: &mut Gen) {
    let of = g.pick(&TYPES);
    g.command("PEXPIRE").key(of).within(1, 8000);
}

const CONDITIONS: &[&str] = &["NX", "XX", "GT", "LT", "bad"];

const TEMPLATES: &[Template] = &[
    Template::new("DEL", &[], Exact, |g| several(g, "DEL")),
    Template::new("UNLINK", &[], Exact, |g| several(g, "UNLINK")),
    Template::new("EXISTS", &[], Exact, |g| several(g, "EXISTS")),
    Template::new("TOUCH", &[], Exact, |g| several(g, "TOUCH")),
    Template::new("TYPE", &[], Exact, |g| any(g, "TYPE")),
    Template::new("EXPIRE", CONDITIONS, Exact, |g| {
        any(g, "EXPIRE");
        g.int();
        conditions(g);
    }),
    Template::new("PEXPIRE", CONDITIONS, Exact, |g| {
        any(g, "PEXPIRE");
        if g.one_in(8) {
            g.int()
        } else {
            g.within(-5, 9000)
        };
        conditions(g);
    }),
    Template::new("EXPIREAT", CONDITIONS, Exact, |g| {
        any(g, "EXPIREAT");
        if g.one_in(8) {
            g.int()
        } else {
            g.moment(true)
        };
        conditions(g);
    }),
    Template::new("PEXPIREAT", CONDITIONS, Exact, |g| {
        any(g, "PEXPIREAT");
        if g.one_in(8) {
            g.int()
        } else {
            g.moment(false)
        };
        conditions(g);
    }),
    Template::new("TTL", &[], Exact, |g| any(g, "TTL")),
    Template::new("PTTL", &[], Exact, |g| any(g, "PTTL")),
    Template::new("EXPIRETIME", &[], Exact, |g| any(g, "EXPIRETIME")),
    Template::new("PEXPIRETIME", &[], Exact, |g| any(g, "PEXPIRETIME")),
    Template::new("PERSIST", &[], Exact, |g| any(g, "PERSIST")),
    Template::keyless("KEYS", &[], Unordered, |g| {
        let pattern = g.pick(&["*", "string:*", "*:1", "[ls]*", "?ash:0", "\\*", "*[^0]", "none"]);
        g.command("KEYS").arg(pattern);
    }),
    Template::keyless("SCAN", &["MATCH", "TYPE", "bad"], Scan, scan),
    Template::keyless("RANDOMKEY", &[], Shape, |g| {
        g.command("RANDOMKEY");
    }),
    Template::new("RENAME", &[], Exact, |g| {
        any(g, "RENAME");
        another(g);
    }),
    Template::new("RENAMENX", &[], Exact, |g| {
        any(g, "RENAMENX");
        another(g);
    }),
    Template::new("COPY", &["DB", "REPLACE", "bad"], Exact, copy),
    Template::new("MOVE", &[], Exact, |g| {
        any(g, "MOVE");
        let db = g.pick(&["0", "1", "1", "1", "16", "-1", "x"]);
        g.arg(db);
    }),
    Template::keyless("SELECT", &[], Exact, |g| {
        let db = g.pick(&["0", "1", "16", "-1", "x"]);
        g.command("SELECT").arg(db);
        g.command("SELECT 0");
    }),
    Template::keyless("DBSIZE", &[], Exact, |g| {
        g.command("DBSIZE");
    }),
    Template::new("OBJECT ENCODING", &[], Exact, |g| any(g, "OBJECT ENCODING")),
    Template::new("OBJECT REFCOUNT", &[], Exact, |g| any(g, "OBJECT REFCOUNT")),
    Template::new("OBJECT FREQ", &[], Exact, |g| any(g, "OBJECT FREQ")),
    Template::keyless("unknown", &[], Exact, |g| {
        let words = g.pick(&[
            "NOSUCH",
            "GE",
            "SETT a b c",
            "OBJECT",
            "OBJECT nosuch x",
            "OBJECT ENCODING",
            "GET",
            "TYPE a b",
        ]);
        g.command(words);
    }),
];

fn any(g: &mut Gen, command: &str) {
    let of = g.pick(&TYPES);
    g.command(command).key(of);
}

fn another(g: &mut Gen) {
    let of = g.pick(&TYPES);
    g.key(of);
}

fn several(g: &mut Gen, command: &str) {
    any(g, command);
    for _ in 0..g.rng.u32(..3) {
        another(g);
    }
}

fn conditions(g: &mut Gen) {
    for word in ["NX", "XX", "GT", "LT"] {
        g.word(word);
    }
    if g.option("bad") {
        g.arg("YY");
    }
}

fn scan(g: &mut Gen) {
    g.command("SCAN");
    if g.option("bad") {
        let bad = g.pick(&["x", "-1", "1 2"]);
        g.arg(bad);
    } else {
        g.arg("0");
    }
    g.arg("COUNT").arg("1000");
    if g.word("MATCH") {
        let pattern = g.pick(&["*", "s*", "*:1", "x"]);
        g.arg(pattern);
    }
    if g.word("TYPE") {
        let of = g.pick(&TYPES);
        g.arg(of);
    }
}

fn copy(g: &mut Gen) {
    any(g, "COPY");
    another(g);
    if g.word("DB") {
        let db = g.pick(&["0", "1", "1", "99", "x"]);
        g.arg(db);
    }
    g.word("REPLACE");
    if g.option("bad") {
        g.arg("WHAT");
    }
}
