//! Keys of any type.

use crate::frame::Compare::{Exact, Scan, Shape, Unordered};
use crate::grammar::{Family, Gen, TYPES, Template};

pub(crate) fn keys() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Gives some key an end, or makes one.
fn feed(g: &mut Gen) {
    match g.rng.u32(..4) {
        0 => g.command("SET").key("string").value(),
        1 => g.command("HSET").key("hash").value().value(),
        _ => {
            let of = g.pick(&TYPES);
            g.command("PEXPIRE").key(of).within(1, 8000)
        }
    };
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
    Template::keyless("last millisecond", &["quietly"], Exact, last_millisecond),
    Template::keyless("KEYS", &[], Unordered, |g| {
        let pattern = pattern(g);
        g.command("KEYS").arg(pattern);
    }),
    Template::keyless("SCAN", &["MATCH", "TYPE", "COUNT", "cursor", "bad"], Scan, scan),
    Template::keyless("walk", &[], Exact, |g| {
        g.walk("SCAN");
    }),
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
        database(g);
    }),
    // What the log says of it has to say where.
    Template::keyless("elsewhere", &[], Exact, |g| {
        g.command("SELECT 1").command("SET").key("string").value().command("SELECT 0");
    }),
    Template::keyless("SELECT", &[], Exact, |g| {
        g.command("SELECT");
        database(g);
        g.command("SELECT 0");
    }),
    Template::keyless("DBSIZE", &[], Exact, |g| {
        g.command("DBSIZE");
    }),
    Template::new("OBJECT ENCODING", &[], Exact, |g| any(g, "OBJECT ENCODING")),
    Template::new("OBJECT REFCOUNT", &[], Exact, |g| any(g, "OBJECT REFCOUNT")),
    Template::new("OBJECT FREQ", &[], Exact, |g| any(g, "OBJECT FREQ")),
    Template::new("OBJECT IDLETIME", &[], Shape, |g| any(g, "OBJECT IDLETIME")),
    Template::keyless("idle", &[], Exact, idle),
    Template::keyless("OBJECT HELP", &[], Exact, |g| {
        let words = g.pick(&["OBJECT HELP", "object help", "OBJECT HELP x"]);
        g.command(words);
    }),
    Template::keyless("unknown", &[], Exact, |g| {
        let words = g.pick(&[
            "DEL",
            "UNLINK",
            "EXISTS",
            "TOUCH",
            "EXPIRE a",
            "PEXPIREAT a",
            "TTL a b",
            "PERSIST",
            "KEYS",
            "SCAN",
            "RANDOMKEY a",
            "RENAME a",
            "RENAMENX a b c",
            "COPY a",
            "MOVE a",
            "OBJECT FREQ a b",
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

/// A key is looked at when its end comes, and a millisecond later. Chance alone seldom meets that moment.
fn last_millisecond(g: &mut Gen) {
    let of = g.pick(&TYPES);
    let (key, millis) = (g.key_name(of), g.rng.u32(1..50).to_string());
    let passes = if g.option("quietly") { "!quietly" } else { "!pass" };
    g.command("PEXPIRE").arg(key.as_str()).arg(millis.as_str());
    for passed in [millis.as_str(), "1"] {
        let question = g.pick(&["EXISTS", "TYPE", "PTTL", "TOUCH"]);
        g.command(passes).arg(passed);
        g.command(question).arg(key.as_str());
    }
    // From here on nobody waits for a look at what is over.
    g.command("!pass").arg("0");
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
    if g.option("cursor") {
        // Where a walk goes on from there is Redis's own affair.
        let cursor = g.pick(&["x", "-1", "1 2", "", "+0", " 0", "18446744073709551616", "-", "--1", "0x0"]);
        g.arg(cursor).compared(Shape);
    } else {
        g.arg("0");
    }
    if g.option("COUNT") {
        let count = g.pick(&["1", "0", "-1", "x", "9223372036854775807"]);
        g.arg("COUNT").arg(count).compared(Shape);
    } else {
        g.arg("count").arg("1000");
    }
    if g.word("MATCH") {
        let pattern = pattern(g);
        g.arg(pattern);
    }
    if g.word("TYPE") {
        let of = g.pick(&TYPES);
        g.arg(of);
    }
    if g.option("bad") {
        let bad = g.pick(&["TYPE", "COUNT", "MATCH", "what"]);
        g.arg(bad);
    }
}

/// The name of a key with signs that stand for others in place of some of its letters, or any mix of signs.
fn pattern(g: &mut Gen) -> Vec<u8> {
    let of = g.pick(&TYPES);
    if g.one_in(3) {
        let signs = b"**??[[]]^^--\\\\sth:01\xff";
        return (0..g.rng.usize(..9)).map(|_| g.pick(signs)).collect();
    }
    let mut pattern = Vec::new();
    for letter in format!("{of}:{}", g.rng.u32(..3)).bytes() {
        match g.rng.u32(..16) {
            0 => pattern.push(b'?'),
            1 => pattern.push(b'*'),
            2 => pattern.extend_from_slice(b"**"),
            3 => pattern.extend([b'[', letter, b'x', b']']),
            4 => pattern.extend([b'[', b'^', letter, b']']),
            5 => pattern.extend([b'[', g.pick(b"a0z\xf0"), b'-', letter, b']']),
            6 => pattern.extend([b'[', b'\\', letter, b']']),
            7 => pattern.extend([b'\\', letter]),
            8 => pattern.extend([b'[', b']', letter, b']']),
            9 => pattern.extend([b'[', b'^', b']']),
            _ => pattern.push(letter),
        }
    }
    if g.one_in(4) {
        pattern.truncate(g.rng.usize(..=pattern.len()));
    }
    if g.one_in(2) {
        pattern.push(b'*');
    }
    pattern
}

fn database(g: &mut Gen) {
    let db = g.pick(&["0", "1", "1", "1", "1", "16", "-1", "x", "", "2147483648", "-2147483649"]);
    g.arg(db);
}

/// What counts as looking at a key. Under a name of its own: Redis keeps small numbers once for all keys, and when they
/// were looked at as well.
fn idle(g: &mut Gen) {
    let words = g.pick(&[
        "SET idle text",
        "OBJECT IDLETIME idle",
        "OBJECT IDLETIME idle",
        "OBJECT IDLETIME idle",
        "OBJECT ENCODING idle",
        "OBJECT IDLETIME idle:copy",
        "GET idle",
        "STRLEN idle",
        "EXISTS idle",
        "TOUCH idle",
        "TYPE idle",
        "PTTL idle",
        "EXPIRETIME idle",
        "PERSIST idle",
        "APPEND idle x",
        "COPY idle idle:copy REPLACE",
        "RENAME idle:copy idle",
        "SETNX idle other",
        "HGET idle x",
    ]);
    g.command(words);
}

fn copy(g: &mut Gen) {
    any(g, "COPY");
    let of = g.pick(&TYPES);
    let to = g.key_name(of);
    g.arg(to.as_str());
    if g.word("DB") {
        database(g);
    }
    g.word("REPLACE");
    if g.option("bad") {
        g.arg("WHAT");
    }
    g.command("OBJECT REFCOUNT").arg(to);
}
