//! One numbered database: keys, their values and their ends.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
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
    expires: Option<NonZeroU64>,
    /// Where it stands among the ends, which is never later than it ends.
    queued: Option<NonZeroU64>,
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
    /// Keys that may end then. One whose end was put off or taken away stays until its turn comes: most keys that end are
    /// written again and again, and would be moved each time.
    ends: BTreeSet<(NonZeroU64, Name)>,
    /// How many of the keys end.
    ending: usize,
    picture: Option<Picture>,
}

impl Db {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many of them end.
    pub(crate) fn ending(&self) -> usize {
        self.ending
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &[u8]) -> Option<&mut Entry> {
        self.write_down(key);
        self.entries.get_mut(key)
    }

    /// The number of a key, until the next change of any.
    pub(crate) fn number(&self, key: &[u8]) -> Option<usize> {
        self.entries.get_index_of(key)
    }

    /// What the key of that number holds, for changing.
    pub(crate) fn at_mut(&mut self, number: usize) -> Option<&mut Entry> {
        let (key, entry) = self.entries.get_index_mut(number)?;
        if let Some(picture) = &mut self.picture {
            picture.take(key, entry);
        }
        Some(entry)
    }

    /// The key with that number.
    pub(crate) fn at(&self, number: usize) -> Option<(&Name, &Entry)> {
        self.entries.get_index(number)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Name, &Entry)> {
        self.entries.iter()
    }

    /// Puts a value in place of what is there, at that number if there is something. Its end stays when asked to.
    pub(crate) fn put(&mut self, key: &[u8], there: Option<usize>, value: Value, keep_end: bool, seen: u32) {
        if let Some(entry) = there.and_then(|number| self.at_mut(number)) {
            entry.value = value;
            entry.seen = seen;
            let ended = !keep_end && entry.expires.take().is_some();
            self.ending -= usize::from(ended);
            return;
        }
        let picture = self.picture.as_ref().map_or(0, |picture| picture.number);
        self.entries.insert(key.into(), Entry { value, expires: None, queued: None, seen, picture });
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<Entry> {
        self.write_down(key);
        let (_, name, entry) = self.entries.swap_remove_full(key)?;
        if let Some(queued) = entry.queued {
            self.ends.remove(&(queued, name));
        }
        self.ending -= usize::from(entry.expires.is_some());
        Some(entry)
    }

    /// Whether there is such a key. A moment before the first millisecond of 1970 is none.
    pub(crate) fn expire_at(&mut self, key: &[u8], at: u64) -> bool {
        self.write_down(key);
        let Some((_, name, entry)) = self.entries.get_full_mut(key) else { return false };
        let at = NonZeroU64::new(at).unwrap_or(NonZeroU64::MIN);
        self.ending += usize::from(entry.expires.replace(at).is_none());
        if entry.queued.is_none_or(|queued| at < queued) {
            let before = entry.queued.replace(at);
            let name = Arc::clone(name);
            self.queue(name, before, at);
        }
        true
    }

    fn queue(&mut self, name: Name, before: Option<NonZeroU64>, at: NonZeroU64) {
        if let Some(before) = before {
            self.ends.remove(&(before, Arc::clone(&name)));
        }
        self.ends.insert((at, name));
    }

    /// Whether there was an end.
    pub(crate) fn persist(&mut self, key: &[u8]) -> bool {
        let ended = self.get_mut(key).is_some_and(|entry| entry.expires.take().is_some());
        self.ending -= usize::from(ended);
        ended
    }

    /// A moment at or before that at which the first key ends.
    pub(crate) fn first_end(&self) -> Option<u64> {
        self.ends.first().map(|(at, _)| at.get())
    }

    /// A key whose end has come. Looks at so many at most, and counts them off.
    pub(crate) fn over(&mut self, now_millis: u64, left: &mut usize) -> Option<Name> {
        while *left > 0
            && let Some((at, name)) = self.ends.first()
            && now_millis > at.get()
        {
            *left -= 1;
            let (at, name) = (*at, Arc::clone(name));
            let entry = self.entries.get_mut(&name);
            match entry.as_ref().and_then(|entry| entry.expires) {
                Some(expires) if expires == at => return Some(name),
                later => {
                    if let Some(entry) = entry {
                        entry.queued = later;
                    }
                    match later {
                        Some(later) => self.queue(name, Some(at), later),
                        None => drop(self.ends.remove(&(at, name))),
                    }
                }
            }
        }
        None
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
        if let Some(entry) = self.entries.get_mut(key) {
            picture.take(key, entry);
        }
    }

    /// Goes on with the walk, over so many keys, and gives what was written down. `None` where there is nothing more.
    pub(crate) fn go_on_with_picture(&mut self, keys: usize) -> Option<Pictured> {
        let picture = self.picture.as_mut()?;
        // As in a scan: what the walk has not reached can only move down.
        let from = picture.below.min(self.entries.len());
        let to = from.saturating_sub(keys);
        for place in (to..from).rev() {
            if let Some((key, entry)) = self.entries.get_index_mut(place) {
                picture.take(key, entry);
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

impl Picture {
    /// Writes a key down, once.
    fn take(&mut self, key: &[u8], entry: &mut Entry) {
        if entry.picture != self.number {
            entry.picture = self.number;
            write_down(key, entry, &mut self.out);
        }
    }
}

impl Entry {
    pub(crate) fn expires(&self) -> Option<u64> {
        self.expires.map(NonZeroU64::get)
    }

    pub(crate) fn is_over(&self, now_millis: u64) -> bool {
        // A key lives through the millisecond at which it ends.
        self.expires.is_some_and(|at| now_millis > at.get())
    }
}
