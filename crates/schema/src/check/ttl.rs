//! A linked TTL leads to a parent that expires, through keys that can be found from the child.

use super::slots;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Contract, Key, Policy};
use crate::verbs::RedisType;

pub(super) fn check(contract: &Contract) -> Vec<Diagnostic> {
    contract
        .keys
        .iter()
        .filter(|key| key.helper_of.is_none())
        .flat_map(|key| [link(contract, key), pruned(key)])
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
    let same_slot = matches!((&key.tag, &direct.tag), (Some(a), Some(b)) if a.template() == b.template());
    if !same_slot {
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

fn pruned(key: &Key) -> Option<Diagnostic> {
    let Policy::Pruned { members, key: life, .. } = &key.ttl.policy else { return None };
    if !key.types.iter().any(|kind| matches!(kind, RedisType::Zset | RedisType::Stream | RedisType::List)) {
        let message = format!("members of a {} have no age to prune by", key.type_words());
        return Some(Diagnostic::error(
            Code::TtlLink,
            message,
            key.at.ttl,
            "only a zset, stream or list can be pruned",
        ));
    }
    (life.is_some_and(|life| life < *members) && key.types == [RedisType::Stream]).then(|| {
        let message = "the key would die before its members are old enough to go";
        Diagnostic::error(Code::TtlLink, message, key.at.ttl, "`key` is shorter than `for`")
    })
}
