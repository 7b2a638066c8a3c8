//! Bytes alone seldom become TOML: here they choose tables and words, right and wrong ones, or whole lines out of the broken
//! contracts of the tests.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

#[path = "../check.rs"]
mod check;

static LINES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/bad");
    let files = std::fs::read_dir(folder).expect("the broken contracts").flatten();
    let mut paths: Vec<_> = files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    paths.sort();
    let mut lines: Vec<String> = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        lines.extend(text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).map(str::to_owned));
    }
    lines.sort();
    lines.dedup();
    lines
});

const HEAD: &str = "[contract]\nname = \"x\"\nversion = \"1.0\"\ndoc = \"X.\"\n[component]\napp = \"App.\"\n";

fn from_lines(data: &[u8]) -> String {
    let pick = |pair: &[u8; 2]| LINES[usize::from(u16::from_le_bytes(*pair)) % LINES.len()].as_str();
    let lines: Vec<&str> = data.as_chunks::<2>().0.iter().map(pick).collect();
    format!("{HEAD}{}\n", lines.join("\n"))
}

/// Words of each kind of table, right and wrong ones.
const TABLES: &[(&str, &[&str])] = &[
    (
        "param",
        &[
            "text = true", "like = '[a-z]+'", "like = '[a-z:]+'", "like = 'a|ab'", "like = '[a-z]{2,9}'", "one_of = ['a', 'b']", "open = true",
            "int = '0..9'", "int = '5..'", "hex = 4", "bytes = 2", "colons = true", "except = ['a']", "legacy = 'x[0-9]+'", "doc = 'd'", "example = 'a'",
        ],
    ),
    (
        "key",
        &[
            "pattern = 'k:<a>'", "pattern = 'k:<b>:c'", "pattern = '{k}:<a>'", "pattern = '<c>:<d>'", "pattern = 'k'", "pattern = 'e(<a>)'", "type = 'hash'",
            "type = 'list'", "type = 'zset'", "type = ['zset', 'hash']", "type = 'stream'", "type = 'string'", "type = 'set'", "doc = 'd'",
            "ttl = { policy = 'none' }", "ttl = { policy = 'sliding', for = '1h' }", "ttl = { policy = 'linked', to = 'b' }",
            "ttl = { policy = 'pruned', for = '1d', by = 'app' }", "ttl = { policy = 'after', event = 'e', for = '1h' }", "tag = 'k'", "tag = '<a>'",
            "tag = '<namespace>'", "tag = false", "max = { bytes = '1KB', fields = 3 }", "max = { members = 3, total = '1KB' }", "score = 'time:unix_s'",
            "value = 'int:0..'", "items = 'json:V'", "members = { template = ['x:<a>'] }", "fields = { f = 'text', 'g<a>' = 'int' }", "writes = ['app']",
            "reads = ['ui']", "produces = ['app']", "consumes = ['app']", "prunes = ['app']", "puts = ['ui']", "peeks = ['ui']", "use = { kit = 'queue' }",
            "use = { kit = 'lease' }", "use = { kit = 'outbox' }", "via = 'outbox'", "index_of = 'a'", "alias_of = 'b'", "deprecated = '2026-01-01'",
            "remove_after = '2025-01-01'", "acl_reach = 'why'", "example = 'k:a'", "fields_of = 'b'",
        ],
    ),
    (
        "op",
        &[
            "doc = 'd'", "by = ['app']", "by = ['ui']", "script = 's.lua'", "keys = { a = 'put' }", "keys = { a = ['peek', 'update'], b = 'add' }",
            "keys = { a = 'consume', b = 'produce' }", "atomic = false", "event = 'e'",
        ],
    ),
    ("value", &["encoding = 'json'", "shape = 'list'", "shape = 'array'", "of = 'json:V'", "fields = { x = { list = 'int' } }", "doc = 'd'"]),
];

/// Tables word by word: which kind, which name, how many words, which words.
fn from_words(data: &[u8]) -> String {
    let mut bytes = data.iter().map(|&byte| usize::from(byte));
    let mut text = format!("{HEAD}ui = {{ doc = 'UI.', read_only = true }}\n[event]\ne = 'E.'\n");
    while let (Some(kind), Some(name), Some(count)) = (bytes.next(), bytes.next(), bytes.next()) {
        let (table, words) = TABLES[kind % TABLES.len()];
        let name = if table == "value" { "V" } else { ["a", "b", "c", "d"][name % 4] };
        text.push_str(&format!("[{table}.{name}]\n"));
        for word in bytes.by_ref().take(count % 12).map(|choice| words[choice % words.len()]) {
            text.push_str(&format!("{word}\n"));
        }
    }
    text
}

fuzz_target!(|data: &[u8]| match data {
    [0, rest @ ..] => check::any_text(&from_lines(rest)),
    [_, rest @ ..] => check::any_text(&from_words(rest)),
    [] => {}
});
