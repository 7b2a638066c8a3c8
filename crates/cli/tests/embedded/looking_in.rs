//! redis-cli on the embedded store: every line that the documents of the five systems quote.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use crate::owner::Owner;

fn cli(owner: &Owner, words: &[&str]) -> Command {
    let (host, port) = owner.address.rsplit_once(':').expect("a port");
    let mut command = Command::new("redis-cli");
    command.args(["-h", host, "-p", port]).args(words);
    command
}

fn said(owner: &Owner, words: &[&str]) -> String {
    let output = cli(owner, words).output().expect("redis-cli runs");
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A line, and what it answers once the store holds what [`FILLED`] puts there.
const LINES: &[(&[&str], &str)] = &[
    (&["GET", "courtlistener:rate_limit:2024-09-17_14"], "41"),
    (&["TTL", "courtlistener:pipeline:manual_2024-09-17T14:30:00+00:00"], "86400"),
    (&["LRANGE", "courtlistener:failed:2024-09-17_14", "0", "-1"], "101\n102"),
    (&["GET", "dolos:mempool:watcher:lock"], "node-1"),
    (&["TTL", "dolos:mempool:watcher:lock"], "10"),
    (&["LLEN", "dolos:mempool:pending"], "3"),
    (&["HLEN", "dolos:mempool:inflight"], "2"),
    (&["ZCARD", "dolos:mempool:finalized"], "1"),
];

const FILLED: &[&[&str]] = &[
    &["SET", "courtlistener:rate_limit:2024-09-17_14", "41", "EX", "7200"],
    &["SET", "courtlistener:pipeline:manual_2024-09-17T14:30:00+00:00", "running", "EX", "86400"],
    &["RPUSH", "courtlistener:failed:2024-09-17_14", "101", "102"],
    &["SET", "dolos:mempool:watcher:lock", "node-1", "PX", "10000", "NX"],
    &["RPUSH", "dolos:mempool:pending", "a", "b", "c"],
    &["HSET", "dolos:mempool:inflight", "d", "1", "e", "2"],
    &["ZADD", "dolos:mempool:finalized", "1", "f"],
];

#[test]
fn every_quoted_line_runs() {
    let folder = tempfile::tempdir().unwrap();
    let owner = Owner::start(folder.path(), "no");
    for words in FILLED {
        said(&owner, words);
    }
    for (words, answer) in LINES {
        assert_eq!(said(&owner, words), *answer, "{words:?}");
    }
    let keys = said(&owner, &["KEYS", "courtlistener:*"]);
    assert_eq!(keys.lines().count(), 3, "{keys}");
}

#[test]
fn monitor_shows_what_others_do() {
    let folder = tempfile::tempdir().unwrap();
    let owner = Owner::start(folder.path(), "no");
    let mut monitor = cli(&owner, &["MONITOR"]).stdout(Stdio::piped()).spawn().expect("redis-cli runs");
    let mut lines = BufReader::new(monitor.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "OK");
    said(&owner, &["SET", "key", "a b"]);
    let line = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("\"SET\""))).unwrap().unwrap();
    assert!(line.ends_with("\"SET\" \"key\" \"a b\""), "{line}");
    monitor.kill().unwrap();
    monitor.wait().unwrap();
}

/// Several commands on one connection, as a person at a terminal types them.
#[test]
fn a_session_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let owner = Owner::start(folder.path(), "no");
    let mut shell =
        cli(&owner, &[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("redis-cli runs");
    let typed =
        "MULTI\nINCR n\nINCR n\nEXEC\nEVAL \"return redis.call('GET', KEYS[1])\" 1 n\nNOSUCH\nINFO server\n";
    shell.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = shell.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["QUEUED", "1\n2\n2\n", "ERR unknown command 'NOSUCH'", "redis_version:7.0.15"] {
        assert!(text.replace("\r\n", "\n").contains(part), "{part} is missing:\n{text}");
    }
}
