//! One key: pattern, facts, fields, examples, and how to look at it with redis-cli.

use super::{Page, cell, code, fields, sentence};
use crate::acl;
use crate::model::{Contract, Key, LifeCycle, Limits, Policy, Tag};
use crate::naming::Naming;
use crate::units::{show_duration, show_size};
use crate::verbs::RedisType;

pub(super) fn section(page: &mut Page, contract: &Contract, key: &Key) {
    page.line(format!("### {}", key.name));
    page.gap();
    page.line(format!("{} · **{}**", code(Naming::plain(contract).pattern(key).as_str()), key.type_words()));
    page.gap();
    page.line(cell(&sentence(&key.doc)));
    page.gap();
    for fact in facts(contract, key) {
        page.line(format!("- {fact}"));
    }
    page.gap();
    fields(page, &key.fields);
    if let Some(note) = &key.note {
        page.line(format!("> {}", cell(&note.split_whitespace().collect::<Vec<_>>().join(" "))));
        page.gap();
    }
    page.line("```sh");
    for line in look(contract, key) {
        page.line(line);
    }
    page.line("```");
    page.gap();
}

fn facts(contract: &Contract, key: &Key) -> Vec<String> {
    let mut facts = vec![format!("Lives: {}", lives(key))];
    facts.extend(holds(key));
    facts.extend(limits(&key.limits(contract)));
    facts.extend(touches(contract, key));
    match &key.tag {
        Some(Tag::Braced(tag)) => facts.push(format!("Hash tag, always: {}", code(&format!("{{{tag}}}")))),
        Some(_) => {
            facts.push(format!("On Cluster: {}", code(Naming::tagged(contract).pattern(key).as_str())))
        }
        None => facts.push("On Cluster: a slot of its own; never in one script with other keys".to_owned()),
    }
    if key.via_outbox {
        facts.push("Fed through an outbox, because it lives on another slot than what it follows".to_owned());
    }
    if let Some(of) = &key.fields_of {
        facts.push(format!("Fields: those of [{of}](#{of})"));
    }
    if let Some(of) = &key.index_of {
        facts.push(format!("Index of [{of}](#{of}): can be rebuilt from it"));
    }
    if let Some(of) = &key.member_of {
        facts.push(format!("Every id here is a member of [{of}](#{of})"));
    }
    facts.extend(life_words(&key.life).into_iter().map(|words| format!("**{words}**")));
    let ops: Vec<&str> = contract
        .ops
        .iter()
        .filter(|op| op.keys.iter().any(|touched| touched.key == key.name))
        .map(|op| op.name.as_str())
        .collect();
    if !ops.is_empty() {
        facts.push(format!("Operations: {}", ops.join(", ")));
    }
    let helpers: Vec<&Key> = contract
        .keys
        .iter()
        .filter(|other| other.helper_of.as_ref().is_some_and(|helper| helper.host == key.name))
        .collect();
    if !helpers.is_empty() {
        let kits: std::collections::BTreeSet<&str> =
            helpers.iter().filter_map(|helper| helper.helper_of.as_ref().map(|of| of.kit.as_str())).collect();
        let list: Vec<String> = helpers
            .iter()
            .map(|helper| {
                format!(
                    "{} ({})",
                    code(Naming::plain(contract).pattern(helper).as_str()),
                    helper.type_words()
                )
            })
            .collect();
        facts.push(format!(
            "Helper keys of the {}: {}",
            kits.into_iter().collect::<Vec<_>>().join(" and "),
            list.join(", ")
        ));
    }
    facts
}

fn lives(key: &Key) -> String {
    let mut words = match &key.ttl.policy {
        Policy::None => "until it is deleted".to_owned(),
        Policy::Fixed(lasts) => {
            format!("{} from its creation; writing does not renew it", show_duration(*lasts))
        }
        Policy::Sliding(lasts) => format!("{} from the last write", show_duration(*lasts)),
        Policy::Linked { to, at_least: None } => format!("never shorter than its [{to}](#{to})"),
        Policy::Linked { to, at_least: Some(lasts) } => {
            format!("{} from its last write, never shorter than its [{to}](#{to})", show_duration(*lasts))
        }
        Policy::Refreshed(lasts) => format!(
            "{}, renewed by every write and by a job; when it is absent it is rebuilt",
            show_duration(*lasts)
        ),
        Policy::Pruned { members, key: life, by } => {
            let who = by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            let life = life.map_or("the key itself does not expire".to_owned(), |life| {
                format!("the key lives {} from the last write", show_duration(life))
            });
            format!("members older than {} are removed{who}; {life}", show_duration(*members))
        }
        Policy::After { event, lasts, before } => {
            let until = match before {
                None => String::new(),
                Some(before) => {
                    let plus =
                        before.plus.as_ref().map(|plus| format!("the {plus} and ")).unwrap_or_default();
                    format!("; until then at most {plus}{}", show_duration(before.lasts))
                }
            };
            format!("{} after {event}{until}", show_duration(*lasts))
        }
        Policy::Max(lasts) => format!("at most {}", show_duration(*lasts)),
    };
    if let Some(setting) = &key.ttl.setting {
        words.push_str(&format!(" (setting {})", code(setting)));
    }
    if let Some(doc) = &key.ttl.doc {
        words.push_str(&format!(". {}", sentence(doc)));
    }
    words
}

fn holds(key: &Key) -> Vec<String> {
    let word = match key.types.first() {
        Some(RedisType::String) => "Value",
        Some(RedisType::List) => "Items",
        _ => "Members",
    };
    let mut facts: Vec<String> =
        key.element.iter().map(|kind| format!("{word}: {}", cell(&kind.to_string()))).collect();
    facts.extend(key.score.iter().map(|kind| format!("Score: {}", cell(&kind.to_string()))));
    facts
}

fn limits(limits: &Limits) -> Option<String> {
    let parts: Vec<String> = [
        limits.bytes.map(show_size),
        limits.fields.map(|fields| format!("{fields} fields")),
        limits.members.map(|members| format!("{members} members")),
        limits.total.map(|total| {
            format!("{} with everything linked to it, as one compressed snapshot", show_size(total))
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| format!("At most {}", parts.join(", ")))
}

fn touches(contract: &Contract, key: &Key) -> Vec<String> {
    let mut writers = Vec::new();
    let mut readers = Vec::new();
    for component in &contract.components {
        let Some(verbs) = acl::grants(contract, &component.name).remove(&key.name) else { continue };
        let words: Vec<&str> = verbs.iter().map(|verb| verb.word()).collect();
        if verbs.iter().any(|verb| verb.writes()) {
            writers.push(format!("{} ({})", component.name, words.join(", ")));
        } else {
            readers.push(component.name.clone());
        }
    }
    let mut facts = vec![format!("Written by {}", writers.join(", "))];
    if !readers.is_empty() {
        facts.push(format!("Read by {}", readers.join(", ")));
    }
    facts
}

pub(super) fn life_words(life: &LifeCycle) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(since) = &life.since {
        words.push(format!("Since {since}."));
    }
    if let Some(of) = &life.alias_of {
        words.push(format!("Second spelling of {of}."));
    }
    if let Some(date) = &life.deprecated {
        let instead = life.replaced_by.as_ref().map(|name| format!("; use {name}")).unwrap_or_default();
        words.push(format!("Deprecated since {date}{instead}."));
    }
    if let Some(date) = &life.remove_after {
        words.push(format!("May be gone after {date}."));
    }
    words
}

/// Lines for a shell: what is in it, and how long it still lives.
fn look(contract: &Contract, key: &Key) -> Vec<String> {
    let sample = key.examples.first().cloned().unwrap_or_else(|| sample(contract, key));
    let quoted = if sample.bytes().all(|b| b.is_ascii_alphanumeric() || b"_:.-#/@+".contains(&b)) {
        sample
    } else {
        format!("'{sample}'")
    };
    let read = |kind: &RedisType| match kind {
        RedisType::String => format!("redis-cli GET {quoted}"),
        RedisType::Hash => format!("redis-cli HGETALL {quoted}"),
        RedisType::List => format!("redis-cli LRANGE {quoted} 0 9"),
        RedisType::Set => format!("redis-cli SMEMBERS {quoted}"),
        RedisType::Zset => format!("redis-cli ZRANGE {quoted} 0 9 WITHSCORES"),
        RedisType::Stream => format!("redis-cli XREVRANGE {quoted} + - COUNT 10"),
    };
    let mut lines: Vec<String> = key.types.iter().map(read).collect();
    if key.ttl.policy.expires() {
        lines.push(format!("redis-cli TTL {quoted}"));
    }
    lines
}

fn sample(contract: &Contract, key: &Key) -> String {
    let samples: Vec<(String, String)> = key
        .pattern
        .params()
        .filter_map(|name| Some((name.to_owned(), contract.param(name)?.sample())))
        .collect();
    let values: Vec<(&str, &str)> =
        samples.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    key.render(contract, &Naming::plain(contract), crate::render::Purpose::Read, &values).unwrap_or_default()
}
