//! COMMAND: what commands there are.
//!
//! Names, arity, flags, positions of keys and categories are told; documentation, hints and descriptions of keys are
//! not, and stand as empty.

use std::collections::BTreeMap;

use super::{Answer, Command, FAMILIES, all, flag, help, look_up};
use crate::args::is;
use crate::context::Context;
use crate::fault::{Fault, SYNTAX};
use crate::glob;
use crate::number;
use crate::reply::Reply;

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("command", -1, 0, (0, 0, 0), |_, _| {
        Ok(Reply::Array(top().values().map(describe).collect()))
    }),
    Command::new("command|count", 2, 0, (0, 0, 0), |_, _| Ok(Reply::count(top().len()))),
    Command::new("command|info", -2, 0, (0, 0, 0), info),
    Command::new("command|docs", -2, 0, (0, 0, 0), docs),
    Command::new("command|list", -2, 0, (0, 0, 0), list),
    Command::new("command|getkeys", -4, 0, (0, 0, 0), getkeys),
    Command::new("command|help", 2, 0, (0, 0, 0), |_, _| Ok(help("COMMAND", HELP))),
];

const HELP: &[&str] = &[
    "(no subcommand)",
    "    Return details about all Redis commands.",
    "COUNT",
    "    Return the total number of commands in this Redis server.",
    "LIST",
    "    Return a list of all commands in this Redis server.",
    "INFO [<command-name> ...]",
    "    Return details about multiple Redis commands.",
    "    If no command names are given, documentation details for all",
    "    commands are returned.",
    "DOCS [<command-name> ...]",
    "    Return documentation details about multiple Redis commands.",
    "    If no command names are given, documentation details for all",
    "    commands are returned.",
    "GETKEYS <full-command>",
    "    Return the keys from a full Redis command.",
];

type Words = BTreeMap<&'static str, Top>;

/// A first word: a command, a container, or both.
#[derive(Default)]
struct Top {
    name: &'static str,
    alone: Option<&'static Command>,
    parts: Vec<&'static Command>,
}

fn top() -> Words {
    let mut words = Words::new();
    for command in all() {
        let (name, part) =
            command.name.split_once('|').map_or((command.name, false), |(name, _)| (name, true));
        let word = words.entry(name).or_default();
        word.name = name;
        if part {
            word.parts.push(command);
        } else {
            word.alone = Some(command);
        }
    }
    words
}

fn describe(top: &Top) -> Reply {
    let parts = top.parts.iter().map(|part| row(part.name, part.arity, Some(part), Vec::new())).collect();
    row(top.name, top.alone.map_or(-2, |command| command.arity), top.alone, parts)
}

/// The ten parts of a description. A container by itself has no flags.
fn row(name: &str, arity: i32, command: Option<&Command>, parts: Vec<Reply>) -> Reply {
    let shown = flag::SHOWN.iter().filter(|(bit, _)| command.is_some_and(|command| command.has(*bit)));
    let places = command.and_then(Places::of);
    let flags = shown.map(|(_, name)| *name).chain(places.iter().flat_map(Places::flags));
    let (first, last, step) = command.map_or((0, 0, 0), |command| command.keys);
    Reply::Array(vec![
        Reply::bulk(name),
        Reply::Int(i64::from(arity)),
        Reply::Set(flags.map(Reply::status).collect()),
        Reply::Int(i64::from(first)),
        Reply::Int(i64::from(last)),
        Reply::Int(i64::from(step)),
        Reply::Set(categories(command).into_iter().map(Reply::status).collect()),
        Reply::Array(Vec::new()),
        Reply::Set(Vec::new()),
        if parts.is_empty() { Reply::Set(parts) } else { Reply::Array(parts) },
    ])
}

/// Those of its family and those that follow from its flags.
fn categories(command: Option<&Command>) -> Vec<&'static str> {
    let Some(command) = command else { return vec!["@slow"] };
    let family = FAMILIES
        .iter()
        .find(|(_, commands)| commands.iter().any(|known| known.name == command.name))
        .and_then(|(family, _)| match *family {
            "connection" => Some("@connection"),
            "hashes" => Some("@hash"),
            "keys" => Some("@keyspace"),
            "lists" => Some("@list"),
            "scripting" => Some("@scripting"),
            "sets" => Some("@set"),
            "streams" => Some("@stream"),
            "strings" => Some("@string"),
            "transactions" => Some("@transaction"),
            "zsets" => Some("@sortedset"),
            _ => None,
        });
    let by_flag = [
        (flag::WRITE, "@write"),
        (flag::READONLY, "@read"),
        (flag::ADMIN, "@admin"),
        (flag::ADMIN, "@dangerous"),
        (flag::PUBSUB, "@pubsub"),
        (flag::FAST, "@fast"),
        (flag::BLOCKING, "@blocking"),
    ];
    let mut all: Vec<&str> = family.into_iter().collect();
    all.extend(by_flag.iter().filter(|(bit, _)| command.has(*bit)).map(|(_, name)| *name));
    if !command.has(flag::FAST) {
        all.push("@slow");
    }
    all
}

/// The description of what a name says, `config` or `config|get`.
fn described(words: &Words, name: &[u8]) -> Option<(&'static str, Reply)> {
    let name = String::from_utf8(name.to_ascii_lowercase()).ok()?;
    match name.split_once('|') {
        None => words.get(name.as_str()).map(|top| (top.name, describe(top))),
        Some((container, _)) => {
            let part = words.get(container)?.parts.iter().find(|part| part.name == name)?;
            Some((part.name, row(part.name, part.arity, Some(part), Vec::new())))
        }
    }
}

fn info(_: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let words = top();
    if args.len() == 2 {
        return Ok(Reply::Array(words.values().map(describe).collect()));
    }
    let one = |name: &&[u8]| described(&words, name).map_or(Reply::Nil, |(_, description)| description);
    Ok(Reply::Array(args[2..].iter().map(one).collect()))
}

fn docs(_: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let entry = |name: &str| (Reply::bulk(name), Reply::Map(Vec::new()));
    let words = top();
    if args.len() == 2 {
        return Ok(Reply::Map(words.keys().map(|name| entry(name)).collect()));
    }
    let known = args[2..].iter().filter_map(|name| described(&words, name));
    Ok(Reply::Map(known.map(|(name, _)| entry(name)).collect()))
}

/// Which commands COMMAND LIST shows.
enum Filter {
    Top,
    None,
    Category(Vec<u8>),
    Pattern(Vec<u8>),
}

impl Filter {
    fn parse(args: &[&[u8]]) -> Result<Self, Fault> {
        match args {
            [] => Ok(Self::Top),
            [by, kind, value] if is(by, "FILTERBY") => match kind.to_ascii_lowercase().as_slice() {
                b"module" => Ok(Self::None),
                b"aclcat" => Ok(Self::Category([b"@", *value].concat())),
                b"pattern" => Ok(Self::Pattern(value.to_ascii_lowercase())),
                _ => Err(SYNTAX),
            },
            _ => Err(SYNTAX),
        }
    }

    fn takes(&self, name: &str, command: Option<&Command>) -> bool {
        match self {
            Self::Top => !name.contains('|'),
            Self::None => false,
            Self::Category(wanted) => {
                categories(command).iter().any(|name| wanted.eq_ignore_ascii_case(name.as_bytes()))
            }
            Self::Pattern(pattern) => glob::matches(pattern, name.as_bytes()),
        }
    }
}

fn list(_: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let filter = Filter::parse(&args[2..])?;
    let mut names = Vec::new();
    for top in top().values() {
        names.extend(filter.takes(top.name, top.alone).then_some(top.name));
        names.extend(
            top.parts.iter().filter(|part| filter.takes(part.name, Some(part))).map(|part| part.name),
        );
    }
    Ok(Reply::bulks(names))
}

fn getkeys(_: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let sent = &args[2..];
    let command = look_up(sent).map_err(|_| Fault::of("ERR Invalid command specified"))?;
    let places = Places::of(command).ok_or(Fault::of("ERR The command has no key arguments"))?;
    if !command.takes(sent.len()) {
        return Err(Fault::of("ERR Invalid number of arguments specified for command"));
    }
    match places.keys(sent) {
        Some(keys) => Ok(Reply::bulks(keys)),
        None => Err(Fault::of("ERR Invalid arguments specified for command")),
    }
}

/// Where a command has its keys.
enum Places {
    /// First, last and step, as COMMAND shows them.
    Fixed(usize, i32, usize),
    /// So many as a word says, and perhaps one before it.
    Counted { target: Option<usize>, count: usize, may_be_none: bool },
    /// The first half of what follows a word.
    After(&'static str),
}

impl Places {
    /// What tells clients that first, last and step do not say it all.
    fn flags(&self) -> impl Iterator<Item = &'static str> + use<> {
        let needs_none = matches!(self, Self::Counted { may_be_none: true, .. });
        let moves = !matches!(self, Self::Fixed(..));
        [(needs_none, "no_mandatory_keys"), (moves, "movablekeys")]
            .into_iter()
            .filter_map(|(holds, name)| holds.then_some(name))
    }

    fn of(command: &Command) -> Option<Self> {
        let counted = |target, count| Some(Self::Counted { target, count, may_be_none: false });
        match command.name {
            "eval" | "evalsha" | "eval_ro" | "evalsha_ro" => {
                Some(Self::Counted { target: None, count: 2, may_be_none: true })
            }
            "zunion" | "zinter" | "zdiff" | "zintercard" | "sintercard" | "lmpop" | "zmpop" => {
                counted(None, 1)
            }
            "zunionstore" | "zinterstore" | "zdiffstore" => counted(Some(1), 2),
            "blmpop" | "bzmpop" => counted(None, 2),
            "xread" | "xreadgroup" => Some(Self::After("STREAMS")),
            _ => {
                let (first, last, step) = command.keys;
                let (first, step) = (usize::try_from(first).ok()?, usize::try_from(step).ok()?);
                (first > 0 && step > 0).then_some(Self::Fixed(first, last, step))
            }
        }
    }

    fn keys<'a>(&self, sent: &[&'a [u8]]) -> Option<Vec<&'a [u8]>> {
        match *self {
            Self::Fixed(first, last, step) => {
                let from_end = usize::try_from(last.unsigned_abs()).ok()?;
                let last = if last < 0 { sent.len().checked_sub(from_end)? } else { from_end };
                sent.get(first..=last).map(|keys| keys.iter().step_by(step).copied().collect())
            }
            Self::Counted { target, count, may_be_none } => {
                let keys = usize::try_from(number::parse_int(sent.get(count)?)?).ok()?;
                let counted = sent.get(count + 1..(count + 1).checked_add(keys)?)?;
                let all: Vec<&[u8]> =
                    target.and_then(|at| sent.get(at)).into_iter().chain(counted).copied().collect();
                (!counted.is_empty() || may_be_none).then_some(all)
            }
            Self::After(word) => {
                let rest = &sent[sent.iter().position(|arg| is(arg, word))? + 1..];
                let half = rest.len() / 2;
                (half > 0 && rest.len() == half * 2).then(|| rest[..half].to_vec())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_whose_keys_move_says_so() {
        let flags = |name: &str| -> Vec<&str> {
            let command = all().find(|command| command.name == name).unwrap();
            Places::of(command).iter().flat_map(Places::flags).collect()
        };
        assert_eq!(flags("get"), Vec::<&str>::new());
        assert_eq!(flags("ping"), Vec::<&str>::new());
        assert_eq!(flags("xread"), ["movablekeys"]);
        assert_eq!(flags("zunionstore"), ["movablekeys"]);
        assert_eq!(flags("eval"), ["no_mandatory_keys", "movablekeys"]);
    }
}
