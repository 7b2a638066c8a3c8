//! What is to hold and what is to become.

use keyplane_key::{Arg, Hash, Key, KeyInfo, Set, Stream, Zset};
use keyplane_store::Handle;

use super::rules::Rules;
use crate::fence::Fence;
use crate::index::Index;
use crate::life::{millis, most_members};

/// A change of one record. Does nothing until it is [committed](super::Records::commit).
#[derive(Debug, Clone)]
#[must_use = "a change does nothing until it is committed"]
pub struct Change {
    pub(super) kind: Kind,
    pub(super) expected: Option<u64>,
    pub(super) fence: Option<Fence>,
    pub(super) parent: Option<Key<Hash>>,
    pub(super) renews_parent: bool,
    pub(super) conditions: Vec<(String, Vec<u8>)>,
    pub(super) set: Vec<(String, Vec<u8>)>,
    pub(super) unset: Vec<String>,
    pub(super) counted: Vec<(String, i64)>,
    follow: Vec<Follow>,
}

/// What a change does to the record as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Create,
    Update,
    Upsert,
    Remove,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Upsert => "upsert",
            Self::Remove => "remove",
        }
    }
}

/// What changes with the record.
#[derive(Debug, Clone)]
enum Follow {
    SetAdd(Key<Set>, Vec<u8>),
    SetRemove(Key<Set>, Vec<u8>),
    ZsetAdd(Key<Zset>, Vec<u8>, f64),
    ZsetRemove(Key<Zset>, Vec<u8>),
    List(Key<Hash>, Vec<u8>, Vec<u8>),
    Unlist(Key<Hash>, Vec<u8>),
    Note(Vec<(String, Vec<u8>)>),
    Event(Key<Stream>, Vec<(String, Vec<u8>)>),
}

type Followers<'c> = (Vec<&'c Key<Set>>, Vec<&'c Key<Zset>>, Vec<&'c Key<Hash>>, Vec<&'c Key<Stream>>);

impl Change {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            expected: None,
            fence: None,
            parent: None,
            renews_parent: false,
            conditions: Vec::new(),
            set: Vec::new(),
            unset: Vec::new(),
            counted: Vec::new(),
            follow: Vec::new(),
        }
    }

    /// Makes a record that is not there yet.
    pub fn create() -> Self {
        Self::new(Kind::Create)
    }

    /// Changes a record that is there.
    pub fn update() -> Self {
        Self::new(Kind::Update)
    }

    /// Changes a record, or makes it.
    pub fn upsert() -> Self {
        Self::new(Kind::Upsert)
    }

    /// Removes a record.
    pub fn remove() -> Self {
        Self::new(Kind::Remove)
    }

    /// Only if the record is at this version; 0 is a record that is not there, or has none.
    pub fn expecting(mut self, version: u64) -> Self {
        self.expected = Some(version);
        self
    }

    /// Only if this is the current fence of its lease, on the same slot.
    pub fn guarded_by(mut self, fence: &Fence) -> Self {
        self.fence = Some(fence.clone());
        self
    }

    /// Only if a field holds this.
    pub fn only_if(mut self, field: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.conditions.push((field.into(), value.into()));
        self
    }

    /// The record that this one lives with: it must be there, and this one lives as long.
    pub fn under(mut self, parent: &Key<Hash>) -> Self {
        self.parent = Some(parent.clone());
        self
    }

    /// The same, and this change is activity of the parent's: it renews its life, up to its horizon.
    pub fn renewing(self, parent: &Key<Hash>) -> Self {
        Self { renews_parent: true, ..self.under(parent) }
    }

    /// Sets a field.
    pub fn set(mut self, field: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.set.push((field.into(), value.into()));
        self
    }

    /// Removes a field.
    pub fn unset(mut self, field: impl Into<String>) -> Self {
        self.unset.push(field.into());
        self
    }

    /// Adds to a number.
    pub fn count(mut self, field: impl Into<String>, by: i64) -> Self {
        self.counted.push((field.into(), by));
        self
    }

    /// Puts a member into a set on the record's slot.
    pub fn add_to(mut self, set: &Key<Set>, member: impl Into<Vec<u8>>) -> Self {
        self.follow.push(Follow::SetAdd(set.clone(), member.into()));
        self
    }

    /// Takes a member out of a set on the record's slot.
    pub fn remove_from(mut self, set: &Key<Set>, member: impl Into<Vec<u8>>) -> Self {
        self.follow.push(Follow::SetRemove(set.clone(), member.into()));
        self
    }

    /// Gives a member its place in a sorted set on the record's slot.
    pub fn place_in(mut self, zset: &Key<Zset>, member: impl Into<Vec<u8>>, score: f64) -> Self {
        self.follow.push(Follow::ZsetAdd(zset.clone(), member.into(), score));
        self
    }

    /// Takes a member out of a sorted set on the record's slot.
    pub fn displace_from(mut self, zset: &Key<Zset>, member: impl Into<Vec<u8>>) -> Self {
        self.follow.push(Follow::ZsetRemove(zset.clone(), member.into()));
        self
    }

    /// Writes the record's line in a roster: a hash with one field per record.
    pub fn list_in(mut self, roster: &Key<Hash>, id: impl Into<Vec<u8>>, line: impl Into<Vec<u8>>) -> Self {
        self.follow.push(Follow::List(roster.clone(), id.into(), line.into()));
        self
    }

    /// Takes the record's line out of a roster.
    pub fn unlist_from(mut self, roster: &Key<Hash>, id: impl Into<Vec<u8>>) -> Self {
        self.follow.push(Follow::Unlist(roster.clone(), id.into()));
        self
    }

    /// Appends an event to a stream on the record's slot; see [`events`](crate::events).
    pub fn telling<F: Into<String>, V: Into<Vec<u8>>>(
        mut self,
        stream: &Key<Stream>,
        fields: impl IntoIterator<Item = (F, V)>,
    ) -> Self {
        let fields = fields.into_iter().map(|(field, value)| (field.into(), value.into())).collect();
        self.follow.push(Follow::Event(stream.clone(), fields));
        self
    }

    /// Notes in the record's outbox that a member enters an index on another slot, or gets another score there.
    pub fn entering(self, index: &Index, member: impl Into<Vec<u8>>, score: f64) -> Self {
        self.noting(index, "enter", member.into(), Some(score))
    }

    /// Notes in the record's outbox that a member leaves an index on another slot.
    pub fn leaving(self, index: &Index, member: impl Into<Vec<u8>>) -> Self {
        self.noting(index, "leave", member.into(), None)
    }

    fn noting(mut self, index: &Index, op: &str, member: Vec<u8>, score: Option<f64>) -> Self {
        let mut note = vec![("index".to_owned(), index.key().into()), ("op".to_owned(), op.into())];
        note.push(("member".to_owned(), member));
        note.extend(score.map(|score| ("score".to_owned(), score.to_string().into_bytes())));
        self.follow.push(Follow::Note(note));
        self
    }

    /// Whether it writes to the record's outbox.
    pub(super) fn notes(&self) -> bool {
        self.follow.iter().any(|follow| matches!(follow, Follow::Note(_)))
    }

    /// What a field was to become.
    pub(super) fn value_of(&self, field: &str) -> String {
        let found = self.set.iter().rev().find(|(name, _)| name == field);
        found.map_or_else(String::new, |(_, value)| String::from_utf8_lossy(value).into_owned())
    }

    /// What it brings, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.set.iter().map(|(field, value)| (field.len() + value.len()) as u64).sum()
    }

    /// The keys that change with the record, by type and each in the order of the steps.
    pub(super) fn followers<'c>(&'c self, outbox: Option<&'c Key<Stream>>) -> Followers<'c> {
        let (mut sets, mut zsets, mut hashes, mut streams) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for follow in &self.follow {
            match follow {
                Follow::SetAdd(key, _) | Follow::SetRemove(key, _) => sets.push(key),
                Follow::ZsetAdd(key, ..) | Follow::ZsetRemove(key, _) => zsets.push(key),
                Follow::List(key, ..) | Follow::Unlist(key, _) => hashes.push(key),
                Follow::Note(_) => streams.extend(outbox),
                Follow::Event(key, _) => streams.push(key),
            }
        }
        (sets, zsets, hashes, streams)
    }

    /// The arguments of the script: conditions first, then what is written.
    pub(super) fn steps<'c>(
        &'c self,
        handle: &Handle,
        rules: &'c Rules,
        outbox: Option<&Key<Stream>>,
    ) -> Vec<Arg<'c>> {
        let mut steps = Steps(Vec::new());
        self.conditions(rules, &mut steps);
        self.writes(&mut steps);
        if let Some(parent) = self.parent.as_ref().filter(|_| self.renews_parent) {
            steps.push(["touch".into(), millis(handle, parent.info()).into()]);
        }
        self.follows(handle, outbox, &mut steps);
        steps.0
    }

    fn conditions<'c>(&'c self, rules: &'c Rules, steps: &mut Steps<'c>) {
        if let Some(fence) = &self.fence {
            steps.push(["fence".into(), fence.into()]);
        }
        if self.parent.is_some() {
            steps.push(["under".into()]);
        }
        for (field, value) in &self.set {
            if let Some(from) = rules.moves_to(field, value) {
                steps.push(["move".into(), field.into(), value.into(), from.into()]);
            }
        }
        for (field, value) in &self.conditions {
            steps.push(["if".into(), field.into(), value.into()]);
        }
    }

    fn writes<'c>(&'c self, steps: &mut Steps<'c>) {
        // Of a removed record nothing is left to write.
        if self.kind == Kind::Remove {
            return;
        }
        if !self.set.is_empty() {
            steps.push(["set".into(), (2 * self.set.len()).into()]);
            self.set.iter().for_each(|(field, value)| steps.push([field.into(), value.into()]));
        }
        if !self.unset.is_empty() {
            steps.push(["unset".into(), self.unset.len().into()]);
            self.unset.iter().for_each(|field| steps.push([field.into()]));
        }
        for (field, by) in &self.counted {
            steps.push(["count".into(), field.into(), (*by).into()]);
        }
    }

    fn follows<'c>(&'c self, handle: &Handle, outbox: Option<&Key<Stream>>, steps: &mut Steps<'c>) {
        let (sets, zsets, hashes, _) = self.followers(None);
        // Behind the record, its parent and the fence.
        let mut set = 4;
        let mut zset = set + sets.len();
        let mut hash = zset + zsets.len();
        let mut stream = hash + hashes.len();
        let number = |counter: &mut usize| {
            *counter += 1;
            Arg::from(*counter - 1)
        };
        for follow in &self.follow {
            match follow {
                Follow::SetAdd(key, member) => {
                    let at = number(&mut set);
                    steps.push(["sadd".into(), at, millis(handle, key.info()).into(), member.into()]);
                }
                Follow::SetRemove(_, member) => {
                    let at = number(&mut set);
                    steps.push(["srem".into(), at, member.into()]);
                }
                Follow::ZsetAdd(key, member, score) => {
                    let (at, lasts) = (number(&mut zset), millis(handle, key.info()));
                    steps.push(["zadd".into(), at, lasts.into(), (*score).into(), member.into()]);
                }
                Follow::ZsetRemove(_, member) => {
                    let at = number(&mut zset);
                    steps.push(["zrem".into(), at, member.into()]);
                }
                Follow::List(key, id, line) => {
                    let (at, lasts) = (number(&mut hash), millis(handle, key.info()));
                    steps.push(["hset".into(), at, lasts.into(), id.into(), line.into()]);
                }
                Follow::Unlist(_, id) => {
                    let at = number(&mut hash);
                    steps.push(["hdel".into(), at, id.into()]);
                }
                Follow::Note(fields) => {
                    let Some(outbox) = outbox else { continue };
                    let at = number(&mut stream);
                    steps.entry("note", at, handle, outbox.info(), fields);
                }
                Follow::Event(key, fields) => {
                    let at = number(&mut stream);
                    steps.entry("event", at, handle, key.info(), fields);
                }
            }
        }
    }
}

/// Arguments in the making.
struct Steps<'c>(Vec<Arg<'c>>);

impl<'c> Steps<'c> {
    fn push<const N: usize>(&mut self, step: [Arg<'c>; N]) {
        self.0.extend(step);
    }

    /// An entry of a stream.
    fn entry(
        &mut self,
        word: &'static str,
        at: Arg<'c>,
        handle: &Handle,
        info: &KeyInfo,
        fields: &'c [(String, Vec<u8>)],
    ) {
        let (lasts, most) = (millis(handle, info), most_members(handle, info));
        self.push([word.into(), at, lasts.into(), most.into(), (2 * fields.len()).into()]);
        fields.iter().for_each(|(field, value)| self.push([field.into(), value.into()]));
    }
}
