//! One numbered database: keys, their values and their ends.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::log::{Picture, write_down};
use crate::value::Value;

/// How keys, fields and members are found. Seeded once per process would do against floods; a fixed seed makes a run
/// repeatable, and order never shows in what is promised.
pub(crate) type Hashing = foldhash::fast::FixedState;

/// A key's name, shared between the places that know it.
pub(crate) type Name = Arc<[u8]>;

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    /// Milliseconds since 1970.
    expires: Option<u64>,
    /// When it was last looked at, in seconds since 1970.
    pub(crate) seen: u32,
    /// The last picture that has it.
    picture: u32,
}

/// A part of a picture.
pub(crate) enum Pictured {
    Part(Vec<u8>),
    /// It cannot be finished.
    Spoiled,
}

/// Keys by name and by number. A removed key's number goes to the last one.
#[derive(Debug, Default)]
pub(crate) struct Db {
    entries: IndexMap<Name, Entry, Hashing>,
    ends: BTreeSet<(u64, Name)>,
    picture: Option<Picture>,
}

impl Db {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many of them end.
    pub(crate) fn ending(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &[u8]) -> Option<&mut Entry> {
        self.write_down(key);
        self.entries.get_mut(key)
    }

    /// The key with that number.
    pub(crate) fn at(&self, number: usize) -> Option<(&Name, &Entry)> {
        self.entries.get_index(number)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Name, &Entry)> {
        self.entries.iter()
    }

    /// Puts a value in place of what is there. Its end stays when asked to.
    pub(crate) fn put(&mut self, key: &[u8], value: Value, keep_end: bool, seen: u32) {
        if let Some(entry) = self.get_mut(key) {
            entry.value = value;
            entry.seen = seen;
            if !keep_end {
                self.persist(key);
            }
            return;
        }
        let picture = self.picture.as_ref().map_or(0, |picture| picture.number);
        self.entries.insert(key.into(), Entry { value, expires: None, seen, picture });
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<Entry> {
        self.write_down(key);
        let (name, entry) = self.entries.swap_remove_full(key).map(|(_, name, entry)| (name, entry))?;
        if let Some(expires) = entry.expires {
            self.ends.remove(&(expires, name));
        }
        Some(entry)
    }

    /// Whether there is such a key.
    pub(crate) fn expire_at(&mut self, key: &[u8], at: u64) -> bool {
        self.write_down(key);
        let Some((_, name, entry)) = self.entries.get_full_mut(key) else { return false };
        let name = Arc::clone(name);
        if let Some(before) = entry.expires.replace(at) {
            self.ends.remove(&(before, Arc::clone(&name)));
        }
        self.ends.insert((at, name));
        true
    }

    /// Whether there was an end.
    pub(crate) fn persist(&mut self, key: &[u8]) -> bool {
        self.write_down(key);
        let Some((_, name, entry)) = self.entries.get_full_mut(key) else { return false };
        let Some(before) = entry.expires.take() else { return false };
        let name = Arc::clone(name);
        self.ends.remove(&(before, name));
        true
    }

    pub(crate) fn first_end(&self) -> Option<&(u64, Name)> {
        self.ends.first()
    }

    pub(crate) fn clear(&mut self) {
        let picture = self.picture.take().map(|picture| Picture { spoiled: true, ..picture });
        *self = Self { picture, ..Self::default() };
    }

    /// Takes a picture of the keys as they are now.
    pub(crate) fn begin_picture(&mut self, number: u32, db: usize) {
        self.picture = Some(Picture::new(number, db, self.entries.len()));
    }

    /// It is not wanted any more.
    pub(crate) fn end_picture(&mut self) {
        self.picture = None;
    }

    /// Writes a key down that is in no picture yet.
    fn write_down(&mut self, key: &[u8]) {
        let Some(picture) = &mut self.picture else { return };
        if let Some(entry) = self.entries.get_mut(key).filter(|entry| entry.picture != picture.number) {
            entry.picture = picture.number;
            write_down(key, entry, &mut picture.out);
        }
    }

    /// Goes on with the walk, over so many keys, and gives what was written down. `None` where there is nothing more.
    pub(crate) fn go_on_with_picture(&mut self, keys: usize) -> Option<Pictured> {
        let picture = self.picture.as_mut()?;
        // As in a scan: what the walk has not reached can only move down.
        let from = picture.below.min(self.entries.len());
        let to = from.saturating_sub(keys);
        for place in (to..from).rev() {
            if let Some((key, entry)) = self.entries.get_index_mut(place)
                && entry.picture != picture.number
            {
                entry.picture = picture.number;
                write_down(key, entry, &mut picture.out);
            }
        }
        picture.below = to;
        let out = std::mem::take(&mut picture.out);
        let spoiled = picture.spoiled;
        if to == 0 || spoiled {
            self.picture = None;
        }
        Some(if spoiled { Pictured::Spoiled } else { Pictured::Part(out) })
    }
}

impl Entry {
    pub(crate) fn expires(&self) -> Option<u64> {
        self.expires
    }

    pub(crate) fn is_over(&self, now_millis: u64) -> bool {
        // A key lives through the millisecond at which it ends.
        self.expires.is_some_and(|at| now_millis > at)
    }
}
