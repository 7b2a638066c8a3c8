//! A linked TTL leads to a parent that expires, through keys that can be found from the child.

use super::slots;
use crate::acl;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Contract, Key, Policy, ValueType};
use crate::verbs::{RedisType, Verb};

pub(super) fn check(contract: &Contract) -> Vec<Diagnostic> {
    contract
        .keys
        .iter()
        .filter(|key| key.helper_of.is_none())
        .flat_map(|key| [link(contract, key), pruned(contract, key), event(contract, key)])
        .flatten()
        .collect()
}

fn link(contract: &Contract, key: &Key) -> Option<Diagnostic> {
    let Policy::Linked { to, .. } = &key.ttl.policy else { return None };
    let error = |message: String, label: String| Diagnostic::error(Code::TtlLink, message, key.at.ttl, label);
    if *to == key.name {
        let found = error("a key cannot be linked to itself".to_owned(), "here".to_owned());
        return Some(found.help("name its parent, or give it a lifetime of its own, such as `sliding`"));
    }
    let mut path = vec![key.name.as_str()];
    let mut parent = contract.key(to)?;
    while let Policy::Linked { to, .. } = &parent.ttl.policy {
        if path.contains(&parent.name.as_str()) {
            // Told once, at the first key of the circle.
            let first = contract.keys.iter().find(|member| path.contains(&member.name.as_str()));
            let told_here = parent.name == key.name && first.is_some_and(|first| first.name == key.name);
            path.push(&parent.name);
            return told_here.then(|| {
                let help = "one of them needs a lifetime of its own, such as `sliding`";
                error("linked TTLs form a circle".to_owned(), path.join(" → ")).help(help)
            });
        }
        path.push(&parent.name);
        parent = contract.key(to)?;
    }
    let direct = contract.key(to)?;
    if let Some(stranger) = direct.pattern.params().find(|name| !key.pattern.params().any(|own| own == *name))
    {
        let message =
            format!("`{}` is linked to `{to}`, but <{stranger}> cannot be told from its own key", key.name);
        return Some(
            error(message, "the parent cannot be found".to_owned())
                .also(direct.at.pattern, format!("needs <{stranger}>"))
                .help("link it to a key whose placeholders it has too"),
        );
    }
    if !key.shares_slot_with(direct) {
        let message = format!(
            "`{}` is linked to `{to}` on another slot, so both cannot be renewed in one step",
            key.name
        );
        let found = error(message, slots::slot_of(key)).also(direct.at.pattern, slots::slot_of(direct));
        return Some(found.help("give both the same hash tag"));
    }
    (!parent.ttl.policy.expires()).then(|| {
        let message = format!("`{}` is linked to `{}`, which never expires", key.name, parent.name);
        error(message, "links to a key without TTL".to_owned())
            .also(parent.at.ttl, "never expires")
            .help("say `policy = \"none\"`, or give the parent a TTL")
    })
}

/// Somebody must prune, and members must have an age.
fn pruned(contract: &Contract, key: &Key) -> Option<Diagnostic> {
    let Policy::Pruned { members, key: life, by } = &key.ttl.policy else { return None };
    let error = |message: String, label: &str| Diagnostic::error(Code::TtlLink, message, key.at.ttl, label);
    if !key.types.iter().any(|kind| matches!(kind, RedisType::Zset | RedisType::Stream | RedisType::List)) {
        let message = format!("members of a {} have no age to prune by", key.type_words());
        return Some(error(message, "only a zset, stream or list can be pruned"));
    }
    if key.types.contains(&RedisType::Zset) && !matches!(key.score, Some(ValueType::Time(_))) {
        let message = format!("members of `{}` have no age to prune by: the score is not a time", key.name);
        return Some(
            error(message, "needs a score that is a time")
                .help("say the score's format, such as `score = \"time:unix_s\"`"),
        );
    }
    if life.is_some_and(|life| life < *members) && key.types == [RedisType::Stream] {
        let message = "the key would die before its members are old enough to go".to_owned();
        return Some(error(message, "`key` is shorter than `for`"));
    }
    let prunes = |name: &str| {
        acl::grants(contract, name).get(&key.name).is_some_and(|verbs| verbs.contains(&Verb::Prune))
    };
    match by {
        Some(component) if !prunes(component) => {
            let help = format!("say `prunes = [\"{component}\"]`, or give it an operation that does");
            Some(
                error(format!("`{component}` shall prune `{}`, but may not", key.name), "named here")
                    .help(help),
            )
        }
        None if !contract.components.iter().any(|component| prunes(&component.name)) => Some(
            error(format!("nobody prunes `{}`", key.name), "its members would stay")
                .help("name the component in `prunes`"),
        ),
        _ => None,
    }
}

/// An event that nothing raises never comes, so the key would live for ever.
fn event(contract: &Contract, key: &Key) -> Option<Diagnostic> {
    let Policy::After { event, .. } = &key.ttl.policy else { return None };
    let raised = contract.ops.iter().any(|op| op.event.as_ref().is_some_and(|(raised, _)| raised == event));
    (!raised).then(|| {
        let message =
            format!("no operation raises the event `{event}`, so `{}` would never expire", key.name);
        Diagnostic::error(Code::TtlLink, message, key.at.ttl, "waits for it")
            .help(format!("say `event = \"{event}\"` in the operation that raises it"))
    })
}
