//! Watching others: MONITOR and SLOWLOG.
//!
//! Neither shows a password: what AUTH, HELLO and CONFIG SET are told of one is left out.

use std::borrow::Cow;

use super::{Answer, Command, flag, help, wrong_words};
use crate::args::{int, is};
use crate::clients::{ClientId, Origin, Session};
use crate::context::Context;
use crate::engine::Delivery;
use crate::fault::Fault;
use crate::reply::Reply;
use crate::state::State;
use crate::stats::Slow;

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("monitor", 1, flag::ADMIN | flag::NOSCRIPT, (0, 0, 0), monitor),
    Command::new("slowlog|get", -2, flag::ADMIN, (0, 0, 0), slowlog_get),
    Command::new("slowlog|len", 2, flag::ADMIN, (0, 0, 0), |cx, _| {
        Ok(Reply::count(cx.state.stats.slow.len()))
    }),
    Command::new("slowlog|reset", 2, flag::ADMIN, (0, 0, 0), slowlog_reset),
    Command::new("slowlog|help", 2, 0, (0, 0, 0), |_, _| Ok(help("SLOWLOG", HELP))),
];

const HELP: &[&str] = &[
    "GET [<count>]",
    "    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
    "    Entries are made of:",
    "    id, timestamp, time in microseconds, arguments array, client IP and port,",
    "    client name",
    "LEN",
    "    Return the length of the slowlog.",
    "RESET",
    "    Reset the slowlog.",
];

/// The arguments as they may be shown.
fn shown<'a>(command: &Command, args: &[&'a [u8]]) -> Vec<Cow<'a, [u8]>> {
    let mut shown: Vec<Cow<'a, [u8]>> = args.iter().map(|arg| Cow::Borrowed(*arg)).collect();
    let is_at = |place: usize, word: &str| args.get(place).is_some_and(|arg| is(arg, word));
    for (place, arg) in shown.iter_mut().enumerate() {
        let secret = match command.name {
            "auth" => place > 0,
            "hello" => place > 2 && is_at(place - 1, "AUTH") || place > 3 && is_at(place - 2, "AUTH"),
            "config|set" => place > 2 && place % 2 == 1 && is_at(place - 1, "requirepass"),
            _ => false,
        };
        if secret {
            *arg = Cow::Borrowed(b"(redacted)");
        }
    }
    shown
}

/// Clients that monitor count as replicas, which are kept from the keys.
pub(crate) fn is_kept_from_monitors(command: &Command) -> bool {
    let may_write = command.name == "publish" || command.name.starts_with("eval");
    command.has(flag::WRITE | flag::READONLY) || may_write
}

fn monitor(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    if cx.session.origin != Origin::Client {
        return Err(Fault::of("ERR MONITOR isn't allowed for DENY BLOCKING client"));
    }
    match cx.client() {
        Some(client) if !client.monitors => client.monitors = true,
        _ => return Ok(Reply::Several(Vec::new())),
    }
    let id = cx.session.client;
    cx.state.monitors.push(id);
    Ok(Reply::Ok)
}

impl State {
    /// Shows a command to those who monitor.
    pub(crate) fn monitor(&mut self, command: &Command, session: &Session, args: &[&[u8]]) {
        if self.monitors.is_empty() || command.has(flag::SKIP_MONITOR | flag::ADMIN) {
            return;
        }
        let micros = self.now.micros();
        let from = match (session.origin, self.clients.get(session.client)) {
            (Origin::Script, _) | (_, None) => "lua".to_owned(),
            (_, Some(client)) => match client.address.strip_suffix(":0") {
                Some(path) if path.starts_with('/') => format!("unix:{path}"),
                _ => client.address.clone(),
            },
        };
        let mut line = format!("{}.{:06} [{} {from}]", micros / 1_000_000, micros % 1_000_000, session.db);
        for arg in shown(command, args) {
            line.push(' ');
            quote(&mut line, &arg);
        }
        for client in self.monitors.clone() {
            self.deliver(Delivery::message(client, Reply::Status(line.clone().into())));
        }
    }

    pub(crate) fn stop_monitoring(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(id)
            && std::mem::take(&mut client.monitors)
        {
            self.monitors.retain(|monitor| *monitor != id);
        }
    }
}

/// In quotes, with escapes for what cannot be shown.
fn quote(line: &mut String, bytes: &[u8]) {
    line.push('"');
    for byte in bytes {
        match byte {
            b'\\' | b'"' => line.extend(['\\', char::from(*byte)]),
            b'\n' => line.push_str("\\n"),
            b'\r' => line.push_str("\\r"),
            b'\t' => line.push_str("\\t"),
            b'\x07' => line.push_str("\\a"),
            b'\x08' => line.push_str("\\b"),
            b' '..=b'~' => line.push(char::from(*byte)),
            other => line.push_str(&format!("\\x{other:02x}")),
        }
    }
    line.push('"');
}

/// More of a slow command is not kept.
const MOST_ARGS: usize = 32;
const LONGEST_ARG: usize = 128;

fn kept(command: &Command, args: &[&[u8]]) -> Vec<Vec<u8>> {
    let whole = if args.len() > MOST_ARGS { MOST_ARGS - 1 } else { args.len() };
    let mut kept: Vec<Vec<u8>> = shown(command, args)
        .iter()
        .take(whole)
        .map(|arg| match arg.len().checked_sub(LONGEST_ARG) {
            Some(more @ 1..) => [&arg[..LONGEST_ARG], format!("... ({more} more bytes)").as_bytes()].concat(),
            _ => arg.to_vec(),
        })
        .collect();
    if whole < args.len() {
        kept.push(format!("... ({} more arguments)", args.len() - whole).into_bytes());
    }
    kept
}

impl State {
    /// Keeps a command for SLOWLOG when it took long enough.
    pub(crate) fn note_if_slow(&mut self, command: &Command, client: ClientId, args: &[&[u8]], micros: u64) {
        let Ok(slow_from) = u64::try_from(self.config.slow_from) else { return };
        if micros >= slow_from {
            let client = self.clients.get(client);
            self.stats.slow.push_front(Slow {
                id: self.stats.slow_so_far,
                at: self.now,
                micros,
                args: kept(command, args),
                address: client.map(|client| client.address.clone()).unwrap_or_default(),
                name: client.map(|client| client.name.clone()).unwrap_or_default(),
            });
            self.stats.slow_so_far += 1;
        }
        self.stats.slow.truncate(self.config.slow_kept);
    }
}

fn slowlog_get(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let count = match args {
        [_, _] => 10,
        [_, _, count] => match int(count) {
            Ok(-1) => usize::MAX,
            Ok(count) if count >= 0 => usize::try_from(count).unwrap_or(usize::MAX),
            _ => return Err(Fault::of("ERR count should be greater than or equal to -1")),
        },
        _ => return Err(wrong_words("SLOWLOG", args)),
    };
    let number = |number: u64| Reply::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let entry = |slow: &Slow| {
        Reply::Array(vec![
            number(slow.id),
            number(slow.at.seconds()),
            number(slow.micros),
            Reply::bulks(slow.args.iter().cloned()),
            Reply::bulk(slow.address.as_str()),
            Reply::bulk(slow.name.as_slice()),
        ])
    };
    Ok(Reply::Array(cx.state.stats.slow.iter().take(count).map(entry).collect()))
}

fn slowlog_reset(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    cx.state.stats.slow.clear();
    Ok(Reply::Ok)
}
