//! What changed between two versions of a contract, and who still works.
//!
//! Two questions decide a roll-out: can a program built on the old contract still read what the new one allows
//! (readers), and is what it writes still right (writers)?

use std::collections::BTreeSet;
use std::fmt;

use crate::acl;
use crate::dfa::Dfa;
use crate::model::{Contract, Field, FieldMax, Key, Layout, Param, Policy, ValueType};
use crate::units::show_size;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// What it is about: `key agent`, `key agent field status`, `param epoch`.
    pub place: String,
    /// What changed.
    pub what: String,
    /// Programs built on the old contract that read.
    pub readers: Effect,
    /// Programs built on the old contract that write.
    pub writers: Effect,
}

/// What a change does to programs built on the old contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// They go on working.
    Fine,
    /// They go on working, but something they may rely on is different.
    Look,
    /// They break.
    Breaks,
}

impl Effect {
    /// The word for people and tools.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Look => "look",
            Self::Breaks => "breaks",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// All differences, and the worst of them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diff {
    /// The differences, in the order of the contracts.
    pub changes: Vec<Change>,
}

impl Diff {
    /// The verdict for readers.
    #[must_use]
    pub fn readers(&self) -> Effect {
        self.changes.iter().map(|change| change.readers).max().unwrap_or(Effect::Fine)
    }

    /// The verdict for writers.
    #[must_use]
    pub fn writers(&self) -> Effect {
        self.changes.iter().map(|change| change.writers).max().unwrap_or(Effect::Fine)
    }
}

/// Compares two contracts.
#[must_use]
pub fn diff(old: &Contract, new: &Contract) -> Diff {
    let mut found = Found { changes: Vec::new() };
    found.head(old, new);
    found.params(old, new);
    found.components(old, new);
    for key in &old.keys {
        match new.key(&key.name) {
            Some(now) => found.key(old, key, new, now),
            None => found.removed_key(old, key, new),
        }
    }
    let renamed = |key: &Key| {
        old.keys.iter().any(|was| {
            new.key(&was.name).is_none() && successor(old, was, new).is_some_and(|now| now.name == key.name)
        })
    };
    for key in new.keys.iter().filter(|key| old.key(&key.name).is_none() && !renamed(key)) {
        found.add(
            format!("key {}", key.name),
            format!("added: {} ({})", key.pattern, key.type_words()),
            Effect::Fine,
            Effect::Fine,
        );
    }
    found.layouts(old, new);
    found.ops(old, new);
    Diff { changes: found.changes }
}

struct Found {
    changes: Vec<Change>,
}

impl Found {
    fn add(&mut self, place: impl Into<String>, what: impl Into<String>, readers: Effect, writers: Effect) {
        self.changes.push(Change { place: place.into(), what: what.into(), readers, writers });
    }

    /// A change of a text that matters to neither side.
    fn renamed(&mut self, place: &str, word: &str, old: &str, new: &str, effect: Effect) {
        if old != new {
            self.add(place, format!("{word}: {} → {}", or_none(old), or_none(new)), effect, effect);
        }
    }

    fn head(&mut self, old: &Contract, new: &Contract) {
        self.renamed("contract", "name", &old.name, &new.name, Effect::Look);
        self.renamed("contract", "version", &old.version.to_string(), &new.version.to_string(), Effect::Fine);
        self.renamed("contract", "namespace", &old.namespace, &new.namespace, Effect::Breaks);
    }

    fn components(&mut self, old: &Contract, new: &Contract) {
        for component in &old.components {
            let now = new.component(&component.name);
            let lost: Vec<&str> = component
                .extra
                .iter()
                .filter(|extra| now.is_none_or(|now| !now.extra.contains(extra)))
                .map(String::as_str)
                .collect();
            match now {
                None => {
                    self.add(format!("component {}", component.name), "removed", Effect::Look, Effect::Look)
                }
                Some(_) if !lost.is_empty() => self.add(
                    format!("component {}", component.name),
                    format!("may no longer run {}", lost.join(", ")),
                    Effect::Breaks,
                    Effect::Fine,
                ),
                Some(_) => {}
            }
        }
    }

    fn params(&mut self, old: &Contract, new: &Contract) {
        for param in &old.params {
            if let Some(now) = new.param(&param.name) {
                self.param(param, now);
            }
        }
    }

    /// Widened: old readers meet ids they refuse. Narrowed: old writers make ids that are refused now.
    fn param(&mut self, old: &Param, new: &Param) {
        let place = format!("param {}", old.name);
        let change = format!("{} → {}", old.describe(), new.describe());
        let only = |wider: &Dfa, narrower: &Dfa| match wider.minus(narrower) {
            Ok(rest) => Ok(rest.shortest().map(|value| String::from_utf8_lossy(&value).into_owned())),
            Err(_) => Err(()),
        };
        let parts = (
            only(&new.read_check, &old.read_check),
            only(&old.check, &new.check),
            only(&old.read_check, &new.read_check),
        );
        let (Ok(widened), Ok(narrowed), Ok(unread)) = parts else {
            if old.describe() != new.describe() {
                self.add(
                    &place,
                    format!("another check, too large to compare: {change}"),
                    Effect::Look,
                    Effect::Look,
                );
            }
            return;
        };
        if let Some(value) = widened {
            self.add(
                &place,
                format!("accepts more, such as {value:?}: {change}"),
                Effect::Breaks,
                Effect::Fine,
            );
        }
        if let Some(value) = &narrowed {
            self.add(&place, format!("refuses {value:?} now: {change}"), Effect::Fine, Effect::Breaks);
        }
        if let (None, Some(value)) = (narrowed, unread) {
            self.add(&place, format!("no longer reads {value:?}: {change}"), Effect::Look, Effect::Fine);
        }
    }

    fn removed_key(&mut self, old: &Contract, key: &Key, new: &Contract) {
        let place = format!("key {}", key.name);
        match successor(old, key, new) {
            Some(now) => {
                self.add(place, format!("is called {} now", now.name), Effect::Fine, Effect::Fine);
                self.key(old, key, new, now);
            }
            None => self.add(place, format!("removed: {}", key.pattern), Effect::Breaks, Effect::Breaks),
        }
    }

    fn key(&mut self, old_contract: &Contract, old: &Key, new_contract: &Contract, new: &Key) {
        let place = format!("key {}", old.name);
        self.renamed(&place, "pattern", old.pattern.as_str(), new.pattern.as_str(), Effect::Breaks);
        self.types(&place, old, new);
        let tag = |key: &Key| key.tag.as_ref().map(|tag| tag.template().to_owned()).unwrap_or_default();
        if tag(old) != tag(new) {
            let what = format!(
                "hash tag: {} → {}; keys move to other slots on Cluster",
                or_none(&tag(old)),
                or_none(&tag(new))
            );
            self.add(&place, what, Effect::Breaks, Effect::Breaks);
        }
        self.ttl(&place, &old.ttl.policy, &new.ttl.policy);
        self.limits(&place, old_contract, old, new_contract, new);
        self.fields(&place, &old.fields, &new.fields);
        self.value(&place, "value", old.element.as_ref(), new.element.as_ref());
        self.value(&place, "score", old.score.as_ref(), new.score.as_ref());
        self.owners(&place, old_contract, old, new_contract, new);
        let date = |key: &Key| key.life.deprecated.clone().unwrap_or_default();
        self.renamed(&place, "deprecated", &date(old), &date(new), Effect::Look);
    }

    fn types(&mut self, place: &str, old: &Key, new: &Key) {
        if old.types != new.types {
            let gone = old.types.iter().any(|kind| !new.types.contains(kind));
            let came = new.types.iter().any(|kind| !old.types.contains(kind));
            let what = format!("type: {} → {}", old.type_words(), new.type_words());
            self.add(
                place,
                what,
                if came { Effect::Breaks } else { Effect::Fine },
                if gone { Effect::Breaks } else { Effect::Fine },
            );
        }
    }

    /// A shorter life can surprise readers; a rule that writers must keep changes what they do.
    fn ttl(&mut self, place: &str, old: &Policy, new: &Policy) {
        if old == new {
            return;
        }
        let longest = |policy: &Policy| {
            if policy.expires() { policy.duration().unwrap_or_default() } else { std::time::Duration::MAX }
        };
        // Another rule with the same duration may still end a key earlier: 1h from creation is not 1h from the last write.
        let shorter = longest(new) < longest(old) || (old.word() != new.word() && new.expires());
        self.add(
            place,
            format!("TTL: {old} → {new}"),
            if shorter { Effect::Look } else { Effect::Fine },
            Effect::Look,
        );
    }

    fn limits(
        &mut self,
        place: &str,
        old_contract: &Contract,
        old: &Key,
        new_contract: &Contract,
        new: &Key,
    ) {
        let (before, after) = (old.limits(old_contract), new.limits(new_contract));
        let size = |bytes: Option<u64>| bytes.map_or("none".to_owned(), show_size);
        let count = |number: Option<u64>| number.map_or("none".to_owned(), |number| number.to_string());
        let pairs = [
            ("bytes", before.bytes, after.bytes, size(before.bytes), size(after.bytes)),
            ("fields", before.fields, after.fields, count(before.fields), count(after.fields)),
            ("members", before.members, after.members, count(before.members), count(after.members)),
            ("total", before.total, after.total, size(before.total), size(after.total)),
        ];
        for (word, old, new, from, to) in pairs.into_iter().filter(|(_, old, new, ..)| old != new) {
            let tighter = new.unwrap_or(u64::MAX) < old.unwrap_or(u64::MAX);
            let (readers, writers) =
                if tighter { (Effect::Fine, Effect::Breaks) } else { (Effect::Look, Effect::Fine) };
            self.add(place, format!("max {word}: {from} → {to}"), readers, writers);
        }
    }

    fn fields(&mut self, place: &str, old: &[Field], new: &[Field]) {
        for field in old {
            let place = format!("{place} field {}", field.name);
            match new.iter().find(|now| now.name == field.name) {
                Some(now) => self.field(&place, field, now),
                None => self.add(
                    place,
                    "removed",
                    if field.required { Effect::Breaks } else { Effect::Look },
                    Effect::Breaks,
                ),
            }
        }
        for field in new.iter().filter(|now| !old.iter().any(|field| field.name == now.name)) {
            let writers = if field.required { Effect::Breaks } else { Effect::Fine };
            let what = format!("added{}: {}", if field.required { ", required" } else { "" }, field.kind);
            self.add(format!("{place} field {}", field.name), what, Effect::Fine, writers);
        }
    }

    fn field(&mut self, place: &str, old: &Field, new: &Field) {
        self.value(place, "type", Some(&old.kind), Some(&new.kind));
        match (old.required, new.required) {
            (false, true) => self.add(place, "required now", Effect::Fine, Effect::Breaks),
            (true, false) => self.add(place, "no longer required", Effect::Breaks, Effect::Fine),
            _ => {}
        }
        if !old.nullable && new.nullable {
            self.add(place, "may be null now", Effect::Breaks, Effect::Fine);
        } else if old.nullable && !new.nullable {
            self.add(place, "may not be null any more", Effect::Fine, Effect::Breaks);
        }
        if old.max != new.max {
            let show = |max: Option<FieldMax>| match max {
                None => "none".to_owned(),
                Some(FieldMax::Chars(chars)) => format!("{chars} characters"),
                Some(FieldMax::Bytes(bytes)) => show_size(bytes),
            };
            let number = |max: Option<FieldMax>| {
                max.map_or(u64::MAX, |max| match max {
                    FieldMax::Chars(number) | FieldMax::Bytes(number) => number,
                })
            };
            let tighter = number(new.max) < number(old.max);
            let (readers, writers) =
                if tighter { (Effect::Fine, Effect::Breaks) } else { (Effect::Look, Effect::Fine) };
            self.add(place, format!("max: {} → {}", show(old.max), show(new.max)), readers, writers);
        }
        if old.writes != new.writes {
            self.add(
                place,
                format!(
                    "owned by: {} → {}",
                    or_none(&old.writes.join(", ")),
                    or_none(&new.writes.join(", "))
                ),
                Effect::Fine,
                Effect::Look,
            );
        }
    }

    fn value(&mut self, place: &str, word: &str, old: Option<&ValueType>, new: Option<&ValueType>) {
        let (old, new) = match (old, new) {
            (None, None) => return,
            (Some(old), Some(new)) if old == new => return,
            (
                Some(ValueType::OneOf { words: old, open: o1, moves: m1 }),
                Some(ValueType::OneOf { words: new, open: o2, moves: m2 }),
            ) => {
                return self.words(place, (old, *o1, m1), (new, *o2, m2));
            }
            (old, new) => (
                old.map_or("unstated".to_owned(), ToString::to_string),
                new.map_or("unstated".to_owned(), ToString::to_string),
            ),
        };
        let stated = old != "unstated" && new != "unstated";
        let effect = if stated { Effect::Breaks } else { Effect::Look };
        self.add(place, format!("{word}: {old} → {new}"), effect, effect);
    }

    fn words<M: PartialEq>(
        &mut self,
        place: &str,
        (old, was_open, old_moves): (&[String], bool, &M),
        (new, is_open, new_moves): (&[String], bool, &M),
    ) {
        let gone: Vec<&str> = old.iter().filter(|word| !new.contains(word)).map(String::as_str).collect();
        let came: Vec<&str> = new.iter().filter(|word| !old.contains(word)).map(String::as_str).collect();
        if !came.is_empty() {
            let readers = if was_open { Effect::Look } else { Effect::Breaks };
            self.add(place, format!("new values: {}", came.join(", ")), readers, Effect::Fine);
        }
        if !gone.is_empty() {
            let writers = if is_open { Effect::Look } else { Effect::Breaks };
            self.add(place, format!("values gone: {}", gone.join(", ")), Effect::Fine, writers);
        }
        if was_open != is_open {
            let (what, readers, writers) = if is_open {
                ("open to other values now", Effect::Breaks, Effect::Fine)
            } else {
                ("closed to other values now", Effect::Fine, Effect::Breaks)
            };
            self.add(place, what, readers, writers);
        }
        if old_moves != new_moves {
            self.add(place, "legal transitions changed", Effect::Fine, Effect::Look);
        }
    }

    fn owners(
        &mut self,
        place: &str,
        old_contract: &Contract,
        old: &Key,
        new_contract: &Contract,
        new: &Key,
    ) {
        for component in &old_contract.components {
            let verbs = |contract: &Contract, key: &Key| {
                acl::grants(contract, &component.name).remove(&key.name).unwrap_or_default()
            };
            let (before, after): (BTreeSet<_>, BTreeSet<_>) =
                (verbs(old_contract, old), verbs(new_contract, new));
            let lost: Vec<&str> = before.difference(&after).map(|verb| verb.word()).collect();
            if !lost.is_empty() {
                let reads_lost = before.difference(&after).any(|verb| !verb.writes());
                let writes_lost = before.difference(&after).any(|verb| verb.writes());
                let effect = |lost: bool| if lost { Effect::Breaks } else { Effect::Fine };
                self.add(
                    place,
                    format!("{} may no longer {}", component.name, lost.join(", ")),
                    effect(reads_lost),
                    effect(writes_lost),
                );
            }
            let gained: Vec<&str> = after.difference(&before).map(|verb| verb.word()).collect();
            if !gained.is_empty() {
                self.add(
                    place,
                    format!("{} may {} now", component.name, gained.join(", ")),
                    Effect::Fine,
                    Effect::Fine,
                );
            }
        }
    }

    fn layouts(&mut self, old: &Contract, new: &Contract) {
        for layout in &old.values {
            let place = format!("value {}", layout.name);
            match new.value(&layout.name) {
                Some(now) => self.layout(&place, layout, now),
                None => self.add(place, "removed", Effect::Look, Effect::Look),
            }
        }
        for layout in new.values.iter().filter(|layout| old.value(&layout.name).is_none()) {
            self.add(format!("value {}", layout.name), "added", Effect::Fine, Effect::Fine);
        }
    }

    fn layout(&mut self, place: &str, old: &Layout, new: &Layout) {
        if (old.encoding, old.shape) != (new.encoding, new.shape) {
            self.add(place, "encoded in another way", Effect::Breaks, Effect::Breaks);
        }
        let order = |layout: &Layout| {
            layout.fields.iter().map(|field| field.name.as_str().to_owned()).collect::<Vec<_>>()
        };
        if old.shape == crate::model::Shape::Array && order(old) != order(new) {
            self.add(place, "positions changed", Effect::Breaks, Effect::Breaks);
        }
        self.value(place, "of", old.of.as_ref(), new.of.as_ref());
        self.fields(place, &old.fields, &new.fields);
    }

    fn ops(&mut self, old: &Contract, new: &Contract) {
        for op in &old.ops {
            match new.ops.iter().find(|now| now.name == op.name) {
                None => self.add(format!("op {}", op.name), "removed", Effect::Fine, Effect::Look),
                Some(now) => {
                    let shape = |op: &crate::model::Op| {
                        (
                            op.script.clone(),
                            op.kit.as_ref().map(|(kit, _)| kit.clone()),
                            op.atomic,
                            op.keys
                                .iter()
                                .map(|key| (key.key.clone(), key.verbs.clone()))
                                .collect::<Vec<_>>(),
                        )
                    };
                    if shape(op) != shape(now) {
                        self.add(
                            format!("op {}", op.name),
                            "touches keys in another way",
                            Effect::Fine,
                            Effect::Look,
                        );
                    }
                }
            }
        }
        for op in new.ops.iter().filter(|op| !old.ops.iter().any(|was| was.name == op.name)) {
            self.add(format!("op {}", op.name), "added", Effect::Fine, Effect::Fine);
        }
    }
}

/// The key that a removed one is called now: new, with the same keys on the wire.
fn successor<'n>(old: &Contract, key: &Key, new: &'n Contract) -> Option<&'n Key> {
    new.keys
        .iter()
        .find(|now| now.pattern == key.pattern && now.types == key.types && old.key(&now.name).is_none())
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { format!("`{text}`") }
}

impl Change {
    /// The change as one line.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{}: {}", self.place, self.what)
    }
}
