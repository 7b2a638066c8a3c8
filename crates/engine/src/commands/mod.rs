//! The commands: one file per family, each with its table.

mod client;
mod command;
mod configure;
pub(crate) mod connection;
pub(crate) mod hashes;
mod info;
pub(crate) mod keys;
pub(crate) mod lists;
pub(crate) mod observe;
pub(crate) mod pubsub;
pub(crate) mod scripting;
pub(crate) mod server;
pub(crate) mod sets;
pub(crate) mod streams;
pub(crate) mod strings;
pub(crate) mod transactions;
pub(crate) mod zsets;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::blocking::Blocking;
use crate::clients::Session;
use crate::context::Context;
use crate::db::Hashing;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::reply::Reply;

pub(crate) type Answer = Result<Reply, Fault>;

/// How a command is run.
pub(crate) enum Run {
    Plain(fn(&mut Context<'_>, &[&[u8]]) -> Answer),
    /// It may wait.
    Blocking(fn(&mut Context<'_>, &[&[u8]]) -> Result<Blocking, Fault>),
    /// It runs others.
    Exec,
    /// It needs the scripts, which are no part of the state.
    Script(fn(&mut Engine, &Session, &[&[u8]]) -> Answer),
}

/// What holds for a command; names as in COMMAND INFO where there is one.
pub(crate) mod flag {
    pub(crate) const WRITE: u32 = 1;
    pub(crate) const READONLY: u32 = 1 << 1;
    pub(crate) const NOSCRIPT: u32 = 1 << 2;
    pub(crate) const BLOCKING: u32 = 1 << 3;
    pub(crate) const FAST: u32 = 1 << 4;
    pub(crate) const NO_AUTH: u32 = 1 << 5;
    pub(crate) const NO_MULTI: u32 = 1 << 6;
    pub(crate) const ADMIN: u32 = 1 << 7;
    pub(crate) const PUBSUB: u32 = 1 << 8;
    pub(crate) const SKIP_MONITOR: u32 = 1 << 9;
    pub(crate) const SKIP_SLOWLOG: u32 = 1 << 10;
    pub(crate) const DENYOOM: u32 = 1 << 11;
    /// Allowed while a RESP2 connection listens to channels.
    pub(crate) const WHILE_LISTENING: u32 = 1 << 20;
    /// Runs at once, also after MULTI.
    pub(crate) const NEVER_QUEUED: u32 = 1 << 21;

    /// With the names that COMMAND INFO shows.
    pub(crate) const SHOWN: &[(u32, &str)] = &[
        (WRITE, "write"),
        (READONLY, "readonly"),
        (DENYOOM, "denyoom"),
        (ADMIN, "admin"),
        (PUBSUB, "pubsub"),
        (NOSCRIPT, "noscript"),
        (BLOCKING, "blocking"),
        (SKIP_MONITOR, "skip_monitor"),
        (SKIP_SLOWLOG, "skip_slowlog"),
        (FAST, "fast"),
        (NO_AUTH, "no_auth"),
        (NO_MULTI, "no_multi"),
    ];
}

/// One command, or one of a container: `object|encoding`.
pub(crate) struct Command {
    /// In lower case.
    pub(crate) name: &'static str,
    /// With its name; negative is "at least".
    pub(crate) arity: i32,
    pub(crate) flags: u32,
    /// First and last key and the step between them, as COMMAND shows them; zeros where it has none at fixed places.
    pub(crate) keys: (i32, i32, i32),
    pub(crate) run: Run,
}

impl Command {
    pub(crate) const fn new(
        name: &'static str,
        arity: i32,
        flags: u32,
        keys: (i32, i32, i32),
        run: fn(&mut Context<'_>, &[&[u8]]) -> Answer,
    ) -> Self {
        Self { name, arity, flags, keys, run: Run::Plain(run) }
    }

    pub(crate) const fn blocking(
        name: &'static str,
        arity: i32,
        flags: u32,
        keys: (i32, i32, i32),
        run: fn(&mut Context<'_>, &[&[u8]]) -> Result<Blocking, Fault>,
    ) -> Self {
        Self { name, arity, flags: flags | flag::BLOCKING, keys, run: Run::Blocking(run) }
    }

    pub(crate) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    pub(crate) fn takes(&self, count: usize) -> bool {
        let least = usize::try_from(self.arity.unsigned_abs()).unwrap_or(usize::MAX);
        if self.arity < 0 { count >= least } else { count == least }
    }

    pub(crate) fn check_arity(&self, args: &[&[u8]]) -> Result<(), Fault> {
        if self.takes(args.len()) { Ok(()) } else { Err(Fault::arity(self.name)) }
    }
}

/// Every table, with the name of its family.
const FAMILIES: &[(&str, &[Command])] = &[
    ("connection", connection::COMMANDS),
    ("connection", client::COMMANDS),
    ("hashes", hashes::COMMANDS),
    ("keys", keys::COMMANDS),
    ("lists", lists::COMMANDS),
    ("pubsub", pubsub::COMMANDS),
    ("scripting", scripting::COMMANDS),
    ("server", server::COMMANDS),
    ("server", command::COMMANDS),
    ("server", configure::COMMANDS),
    ("server", info::COMMANDS),
    ("server", observe::COMMANDS),
    ("sets", sets::COMMANDS),
    ("streams", streams::COMMANDS),
    ("strings", strings::COMMANDS),
    ("transactions", transactions::COMMANDS),
    ("zsets", zsets::COMMANDS),
];

/// All commands, by family.
pub(crate) fn all() -> impl Iterator<Item = &'static Command> {
    FAMILIES.iter().flat_map(|(_, commands)| *commands)
}

/// A command that the engine knows, for pages about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Supported {
    /// In lower case; one of a container as `config|get`.
    pub name: &'static str,
    /// How many words it takes, with its name; negative is "at least".
    pub arity: i32,
    /// The family it belongs to, such as `strings`.
    pub family: &'static str,
    /// Whether it can change keys.
    pub writes: bool,
    /// Whether it can wait for a key.
    pub waits: bool,
    /// First and last key and the step between them, as COMMAND shows them; zeros where they are at no fixed places.
    pub keys: (i32, i32, i32),
}

/// Every command that the engine knows, by family and name.
#[must_use]
pub fn supported() -> Vec<Supported> {
    let of = |family, command: &Command| Supported {
        name: command.name,
        arity: command.arity,
        family,
        writes: command.has(flag::WRITE),
        waits: command.has(flag::BLOCKING),
        keys: command.keys,
    };
    let mut all: Vec<Supported> = FAMILIES
        .iter()
        .flat_map(|(family, commands)| commands.iter().map(move |command| of(family, command)))
        .collect();
    all.sort_by_key(|command| (command.family, command.name));
    all
}

type Table = HashMap<&'static str, Found, Hashing>;

/// What a first word names.
#[derive(Clone, Copy)]
enum Found {
    Command(&'static Command),
    /// A second word says which; some can do without.
    Container(Option<&'static Command>),
}

fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| {
        let mut table: Table = all().map(|command| (command.name, Found::Command(command))).collect();
        for (container, _) in all().filter_map(|command| command.name.split_once('|')) {
            let alone = match table.get(container) {
                Some(Found::Command(command) | Found::Container(Some(command))) => Some(*command),
                _ => None,
            };
            table.insert(container, Found::Container(alone));
        }
        table
    });
    &TABLE
}

/// Longer than any name.
const LONGEST: usize = 32;

/// A name in lower case; `None` where it is no name at all.
fn lower<'b>(words: &[&[u8]], buffer: &'b mut [u8; LONGEST]) -> Option<&'b str> {
    let mut length = 0;
    for (index, word) in words.iter().enumerate() {
        if length + word.len() + 1 > LONGEST {
            return None;
        }
        if index > 0 {
            buffer[length] = b'|';
            length += 1;
        }
        buffer[length..length + word.len()].copy_from_slice(word);
        length += word.len();
    }
    let name = &mut buffer[..length];
    name.make_ascii_lowercase();
    std::str::from_utf8(name).ok()
}

/// A command by its words alone.
pub(crate) fn named(words: &[&[u8]]) -> Option<&'static Command> {
    let mut buffer = [0; LONGEST];
    match table().get(lower(words, &mut buffer)?)? {
        Found::Command(command) => Some(command),
        Found::Container(alone) => *alone,
    }
}

/// The command that these arguments are, or the error that Redis answers with.
pub(crate) fn find(args: &[&[u8]]) -> Result<&'static Command, Fault> {
    let command = look_up(args)?;
    command.check_arity(args).map(|()| command)
}

/// The same, whatever the number of arguments.
pub(crate) fn look_up(args: &[&[u8]]) -> Result<&'static Command, Fault> {
    let Some(first) = args.first() else { return Err(Fault::of("ERR unknown command ''")) };
    let mut buffer = [0; LONGEST];
    let found = lower(&[first], &mut buffer).and_then(|name| table().get_key_value(name));
    match found {
        Some((_, Found::Command(command))) if !first.contains(&b'|') => Ok(command),
        Some((_, Found::Container(Some(alone)))) if args.len() == 1 => Ok(alone),
        Some((container, Found::Container(_))) => {
            let Some(second) = args.get(1) else { return Err(Fault::arity(container)) };
            named(&[first, second]).ok_or_else(|| {
                let shown = cut(second, 128);
                let container = container.to_ascii_uppercase();
                Fault::new(
                    [b"ERR unknown subcommand '", shown, format!("'. Try {container} HELP.").as_bytes()]
                        .concat(),
                )
            })
        }
        _ => Err(unknown(args)),
    }
}

fn unknown(args: &[&[u8]]) -> Fault {
    let mut text = b"ERR unknown command '".to_vec();
    text.extend_from_slice(cut(args.first().copied().unwrap_or_default(), 128));
    text.extend_from_slice(b"', with args beginning with: ");
    let mut shown = 0;
    for arg in args.iter().skip(1) {
        if shown >= 128 {
            break;
        }
        let arg = cut(arg, 128 - shown);
        text.push(b'\'');
        text.extend_from_slice(arg);
        text.extend_from_slice(b"' ");
        shown += arg.len() + 3;
    }
    Fault::new(text)
}

/// As much of an argument as Redis shows in an error: C's strings end at a zero byte.
pub(crate) fn cut(arg: &[u8], most: usize) -> &[u8] {
    let end = arg.iter().position(|byte| *byte == 0).unwrap_or(arg.len());
    &arg[..end.min(most)]
}

/// The answer to HELP of a container, in the form that all of them share.
pub(crate) fn help(container: &str, lines: &[&'static str]) -> Reply {
    let head = format!("{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    let mut all = vec![Reply::Status(head.into())];
    all.extend(lines.iter().copied().chain(["HELP", "    Prints this help."]).map(Reply::status));
    Reply::Array(all)
}

/// The error of a subcommand that is given words it has no use for.
pub(crate) fn wrong_words(container: &str, args: &[&[u8]]) -> Fault {
    let word = cut(args.get(1).copied().unwrap_or_default(), 128);
    let text = b"ERR unknown subcommand or wrong number of arguments for '";
    Fault::new([text.as_slice(), word, format!("'. Try {container} HELP.").as_bytes()].concat())
}
