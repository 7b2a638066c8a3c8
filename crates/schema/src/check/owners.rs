//! Owners, operations and types agree: every key has a writer, nobody does what the key does not grant, and every verb
//! means something on the key's type.

use crate::acl;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Contract, How, Key, Op, OpKey};
use crate::verbs::{RedisType, Verb};

pub(super) fn check(contract: &Contract) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for key in contract.keys.iter().filter(|key| key.helper_of.is_none()) {
        found.extend(check_key(contract, key));
    }
    for op in &contract.ops {
        for touched in &op.keys {
            found.extend(check_touch(contract, op, touched));
        }
    }
    found.extend(contract.components.iter().flat_map(acl::check_component));
    found
}

fn check_key(contract: &Contract, key: &Key) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let lists = key.types.contains(&RedisType::List);
    for owner in &key.owners {
        match owner.how {
            How::Reads | How::Writes if lists => {
                let word = if owner.how == How::Reads { "reads" } else { "writes" };
                let message = format!(
                    "`{word}` does not say what `{}` does to the list `{}`",
                    owner.component, key.name
                );
                let help =
                    "consuming a list is a write: say `peeks`, `consumes`, `produces`, `removes` or `prunes`";
                found.push(Diagnostic::error(Code::Owners, message, owner.at, "which verb?").help(help));
            }
            How::By(verb) if !fits(verb, key) => found.push(misfit(verb, key, owner.at)),
            _ => {}
        }
        let writes = !matches!(owner.how, How::Reads | How::By(Verb::Peek));
        if let Some(component) =
            contract.component(&owner.component).filter(|component| component.read_only && writes)
        {
            let message = format!("`{}` is read-only, but writes `{}`", owner.component, key.name);
            found.push(
                Diagnostic::error(Code::Owners, message, owner.at, "a writer")
                    .also(component.at, "declared read-only"),
            );
        }
    }
    if !key.owners.iter().any(|owner| !matches!(owner.how, How::Reads | How::By(Verb::Peek))) {
        let message = format!("nobody writes `{}`", key.name);
        let help =
            "a key that nobody writes is never there; name its writer, also when that is another program";
        found.push(Diagnostic::error(Code::Owners, message, key.at.name, "no writer").help(help));
    }
    found.extend(creator(contract, key));
    for field in &key.fields {
        for component in field.writes.iter().filter(|component| !is_writer(key, component)) {
            let message =
                format!("`{component}` owns the field `{}`, but does not write `{}`", field.name, key.name);
            let help = format!("add `{component}` to the writers of [key.{}]", key.name);
            found.push(
                Diagnostic::error(
                    Code::Owners,
                    message,
                    field.at,
                    "owned by a component that does not write the key",
                )
                .help(help),
            );
        }
    }
    found
}

/// Somebody must be able to bring the key into being, not only to change or remove it.
fn creator(contract: &Contract, key: &Key) -> Option<Diagnostic> {
    let granted = |component: &crate::model::Component| {
        acl::grants(contract, &component.name).remove(&key.name).unwrap_or_default()
    };
    let verbs: std::collections::BTreeSet<Verb> = contract.components.iter().flat_map(granted).collect();
    let writes = verbs.iter().any(|verb| verb.writes());
    (writes && !verbs.iter().any(|verb| verb.creates())).then(|| {
        let words: Vec<&str> = verbs.iter().filter(|verb| verb.writes()).map(|verb| verb.word()).collect();
        let message =
            format!("nobody creates `{}`: all that is done to it is {}", key.name, words.join(", "));
        let creating: Vec<&str> = Verb::ALL
            .iter()
            .filter(|verb| verb.creates() && fits(**verb, key))
            .map(|verb| verb.word())
            .collect();
        let help = format!(
            "verbs that create it: {}; an operation's verbs stand in for `writes`",
            creating.join(", ")
        );
        Diagnostic::error(Code::Owners, message, key.at.name, "never comes into being").help(help)
    })
}

fn check_touch(contract: &Contract, op: &Op, touched: &OpKey) -> Vec<Diagnostic> {
    let Some(key) = contract.key(&touched.key) else { return Vec::new() };
    let mut found = Vec::new();
    for &verb in &touched.verbs {
        if !fits(verb, key) {
            found.push(misfit(verb, key, touched.at));
            continue;
        }
        for (component, at) in &op.by {
            let allowed =
                key.owners.iter().any(|owner| owner.component == *component && owner.how.covers(verb));
            if !allowed {
                let kind = if verb.writes() { "write" } else { "read" };
                let message = format!(
                    "operation `{}` lets `{component}` {verb} `{}`, which it may not {kind}",
                    op.name, key.name
                );
                let help =
                    format!("add `{component}` to the owners of [key.{}], or take it out of `by`", key.name);
                found.push(
                    Diagnostic::error(Code::Owners, message, touched.at, format!("{verb}"))
                        .also(*at, "by this component")
                        .help(help),
                );
            }
        }
    }
    found
}

fn is_writer(key: &Key, component: &str) -> bool {
    key.owners
        .iter()
        .any(|owner| owner.component == component && !matches!(owner.how, How::Reads | How::By(Verb::Peek)))
}

fn fits(verb: Verb, key: &Key) -> bool {
    key.types.iter().any(|kind| !verb.commands(*kind).is_empty())
}

fn misfit(verb: Verb, key: &Key, at: crate::diagnostic::Span) -> Diagnostic {
    let usable: Vec<&str> =
        Verb::ALL.iter().filter(|verb| fits(**verb, key)).map(|verb| verb.word()).collect();
    Diagnostic::error(
        Code::Verb,
        format!("a {} cannot be the object of `{verb}`", key.type_words()),
        at,
        format!("`{}` is a {}", key.name, key.type_words()),
    )
    .help(format!("verbs for it: {}", usable.join(", ")))
}
