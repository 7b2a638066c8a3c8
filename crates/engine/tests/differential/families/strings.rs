//! Strings.

use crate::frame::Compare::Exact;
use crate::grammar::{Family, Gen, Template};

pub(crate) fn strings() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Puts a string somewhere; now and then something else, which these commands refuse.
fn feed(g: &mut Gen) {
    if g.one_in(8) {
        g.command("HSET").key("hash").value().value();
        return;
    }
    g.command("SET").key("string");
    if g.one_in(4) {
        long_double(g);
    } else {
        g.value();
    }
}

const TEMPLATES: &[Template] = &[
    Template::new("SET", &["NX", "XX", "GET", "EX", "PX", "EXAT", "PXAT", "KEEPTTL", "bad"], Exact, set),
    Template::new("GET", &[], Exact, |g| {
        g.command("GET").key("string");
    }),
    Template::new("GETSET", &[], Exact, |g| {
        g.command("GETSET").key("string").value();
    }),
    Template::new("GETDEL", &[], Exact, |g| {
        g.command("GETDEL").key("string");
    }),
    Template::new("GETEX", &["EX", "PX", "EXAT", "PXAT", "PERSIST", "bad"], Exact, getex),
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
    Template::new("INCRBYFLOAT", &["twice"], Exact, incrbyfloat),
    Template::keyless("arity", &[], Exact, |g| {
        let words = g.pick(&[
            "SET string:0",
            "GET",
            "GET string:0 string:1",
            "GETSET string:0",
            "GETDEL string:0 x",
            "GETEX",
            "SETNX string:0",
            "SETEX string:0 1",
            "PSETEX string:0 1 x y",
            "MGET",
            "MSET string:0",
            "MSETNX",
            "APPEND string:0",
            "STRLEN",
            "GETRANGE string:0 1",
            "SUBSTR string:0 0",
            "SETRANGE string:0 1",
            "INCR string:0 1",
            "DECR",
            "INCRBY string:0",
            "DECRBY string:0 1 2",
            "INCRBYFLOAT string:0",
        ]);
        g.command(words);
    }),
];

/// A number as INCRBYFLOAT takes it: of any length, near the ends of the range, between two numbers, or none.
pub(super) fn long_double(g: &mut Gen) {
    let sign = g.pick(&["", "", "", "-", "+"]);
    let text = match g.rng.u32(..14) {
        0 => {
            g.pick(&["", "abc", "nan", "1e", ".", "0x", "0x1p", "1e5.5", " 1", "1 ", "0x1p-16446"]).to_owned()
        }
        1 => g.pick(&["inf", "Infinity", "0", "5e-324", "1e400"]).to_owned(),
        2 => between_two(g),
        // Sums of one of these and one of the next are half way between two numbers, or close to it.
        3 => (g.rng.u64(..) | 1 << 63).to_string(),
        4 => g.pick(&["0x.8", "0x.8000000000000001", "0x.7fffffffffffffff", HALF_AND_A_LITTLE]).to_owned(),
        5 => format!("{}e{}", digits(g, 3), g.rng.i32(4900..4940)),
        6 => format!("{}e-{}", digits(g, 3), g.rng.i32(4900..4960)),
        7 => format!("0x{:x}.{:x}p{}", g.rng.u64(..), g.rng.u64(..), g.rng.i32(-130..130)),
        8 => format!("0x1.{:x}P{}", g.rng.u128(..), g.pick(&[-16446, -16445, -16400, 0, 64, 16383, 16384])),
        9 => format!("{}.{}", digits(g, 300), digits(g, 300)),
        10 => format!("{}.{}e{}", digits(g, 4), digits(g, 20), g.rng.i32(-30..30)),
        11 => g.rng.i64(..).to_string(),
        12 if g.one_in(10) => format!("{}.5", "0".repeat(g.pick(&[5117, 5118]))),
        _ => format!("{}.{}", digits(g, 2), digits(g, 3)),
    };
    g.arg(format!("{sign}{text}"));
}

/// More digits than a number keeps.
const HALF_AND_A_LITTLE: &str = "0x.800000000000000000000000000001";

fn between_two(g: &mut Gen) -> String {
    let whole = u128::from(g.rng.u64(..)) | 1 << 63;
    let places = g.rng.u32(1..4);
    let tail = g.pick(&["", ".5", ".25", ".000000000000000000000000001", "e1", "e-1", "e-17"]);
    format!("{}{tail}", (whole << places) + (1 << (places - 1)))
}

fn digits(g: &mut Gen, most: usize) -> String {
    (0..g.rng.usize(1..=most)).map(|_| char::from(b'0' + g.rng.u8(..10))).collect()
}

fn incrbyfloat(g: &mut Gen) {
    let key = g.key_name("string");
    g.command("INCRBYFLOAT").arg(key.as_str());
    long_double(g);
    if g.option("twice") {
        g.command("SET").arg(key.as_str());
        long_double(g);
        g.command("INCRBYFLOAT").arg(key.as_str());
        long_double(g);
    }
}

fn set(g: &mut Gen) {
    g.command("SET").key("string").value();
    for word in ["NX", "XX", "GET"] {
        g.word(word);
    }
    end(g, &["EX", "PX", "EXAT", "PXAT", "KEEPTTL"]);
    bad(g, &["PERSIST", "what", "EX", "px", "NXX", ""]);
}

fn getex(g: &mut Gen) {
    g.command("GETEX").key("string");
    end(g, &["EX", "PX", "EXAT", "PXAT", "PERSIST"]);
    bad(g, &["KEEPTTL", "NX", "GET", "exat", "PX", ""]);
}

/// A word that is no option here, or one that lacks what follows it.
fn bad(g: &mut Gen, words: &[&'static str]) {
    if g.option("bad") {
        let word = g.pick(words);
        g.arg(word);
    }
}

/// A moment at the end of what can be reckoned with.
fn far(g: &mut Gen) -> &mut Gen {
    let far = g.pick(&[
        "9223372036854775",
        "9223372036854776",
        "9223370143398775807",
        "9223372036854775807",
        "-9223372036854775808",
        "0",
        "x",
    ]);
    g.arg(far)
}

/// One of the ways to say when a key ends; now and then two.
fn end(g: &mut Gen, words: &[&'static str]) {
    for _ in 0..if g.one_in(10) { 2 } else { 1 } {
        let Some(word) = g.one_of(words) else { continue };
        g.arg(word);
        match word {
            _ if g.one_in(20) => far(g),
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
