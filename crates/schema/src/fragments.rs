//! Helper keys of kit primitives. A contract says `use = { kit = "queue" }`; the keys come from a fragment file, so that
//! audits know every helper key and this crate does not depend on the kit.

use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{Contract, Helper, How, Key, Owner, Policy};
use crate::node::{self, Table};
use crate::read;
use crate::verbs::{RedisType, Verb};

const FRAGMENTS: &[(&str, &str)] = &[
    ("queue", include_str!("../fragments/queue.toml")),
    ("lease", include_str!("../fragments/lease.toml")),
    ("outbox", include_str!("../fragments/outbox.toml")),
    ("index", include_str!("../fragments/index.toml")),
    ("deadline", include_str!("../fragments/deadline.toml")),
];

/// Adds the helper keys that the contract's keys ask for, each behind its host.
pub(crate) fn expand(contract: &mut Contract) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let hosts = std::mem::take(&mut contract.keys);
    for host in hosts {
        let mut helpers = Vec::new();
        for (kit, at) in &host.uses {
            match FRAGMENTS.iter().find(|(name, _)| name == kit) {
                Some((name, text)) => match helper_keys(name, text, &host) {
                    Ok(_) if host.tag.is_none() => found.push(untagged(&host, *at)),
                    Ok(keys) => helpers.extend(keys),
                    Err(reason) => found.push(Diagnostic::error(Code::BadValue, reason, *at, "here")),
                },
                None => {
                    let known: Vec<&str> = FRAGMENTS.iter().map(|(name, _)| *name).collect();
                    let message = format!("there is no kit primitive `{kit}`");
                    found.push(
                        Diagnostic::error(Code::UnknownName, message, *at, "not known")
                            .help(format!("primitives: {}", known.join(", "))),
                    );
                }
            }
        }
        contract.keys.push(host);
        contract.keys.extend(helpers);
    }
    found
}

fn untagged(host: &Key, at: Span) -> Diagnostic {
    let message =
        format!("`{}` has helper keys, so it needs a hash tag to share a slot with them", host.name);
    let help = format!("its whole name will do: `tag = \"{}\"`", host.pattern);
    Diagnostic::error(Code::CrossSlot, message, at, "adds helper keys").help(help)
}

fn helper_keys(kit: &str, text: &str, host: &Key) -> Result<Vec<Key>, String> {
    let table = node::parse(text).map_err(|error| format!("fragment {kit}: {}", error.message))?;
    let allowed = host_types(&table);
    if !host.types.iter().all(|kind| allowed.contains(kind)) {
        let words: Vec<&str> = allowed.iter().map(|kind| kind.word()).collect();
        return Err(format!("`{kit}` is for a {}, not for a {}", words.join(" or "), host.type_words()));
    }
    // In a fragment `<host>` stands for the host's pattern, so the text is put in before the file is read.
    let text = text.replace("<host>", host.pattern.as_str());
    let table = node::parse(&text).map_err(|error| format!("fragment {kit}: {}", error.message))?;
    let (keys, found) = read::fragment_keys(&text, &table);
    match found.first() {
        Some(error) => Err(format!("fragment {kit}: {}", error.message)),
        None => Ok(keys.into_iter().map(|key| adopt(key, kit, host)).collect()),
    }
}

fn host_types(table: &Table) -> Vec<RedisType> {
    let names = table
        .table("fragment")
        .and_then(|fragment| fragment.get("host"))
        .map(node::Node::texts)
        .unwrap_or_default();
    names.iter().filter_map(|name| RedisType::parse(&name.text)).collect()
}

/// A helper follows its host: same slot, same readers, and the host's writers do to it whatever the kit needs. One that is
/// linked to `host` lives by the host's own rule.
fn adopt(mut key: Key, kit: &str, host: &Key) -> Key {
    key.name = format!("{}_{}", host.name, key.name);
    key.helper_of = Some(Helper { host: host.name.clone(), kit: kit.to_owned() });
    // The helper's pattern starts with the host's, so the tag stands at the same place.
    key.tag = host.tag.clone();
    if matches!(&key.ttl.policy, Policy::Linked { to, .. } if to == "host") {
        key.ttl = host.ttl.clone();
    }
    key.at = host.at;
    key.owners = Vec::new();
    for owner in &host.owners {
        let verbs = if matches!(owner.how, How::Reads | How::By(Verb::Peek)) {
            vec![Verb::Peek]
        } else {
            kit_verbs(&key)
        };
        for verb in verbs {
            let adopted = Owner { component: owner.component.clone(), how: How::By(verb), at: owner.at };
            if !key
                .owners
                .iter()
                .any(|known| known.component == adopted.component && known.how == adopted.how)
            {
                key.owners.push(adopted);
            }
        }
    }
    key
}

fn kit_verbs(key: &Key) -> Vec<Verb> {
    let usable =
        |verb: &Verb| *verb != Verb::Swap && key.types.iter().any(|kind| !verb.commands(*kind).is_empty());
    Verb::ALL.into_iter().filter(usable).collect()
}

/// The fragments by name and text, for the documentation and for tests.
#[must_use]
pub fn fragments() -> &'static [(&'static str, &'static str)] {
    FRAGMENTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fragment_is_well_formed() {
        for (name, text) in FRAGMENTS {
            let filled = text.replace("<host>", "some:key");
            let (keys, found) = read::fragment_keys(&filled, &node::parse(&filled).unwrap());
            assert!(found.is_empty(), "{name}: {found:?}");
            assert!(!keys.is_empty() && !host_types(&node::parse(text).unwrap()).is_empty(), "{name}");
        }
    }
}
