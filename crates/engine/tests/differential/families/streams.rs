//! Streams.

use crate::frame::Compare::{Exact, Success};
use crate::grammar::{CLIENTS, Family, Gen, Template};

pub(crate) fn streams() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Puts a few entries somewhere, in most cases into a stream that begins anew; now and then something that is none.
fn feed(g: &mut Gen) {
    if g.one_in(3) {
        let (command, of) = g.pick(&[("SET", "string"), ("SADD", "set")]);
        g.command(command).key(of).value();
        return;
    }
    let key = g.key_name("stream");
    if key.starts_with("stream") && !g.one_in(3) {
        g.command("DEL").arg(key.as_str());
    }
    let mut millis = g.rng.u32(..4);
    for _ in 0..g.rng.u32(1..6) {
        let number = g.rng.u32(..3);
        g.command("XADD").arg(key.as_str()).arg(format!("{millis}-{number}"));
        fields(g);
        millis += g.rng.u32(..3);
    }
}

const TRIM: &[&str] = &["MAXLEN", "MINID", "=", "~", "LIMIT", "twice"];

const TEMPLATES: &[Template] = &[
    Template::new(
        "XADD",
        &["*", "ms-*", "now", "NOMKSTREAM", "MAXLEN", "MINID", "=", "~", "LIMIT", "twice", "odd", "large"],
        Exact,
        xadd,
    ),
    Template::new("XLEN", &[], Exact, |g| {
        g.command("XLEN").key("stream");
    }),
    Template::new("XRANGE", &["COUNT", "bad"], Exact, |g| xrange(g, "XRANGE", "-", "+")),
    Template::new("XREVRANGE", &["COUNT", "bad"], Exact, |g| xrange(g, "XREVRANGE", "+", "-")),
    Template::new("XREAD", &["COUNT", "BLOCK", "$", "several", "same", "unbalanced", "bad"], Exact, xread),
    Template::keyless(
        "waiting",
        &["XADD", "trimmed", "RENAME", "COPY", "DEL", "transaction", "other type", "several", "for ever"],
        Exact,
        waiting,
    ),
    Template::keyless("XREAD in MULTI", &["BLOCK"], Exact, |g| {
        let waits = g.option("BLOCK");
        g.command("MULTI");
        g.command("XREAD");
        if waits {
            g.arg("BLOCK").within(0, 500);
        }
        g.arg("STREAMS").key("stream").arg("$");
        g.command("EXEC");
    }),
    Template::new("XTRIM", TRIM, Exact, xtrim),
    Template::keyless("many", &["MAXLEN", "MINID", "LIMIT", "XDEL"], Exact, many),
    Template::keyless("set back", &[], Exact, set_back),
    Template::new("XDEL", &["several"], Exact, |g| {
        g.command("XDEL").key("stream");
        id(g);
        if g.option("several") {
            for _ in 0..g.rng.u32(1..10) {
                id(g);
            }
        }
    }),
    Template::new("XSETID", &["ENTRIESADDED", "MAXDELETEDID", "bad"], Exact, xsetid),
    Template::new("XINFO STREAM", &["FULL", "COUNT", "bad"], Exact, |g| {
        g.command("XINFO STREAM").key("stream");
        if g.option("bad") {
            let more =
                g.pick(&["WHAT", "FULL x", "FULL COUNT", "COUNT 1 2", "FULL COUNT x", "FULL COUNT 1 2"]);
            words(g, more);
        } else if g.option("COUNT") {
            let count = g.pick(&["0", "1", "3", "99", "-1"]);
            words(g, "full count");
            g.arg(count);
        } else if g.option("FULL") {
            g.arg("FULL");
        }
    }),
    Template::new("OBJECT ENCODING", &[], Exact, |g| {
        g.command("OBJECT ENCODING").key("stream");
    }),
    Template::new("COPY", &[], Exact, |g| {
        g.command("COPY").key("stream").key("stream").arg("REPLACE");
    }),
    Template::keyless("watched", &["XADD", "XDEL", "XTRIM", "XSETID"], Exact, watched),
    Template::keyless("arity", &[], Exact, |g| {
        let words = g.pick(&[
            "XADD stream:0 * a",
            "XADD stream:0 MAXLEN 5 NOMKSTREAM NOMKSTREAM",
            "XADD stream:0 MAXLEN = 5 *",
            "XADD stream:0 MAXLEN MINID LIMIT",
            "XADD stream:0 LIMIT 5 99999 a b",
            "XADD stream:0 LIMIT 0 99999 a b",
            "XADD stream:0 LIMIT -1 99999 a b",
            "XADD string:0 0-0 a b",
            "XADD stream:0 MAXLEN -1 * a b",
            "XLEN",
            "XRANGE stream:0 -",
            "XREAD STREAMS stream:0",
            "XREAD BLOCK 0 stream:0",
            "XREAD COUNT 1 STREAMS",
            "XTRIM stream:0 MAXLEN",
            "XTRIM stream:0 MAXLEN =",
            "XTRIM stream:0 MAXLEN ~ 1 5",
            "XTRIM stream:0 LIMIT 0",
            "XTRIM stream:0 LIMIT 5",
            "XDEL stream:0",
            "XSETID stream:0",
            "XINFO",
            "XINFO STREAM",
            "XINFO WHAT stream:0",
        ]);
        g.command(words);
    }),
];

fn words(g: &mut Gen, words: &str) {
    words.split(' ').for_each(|word| {
        g.arg(word);
    });
}

/// Short ones: the server's tree shows how many bytes there are.
fn fields(g: &mut Gen) {
    for _ in 0..if g.one_in(4) { g.rng.u32(1..4) } else { 1 } {
        let (field, number) = (g.member(), g.rng.i32(-20..200));
        g.arg(field).number(number);
    }
}

/// Of an entry that may be there, now and then incomplete, far out or none at all.
fn id(g: &mut Gen) {
    let text = id_text(g);
    g.arg(text);
}

fn id_text(g: &mut Gen) -> String {
    let (millis, number) = (g.rng.u32(..14), g.rng.u32(..3));
    match g.rng.u32(..24) {
        0 => g
            .pick(&["x", "", "-", "+", "1-", "-1", "1-x", "1-1-1", "$", "18446744073709551616", "1-*"])
            .to_owned(),
        1 => g
            .pick(&["0-0", "0", " 3", "+3-1", "3--0", "3-+1", "003-01", "3- 1", "3--18446744073709551615"])
            .to_owned(),
        2 => g.pick(&["18446744073709551615", "9223372036854775808-1", "99-18446744073709551615"]).to_owned(),
        3 => "9".repeat(g.pick(&[19, 20, 127, 128])),
        4..=7 => millis.to_string(),
        _ => format!("{millis}-{number}"),
    }
}

/// What is added, at the end of a stream or where it must not be.
fn xadd(g: &mut Gen) {
    let key = g.key_name("stream");
    g.command("XADD").arg(key.as_str());
    g.word("NOMKSTREAM");
    trim(g);
    match g.one_of(&["*", "ms-*", "now"]) {
        Some("*") => g.arg("*"),
        Some("ms-*") => {
            let millis = g.rng.u32(..14);
            g.arg(format!("{millis}-*"))
        }
        Some(_) => g.moment(false),
        None => {
            let text = id_text(g);
            g.arg(text)
        }
    };
    fields(g);
    let large = g.option("large");
    if large {
        g.value().value();
    }
    if g.option("odd") {
        g.arg("odd");
    }
    g.replay_now_and_then();
    if large {
        g.command("XRANGE").arg(key.as_str()).arg("-").arg("+");
        g.command("DEL").arg(key.as_str());
    } else if g.one_in(3) {
        // Otherwise nothing that is less than now could be added any more.
        g.command("DEL").arg(key.as_str());
    }
}

/// MAXLEN or MINID, exact or about right.
fn trim(g: &mut Gen) {
    let Some(word) = g.one_of(&["MAXLEN", "MINID"]) else { return };
    g.arg(word);
    if let Some(sign) = g.one_of(&["=", "~"]) {
        g.arg(sign);
    }
    if word == "MINID" {
        id(g)
    } else {
        count(g)
    }
    if g.word("LIMIT") {
        count(g);
    }
    if g.option("twice") {
        let again = g.pick(&["MAXLEN 5", "MINID 3", "MAXLEN ~ 5"]);
        words(g, again);
    }
}

fn count(g: &mut Gen) {
    if g.one_in(6) {
        g.int()
    } else {
        g.within(0, 6)
    };
}

fn xtrim(g: &mut Gen) {
    g.command("XTRIM").key("stream");
    trim(g);
}

/// A stream of several nodes, trimmed to about right. The size of a node depends on what its entries hold.
fn many(g: &mut Gen) {
    let key = "stream:2";
    let word = g.one_of(&["MAXLEN", "MINID"]).unwrap_or("MAXLEN");
    let (limited, some_go) = (g.option("LIMIT"), g.option("XDEL"));
    g.command("DEL").arg(key).compared(Success);
    let ids = long_stream(g, key);
    let count = ids.len() as i64;
    g.command("XLEN").arg(key).compared(Exact);
    if some_go {
        g.command("XDEL").arg(key);
        let (from, most) = (g.rng.usize(..ids.len()), g.rng.usize(1..=ids.len()));
        ids.iter().skip(from).take(most).for_each(|id| {
            g.arg(id.as_str());
        });
        g.command("XTRIM").arg(key).arg("MAXLEN").within(0, count);
    }
    for _ in 0..g.rng.u32(1..4) {
        let id = ids[g.rng.usize(..ids.len())].as_str();
        g.command("XTRIM").arg(key).arg(word).arg("~");
        if word == "MINID" {
            g.arg(id)
        } else {
            g.within(0, count)
        };
        if limited {
            g.arg("LIMIT").within(0, count);
        }
        g.command("XLEN").arg(key);
    }
    g.command("XADD").arg(key).arg("MAXLEN").arg("~").within(0, count).arg("*").arg("a").arg("b");
    g.command("XRANGE").arg(key).arg("-").arg("+");
    g.replay_now_and_then();
    g.command("DEL").arg(key);
}

/// Its ids. A node is full when it has many entries or large ones.
fn long_stream(g: &mut Gen, key: &str) -> Vec<String> {
    let large = !g.one_in(20);
    let same = g.one_in(3).then(|| at_an_edge(g));
    let count = g.rng.u32(match same {
        Some(_) => 15..45,
        None if large => 5..20,
        None => 90..230,
    });
    let step = g.pick(&[1, 1, 1, 50, 5000, 3_000_000]);
    let mut millis: u64 = 0;
    (0..count)
        .map(|_| {
            millis += g.rng.u64(1..=step);
            let id = format!("{millis}-{}", g.rng.u64(..=2 * step));
            g.command("XADD").arg(key).arg(id.as_str());
            match &same {
                Some(value) => (0..60).for_each(|_| {
                    g.arg("f").arg(value.as_str());
                }),
                None if large => {
                    let (field, value) = (g.rng.usize(..100), g.rng.usize(..1500));
                    g.arg(vec![b'f'; field]).arg(vec![b'v'; value]);
                    fields(g);
                }
                None => fields(g),
            }
            id
        })
        .collect()
}

/// A value near one from which on the server needs more bytes for it.
fn at_an_edge(g: &mut Gen) -> String {
    if g.one_in(3) {
        let length = g.pick(&[63, 125, 126]) + g.rng.usize(..3);
        return "v".repeat(length);
    }
    let edge: i64 = g.pick(&[0, 127, 4095, -4096, 32_767, -32_768, 8_388_607, -8_388_608, 2_147_483_647]);
    (edge + g.rng.i64(-1..=1)).to_string()
}

/// New entries after an id that is less than one that was removed.
fn set_back(g: &mut Gen) {
    let key = "stream:2";
    g.command("DEL").arg(key).compared(Success);
    for millis in [2, 4, 6] {
        g.command("XADD").arg(key).arg(format!("{millis}-0")).arg("a").arg("b").compared(Exact);
    }
    g.command("XDEL").arg(key).arg("6-0");
    for _ in 0..g.rng.u32(1..3) {
        g.command("XSETID").arg(key).within(3, 6);
        for millis in [5, 7] {
            g.command("XADD").arg(key).arg(format!("{millis}-*")).arg("a").arg("b");
        }
        let id = format!("{}-1", g.rng.u32(2..9));
        match g.rng.u32(..4) {
            0 => g.command("XDEL").arg(key).arg(id),
            _ => g.command("XTRIM").arg(key).arg("MINID").arg(id),
        };
        g.command("XRANGE").arg(key).within(0, 6).within(3, 9);
    }
    g.command("XINFO STREAM").arg(key);
}

fn xrange(g: &mut Gen, command: &str, first: &str, last: &str) {
    g.command(command).key("stream");
    for end in [first, last] {
        match g.rng.u32(..6) {
            0 | 1 => {
                g.arg(end);
            }
            2 => {
                let text = id_text(g);
                g.arg(format!("({text}"));
            }
            3 => {
                let other =
                    g.pick(&["-", "+", "(", "(-", "(0-0", "(18446744073709551615-18446744073709551615"]);
                g.arg(other);
            }
            _ => id(g),
        }
    }
    if g.word("COUNT") {
        g.int();
    }
    if g.option("bad") {
        let bad = g.pick(&["COUNT", "WHAT", "COUNT 2", "COUNT 0", "WHAT 1"]);
        words(g, bad);
    }
}

fn xread(g: &mut Gen) {
    g.command("XREAD");
    if g.word("COUNT") {
        g.int();
    }
    if g.word("BLOCK") {
        match g.rng.u32(..10) {
            0 => {
                let bad = g.pick(&["-1", "x", "1.5", "9223372036854775808"]);
                g.arg(bad)
            }
            _ => g.within(1, 1200),
        };
    }
    if g.option("bad") {
        let bad = g.pick(&["GROUP a b", "NOACK", "WHAT", "COUNT 3"]);
        words(g, bad);
    }
    let key = g.key_name("stream");
    g.arg("STREAMS").arg(key.as_str());
    let mut count = 1;
    if g.option("several") {
        count += g.rng.u32(1..3);
        for _ in 1..count {
            g.key("stream");
        }
    }
    if g.option("same") {
        count += 1;
        g.arg(key);
    }
    let dollar = g.option("$");
    for _ in 0..count {
        if dollar && g.one_in(2) {
            g.arg("$");
        } else if g.one_in(20) {
            g.arg(">");
        } else {
            id(g);
        }
    }
    if g.option("unbalanced") {
        id(g);
    }
}

/// Some clients wait, then something happens to what they wait for.
fn waiting(g: &mut Gen) {
    let key = g.key_name("stream");
    let own = g.client();
    let several = g.option("several");
    let for_ever = g.option("for ever");
    let what = g.one_of(&["XADD", "trimmed", "RENAME", "COPY", "DEL", "transaction", "other type"]);
    for next in 0..g.rng.usize(1..CLIENTS) {
        g.by((own + next) % CLIENTS);
        g.command("XREAD");
        if g.one_in(3) {
            g.arg("COUNT").within(0, 3);
        }
        g.arg("BLOCK");
        if for_ever {
            g.arg("0")
        } else {
            g.within(1, 1500)
        };
        g.arg("STREAMS").arg(key.as_str());
        if several {
            g.arg("stream:0").key("none");
        }
        for _ in 0..if several { 3 } else { 1 } {
            if g.one_in(3) {
                id(g)
            } else {
                g.arg("$");
            }
        }
    }
    g.by((own + CLIENTS - 1) % CLIENTS);
    happens(g, &key, what);
    if for_ever {
        // Nobody is left behind.
        g.command("DEL").arg(key.as_str());
        g.command("XADD")
            .arg(key.as_str())
            .arg("18446744073709551615-18446744073709551615")
            .arg("a")
            .arg("b");
        g.command("DEL").arg(key.as_str());
    }
}

fn happens(g: &mut Gen, key: &str, what: Option<&str>) {
    match what {
        Some("XADD") => {
            g.command("XADD").arg(key).arg("*").arg("a").arg("b");
            g.command("XADD").arg(key).arg("*").arg("c").arg("d");
        }
        Some("trimmed") => {
            g.command("XADD").arg(key).arg("MAXLEN").arg("0").arg("*").arg("a").arg("b");
        }
        Some("RENAME") => {
            g.command("XADD").arg("stream:1").arg("*").arg("a").arg("b");
            g.command("RENAME").arg("stream:1").arg(key);
        }
        Some("COPY") => {
            g.command("COPY").key("stream").arg(key).arg("REPLACE");
        }
        Some("DEL") => {
            g.command("DEL").arg(key);
            g.command("XADD").arg(key);
            id(g);
            fields(g);
        }
        Some("transaction") => {
            g.command("MULTI");
            g.command("XADD").arg(key).arg("*").arg("a").arg("b");
            g.command("XADD").arg("stream:0").arg("*").arg("c").arg("d");
            if g.one_in(2) {
                g.command("DEL").arg(key);
            }
            g.command("EXEC");
        }
        Some(_) => {
            g.command("DEL").arg(key);
            g.command("SET").arg(key).arg("a string");
            g.command("DEL").arg(key);
        }
        None => {}
    }
}

fn xsetid(g: &mut Gen) {
    g.command("XSETID").key("stream");
    id(g);
    if g.word("ENTRIESADDED") {
        g.int();
    }
    if g.word("MAXDELETEDID") {
        id(g);
    }
    if g.option("bad") {
        let bad = g.pick(&["WHAT", "ENTRIESADDED", "MAXDELETEDID", "ENTRIESADDED 50", "WHAT 1"]);
        words(g, bad);
    }
}

/// Whether a change breaks a transaction of somebody else.
fn watched(g: &mut Gen) {
    let own = g.client();
    let key = g.key_name("stream");
    let change = g.one_of(&["XADD", "XDEL", "XTRIM", "XSETID"]);
    g.command("WATCH").arg(key.as_str());
    g.by((own + 1) % CLIENTS);
    match change {
        Some("XADD") => {
            g.command("XADD").arg(key.as_str());
            id(g);
            fields(g);
        }
        Some("XDEL") => {
            g.command("XDEL").arg(key.as_str());
            id(g);
        }
        Some("XTRIM") => {
            g.command("XTRIM").arg(key.as_str()).arg("MAXLEN").within(0, 4);
        }
        Some(_) => {
            g.command("XSETID").arg(key.as_str());
            id(g);
        }
        None => {
            g.command("XLEN").arg(key.as_str());
        }
    }
    g.by(own);
    g.command("MULTI");
    g.command("XLEN").arg(key);
    g.command("EXEC");
}
