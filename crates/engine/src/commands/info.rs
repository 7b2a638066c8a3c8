//! INFO and MEMORY: figures about the engine.
//!
//! Sections and fields are those of Redis that a client library or a monitor reads; a field that nothing here could
//! fill is left out. Memory is an estimate from a sample of the keys.

use std::fmt::Write as _;

use super::server::VERSION;
use super::{Answer, Command, flag, help};
use crate::args::{at, int, is};
use crate::context::Context;
use crate::db::{Db, Entry};
use crate::fault::SYNTAX;
use crate::reply::Reply;
use crate::state::State;

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("info", -1, 0, (0, 0, 0), info),
    Command::new("memory|usage", -3, flag::READONLY, (2, 2, 1), memory_usage),
    Command::new("memory|help", 2, 0, (0, 0, 0), |_, _| Ok(help("MEMORY", HELP))),
];

const HELP: &[&str] = &[
    "USAGE <key> [SAMPLES <count>]",
    "    Return memory in bytes used by <key> and its value. Nested values are",
    "    sampled up to <count> times (default: 5, 0 means sample all).",
];

/// A section of INFO: its name, whether it is shown unasked, and how it is written.
type Section = (&'static str, bool, fn(&State, &mut String));

const SECTIONS: &[Section] = &[
    ("Server", true, server),
    ("Clients", true, clients),
    ("Memory", true, memory),
    ("Persistence", true, persistence),
    ("Stats", true, stats),
    ("Replication", true, replication),
    ("CPU", true, cpu),
    ("Modules", true, |_, _| {}),
    ("Commandstats", false, commandstats),
    ("Errorstats", true, errorstats),
    ("Latencystats", false, |_, _| {}),
    ("Cluster", true, |_, out| field(out, "cluster_enabled", 0)),
    ("Keyspace", true, keyspace),
];

fn info(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let asked = |words: &[&str]| args[1..].iter().any(|arg| words.iter().any(|word| is(arg, word)));
    let all = asked(&["all", "everything"]);
    let default = args.len() == 1 || asked(&["default"]);
    let mut text = String::new();
    for (name, unasked, write) in SECTIONS {
        // Modules are asked for by another name as well.
        if all || (default && *unasked) || asked(&[name]) || (*name == "Modules" && asked(&["module_list"])) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            let _ = write!(text, "# {name}\r\n");
            write(cx.state, &mut text);
        }
    }
    Ok(Reply::Text(text.into_bytes()))
}

fn field(out: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = write!(out, "{name}:{value}\r\n");
}

fn server(state: &State, out: &mut String) {
    let uptime = state.now.seconds().saturating_sub(state.stats.started.seconds());
    field(out, "redis_version", VERSION);
    field(out, "redis_git_sha1", "00000000");
    field(out, "redis_git_dirty", 0);
    field(out, "redis_mode", "standalone");
    field(out, "os", std::env::consts::OS);
    field(out, "arch_bits", usize::BITS);
    field(out, "tcp_port", state.config.port);
    field(out, "server_time_usec", state.now.micros());
    field(out, "uptime_in_seconds", uptime);
    field(out, "uptime_in_days", uptime / (24 * 3600));
    field(out, "keyplane_engine", env!("CARGO_PKG_VERSION"));
}

fn clients(state: &State, out: &mut String) {
    field(out, "connected_clients", state.clients.len());
    field(out, "cluster_connections", 0);
    field(out, "maxclients", 10_000);
    field(out, "blocked_clients", state.waiting.count());
    field(out, "tracking_clients", 0);
}

/// What each key takes up beside its bytes and its value.
const PER_KEY: usize = 96;
/// As many keys of a database are measured; the others count as their average.
const SAMPLE: usize = 100;

fn size(key: &[u8], entry: &Entry) -> usize {
    key.len() + entry.value.size() + PER_KEY
}

fn estimate(db: &Db) -> usize {
    let step = db.len().div_ceil(SAMPLE).max(1);
    let sample = (0..db.len()).step_by(step).filter_map(|number| db.at(number));
    let (count, sum) = sample
        .fold((0, 0_usize), |(count, sum), (key, entry)| (count + 1, sum.saturating_add(size(key, entry))));
    if count == 0 { 0 } else { (sum as f64 / count as f64 * db.len() as f64) as usize }
}

fn memory(state: &State, out: &mut String) {
    let used = state.dbs.iter().map(estimate).sum();
    field(out, "used_memory", used);
    field(out, "used_memory_human", human(used));
    field(out, "used_memory_dataset", used);
    field(out, "maxmemory", 0);
    field(out, "maxmemory_human", human(0));
    field(out, "maxmemory_policy", "noeviction");
}

/// `1.50M`.
fn human(bytes: usize) -> String {
    let mut amount = bytes as f64;
    for unit in ["B", "K", "M", "G"] {
        if amount < 1024.0 {
            return if unit == "B" { format!("{bytes}B") } else { format!("{amount:.2}{unit}") };
        }
        amount /= 1024.0;
    }
    format!("{amount:.2}T")
}

fn persistence(state: &State, out: &mut String) {
    field(out, "loading", 0);
    field(out, "async_loading", 0);
    field(out, "rdb_changes_since_last_save", 0);
    field(out, "rdb_bgsave_in_progress", 0);
    field(out, "rdb_last_save_time", state.stats.started.seconds());
    field(out, "rdb_last_bgsave_status", "ok");
    field(out, "aof_enabled", u8::from(!state.effects.off));
    field(out, "aof_rewrite_in_progress", 0);
    field(out, "aof_rewrite_scheduled", 0);
    field(out, "aof_last_bgrewrite_status", "ok");
    field(out, "aof_last_write_status", "ok");
}

fn stats(state: &State, out: &mut String) {
    let counts = &state.stats;
    let (channels, patterns) = state.channels.count();
    field(out, "total_connections_received", state.clients.so_far().saturating_sub(counts.clients_before));
    field(out, "total_commands_processed", counts.commands);
    field(out, "instantaneous_ops_per_sec", counts.pace.per_second(state.now));
    field(out, "rejected_connections", 0);
    field(out, "sync_full", 0);
    field(out, "sync_partial_ok", 0);
    field(out, "sync_partial_err", 0);
    field(out, "expired_keys", counts.expired);
    field(out, "evicted_keys", 0);
    field(out, "keyspace_hits", counts.hits);
    field(out, "keyspace_misses", counts.misses);
    field(out, "pubsub_channels", channels);
    field(out, "pubsub_patterns", patterns);
    field(out, "pubsubshard_channels", 0);
    field(out, "latest_fork_usec", 0);
    field(out, "total_error_replies", counts.errors);
}

fn replication(_: &State, out: &mut String) {
    field(out, "role", "master");
    field(out, "connected_slaves", 0);
    field(out, "master_failover_state", "no-failover");
    field(out, "master_repl_offset", 0);
    field(out, "second_repl_offset", -1);
    field(out, "repl_backlog_active", 0);
}

/// Known only to whoever runs the engine: the fields are there for those that read them.
fn cpu(_: &State, out: &mut String) {
    for name in ["used_cpu_sys", "used_cpu_user", "used_cpu_sys_children", "used_cpu_user_children"] {
        field(out, name, "0.000000");
    }
}

fn commandstats(state: &State, out: &mut String) {
    let mut all: Vec<_> = state.stats.by_command.iter().collect();
    all.sort_by_key(|(name, _)| **name);
    for (name, calls) in all {
        let per_call = if calls.calls == 0 { 0.0 } else { calls.micros as f64 / calls.calls as f64 };
        let _ = write!(
            out,
            "cmdstat_{name}:calls={},usec={},usec_per_call={per_call:.2},rejected_calls={},failed_calls={}\r\n",
            calls.calls, calls.micros, calls.rejected, calls.failed
        );
    }
}

fn errorstats(state: &State, out: &mut String) {
    for (code, count) in &state.stats.by_error {
        let safe = |byte: &u8| if matches!(byte, b'#' | b':' | b'\n' | b'\r') { b'_' } else { *byte };
        let code: Vec<u8> = code.iter().map(safe).collect();
        field(out, &format!("errorstat_{}", String::from_utf8_lossy(&code)), format_args!("count={count}"));
    }
}

fn keyspace(state: &State, out: &mut String) {
    for (number, db) in state.dbs.iter().enumerate().filter(|(_, db)| db.len() > 0) {
        let (keys, expires, average) = (db.len(), db.ending(), average_ttl(db, state.now.millis()));
        field(out, &format!("db{number}"), format_args!("keys={keys},expires={expires},avg_ttl={average}"));
    }
}

/// Of those keys of a sample that have an end, in milliseconds.
fn average_ttl(db: &Db, now: u64) -> u64 {
    if db.ending() == 0 {
        return 0;
    }
    let step = db.len().div_ceil(SAMPLE).max(1);
    let ends = (0..db.len()).step_by(step).filter_map(|number| db.at(number)?.1.expires());
    let (count, sum) =
        ends.fold((0, 0_u64), |(count, sum), end| (count + 1, sum.saturating_add(end.saturating_sub(now))));
    sum.checked_div(count).unwrap_or(0)
}

fn memory_usage(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let mut rest = 3;
    while let Some(word) = args.get(rest) {
        if !is(word, "SAMPLES") || int(at(args, rest + 1)?)? < 0 {
            return Err(SYNTAX);
        }
        rest += 2;
    }
    let key = args[2];
    Ok(cx.db().get(key).map_or(Reply::Nil, |entry| Reply::count(size(key, entry))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Answer, Engine, Settings};
    use crate::time::Time;

    #[test]
    fn amounts_are_written_as_redis_writes_them() {
        for (bytes, text) in
            [(0, "0B"), (1023, "1023B"), (1024, "1.00K"), (1_572_864, "1.50M"), (5 << 30, "5.00G")]
        {
            assert_eq!(human(bytes), text);
        }
    }

    /// What INFO answers after a few commands, from a second later on.
    fn info_of(sections: &[&str]) -> String {
        let start = Time::from_millis(5_000);
        let mut engine = Engine::new(Settings::default(), start);
        engine.listens_on(7379);
        let client = engine.connect(start, "here".to_owned());
        for words in ["SET a 1", "SET b 2 PX 10000", "GET a", "GET c", "GET", "NOSUCH", "INCRBY a x"] {
            let args: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
            engine.execute(start, client, &args);
        }
        let args: Vec<&[u8]> =
            std::iter::once("INFO").chain(sections.iter().copied()).map(str::as_bytes).collect();
        match engine.execute(Time::from_millis(6_000), client, &args).answer {
            Answer::Reply(Reply::Text(text)) => String::from_utf8_lossy(&text).into_owned(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn what_others_read_is_there() {
        let text = info_of(&["everything"]);
        for line in [
            "redis_version:7.0.15",
            "redis_mode:standalone",
            "tcp_port:7379",
            "uptime_in_seconds:1",
            concat!("keyplane_engine:", env!("CARGO_PKG_VERSION")),
            "connected_clients:1",
            "blocked_clients:0",
            "maxmemory:0",
            "maxmemory_policy:noeviction",
            "loading:0",
            "aof_enabled:0",
            "role:master",
            "connected_slaves:0",
            "total_connections_received:1",
            "total_commands_processed:5",
            "instantaneous_ops_per_sec:5",
            "keyspace_hits:1",
            "keyspace_misses:1",
            "expired_keys:0",
            "evicted_keys:0",
            "total_error_replies:3",
            "cmdstat_get:calls=2,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0",
            "cmdstat_incrby:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=1",
            "errorstat_ERR:count=3",
            "cluster_enabled:0",
            "db0:keys=2,expires=1,avg_ttl=9000",
        ] {
            assert!(text.contains(&format!("{line}\r\n")), "{line} in\n{text}");
        }
    }

    #[test]
    fn sections_are_those_asked_for() {
        let heads = |sections: &[&str]| -> Vec<String> {
            info_of(sections).lines().filter_map(|line| line.strip_prefix("# ").map(str::to_owned)).collect()
        };
        assert_eq!(heads(&["cpu", "SERVER"]), ["Server", "CPU"]);
        assert_eq!(heads(&["nosuch"]), [""; 0]);
        assert_eq!(heads(&["commandstats"]), ["Commandstats"]);
        assert_eq!(heads(&["default"]), heads(&[]));
        assert_eq!(heads(&[]).len() + 2, heads(&["all"]).len());
        assert_eq!(heads(&["all"]), heads(&["everything"]));
    }
}
