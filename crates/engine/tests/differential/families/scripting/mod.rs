//! How scripts are called: with every script there is, and in every way.

mod scripts;

use self::scripts::all_scripts;
use crate::frame::Compare::Exact;
use crate::grammar::{Family, Gen, TYPES, Template};

pub(crate) fn scripting() -> Family {
    Family { templates: TEMPLATES, feed }
}

/// Puts a string somewhere, by a script.
fn feed(g: &mut Gen) {
    g.command("EVAL").arg("return redis.call('SET', KEYS[1], ARGV[1])").arg("1").key("string").value();
}

/// A script and what it is for.
type Script = (&'static str, &'static str);

macro_rules! groups {
    ($($name:ident: $title:literal { $($label:literal: $body:expr,)* })*) => {
        $(
            mod $name {
                pub(super) const LABELS: &[&str] = &[$($label,)*];
                pub(super) const SCRIPTS: &[super::Script] = &[$(($label, $body),)*];
            }
        )*
        const GROUPS: &[&[Script]] = &[$($name::SCRIPTS,)*];
        const TEMPLATES: &[Template] = &[
            $(Template::keyless($title, $name::LABELS, Exact, |g| eval(g, $name::LABELS, $name::SCRIPTS)),)*
            Template::keyless("EVAL arguments", ARGUMENTS, Exact, arguments),
            Template::keyless("EVAL commands", COMMANDS, Exact, commands),
            Template::keyless("EVAL time", &["TIME", "TTL", "PTTL", "expires", "ends"], Exact, time),
            Template::keyless("EVAL shebang", SHEBANGS, Exact, shebang),
            Template::keyless("EVAL_RO", &["writes", "reads", "publishes", "flagged"], Exact, read_only),
            Template::keyless("EVALSHA", &["known", "upper", "unknown", "short", "RO", "count"], Exact, evalsha),
            Template::keyless("SCRIPT LOAD", &["broken", "shebang"], Exact, load),
            Template::keyless("SCRIPT EXISTS", &[], Exact, exists),
            Template::keyless("SCRIPT FLUSH", &["ASYNC", "SYNC", "bad"], Exact, flush),
            Template::keyless("SCRIPT", &[], Exact, |g| {
                let words = g.pick(&["SCRIPT", "SCRIPT KILL", "SCRIPT KILL x", "SCRIPT nosuch", "SCRIPT LOAD", "SCRIPT EXISTS"]);
                g.command(words);
            }),
            Template::keyless("scripts in MULTI", &["EVALSHA", "fails", "broken", "FLUSH"], Exact, in_multi),
            Template::keyless("scripts of several lines", &[], Exact, lines),
        ];
    };
}

all_scripts!(groups);

/// One script of a group, with a key of any type and two arguments.
fn eval(g: &mut Gen, labels: &[&'static str], scripts: &[Script]) {
    let label = g.one_of(labels).unwrap_or(labels[0]);
    let body = scripts.iter().find(|(name, _)| *name == label).map_or("", |(_, body)| body);
    let of = if g.one_in(3) { g.pick(&TYPES) } else { "string" };
    g.command("EVAL").arg(body).arg("1").key(of).value().arg("second");
}

fn any_script(g: &mut Gen) -> &'static str {
    let group = g.pick(GROUPS);
    g.pick(group).1
}

const ARGUMENTS: &[&str] = &["none", "negative", "too many", "not a number", "no count", "keys only", "all"];

fn arguments(g: &mut Gen) {
    const BODY: &str =
        "return {#KEYS, #ARGV, KEYS[1] or 'nil', KEYS[2] or 'nil', ARGV[1] or 'nil', ARGV[2] or 'nil'}";
    let command = g.pick(&["EVAL", "EVAL", "EVAL_RO"]);
    g.command(command).arg(BODY);
    match g.one_of(ARGUMENTS) {
        Some("none") => g.arg("0"),
        Some("negative") => g.arg("-1").arg("a"),
        Some("too many") => g.arg("2").arg("a"),
        Some("not a number") => g.arg("x").arg("a"),
        Some("no count") => g,
        Some("keys only") => g.arg("2").arg("a").arg("b"),
        _ => {
            g.int();
            g.value().value()
        }
    };
}

const COMMANDS: &[&str] = &[
    "GET",
    "SET",
    "SET NX GET",
    "GETDEL",
    "GETEX",
    "SETRANGE",
    "GETRANGE",
    "APPEND",
    "INCRBY",
    "DECR",
    "MGET",
    "MSETNX",
    "DEL",
    "EXISTS",
    "TYPE",
    "PTTL",
    "PEXPIRETIME",
    "COPY",
    "MOVE",
    "STRLEN",
    "TOUCH",
];

/// A command of another family through a script: as it is, and caught.
fn commands(g: &mut Gen) {
    let chosen = g.one_of(COMMANDS).unwrap_or("GET");
    let caught = g.one_in(3);
    let body = if caught { "return {redis.pcall(unpack(ARGV))}" } else { "return redis.call(unpack(ARGV))" };
    g.command("EVAL").arg(body).arg("0");
    let mut words = chosen.split(' ');
    let (name, options) = (words.next().unwrap_or(chosen), words);
    let of = if g.one_in(3) { g.pick(&TYPES) } else { "string" };
    g.arg(name).key(of);
    match name {
        "SET" | "APPEND" => g.value(),
        "SETRANGE" => g.int().value(),
        "GETRANGE" => g.int().int(),
        "INCRBY" => g.int(),
        "MGET" | "DEL" | "EXISTS" | "TOUCH" => g.key("string").key("list"),
        "MSETNX" => g.value().key("string").value(),
        "COPY" => g.key("string"),
        "MOVE" => g.arg("1"),
        _ => g,
    };
    options.for_each(|option| {
        g.arg(option);
    });
}

/// Time stands still in a script.
fn time(g: &mut Gen) {
    let body = match g.one_of(&["TIME", "TTL", "PTTL", "expires", "ends"]) {
        Some("TIME") => "local a, b = redis.call('TIME'), redis.call('TIME') return {a[1], a[2], b[1], b[2]}",
        Some("TTL") => "redis.call('SET', KEYS[1], 'x', 'PX', 1500) return redis.call('TTL', KEYS[1])",
        Some("expires") => "redis.call('SET', KEYS[1], 'x', 'PX', 1) return redis.call('GET', KEYS[1])",
        Some("ends") => {
            "redis.call('SET', KEYS[1], 'x') redis.call('PEXPIRE', KEYS[1], -1) return redis.call('EXISTS', KEYS[1])"
        }
        _ => {
            "redis.call('SET', KEYS[1], 'x', 'EX', 10) return {redis.call('PTTL', KEYS[1]), redis.call('PEXPIRETIME', KEYS[1])}"
        }
    };
    g.command("EVAL").arg(body).arg("1").key("string");
}

const SHEBANGS: &[&str] = &[
    "#!lua",
    "#!lua flags=no-writes",
    "#!lua flags=no-writes,allow-stale,allow-oom,no-cluster,allow-cross-slot-keys",
    "#!lua flags=",
    "#!lua flags=nosuch",
    "#!lua flags=no-writes,,allow-oom",
    "#!lua \"flags=no-writes\"",
    "#!lua 'flags=no-writes' flags=allow-oom",
    "#!lua \"flags=no-writes",
    "#!lua name=x",
    "#!python",
    "#!",
    "#! lua",
    "#!lua\t flags=\"no\\x2dwrites\"",
    "no end",
];

fn shebang(g: &mut Gen) {
    let line = g.one_of(SHEBANGS).unwrap_or("#!lua");
    let body = g.pick(&[
        "return redis.call('SET', KEYS[1], 'x')",
        "return redis.call('GET', KEYS[1])",
        "error('second line')",
        "return redis.pcall('DEL', KEYS[1])",
        "return {1",
    ]);
    let script =
        if line == "no end" { "#!lua flags=no-writes".to_owned() } else { format!("{line}\n{body}") };
    let command = g.pick(&["EVAL", "EVAL", "EVAL_RO"]);
    g.command(command).arg(script).arg("1").key("string");
}

fn read_only(g: &mut Gen) {
    let body = match g.one_of(&["writes", "reads", "publishes", "flagged"]) {
        Some("writes") => g.pick(&[
            "return redis.call('SET', KEYS[1], 'x')",
            "return redis.pcall('DEL', KEYS[1])",
            "return {redis.pcall('INCR', KEYS[1]), redis.call('GET', KEYS[1])}",
            "return redis.call('INCR')",
        ]),
        Some("publishes") => "return redis.call('PUBLISH', 'channel', 'x')",
        Some("flagged") => g.pick(&[
            "#!lua flags=no-writes\nreturn 1",
            "#!lua\nreturn 1",
            "#!lua flags=allow-stale\nreturn 1",
        ]),
        _ => "return {redis.call('GET', KEYS[1]), redis.call('EXISTS', KEYS[1])}",
    };
    g.command("EVAL_RO").arg(body).arg("1").key("string");
}

/// The name of a script of ours.
fn sha(script: &str) -> String {
    sha1_smol::Sha1::from(script).digest().to_string()
}

fn evalsha(g: &mut Gen) {
    const WRITES: &str = "return redis.call('APPEND', KEYS[1], ARGV[1])";
    let chosen = g.one_of(&["known", "upper", "unknown", "short", "RO", "count"]);
    let script = if g.one_in(3) { any_script(g) } else { WRITES };
    if chosen == Some("known") || g.one_in(2) {
        g.command("SCRIPT LOAD").arg(script);
    }
    g.command(if chosen == Some("RO") { "EVALSHA_RO" } else { "EVALSHA" });
    match chosen {
        Some("upper") => g.arg(sha(script).to_ascii_uppercase()),
        Some("unknown") => g.arg("0123456789012345678901234567890123456789"),
        Some("short") => g.arg("abc"),
        _ => g.arg(sha(script)),
    };
    let count = if chosen == Some("count") { g.pick(&["-1", "9", "x"]) } else { "1" };
    g.arg(count).key("string").value();
}

fn load(g: &mut Gen) {
    g.command("SCRIPT LOAD");
    match g.one_of(&["broken", "shebang"]) {
        Some("broken") => g.arg("return {"),
        Some(_) => {
            let line = g.pick(SHEBANGS);
            g.arg(format!("{line}\nreturn 1"))
        }
        None => {
            let script = any_script(g);
            g.arg(script)
        }
    };
}

fn exists(g: &mut Gen) {
    g.command("SCRIPT EXISTS");
    for _ in 0..g.rng.u32(1..4) {
        let script = any_script(g);
        let name = sha(script);
        let name = if g.one_in(4) { name.to_ascii_uppercase() } else { name };
        let name = if g.one_in(8) { "nonsense".to_owned() } else { name };
        g.arg(name);
    }
}

fn flush(g: &mut Gen) {
    g.command("SCRIPT FLUSH");
    match g.one_of(&["ASYNC", "SYNC", "bad"]) {
        Some("bad") => g.arg("NOW"),
        Some(how) => g.arg(how),
        None => g,
    };
}

fn in_multi(g: &mut Gen) {
    const BODY: &str =
        "redis.call('APPEND', KEYS[1], 'm') return {redis.call('GET', KEYS[1]), {double = 0.5}}";
    g.command("MULTI");
    // Options are counted with the first command, so all are chosen before the second.
    let [by_sha, fails, broken, flush] =
        ["EVALSHA", "fails", "broken", "FLUSH"].map(|option| g.option(option));
    g.command("EVAL").arg(BODY).arg("1").key("string");
    if by_sha {
        g.command("EVALSHA").arg(sha(BODY)).arg("1").key("string");
    }
    if fails {
        g.command("EVAL").arg("redis.call('SET', KEYS[1], 'half') error('x')").arg("1").key("string");
    }
    if broken {
        g.command("EVAL").arg("return 1");
    }
    if flush {
        g.command("SCRIPT FLUSH");
    }
    let body = any_script(g);
    g.command("EVAL").arg(body).arg("1").key("string").value().arg("second");
    g.command("EXEC");
}

/// Errors name the line.
fn lines(g: &mut Gen) {
    let lines = [
        "local key = KEYS[1]",
        "local function f(x) return redis.call('INCR', x) end",
        "local value = redis.call('GET', key)",
        "if value == ARGV[1] then error('the same') end",
        "redis.call('SET', key, ARGV[1])",
        "local n = f(key)",
        "local t = {",
        "  n,",
        "  value,",
        "}",
        "local s = string.rep(value or 'x', 2)",
        "local x = t.y.z",
    ];
    let end = g.rng.usize(1..=lines.len());
    let mut script = lines[..end].join("\n");
    script.push_str(g.pick(&[
        "\nreturn f(key)",
        "\nreturn value",
        "\n\nreturn nosuch",
        "",
        "\nreturn string.find(value, '[')",
    ]));
    g.command("EVAL").arg(script).arg("1").key("string").value();
}
