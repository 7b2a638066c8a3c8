//! All keys of one atomic step live on one slot, on any cluster, whatever the parameters are.
//!
//! The proof is the hash tag: equal tag templates over the same placeholders render to equal tags.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Contract, Key, Op, Tag};

pub(super) fn check(contract: &Contract) -> Vec<Diagnostic> {
    let ops = contract.ops.iter().filter_map(|op| check_op(contract, op));
    ops.chain(contract.keys.iter().filter_map(|key| check_outbox(contract, key))).collect()
}

/// What is fed through an outbox needs one to be fed from.
fn check_outbox(contract: &Contract, key: &Key) -> Option<Diagnostic> {
    let is_outbox = |other: &Key| other.helper_of.as_ref().is_some_and(|helper| helper.kit == "outbox");
    (key.via_outbox && !contract.keys.iter().any(is_outbox)).then(|| {
        let message = format!("`{}` is fed through an outbox, but no key has one", key.name);
        let help = "say `use = { kit = \"outbox\" }` on the key whose changes it follows";
        Diagnostic::error(Code::Missing, message, key.at.name, "fed from nothing").help(help)
    })
}

/// The kit's primitives that work on keys of an operation.
const PRIMITIVES: &[&str] = &["lease", "record", "index", "events", "deadline", "timeline", "heartbeat"];

fn check_op(contract: &Contract, op: &Op) -> Option<Diagnostic> {
    let [first, others @ ..] = op.keys.as_slice() else {
        let message = format!("operation `{}` touches no key", op.name);
        return Some(
            Diagnostic::error(Code::Missing, message, op.at, "here")
                .help("say which verbs it needs on which keys, as in `keys = { queue = \"consume\" }`"),
        );
    };
    if let Some((kit, at)) = op.kit.as_ref().filter(|(kit, _)| !PRIMITIVES.contains(&kit.as_str())) {
        let message = format!("there is no kit primitive `{kit}`");
        let help = format!("primitives: {}", PRIMITIVES.join(", "));
        return Some(Diagnostic::error(Code::UnknownName, message, *at, "not known").help(help));
    }
    if let (Some(_), Some((_, at))) = (&op.script, &op.kit) {
        let message = format!("operation `{}` has a script and a kit primitive", op.name);
        return Some(
            Diagnostic::error(Code::BadValue, message, *at, "here")
                .help("one of them does the step: drop the other"),
        );
    }
    if (op.script.is_some() || op.kit.is_some()) && !op.atomic {
        let message = format!("operation `{}` has a script, so it is one step", op.name);
        return Some(
            Diagnostic::error(Code::BadValue, message, op.at, "here")
                .help("drop `atomic = false` or the script"),
        );
    }
    if others.is_empty() || !op.atomic {
        return None;
    }
    if op.script.is_none() && op.kit.is_none() {
        let message = format!("operation `{}` touches several keys without a script", op.name);
        let help = "several commands are not one step: name a `script` or a `kit` primitive, or say `atomic = false`";
        return Some(Diagnostic::error(Code::Missing, message, op.at, "here").help(help));
    }
    let anchor = contract.key(&first.key)?;
    for other in others {
        let key = contract.key(&other.key)?;
        if !anchor.shares_slot_with(key) {
            let message = format!("operation `{}` is one script over keys on different slots", op.name);
            let shared = anchor.pattern.params().find(|name| key.pattern.params().any(|own| own == *name));
            let help = match shared.filter(|_| anchor.tag.is_none() && key.tag.is_none()) {
                Some(param) => format!(
                    "keys of one script share a hash tag: say `tag = \"<{param}>\"` on both, or once in [contract]"
                ),
                None => "keys of one script share a hash tag; feed a key on another slot through an outbox"
                    .to_owned(),
            };
            return Some(
                Diagnostic::error(Code::CrossSlot, message, other.at, slot_of(key))
                    .also(first.at, slot_of(anchor))
                    .help(help),
            );
        }
    }
    None
}

pub(super) fn slot_of(key: &Key) -> String {
    match &key.tag {
        Some(Tag::Namespace) => format!("{} hashes its namespace", key.name),
        Some(Tag::Part { text, .. } | Tag::Braced(text)) => format!("{} hashes {{{text}}}", key.name),
        None => format!("{} has no tag: its whole name is hashed", key.name),
    }
}
