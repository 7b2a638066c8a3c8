//! Commands: named in the script, on keys that come from KEYS, allowed by the verbs of the operation.

use super::Lint;
use super::ast::{Expr, Kind};
use super::commands::{self, KeyArgs};
use super::facts::LibraryCall;
use super::header::HeaderKey;
use super::names::Callee;
use super::origin::{Source, Sources};
use super::position::{At, constant, position, whole};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::Op;
use crate::verbs::Access;

/// A command on a key.
#[derive(Debug)]
pub(super) struct Touch<'a> {
    /// The key, by its number in the header.
    pub(super) key: usize,
    /// The script says which key it is; no index was computed.
    pub(super) exact: bool,
    /// In lower case.
    pub(super) command: String,
    /// The name of the command in the script.
    pub(super) at: Span,
    /// What follows the name.
    pub(super) args: &'a [Expr],
    /// The key that RENAME and LMOVE take from, for the one they go to.
    pub(super) from: Option<Sources>,
}

impl Touch<'_> {
    /// Whether this key may come into being here.
    pub(super) fn creates(&self) -> bool {
        let goes_to = commands::key_args(&self.command) == Some(KeyArgs::FromTo);
        commands::creates(&self.command) && (!goes_to || self.from.is_some())
    }
}

/// A call of `redis.call` whose command is known.
struct Command<'a> {
    name: String,
    at: Span,
    args: &'a [Expr],
}

const FROM_KEYS: &str = "declare the key in the header and take it as `KEYS[n]`: the caller renders it, so that its \
                         slot and its rights are known before the script runs";

/// Checks all commands and lists what they touch.
pub(super) fn check<'a>(lint: &mut Lint<'a, '_>) -> Vec<Touch<'a>> {
    let facts = lint.origins.facts;
    let mut touches = Vec::new();
    for call in facts.calls.iter().filter(|call| matches!(call.path, "redis.call" | "redis.pcall")) {
        match command(call) {
            Ok(command) => touches.extend(keys_of(lint, &command)),
            Err(found) => lint.found.push(*found),
        }
    }
    touches
}

fn command<'a>(call: &LibraryCall<'a>) -> Result<Command<'a>, Box<Diagnostic>> {
    let error = |message: &str, at, label: &str, help: &str| {
        Err(Box::new(Diagnostic::error(Code::ScriptCommand, message, at, label).help(help)))
    };
    let Some((first, args)) = call.args.split_first() else {
        return error(
            "no command is called",
            call.whole.at,
            "empty",
            "name the command: `redis.call('GET', KEYS[1])`",
        );
    };
    match &first.bare().kind {
        Kind::Text(name) => Ok(Command { name: name.to_lowercase(), at: first.at, args }),
        kind => error(
            "the command is not written in the script",
            first.at,
            if matches!(kind, Kind::Call(..)) { "hidden in a list" } else { "not a string literal" },
            "write command and key out, as in `redis.call('HSET', KEYS[1], unpack(fields, 1, 10))`; only what follows \
             the keys may come from a list",
        ),
    }
}

/// The touches of one command, as far as it is allowed.
fn keys_of<'a>(lint: &mut Lint<'a, '_>, command: &Command<'a>) -> Vec<Touch<'a>> {
    let shown = command.name.to_uppercase();
    if command.name == "time" {
        return Vec::new();
    }
    if let Some(why) = commands::refusal(&command.name) {
        let message = format!("`{shown}` has no place in a script");
        lint.found.push(Diagnostic::error(Code::ScriptCommand, message, command.at, "refused").help(why));
        return Vec::new();
    }
    let Some(shape) = commands::key_args(&command.name) else {
        lint.found.push(unknown(lint, command));
        return Vec::new();
    };
    let exprs = match key_exprs(lint, shape, command) {
        Ok(exprs) => exprs,
        Err(found) => {
            lint.found.push(*found);
            return Vec::new();
        }
    };
    let mut touches = Vec::new();
    let mut from = None;
    for (expr, sources) in exprs {
        let keys = followed(lint, expr, &sources, &command.name);
        for (key, exact) in keys {
            // Of several keys that do not allow it, one is enough to know.
            if !permitted(lint, command, expr, key, from.is_some()) {
                break;
            }
            let (name, at, args) = (command.name.clone(), command.at, command.args);
            touches.push(Touch { key, exact, command: name, at, args, from: from.clone() });
        }
        from = (shape == KeyArgs::FromTo).then_some(sources);
    }
    touches
}

/// A command that no verb has.
fn unknown(lint: &Lint<'_, '_>, command: &Command<'_>) -> Diagnostic {
    let shown = command.name.to_uppercase();
    let first = command.args.first().map(|first| lint.origins.of(first)).unwrap_or_default();
    let key =
        first.iter().find_map(|source| if let Source::Key { key, .. } = source { Some(*key) } else { None });
    let help = match key {
        Some(key) => lint.commands_on(key),
        None => "what a script may do to a key follows from the verbs of its operation".to_owned(),
    };
    let message = format!("no verb has the command `{shown}`");
    Diagnostic::error(Code::ScriptCommand, message, command.at, "not known").help(help)
}

/// The arguments that are keys, and what they may be.
fn key_exprs<'a>(
    lint: &Lint<'a, '_>,
    shape: KeyArgs,
    command: &Command<'a>,
) -> Result<Vec<(&'a Expr, Sources)>, Box<Diagnostic>> {
    let shown = command.name.to_uppercase();
    let error = |message: String, at, label: &str, help: &str| {
        Err(Box::new(Diagnostic::error(Code::ScriptCommand, message, at, label).help(help)))
    };
    let args = command.args;
    let exprs = match shape {
        KeyArgs::First => args.get(..1),
        KeyArgs::FromTo => args.get(..2),
        KeyArgs::All => (!args.is_empty()).then_some(args),
        KeyArgs::Counted => {
            let count = args.first().and_then(|count| constant(lint.origins.facts, count)).and_then(whole);
            count.and_then(|count| args.get(1..=count))
        }
        KeyArgs::Streams => {
            let is = |arg: &Expr, word: &str| matches!(&arg.kind, Kind::Text(own) if own.eq_ignore_ascii_case(word));
            let streams = args.iter().position(|arg| is(arg, "streams"));
            if let Some(block) = args.iter().take(streams.unwrap_or(0)).find(|arg| is(arg, "block")) {
                let help = "while a script runs nobody can append; read what is there and ask again later";
                return error("`XREAD … BLOCK` waits inside a script".to_owned(), block.at, "refused", help);
            }
            let rest =
                streams.map(|at| &args[at + 1..]).filter(|rest| !rest.last().is_some_and(Expr::is_open));
            rest.filter(|rest| !rest.is_empty() && rest.len() % 2 == 0).map(|rest| &rest[..rest.len() / 2])
        }
    };
    let Some(exprs) = exprs else {
        let help = match shape {
            KeyArgs::Counted => {
                "write the number of keys and each of them out: `redis.call('LMPOP', 1, KEYS[1], 'LEFT')`"
            }
            KeyArgs::Streams => "write keys and ids out: `redis.call('XREAD', 'STREAMS', KEYS[1], ARGV[1])`",
            KeyArgs::FromTo => "it takes two keys",
            _ => "give it a key",
        };
        return error(format!("the keys of `{shown}` cannot be told"), command.at, "which keys?", help);
    };
    let sources = |(index, expr): (usize, &'a Expr)| {
        let rest = shape == KeyArgs::All && index + 1 == exprs.len();
        (expr, lint.slice(expr).filter(|_| rest).unwrap_or_else(|| lint.origins.of(expr)))
    };
    Ok(exprs.iter().enumerate().map(sources).collect())
}

impl Lint<'_, '_> {
    /// The keys in `unpack(KEYS, from, to)`.
    fn slice(&self, expr: &Expr) -> Option<Sources> {
        let Kind::Call(callee, args) = &expr.kind else { return None };
        let is_slice = matches!(self.origins.known.callee(callee), Callee::Library("unpack"))
            && args.first().is_some_and(|list| list.is_global("KEYS"));
        let keys = is_slice.then(|| self.origins.inputs.keys_at(self.slice_at(args)))?;
        Some(keys.into_iter().map(|key| Source::Key { key, exact: false }).collect())
    }

    /// From where to where `unpack(list, from, to)` reaches.
    pub(super) fn slice_at(&self, args: &[Expr]) -> At {
        let facts = self.origins.facts;
        let from = match args.get(1).map_or(At::Exact(1.0), |from| position(facts, from)) {
            At::Exact(from) => whole(from),
            At::Between(from, _) => Some(from),
            At::Anywhere => None,
        };
        let to = args.get(2).and_then(|to| constant(facts, to)).and_then(whole);
        from.map_or(At::Anywhere, |from| At::Between(from, to))
    }

    /// The commands that the operation allows on a key, as a help text.
    fn commands_on(&self, key: usize) -> String {
        let name = &self.header.keys[key].name.text;
        let types = self.contract.key(name).map(|key| key.types.as_slice()).unwrap_or_default();
        let allowed = |op: &&Op| {
            let verbs = op.keys.iter().find(|own| own.key == *name).map(|own| own.verbs.as_slice());
            let words: Vec<&str> = verbs.unwrap_or_default().iter().map(|verb| verb.word()).collect();
            let commands = commands::all_allowed(verbs.unwrap_or_default(), types).join(", ");
            format!("`{}` may {} `{name}`, which is {commands}", op.name, words.join(" and "))
        };
        self.ops.iter().map(allowed).collect::<Vec<_>>().join("; ")
    }
}

/// The keys that an argument may be, and whether each is sure. Whatever else it may be is refused here.
fn followed(lint: &mut Lint<'_, '_>, expr: &Expr, sources: &Sources, command: &str) -> Vec<(usize, bool)> {
    if sources.contains(&Source::Told) {
        return Vec::new();
    }
    let foreign = |source: &&Source| !matches!(source, Source::Key { .. } | Source::Nil);
    if let Some(source) = sources.iter().find(foreign) {
        lint.found.push(not_from_keys(lint, expr, *source));
        return Vec::new();
    }
    let keys = sources.iter().filter_map(|source| match source {
        Source::Key { key, exact } => Some((*key, *exact)),
        _ => None,
    });
    let keys: Vec<(usize, bool)> = keys.collect();
    if keys.is_empty() && !sources.is_empty() {
        let message = "this key is never set";
        lint.found.push(Diagnostic::error(Code::KeyOrigin, message, expr.at, "always nil").help(FROM_KEYS));
    }
    // A command that fails on other types says which family is meant, where an index does not.
    let fits = |key: usize| {
        lint.key(key).is_some_and(|key| key.types.iter().any(|kind| commands::fits(command, *kind)))
    };
    if keys.iter().any(|(key, exact)| *exact || fits(*key)) {
        keys.into_iter().filter(|(key, exact)| *exact || fits(*key)).collect()
    } else {
        keys
    }
}

fn not_from_keys(lint: &Lint<'_, '_>, expr: &Expr, source: Source) -> Diagnostic {
    let label = match source {
        Source::Text | Source::Number => "written in the script",
        Source::Argument | Source::Ttl(_) => "comes from ARGV",
        Source::Built => "put together in the script",
        Source::Reply => "the reply of a command",
        Source::Stored => "out of a table",
        _ => "computed",
    };
    let mut found = Diagnostic::error(Code::KeyOrigin, "this key does not come from KEYS", expr.at, label);
    let mut help = FROM_KEYS.to_owned();
    if let Kind::Local(id) = expr.bare().kind {
        let mut brings =
            lint.origins.facts.bindings_of(id).filter(|own| lint.origins.binding(*own).contains(&source));
        if let Some(at) = brings.find_map(|binding| binding.at()) {
            found = found.also(at, "gets it here");
        }
    }
    if source == Source::Stored {
        help =
            "a key in a table cannot be followed: hold it in a local of its own, or loop over `ipairs(KEYS)`"
                .into();
    }
    found.help(help)
}

/// Whether header and operation allow the command on the key; what they do not is reported.
fn permitted(lint: &mut Lint<'_, '_>, command: &Command<'_>, expr: &Expr, key: usize, second: bool) -> bool {
    let declared = &lint.header.keys[key];
    let found = against_header(lint, declared, command)
        .or_else(|| against_verbs(lint, declared, command, key, second));
    let Some(found) = found else { return true };
    let name = &declared.name.text;
    let found =
        if lint.names_key(expr, key) { found } else { found.also(expr.at, format!("may be `{name}`")) };
    lint.found.push(found);
    false
}

impl Lint<'_, '_> {
    /// Whether the reader sees from the expression alone which key it is.
    fn names_key(&self, expr: &Expr, key: usize) -> bool {
        matches!(&expr.bare().kind, Kind::Index(..))
            && self.origins.of(expr).iter().all(|source| *source == Source::Key { key, exact: true })
    }
}

fn against_header(lint: &Lint<'_, '_>, declared: &HeaderKey, command: &Command<'_>) -> Option<Diagnostic> {
    let (shown, name) = (command.name.to_uppercase(), &declared.name.text);
    // SET … GET shows what was there.
    let gets = |arg: &Expr| matches!(&arg.kind, Kind::Text(word) if word.eq_ignore_ascii_case("get"));
    let shows = commands::shows_data(&command.name)
        || (command.name == "set" && command.args.iter().skip(2).any(gets));
    if commands::writes(&command.name) && declared.access == Access::Read {
        let message = format!("`{shown}` writes `{name}`, which the header declares as read");
        let found = Diagnostic::error(Code::ScriptAccess, message, command.at, "writes");
        let everything = lint.header.keys.iter().all(|key| key.access == Access::Read);
        let help = if everything {
            "this script only reads: let it be, or give the operation a verb that writes and say `rw` here"
        } else {
            "give the operation a verb that writes this key and say `rw` in the header, or leave the key alone"
        };
        return Some(found.also(declared.access_at, "declared as read").help(help));
    }
    if shows && declared.access == Access::Write {
        let message = format!("`{shown}` reads `{name}`, which the header declares as written only");
        let found = Diagnostic::error(Code::ScriptAccess, message, command.at, "reads");
        let help = "give the operation `peek` on this key and say `rw` in the header; a verb that reads by itself, \
                    such as `hold`, only needs `rw`";
        return Some(found.also(declared.access_at, "declared as written").help(help));
    }
    None
}

fn against_verbs(
    lint: &Lint<'_, '_>,
    declared: &HeaderKey,
    command: &Command<'_>,
    key: usize,
    second: bool,
) -> Option<Diagnostic> {
    let name = &declared.name.text;
    let types = lint.key(key)?.types.as_slice();
    let limited = lint.key(key).is_some_and(|key| key.limits(lint.contract).is_counted());
    let refuses = |op: &&&Op| {
        let verbs =
            op.keys.iter().find(|own| own.key == *name).map(|own| own.verbs.as_slice()).unwrap_or_default();
        !commands::allowed(&command.name, verbs, types, limited, second)
    };
    let op = lint.ops.iter().find(refuses)?;
    let shown = command.name.to_uppercase();
    let message = format!("operation `{}` does not allow `{shown}` on `{name}`", op.name);
    let label = if types.iter().any(|kind| commands::fits(&command.name, *kind)) {
        "no verb of the operation has this".to_owned()
    } else {
        format!("`{name}` is a {}", types.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(" or "))
    };
    let found = Diagnostic::error(Code::ScriptCommand, message, command.at, label);
    Some(found.help(lint.commands_on(key)))
}
