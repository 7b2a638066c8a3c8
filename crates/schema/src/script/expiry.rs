//! Every key that a script may create has an end, and it is the one in the contract.

use super::Lint;
use super::ast::{Expr, Kind};
use super::calls::Touch;
use super::commands;
use super::origin::Source;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{Contract, Key, Policy};

/// A time to live that a command gives.
struct Given<'a> {
    value: &'a Expr,
    /// The word that takes it: a command, or an option of SET.
    word: String,
}

impl Given<'_> {
    fn in_millis(&self) -> bool {
        self.word.starts_with('P')
    }

    fn is_moment(&self) -> bool {
        self.word.ends_with("AT")
    }
}

pub(super) fn check(lint: &mut Lint<'_, '_>, touches: &[Touch<'_>]) {
    for touch in touches {
        let Some(key) = lint.key(touch.key) else { continue };
        if let Some(given) = given(touch) {
            let found = if key.ttl.policy.expires() {
                constant(lint, key, touch, &given).or_else(|| misfit(lint, key, touch, &given))
            } else {
                Some(endless(key, touch, &given))
            };
            lint.found.extend(found);
        }
        lint.found.extend(carried(lint, key, touch, touches));
    }
    for index in 0..lint.header.keys.len() {
        let found = lint.key(index).and_then(|key| unended(lint, key, index, touches));
        lint.found.extend(found);
    }
}

fn error(message: String, at: Span, label: impl Into<String>, help: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::ScriptExpiry, message, at, label).help(help)
}

/// The TTL that a command gives its key.
fn given<'a>(touch: &Touch<'a>) -> Option<Given<'a>> {
    let word = touch.command.to_uppercase();
    match touch.command.as_str() {
        "set" => {
            let mut options = touch.args.iter().skip(2).zip(touch.args.iter().skip(3));
            options.find_map(|(option, value)| {
                let word = option_word(option)?;
                matches!(word.as_str(), "EX" | "PX" | "EXAT" | "PXAT").then_some(Given { value, word })
            })
        }
        "setex" | "psetex" => touch.args.get(1).map(|value| Given { value, word }),
        command if commands::expires(command) => touch.args.get(1).map(|value| Given { value, word }),
        _ => None,
    }
}

fn option_word(arg: &Expr) -> Option<String> {
    match &arg.kind {
        Kind::Text(word) => Some(word.to_uppercase()),
        _ => None,
    }
}

fn has_option(touch: &Touch<'_>, option: &str) -> bool {
    touch.args.iter().skip(2).filter_map(option_word).any(|word| word == option)
}

/// A TTL for a key that has none by the contract.
fn endless(key: &Key, touch: &Touch<'_>, given: &Given<'_>) -> Diagnostic {
    let message =
        format!("`{}` never expires by the contract, and `{}` gives it an end", key.name, given.word);
    let help = format!("leave the TTL out, or change the ttl of [key.{}] in the contract", key.name);
    error(message, touch.at, "gives it a TTL", help)
}

/// A TTL that is written in the script.
fn constant(lint: &Lint<'_, '_>, key: &Key, touch: &Touch<'_>, given: &Given<'_>) -> Option<Diagnostic> {
    let sources = lint.origins.of(given.value);
    let constant = |source: &Source| matches!(source, Source::Number | Source::Text);
    (!sources.is_empty() && sources.iter().all(constant)).then(|| {
        let name = &key.name;
        let message = format!("the TTL of `{name}` is written here a second time");
        let help = format!(
            "the contract has it ({}): take `ttl({name})` as an argument, which the runner fills in in milliseconds",
            key.ttl.policy
        );
        error(message, given.value.at, "a constant", help).also(touch.at, format!("for `{name}`"))
    })
}

/// A TTL of the runner in the wrong unit or on the wrong key.
fn misfit(lint: &Lint<'_, '_>, key: &Key, touch: &Touch<'_>, given: &Given<'_>) -> Option<Diagnostic> {
    let sources = lint.origins.of(given.value);
    let mut ttls = sources.iter().map(|source| match source {
        Source::Ttl(arg) => Some(lint.header.args[*arg].name.text.as_str()),
        _ => None,
    });
    let (Some(Some(of)), None) = (ttls.next(), ttls.next()) else { return None };
    let (word, at) = (&given.word, given.value.at);
    if given.is_moment() {
        let message = format!("`ttl({of})` is a duration, and `{word}` takes a moment");
        return Some(error(message, at, "milliseconds from now", "use PEXPIRE, or `PX` with SET"));
    }
    if !given.in_millis() {
        let message = format!("`ttl({of})` is in milliseconds, and `{word}` takes seconds");
        return Some(error(message, at, "a thousand times too long", "use PEXPIRE, or `PX` with SET"));
    }
    (touch.exact && of != key.name && !is_linked(lint.contract, key, of)).then(|| {
        let message = format!("`{}` gets the TTL of `{of}`", key.name);
        let help = format!("take `ttl({})` as an argument", key.name);
        error(message, at, format!("this is `ttl({of})`"), help).also(touch.at, format!("on `{}`", key.name))
    })
}

/// Whether a key lives as long as another, through however many links.
fn is_linked(contract: &Contract, key: &Key, to: &str) -> bool {
    let mut key = Some(key);
    // The contract has no circles, and this does not rely on it.
    for _ in 0..contract.keys.len() {
        let Some(Policy::Linked { to: parent, .. }) = key.map(|key| &key.ttl.policy) else { return false };
        if parent == to {
            return true;
        }
        key = contract.key(parent);
    }
    false
}

/// RENAME takes the TTL along to a key that has none.
fn carried(lint: &Lint<'_, '_>, key: &Key, touch: &Touch<'_>, touches: &[Touch<'_>]) -> Option<Diagnostic> {
    let from = touch.from.as_ref().filter(|_| touch.command.starts_with("rename"))?;
    let ends = |source: &Source| match source {
        Source::Key { key, .. } => lint.key(*key).filter(|key| key.ttl.policy.expires()),
        _ => None,
    };
    let from = from.iter().find_map(ends).filter(|_| !key.ttl.policy.expires())?;
    let persists = |other: &Touch<'_>| other.key == touch.key && other.command == "persist";
    (!touches.iter().any(persists)).then(|| {
        let message = format!(
            "`{}` never expires by the contract, and `{}` hands it the TTL of `{}`",
            key.name,
            touch.command.to_uppercase(),
            from.name
        );
        let help = format!("PERSIST `{}` behind it", key.name);
        error(message, touch.at, "takes the TTL along", help)
    })
}

/// A key that may be created here and has no end.
fn unended(lint: &Lint<'_, '_>, key: &Key, index: usize, touches: &[Touch<'_>]) -> Option<Diagnostic> {
    let own = || touches.iter().filter(|touch| touch.key == index);
    let declared = &lint.header.keys[index];
    if !key.ttl.policy.expires() {
        return None;
    }
    if declared.keep.is_some() {
        return own().find_map(|touch| drops(key, touch));
    }
    if own().any(|touch| commands::expires(&touch.command)) {
        return None;
    }
    let open = own().find(|touch| touch.creates() && given(touch).is_none())?;
    let name = &key.name;
    let message =
        format!("`{name}` is written and never expires here; the contract says: {}", key.ttl.policy);
    let label = if has_option(open, "KEEPTTL") && open.command == "set" {
        "KEEPTTL keeps no TTL where the key is new"
    } else {
        "may create it"
    };
    let help = format!(
        "take `ttl({name})` as an argument and PEXPIRE the key, or say `keep` in the header if its end is set elsewhere"
    );
    Some(error(message, open.at, label, help).also(declared.name.at, "no `keep`"))
}

/// SET takes away the TTL that `keep` promises to leave, unless there is none before an event.
fn drops(key: &Key, touch: &Touch<'_>) -> Option<Diagnostic> {
    let lasting = matches!(key.ttl.policy, Policy::After { before: None, .. });
    let keeps =
        ["KEEPTTL", "NX"].into_iter().any(|option| has_option(touch, option)) || given(touch).is_some();
    (touch.command == "set" && !keeps && !lasting).then(|| {
        let message = format!("`{}` is marked `keep`, and this SET takes its TTL away", key.name);
        let help = "add 'KEEPTTL', or give it its TTL with 'PX' and drop `keep`";
        error(message, touch.at, "a plain SET", help)
    })
}
