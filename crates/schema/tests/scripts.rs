//! Good scripts pass and say what they need; and whatever the text, the check answers: it never panics, never overflows,
//! and takes for Lua what a server takes for Lua.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "bad_scripts/snippets.rs"]
mod snippets;

use std::sync::LazyLock;

use keyplane_schema::script::{Script, ScriptArg, check};
use keyplane_schema::{Access, Code, Contract, parse};
use keyplane_testing::{Program, Server, Settings, skip};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use snippets::SNIPPETS;

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    parse("keys.toml", include_str!("bad_scripts/keys.toml")).unwrap_or_else(|broken| panic!("{broken}"))
});

/// Scripts without a fault. Each shows a way of writing that people need.
const GOOD: [(&str, &str); 8] = [
    ("accept", include_str!("bad_scripts/good/accept.lua")),
    ("claim", include_str!("bad_scripts/good/claim.lua")),
    ("finish", include_str!("bad_scripts/good/finish.lua")),
    ("change", include_str!("bad_scripts/good/change.lua")),
    ("status", include_str!("bad_scripts/good/status.lua")),
    ("label", include_str!("bad_scripts/good/label.lua")),
    ("tidy", include_str!("bad_scripts/good/tidy.lua")),
    ("show_board", include_str!("bad_scripts/good/show_board.lua")),
];

fn good(name: &str) -> Script {
    let (_, source) = GOOD.iter().find(|(own, _)| *own == name).unwrap();
    check(&CONTRACT, &format!("src/scripts/{name}.lua"), source).unwrap_or_else(|broken| panic!("{broken}"))
}

/// A script's keys as its header writes them.
fn keys(script: &Script) -> Vec<String> {
    let key = |key: &keyplane_schema::script::ScriptKey| {
        let access = match key.access {
            Access::Read => "r",
            Access::Write => "w",
            Access::ReadWrite => "rw",
        };
        let (keep, dots) = (if key.keep { " keep" } else { "" }, if key.repeats { "..." } else { "" });
        format!("{}({access}{keep}){dots}", key.key)
    };
    script.keys.iter().map(key).collect()
}

fn args(script: &Script) -> Vec<String> {
    let arg = |arg: &ScriptArg| match arg {
        ScriptArg::Value { name, repeats: false } => name.clone(),
        ScriptArg::Value { name, .. } => format!("{name}..."),
        ScriptArg::Ttl { key } => format!("ttl({key})"),
        other => panic!("{other:?}"),
    };
    script.args.iter().map(arg).collect()
}

#[test]
fn a_step_that_happens_once_is_read_in_full() {
    let script = good("accept");
    assert_eq!((script.contract.as_str(), script.name.as_str(), script.version), ("depot", "accept", 1));
    assert_eq!(script.doc, "accept a job once.");
    assert_eq!(script.ops, ["accept"]);
    assert_eq!(keys(&script), ["seen(rw)", "payload(w keep)", "waiting(w)", "stats(rw)", "events(w)"]);
    assert_eq!(args(&script), ["job_id", "payload_bytes", "max_waiting", "ttl(seen)"]);
    assert_eq!(script.returns, r#"{"ok", seq} | {"duplicate"} | {"full", max_waiting}"#);
    assert!(script.repeatable && !script.read_only);
}

#[test]
fn a_claim_moves_between_lists_and_writes_keys_by_index() {
    let script = good("claim");
    assert_eq!(script.version, 2);
    assert_eq!(keys(&script), ["waiting(w)", "claimed(w)", "job(w)..."]);
    assert!(!script.repeatable);
}

#[test]
fn header_lines_go_on() {
    let script = good("finish");
    assert_eq!(keys(&script), ["term(r)", "job(rw)", "result(w)", "note(w)", "claimed(w)", "payload(w)"]);
    assert_eq!(
        args(&script),
        ["term_value", "job_id", "result_bytes", "remark", "ttl(job)", "ttl(result)", "ttl(payload)"]
    );
}

#[test]
fn one_script_may_serve_two_operations() {
    let script = good("change");
    assert_eq!(script.ops, ["change", "rename"]);
    assert_eq!(args(&script), ["expected", "fields..."]);
}

#[test]
fn a_script_that_only_reads_says_so_and_may_be_repeated() {
    let script = good("status");
    assert!(script.read_only && script.repeatable);
    assert_eq!(args(&script), ["count"]);
}

#[test]
fn several_families_may_repeat() {
    assert_eq!(keys(&good("label")), ["job(r)", "tagged(w)..."]);
    assert_eq!(keys(&good("tidy")), ["lock(rw)", "due(rw)", "job(rw)...", "tagged(rw)..."]);
}

#[test]
fn no_arguments_are_none() {
    assert_eq!(args(&good("show_board")), [""; 0]);
}

/// The head of a script for the operation `change`, whose body the tests below choose.
const HEAD: &str = "\
-- depot/change v1: change a job.
-- keys: job(rw keep)
-- args: field, text, more...
-- returns: version
-- repeat: unsafe

";

/// The codes of what is wrong with a body.
fn codes(body: &str) -> Vec<Code> {
    match check(&CONTRACT, "change.lua", &format!("{HEAD}{body}")) {
        Ok(_) => Vec::new(),
        Err(broken) => broken.diagnostics.iter().map(|found| found.code).collect(),
    }
}

/// The codes of what is wrong with an expression, all inputs used besides.
fn expression(text: &str) -> Vec<Code> {
    codes(&format!("redis.call('HSET', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4])\nreturn {text}"))
}

#[test]
fn unpack_is_bounded_at_a_thousand() {
    for (list, bounded) in [
        ("unpack(ARGV, 1, 1000)", true),
        ("unpack(ARGV, 1, 1001)", false),
        ("unpack(ARGV, 5, 1004)", true),
        ("unpack({ 1, 2, 3 })", true),
        ("unpack({ 1, (ARGV[1]:byte()) })", true),
        // The last item of a constructor may be many.
        ("unpack({ 1, ARGV[1]:byte() })", false),
        ("unpack(redis.call('HKEYS', KEYS[1]))", false),
        ("unpack(redis.call('HKEYS', KEYS[1]), 1, 10)", true),
        ("unpack(ARGV, 1, math.min(1000, #ARGV))", true),
        ("unpack(ARGV, 1, #ARGV)", false),
        ("unpack(KEYS)", true),
    ] {
        let expected: &[Code] = if bounded { &[] } else { &[Code::ScriptUnpack] };
        assert_eq!(expression(&format!("{{ {list} }}")), expected, "{list}");
    }
}

#[test]
fn a_table_that_grows_is_no_longer_short() {
    let body = |change: &str| {
        format!(
            "local t = {{ ARGV[1], ARGV[2] }}\n{change}\nredis.call('HSET', KEYS[1], unpack(t))\nreturn unpack(ARGV, 3, 9)"
        )
    };
    assert_eq!(codes(&body("")), []);
    for change in ["t[3] = 1", "t.x = 1", "table.insert(t, 1)", "local u = t", "t = ARGV"] {
        assert_eq!(codes(&body(change)), [Code::ScriptUnpack], "{change}");
    }
}

#[test]
fn keys_are_followed_through_locals_functions_and_branches() {
    for body in [
        "local k = KEYS[1]",
        "local k; if ARGV[1] == '' then k = KEYS[1] end",
        "local k = ARGV[1] == '' and KEYS[1] or KEYS[1]",
        "local function pick() return KEYS[1] end local k = pick()",
        "local f = function(k) return k end local k = f(KEYS[1])",
        "local k = unpack(KEYS)",
        "local n = 2 - 1 local k = KEYS[n]",
        "local k for _, own in ipairs(KEYS) do k = own end",
        "local k for i = 1, #KEYS do k = KEYS[i] end",
        "local k for i = #KEYS, 1, -1 do k = KEYS[i] end",
        "local k for i = 0, 0 do k = KEYS[i + 1] end",
    ] {
        let rest = "redis.call('HSET', k, ARGV[1], ARGV[2], ARGV[3], ARGV[4])";
        let expected: &[Code] = if body.contains("0, 0") { &[Code::KeyOrigin] } else { &[] };
        assert_eq!(codes(&format!("{body}\n{rest}")), expected, "{body}");
    }
    for body in [
        "local k = ARGV[1]",
        "local k = KEYS[1] .. ''",
        "local k = KEYS[1]; k = k .. ':x'",
        "local k = ({ KEYS[1] })[1]",
        "local k = redis.call('HGET', KEYS[1], 'next')",
        "local k = string.format('%s', KEYS[1])",
        "local k = KEYS[1]:lower()",
        "local function pick() return KEYS[1], KEYS[1] end local k = pick()",
        "local function pick() if ARGV[1] then return 'x' end return KEYS[1] end local k = pick()",
        "local function f(k) return k end local k = f(KEYS[1]) f(ARGV[1])",
        "local k = ARGV[1] == '' and KEYS[1] or ARGV[2]",
        "local k = KEYS[0]",
        "local k = KEYS[2]",
        "local k = KEYS[1.5]",
        "local k = KEYS[tonumber(ARGV[1])]",
        "local k = select(2, 'a', KEYS[1])",
        "local k = nil",
    ] {
        let rest = "redis.call('HSET', k, ARGV[1], ARGV[2], ARGV[3], ARGV[4])";
        assert_eq!(codes(&format!("{body}\n{rest}")), [Code::KeyOrigin], "{body}");
    }
}

#[test]
fn pcall_and_aliases_hide_nothing() {
    for body in [
        "local call = redis.call call('HSET', 'job', ARGV[1], ARGV[2])",
        "pcall(redis.call, 'HSET', 'job', ARGV[1], ARGV[2])",
        "redis.pcall('HSET', 'job', ARGV[1], ARGV[2])",
        "local function f(k) redis.call('HSET', k, ARGV[1], ARGV[2]) end pcall(f, 'job')",
    ] {
        assert_eq!(
            codes(&format!("{body} return {{ redis.call('HLEN', KEYS[1]), ARGV[3] }}")),
            [Code::KeyOrigin],
            "{body}"
        );
    }
}

#[test]
fn values_that_travel_are_refused() {
    for body in [
        "local t = { redis.call }",
        "local f = { function() end }",
        "local function f() end local g = f",
        "local function f() end return { f }",
        "local f f = function() end",
        "local r = redis",
        "local t = table",
        "(redis.call)('HLEN', KEYS[1])",
        "local call = redis['ca' .. 'll']",
        "KEYS[1]()",
        "for _, k in pairs(KEYS) do local x = k end",
        "local f = redis.call local g = f",
        "local t = {} t.f()",
        "local t = {} t:f()",
    ] {
        let found = codes(body);
        assert!(
            !found.is_empty() && found.iter().all(|code| *code == Code::ScriptFunction),
            "{body}: {found:?}"
        );
    }
}

/// A good script with a piece of its text replaced.
fn changed(name: &str, from: &str, to: &str) -> Vec<Code> {
    let (_, source) = GOOD.iter().find(|(own, _)| *own == name).unwrap();
    assert!(source.contains(from), "{from}");
    match check(&CONTRACT, &format!("{name}.lua"), &source.replacen(from, to, 1)) {
        Ok(_) => Vec::new(),
        Err(broken) => broken.diagnostics.iter().map(|found| found.code).collect(),
    }
}

#[test]
fn a_key_gets_its_own_ttl_in_its_own_unit() {
    let store = "store(KEYS[3], ARGV[3], ARGV[6])";
    for good in [
        "redis.call('PSETEX', KEYS[3], ARGV[6], ARGV[3])",
        "redis.call('SET', KEYS[3], ARGV[3], 'px', tonumber(ARGV[6]), 'NX')",
        "redis.call('SET', KEYS[3], ARGV[3], 'EX', ARGV[6] / 1000)",
        "redis.call('SET', KEYS[3], ARGV[3]) if term then redis.call('PEXPIRE', KEYS[3], ARGV[6]) end",
        "redis.call('SET', KEYS[3], ARGV[3], 'KEEPTTL') redis.call('PEXPIRE', KEYS[3], ARGV[6])",
    ] {
        assert_eq!(changed("finish", store, good), [], "{good}");
    }
    for bad in [
        "redis.call('SETEX', KEYS[3], ARGV[6], ARGV[3])",
        "redis.call('SET', KEYS[3], ARGV[3], 'PXAT', ARGV[6])",
        "redis.call('SET', KEYS[3], ARGV[3], 'PX', ARGV[5]) local unused = ARGV[6]",
        "redis.call('SET', KEYS[3], ARGV[3], 'PX', 1000 * 60) local unused = ARGV[6]",
        "redis.call('SET', KEYS[3], ARGV[3], 'PX', '60000') local unused = ARGV[6]",
        // The value is forgotten, so PX is the value.
        "redis.call('SET', KEYS[3], 'PX', ARGV[6])",
        "redis.call('SET', KEYS[3], ARGV[3]) redis.call('PERSIST', KEYS[3]) local unused = ARGV[6]",
        "redis.call('SET', KEYS[3], ARGV[3], 'KEEPTTL') local unused = ARGV[6]",
    ] {
        assert_eq!(changed("finish", store, bad), [Code::ScriptExpiry], "{bad}");
    }
}

#[test]
fn verbs_that_return_what_they_change_may_be_called_reading_or_not() {
    assert_eq!(changed("claim", "job(w)", "job(rw)"), []);
    assert_eq!(changed("claim", "waiting(w)", "waiting(r)"), [Code::ScriptAccess]);
    assert_eq!(changed("claim", "claimed(w)", "claimed(rw)"), [Code::ScriptAccess]);
    // A lock is looked at by its holder; whoever says so may.
    assert_eq!(changed("tidy", "lock(rw)", "lock(w)"), [Code::ScriptAccess]);
}

#[test]
fn a_script_of_two_operations_obeys_both() {
    let (source, rename) = (include_str!("bad_scripts/keys.toml"), "[op.rename]");
    let (before, after) = source.split_once(rename).unwrap();
    let update = r#"job = ["peek", "update"]"#;
    for verbs in [r#"job = "peek""#, r#"job = ["peek", "remove"]"#] {
        let source = format!("{before}{rename}{}", after.replacen(update, verbs, 1));
        let contract = parse("keys.toml", &source).unwrap_or_else(|broken| panic!("{broken}"));
        let broken = check(&contract, "change.lua", GOOD[3].1).unwrap_err();
        assert!(broken.diagnostics[0].message.contains("`rename`"), "{broken}");
    }
}

#[test]
fn every_key_of_a_command_is_looked_at_and_nothing_else() {
    for (call, is_key) in [
        ("'HSET', 'x', 1, 2", true),
        ("'HSET', KEYS[1], 'x', 'y'", false),
        ("'GETRANGE', 'x', 0, 1", true),
        ("'LMOVE', 'x', KEYS[1], 'LEFT', 'LEFT'", true),
        ("'LMOVE', KEYS[1], 'x', 'LEFT', 'LEFT'", true),
        ("'LMOVE', KEYS[1], KEYS[1], 'x', 'x'", false),
        ("'RENAME', KEYS[1], 'x'", true),
        ("'RENAMENX', 'x', KEYS[1]", true),
        ("'DEL', KEYS[1], KEYS[1], 'x'", true),
        ("'UNLINK', KEYS[1], unpack(ARGV, 1, 3)", true),
        ("'EXISTS', KEYS[1], unpack(KEYS)", false),
        ("'TOUCH', 'x'", true),
        ("'MGET', KEYS[1], 'x'", true),
        ("'LMPOP', 2, KEYS[1], 'x', 'LEFT'", true),
        ("'LMPOP', 1, KEYS[1], 'x', 'COUNT', 2", false),
        ("'XREAD', 'COUNT', 1, 'STREAMS', KEYS[1], 'x', '0', '0'", true),
        ("'XREAD', 'STREAMS', KEYS[1], 'x'", false),
        ("'TIME', 'x'", false),
    ] {
        let found = expression(&format!("redis.call({call})"));
        assert_eq!(found.contains(&Code::KeyOrigin), is_key, "{call}: {found:?}");
    }
    for call in
        ["'LMPOP', ARGV[1], KEYS[1], 'LEFT'", "'XREAD', KEYS[1]", "'XREAD', 'STREAMS', KEYS[1]", "'GET'", ""]
    {
        assert_eq!(expression(&format!("redis.call({call})")), [Code::ScriptCommand], "{call}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        // The seed of a failure is written beside this file and tried first from then on.
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_is_answered(text in "\\PC{0,200}|[-\\[\\]=(){}'\"\\\\a-z0-9 .,:;~<>+*/#\n\r]{0,300}") {
        answered(&text);
        answered(&format!("{HEAD}{text}"));
    }

    #[test]
    fn any_words_of_lua_are_answered(words in prop::collection::vec(word(), 0..120)) {
        answered(&format!("{HEAD}{}", words.join(" ")));
    }

    #[test]
    fn mutations_of_good_scripts_are_answered(
        script in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4usize, word()), 1..6),
    ) {
        let (name, source) = GOOD[script.index(GOOD.len())];
        let mut text = source.to_owned();
        for (place, cut, word) in edits {
            let mut at = place.index(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let end = (at + cut).min(text.len());
            text.replace_range(at..end, &word);
        }
        if let Err(broken) = check(&CONTRACT, &format!("{name}.lua"), &text) {
            prop_assert!(!broken.diagnostics.is_empty());
            let starts: Vec<usize> = broken.diagnostics.iter().map(|found| found.span().start).collect();
            prop_assert!(starts.is_sorted());
            let _ = broken.render(false);
        }
    }
}

fn answered(text: &str) {
    if let Err(broken) = check(&CONTRACT, "change.lua", text) {
        assert!(!broken.diagnostics.is_empty());
        let _ = broken.render(false);
    }
}

/// Words that make something of Lua's shape, often enough.
fn word() -> impl Strategy<Value = String> {
    const WORDS: [&str; 62] = [
        "and",
        "break",
        "do",
        "else",
        "elseif",
        "end",
        "false",
        "for",
        "function",
        "if",
        "in",
        "local",
        "nil",
        "not",
        "or",
        "repeat",
        "return",
        "then",
        "true",
        "until",
        "while",
        "a",
        "b",
        "f",
        "KEYS",
        "ARGV",
        "KEYS[1]",
        "ARGV[1]",
        "redis.call",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "=",
        "==",
        "..",
        "...",
        ",",
        ";",
        ":",
        ".",
        "+",
        "-",
        "*",
        "/",
        "^",
        "#",
        "'x'",
        "'GET'",
        "'SET'",
        "1",
        "0x10",
        "1e3",
        "[[x]]",
        "--",
        "\n",
        "unpack",
        "math.min",
        "ipairs(KEYS)",
        "#KEYS",
    ];
    prop::sample::select(WORDS.as_slice()).prop_map(str::to_owned)
}

#[test]
fn depth_is_refused_before_the_stack_is() {
    const DEEP: usize = 100_000;
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("{", "1", "}"),
        ("- ", "1", ""),
        ("not ", "1", ""),
        ("function() return ", "1", " end"),
        ("a[", "1", "]"),
        ("a(", "1", ")"),
        ("1 .. ", "1", ""),
        ("1 ^ ", "1", ""),
        ("1 + ", "1", ""),
        ("", "a", ".b"),
        ("", "a", "()"),
        ("", "a", "[1]"),
        ("", "a", ":b()"),
    ] {
        let text = format!("return {}{middle}{}", open.repeat(DEEP), close.repeat(DEEP));
        assert_eq!(codes(&text), [Code::Syntax], "{open}{middle}{close}");
    }
    for (open, close) in
        [("do ", " end"), ("if a then ", " end"), ("while a do ", " end"), ("repeat ", " until a")]
    {
        assert_eq!(codes(&format!("{}{}", open.repeat(DEEP), close.repeat(DEEP))), [Code::Syntax], "{open}");
    }
    // Long is not deep.
    let long = format!("local a = 1 if a then{} end", " elseif a then".repeat(DEEP));
    assert!(!codes(&long).contains(&Code::Syntax));
}

#[test]
fn lua_is_what_redis_takes_for_lua() {
    same_verdicts(Program::Redis);
}

#[test]
fn lua_is_what_valkey_takes_for_lua() {
    match Program::Valkey.file() {
        Some(_) => same_verdicts(Program::Valkey),
        None => skip("lua_is_what_valkey_takes_for_lua: no valkey-server"),
    }
}

fn same_verdicts(program: Program) {
    let server = Server::start(program, &Settings::unix());
    let load = |source: &str| -> redis::RedisResult<String> {
        // An error that quotes half a character ends the connection, so each has its own.
        redis::cmd("SCRIPT").arg("LOAD").arg(source).query(&mut server.admin())
    };
    let mut wrong = Vec::new();
    for snippet in SNIPPETS {
        let (loaded, parsed) = (load(snippet), !codes(snippet).contains(&Code::Syntax));
        if loaded.is_ok() != parsed {
            wrong.push(format!("{snippet:?}: the server says {loaded:?}, we say {parsed}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (name, source) in GOOD {
        assert!(load(source).is_ok(), "{name}");
    }
}
