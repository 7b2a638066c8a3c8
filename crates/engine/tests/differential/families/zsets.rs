//! Sorted sets.

use crate::frame::Compare::{Exact, ScanPairs, Shape};
use crate::grammar::{Family, Gen, Template};

pub(crate) fn zsets() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Puts members into a sorted set: a few, or more than Redis keeps in one piece.
fn feed(g: &mut Gen) {
    g.command("ZADD").key("zset");
    let count = if g.one_in(8) { g.rng.u32(126..132) } else { g.rng.u32(1..6) };
    let alike = g.one_in(3);
    for number in 0..count {
        match () {
            () if alike => g.arg("0"),
            () if g.one_in(4) => far(g),
            () => g.within(-9, 9),
        };
        match count {
            0..8 => member(g),
            _ => g.arg(format!("b{number}")),
        };
    }
}

const TEMPLATES: &[Template] = &[
    Template::new("ZADD", &["NX", "XX", "GT", "LT", "CH", "INCR", "odd"], Exact, zadd),
    Template::new("ZINCRBY", &[], Exact, |g| {
        score(g.command("ZINCRBY").key("zset"));
        member(g);
    }),
    Template::new("ZREM", &[], Exact, |g| with_members(g, "ZREM")),
    Template::new("ZMSCORE", &[], Exact, |g| with_members(g, "ZMSCORE")),
    Template::new("ZCARD", &[], Exact, |g| {
        g.command("ZCARD").key("zset");
    }),
    Template::new("ZSCORE", &[], Exact, |g| {
        member(g.command("ZSCORE").key("zset"));
    }),
    Template::new("ZRANK", &[], Exact, |g| {
        member(g.command("ZRANK").key("zset"));
    }),
    Template::new("ZREVRANK", &[], Exact, |g| {
        member(g.command("ZREVRANK").key("zset"));
    }),
    Template::new("ZRANDMEMBER", &["count", "all", "WITHSCORES", "bad"], Exact, zrandmember),
    Template::new("ZSCAN", &["MATCH", "bad"], ScanPairs, zscan),
    Template::new("walk", &[], Exact, |g| {
        g.walk("ZSCAN").key("zset");
    }),
    Template::new("ZCOUNT", &[], Exact, |g| {
        g.command("ZCOUNT").key("zset");
        bounds(g, false);
    }),
    Template::new("ZRANGE", &["BYSCORE", "BYLEX", "REV", "LIMIT", "WITHSCORES", "bad"], Exact, |g| {
        range(g, "ZRANGE", Bounds::Open);
    }),
    Template::new("ZREVRANGE", &["LIMIT", "WITHSCORES", "bad"], Exact, |g| {
        range(g, "ZREVRANGE", Bounds::Ranks);
    }),
    Template::new("ZRANGEBYSCORE", &["LIMIT", "WITHSCORES", "bad"], Exact, |g| {
        range(g, "ZRANGEBYSCORE", Bounds::Scores);
    }),
    Template::new("ZREVRANGEBYSCORE", &["LIMIT", "WITHSCORES", "bad"], Exact, |g| {
        range(g, "ZREVRANGEBYSCORE", Bounds::Scores);
    }),
    Template::new("ZRANGEBYLEX", &["LIMIT", "WITHSCORES", "bad"], Exact, |g| {
        range(g, "ZRANGEBYLEX", Bounds::Names);
    }),
    Template::new("ZREVRANGEBYLEX", &["LIMIT", "WITHSCORES", "bad"], Exact, |g| {
        range(g, "ZREVRANGEBYLEX", Bounds::Names);
    }),
    Template::new("ZLEXCOUNT", &[], Exact, |g| range(g, "ZLEXCOUNT", Bounds::Names)),
    Template::new("ZRANGESTORE", &["BYSCORE", "BYLEX", "REV", "LIMIT", "bad"], Exact, |g| {
        range(g, "ZRANGESTORE", Bounds::Open);
    }),
    Template::new("ZREMRANGEBYRANK", &[], Exact, |g| {
        g.command("ZREMRANGEBYRANK").key("zset").int().int();
    }),
    Template::new("ZREMRANGEBYSCORE", &[], Exact, |g| {
        g.command("ZREMRANGEBYSCORE").key("zset");
        bounds(g, false);
    }),
    Template::new("ZREMRANGEBYLEX", &[], Exact, |g| range(g, "ZREMRANGEBYLEX", Bounds::Names)),
    Template::new("ZPOPMIN", &["count", "bad"], Exact, |g| zpop(g, "ZPOPMIN")),
    Template::new("ZPOPMAX", &["count", "bad"], Exact, |g| zpop(g, "ZPOPMAX")),
    Template::new("ZMPOP", &["COUNT", "bad"], Exact, |g| {
        g.command("ZMPOP");
        zmpop(g);
    }),
    Template::new("BZPOPMIN", &["never"], Exact, |g| bzpop(g, "BZPOPMIN")),
    Template::new("BZPOPMAX", &["never"], Exact, |g| bzpop(g, "BZPOPMAX")),
    Template::new("BZMPOP", &["COUNT", "bad"], Exact, bzmpop),
    Template::new("ZUNION", &["WEIGHTS", "AGGREGATE", "WITHSCORES", "bad"], Exact, |g| {
        g.command("ZUNION");
        combination(g);
    }),
    Template::new("ZINTER", &["WEIGHTS", "AGGREGATE", "WITHSCORES", "bad"], Exact, |g| {
        g.command("ZINTER");
        combination(g);
    }),
    Template::new("ZDIFF", &["WEIGHTS", "AGGREGATE", "WITHSCORES", "bad"], Exact, |g| {
        g.command("ZDIFF");
        combination(g);
    }),
    Template::new("ZUNIONSTORE", &["WEIGHTS", "AGGREGATE", "WITHSCORES", "bad"], Exact, |g| {
        g.command("ZUNIONSTORE").key("zset");
        combination(g);
    }),
    Template::new("ZINTERSTORE", &["WEIGHTS", "AGGREGATE", "WITHSCORES", "bad"], Exact, |g| {
        g.command("ZINTERSTORE").key("zset");
        combination(g);
    }),
    Template::new("ZDIFFSTORE", &["WEIGHTS", "AGGREGATE", "WITHSCORES", "bad"], Exact, |g| {
        g.command("ZDIFFSTORE").key("zset");
        combination(g);
    }),
    Template::new("ZINTERCARD", &["LIMIT", "bad"], Exact, zintercard),
    Template::keyless("combined", &["ZUNION", "ZINTER"], Exact, combined),
    Template::new("watched", &[], Exact, watched),
    Template::new("ending", &[], Exact, ending),
    Template::keyless("arity", &[], Exact, |g| {
        let words = one(
            g,
            "ZADD zset:0 1|ZINCRBY zset:0 1|ZINCRBY zset:0 NX m0|ZINCRBY zset:0 1 m0 m1|ZREM zset:0|\
             ZCARD|ZSCORE zset:0 m0 m1|ZMSCORE zset:0|ZRANK zset:0|ZCOUNT zset:0 1|ZRANGE zset:0 0|\
             ZRANGESTORE zset:0 zset:1 0|ZUNION 1|ZUNIONSTORE zset:0 1|ZINTERCARD 1|ZMPOP 1 zset:0|\
             BZPOPMIN 1|BZMPOP 1 1 zset:0|ZRANDMEMBER|ZSCAN zset:0",
        );
        g.command(words);
    }),
];

/// One of several that stand between bars.
fn one(g: &mut Gen, of: &'static str) -> &'static str {
    let all: Vec<&'static str> = of.split('|').collect();
    g.pick(&all)
}

/// From a small pool, from what a large feed brings, or anything.
fn member(g: &mut Gen) -> &mut Gen {
    match g.rng.u32(..10) {
        0 => g.value(),
        1 => {
            let number = g.rng.u32(..132);
            g.arg(format!("b{number}"))
        }
        _ => {
            let member = g.member();
            g.arg(member)
        }
    }
}

/// Scores and weights whose sums and products depend on their order, or are no numbers.
fn far(g: &mut Gen) -> &mut Gen {
    let score = one(g, "inf|-inf|0|-0|0.1|0.2|0.3|-1|1e17|-1e17|1e18");
    g.arg(score)
}

/// Far out, on the edge of what is exact, of two zeros; now and then none.
fn score(g: &mut Gen) -> &mut Gen {
    if g.one_in(4) {
        let score = one(
            g,
            "-0|0|-0.0|1e17|-1e17|1e18|4611686018427387904|9223372036854775807|9007199254740993|1e19|+5|5.|.5|1e|1 |0x",
        );
        g.arg(score)
    } else {
        g.float()
    }
}

fn zadd(g: &mut Gen) {
    g.command("ZADD").key("zset");
    // More than one of them is usually an error.
    if g.one_in(3) {
        for word in ["NX", "XX", "GT", "LT"] {
            g.word(word);
        }
    } else if let Some(word) = g.one_of(&["NX", "XX", "GT", "LT"]) {
        g.arg(word);
    }
    g.word("CH");
    let increments = g.word("INCR");
    for _ in 0..if increments && !g.one_in(8) { 1 } else { g.rng.u32(1..4) } {
        score(g);
        member(g);
    }
    if g.option("odd") {
        member(g);
    }
}

fn with_members(g: &mut Gen, command: &str) {
    g.command(command).key("zset");
    for _ in 0..g.rng.u32(1..5) {
        member(g);
    }
}

fn zrandmember(g: &mut Gen) {
    g.command("ZRANDMEMBER").key("zset");
    if g.option("bad") {
        let bad = one(
            g,
            "-9223372036854775808|x|1 WITHSCORE|1 WITHSCORES x|4611686018427387904 WITHSCORES|\
             -4611686018427387904 WITHSCORES|9223372036854775807 WITHSCORES",
        );
        bad.split(' ').for_each(|word| {
            g.arg(word);
        });
        return;
    }
    let with_scores = g.option("WITHSCORES");
    if g.option("all") {
        let count = g.pick(&["140", "4611686018427387903", "1000"]);
        g.arg(count);
    } else {
        g.compared(Shape);
        if g.option("count") || with_scores {
            g.within(-9, 9);
        }
    }
    if with_scores {
        g.arg("WITHSCORES");
    }
}

fn zscan(g: &mut Gen) {
    g.command("ZSCAN").key("zset");
    let bad = g.option("bad").then(|| g.pick(&["x 0", "0 COUNT 0", "0 COUNT x", "0 TYPE zset", "0 MATCH"]));
    bad.unwrap_or("0").split(' ').for_each(|word| {
        g.arg(word);
    });
    if g.word("MATCH") {
        let pattern = g.pick(&["*", "m*", "b1?", "[mx]*", "m1"]);
        g.arg(pattern);
    }
    g.arg("COUNT").arg("1000");
}

/// Two scores as ranges have them.
fn bounds(g: &mut Gen, high_first: bool) {
    let pair = [bound(g, -9), bound(g, 9)];
    in_order(g, pair, high_first);
}

/// As the command takes them, seldom the wrong way round.
fn in_order(g: &mut Gen, mut pair: [String; 2], high_first: bool) {
    if high_first != g.one_in(8) {
        pair.reverse();
    }
    let [first, second] = pair;
    g.arg(first).arg(second);
}

fn bound(g: &mut Gen, around: i32) -> String {
    match g.rng.u32(..12) {
        0 => g
            .pick(&["-inf", "+inf", "inf", "(inf", "(-inf", "(+inf", "1e400", "-1e400", "Infinity"])
            .to_owned(),
        1 => g.pick(&["", "(", " 1", "\t-1", "(\n2", "1\0x", "5.5", "-0", "(-0", "0"]).to_owned(),
        2 if g.one_in(2) => g.pick(&["x", "nan", "1 ", " ", "((1", "[1", "-", "+", "1e", "(nan"]).to_owned(),
        3..=5 => format!("({}", g.rng.i32(-9..=9)),
        6 => g.rng.i32(-9..=9).to_string(),
        _ => (around + g.rng.i32(-9..=9)).to_string(),
    }
}

/// Two names as ranges have them.
fn names(g: &mut Gen, high_first: bool) {
    let pair = ["-", "+"].map(|end| match g.rng.u32(..12) {
        0..=2 => end.into(),
        3 => g.pick(&["-", "+", "[", "(", "-\0x", "+\0x", "[b", "(m", "[n"]).into(),
        4 if g.one_in(2) => g.pick(&["m1", "", "-m", "+m", "1", " [m"]).into(),
        5..=7 => format!("({}", g.member()),
        8 => format!("[b{}", g.rng.u32(..132)),
        _ => format!("[{}", g.member()),
    });
    in_order(g, pair, high_first);
}

/// What a command's name says about its bounds.
#[derive(Clone, Copy, PartialEq)]
enum Bounds {
    Open,
    Ranks,
    Scores,
    Names,
}

/// All commands that ask for a range, with their options. Where names decide all scores have to be the same: then
/// members with other scores are removed first.
fn range(g: &mut Gen, command: &str, mut of: Bounds) {
    let (first, second) = (g.key_name("zset"), g.key_name("zset"));
    let mut words: Vec<Vec<String>> = Vec::new();
    let mut high_first = command.starts_with("ZREV");
    if of == Bounds::Open {
        of = Bounds::Ranks;
        if let Some(word) = g.one_of(&["BYSCORE", "BYLEX"]) {
            of = if word == "BYLEX" { Bounds::Names } else { Bounds::Scores };
            words.push(vec![word.into()]);
        }
        if g.option("REV") {
            words.push(vec!["REV".into()]);
            high_first = true;
        }
    }
    let counts = matches!(command, "ZLEXCOUNT" | "ZREMRANGEBYLEX");
    if !counts && g.option("LIMIT") {
        words.push(vec!["LIMIT".into(), limit(g, 2), limit(g, 6)]);
    }
    if !counts && command != "ZRANGESTORE" && g.option("WITHSCORES") {
        words.push(vec!["WITHSCORES".into()]);
    }
    if !counts && g.option("bad") {
        words.push(vec![g.pick(&["REV", "LIMIT", "BYLEX", "BYSCORE", "WITHSCORES", "WHAT"]).into()]);
    }
    g.rng.shuffle(&mut words);
    // What is counted is the first key of the first command.
    let (key, target) =
        if of == Bounds::Names || command != "ZRANGESTORE" { (first, second) } else { (second, first) };
    if of == Bounds::Names {
        same_scores(g, &key);
    }
    g.command(command);
    if command == "ZRANGESTORE" {
        g.arg(target);
    }
    g.arg(key);
    match of {
        Bounds::Scores => bounds(g, high_first),
        Bounds::Names => names(g, high_first),
        _ => {
            g.int().int();
        }
    }
    for word in words.concat() {
        g.arg(word);
    }
}

fn limit(g: &mut Gen, most: i32) -> String {
    match g.rng.u32(..10) {
        0 => g.int_text(),
        1 => "-1".to_owned(),
        _ => g.rng.i32(0..=most).to_string(),
    }
}

/// Leaves members of score zero only, and adds some to what is meant to be a sorted set.
fn same_scores(g: &mut Gen, key: &str) {
    g.command("ZREMRANGEBYSCORE").arg(key).arg("-inf").arg("(0");
    g.command("ZREMRANGEBYSCORE").arg(key).arg("(0").arg("+inf");
    if key.starts_with("zset") {
        g.command("ZADD").arg(key);
        for _ in 0..g.rng.u32(1..8) {
            member(g.arg("0"));
        }
    }
}

fn zpop(g: &mut Gen, command: &str) {
    g.command(command).key("zset");
    if g.option("count") {
        if g.one_in(6) {
            g.int();
        } else {
            g.within(0, 4);
        }
    }
    if g.option("bad") {
        g.arg("x");
    }
}

/// Keys with their number, which is seldom wrong.
fn numbered_keys(g: &mut Gen) -> usize {
    let count = g.rng.usize(1..4);
    if g.one_in(20) {
        let wrong = one(g, "0|-1|x|2147483648|1|3|");
        g.arg(wrong);
    } else {
        g.number(count);
    }
    for _ in 0..count {
        // Sets are taken as well, where something is made out of several.
        let of = g.pick(&["zset", "zset", "zset", "set", "none"]);
        g.key(of);
    }
    count
}

fn zmpop(g: &mut Gen) {
    numbered_keys(g);
    let end = g.pick(&["MIN", "MAX", "min", "max"]);
    g.arg(end);
    if g.word("COUNT") {
        if g.one_in(6) {
            g.int();
        } else {
            g.within(1, 4);
        }
    }
    if g.option("bad") {
        let bad = g.pick(&["COUNT", "COUNT 2", "MIN", "WHAT 1"]);
        bad.split(' ').for_each(|word| {
            g.arg(word);
        });
    }
}

/// Seconds; of those that wait for ever there would soon be too many.
fn timeout(g: &mut Gen) -> &'static str {
    if g.one_in(8) {
        one(g, "-1|x||-0.0001|nan|inf|1e300|9223372036854775807| 1")
    } else {
        one(g, "0.001|0.1|0.5|1|1.5|0.0001|3|2.0")
    }
}

/// Now and then the key is fed afterwards, by a client that never waits.
fn feed_waiting(g: &mut Gen, key: &str) {
    g.by(0).command("ZADD").arg(key);
    for _ in 0..g.rng.u32(1..4) {
        g.within(-9, 9);
        member(g);
    }
}

fn bzpop(g: &mut Gen, command: &str) {
    let waiting = g.rng.usize(1..4);
    g.by(waiting);
    let in_transaction = g.one_in(10);
    let never = g.option("never");
    let mut keys = vec![g.key_name("none")];
    for _ in 0..g.rng.u32(..3) {
        keys.push(g.key_name("zset"));
    }
    if in_transaction {
        g.command("MULTI");
    }
    g.command(command);
    for key in &keys {
        g.arg(key.as_str());
    }
    let timeout = if never { "0" } else { timeout(g) };
    g.arg(timeout);
    if in_transaction {
        g.command("EXEC");
    }
    if never || g.one_in(2) {
        feed_waiting(g, &keys[0]);
    }
}

fn bzmpop(g: &mut Gen) {
    let waiting = g.rng.usize(1..4);
    g.by(waiting);
    g.command("BZMPOP");
    let timeout = timeout(g);
    g.arg(timeout);
    if g.one_in(2) {
        return zmpop(g);
    }
    let key = g.key_name("none");
    g.arg("1").arg(key.as_str()).arg("MAX");
    if g.word("COUNT") {
        g.within(1, 3);
    }
    feed_waiting(g, &key);
}

fn combination(g: &mut Gen) {
    let count = numbered_keys(g);
    if g.word("WEIGHTS") {
        for _ in 0..if g.one_in(10) { 1 } else { count } {
            if g.one_in(4) {
                score(g);
            } else {
                far(g);
            }
        }
    }
    if g.word("AGGREGATE") {
        let how = g.pick(&["SUM", "MIN", "MAX", "min", "max", "AVG"]);
        g.arg(how);
    }
    g.word("WITHSCORES");
    if g.option("bad") {
        let bad = g.pick(&["WEIGHTS", "AGGREGATE", "LIMIT 1", "WITHSCORES", "WHAT"]);
        bad.split(' ').for_each(|word| {
            g.arg(word);
        });
    }
}

/// Of three that have members in common and differ in size.
fn combined(g: &mut Gen) {
    let command = g.one_of(&["ZUNION", "ZINTER"]).unwrap_or("ZINTER");
    let keys = ["zset:0", "zset:1", "zset:2"];
    for key in keys {
        g.command("ZADD").arg(key);
        for number in 0..g.rng.u32(2..6) {
            far(g).arg(format!("m{number}"));
        }
    }
    g.command(command).arg("3");
    for key in keys {
        g.arg(key);
    }
    g.arg("WEIGHTS");
    for _ in keys {
        if g.one_in(2) {
            g.arg("1")
        } else {
            far(g)
        };
    }
    let how = g.pick(&["SUM", "MIN", "MAX"]);
    g.arg("AGGREGATE").arg(how).arg("WITHSCORES");
}

fn zintercard(g: &mut Gen) {
    g.command("ZINTERCARD");
    numbered_keys(g);
    if g.word("LIMIT") {
        g.int();
    }
    if g.option("bad") {
        let bad = g.pick(&["LIMIT", "WITHSCORES", "WEIGHTS 1", "LIMIT -1", "LIMIT x"]);
        bad.split(' ').for_each(|word| {
            g.arg(word);
        });
    }
}

/// A command that may or may not change a key.
fn change(g: &mut Gen, key: &str) {
    let line = one(
        g,
        "ZADD @ 0 m0|ZADD @ NX 1 m1|ZADD @ XX 1 m2|ZADD @ GT 1 m1|ZADD @ INCR 0 m1|ZINCRBY @ 1 m0|\
         ZREM @ m7|ZREMRANGEBYSCORE @ 5 6|ZREMRANGEBYRANK @ 5 9|ZPOPMIN @ 0|ZPOPMAX @ 1|\
         ZRANGESTORE @ none:0 0 -1|ZRANGESTORE @ @ 0 -1|ZINTERSTORE @ 2 @ none:0|ZDIFFSTORE @ 1 @|\
         ZRANGE @ 0 -1",
    );
    g.command(&line.replace('@', key));
}

/// Whether it counts as a change.
fn watched(g: &mut Gen) {
    let key = g.key_name("zset");
    let watcher = g.rng.usize(1..4);
    g.by(watcher).command("WATCH").arg(key.as_str());
    g.by(0);
    change(g, &key);
    g.by(watcher).command("MULTI");
    g.command("ZCARD").arg(key.as_str());
    g.command("EXEC");
}

/// Whether the end of a key stays. It is too far for the key to end before the sequence does.
fn ending(g: &mut Gen) {
    let key = g.key_name("zset");
    g.command("PEXPIRE").arg(key.as_str()).within(1_000_000, 2_000_000);
    change(g, &key);
    g.command("PTTL").arg(key.as_str());
}
