//! A snapshot and its bytes.
//!
//! `KPC`, a version byte; the number of records, each with its name and its body; the number of names that are gone. Numbers are
//! LEB128, texts have their length before them. Names are in order and each stands once.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::record::Body;

const MAGIC: [u8; 4] = *b"KPC\x01";

/// Bytes that are no snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damaged {
    /// Another kind of file, or a later version.
    #[error("it does not begin as a snapshot of version 1")]
    Magic,
    /// It ends too early.
    #[error("it ends too early")]
    Cut,
    /// There is more than it says.
    #[error("there is more than it says")]
    TooLong,
    /// A number that is written in more bytes than it needs, or that is too large.
    #[error("a number in it is not written as numbers are")]
    Number,
    /// A name that is no text.
    #[error("a name in it is no text")]
    Name,
    /// Names that are not in order, or stand twice.
    #[error("its names are not in order")]
    Order,
}

/// Records as of one moment: all of them, or those that changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Snapshot {
    /// What is there.
    pub changed: BTreeMap<String, Body>,
    /// What is there no longer; nothing in a full one.
    pub removed: BTreeSet<String>,
}

impl Snapshot {
    /// How many bytes it has before they are compressed, without writing them.
    #[must_use]
    pub fn size(&self) -> usize {
        let records = self.changed.iter().map(|(name, body)| length(name.len()) + length(body.bytes().len()));
        let removed = self.removed.iter().map(|name| length(name.len()));
        let counts = digits(self.changed.len()) + digits(self.removed.len());
        MAGIC.len() + counts + records.sum::<usize>() + removed.sum::<usize>()
    }

    /// Its bytes, before they are compressed.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size());
        bytes.extend(MAGIC);
        put_number(&mut bytes, self.changed.len());
        for (name, body) in &self.changed {
            put(&mut bytes, name.as_bytes());
            put(&mut bytes, body.bytes());
        }
        put_number(&mut bytes, self.removed.len());
        for name in &self.removed {
            put(&mut bytes, name.as_bytes());
        }
        bytes
    }

    /// From bytes that somebody has written. The records share them.
    pub fn decode(bytes: impl Into<Bytes>) -> Result<Self, Damaged> {
        let bytes = bytes.into();
        let parts = Parts::read(&bytes)?;
        let record = |(name, body): (&str, &[u8])| Ok((name.to_owned(), Body::read(bytes.slice_ref(body))?));
        let changed = parts.changed.into_iter().map(record).collect::<Result<_, _>>()?;
        Ok(Self { changed, removed: parts.removed.into_iter().map(str::to_owned).collect() })
    }
}

/// What a snapshot's bytes are made of: names that are in order, and bodies that nobody has looked into yet.
#[derive(Debug)]
pub(super) struct Parts<'b> {
    pub(super) changed: Vec<(&'b str, &'b [u8])>,
    removed: Vec<&'b str>,
}

impl<'b> Parts<'b> {
    pub(super) fn read(bytes: &'b [u8]) -> Result<Self, Damaged> {
        let mut cursor = Cursor::new(bytes.strip_prefix(&MAGIC).ok_or(Damaged::Magic)?);
        let mut parts = Self { changed: Vec::new(), removed: Vec::new() };
        for _ in 0..cursor.count(2)? {
            let name = cursor.name()?;
            if parts.changed.last().is_some_and(|(last, _)| *last >= name) {
                return Err(Damaged::Order);
            }
            parts.changed.push((name, cursor.bytes()?));
        }
        for _ in 0..cursor.count(1)? {
            let name = cursor.name()?;
            let is_late = parts.removed.last().is_some_and(|last| *last >= name);
            if is_late || parts.changed.binary_search_by(|(changed, _)| (*changed).cmp(name)).is_ok() {
                return Err(Damaged::Order);
            }
            parts.removed.push(name);
        }
        cursor.end()?;
        Ok(parts)
    }
}

pub(super) fn put(bytes: &mut Vec<u8>, text: &[u8]) {
    put_number(bytes, text.len());
    bytes.extend(text);
}

pub(super) fn put_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 & 0x7f | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Bytes of a text with its length before it.
fn length(text: usize) -> usize {
    digits(text) + text
}

/// Bytes of a number.
fn digits(mut number: usize) -> usize {
    let mut digits = 1;
    while number >= 0x80 {
        number >>= 7;
        digits += 1;
    }
    digits
}

/// Reads on through bytes of others.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'b>(&'b [u8]);

impl<'b> Cursor<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    fn number(&mut self) -> Result<usize, Damaged> {
        let mut number = 0;
        // Four times seven bits: more than a snapshot may hold.
        for shift in [0, 7, 14, 21] {
            let (first, rest) = self.0.split_first().ok_or(Damaged::Cut)?;
            self.0 = rest;
            number |= usize::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                let is_shortest = shift == 0 || *first != 0;
                return if is_shortest { Ok(number) } else { Err(Damaged::Number) };
            }
        }
        Err(Damaged::Number)
    }

    /// How many follow, each of at least so many bytes: what cannot be there is not waited for.
    pub(super) fn count(&mut self, least: usize) -> Result<usize, Damaged> {
        let count = self.number()?;
        if count.saturating_mul(least) > self.0.len() { Err(Damaged::Cut) } else { Ok(count) }
    }

    pub(super) fn bytes(&mut self) -> Result<&'b [u8], Damaged> {
        let length = self.number()?;
        let (text, rest) = self.0.split_at_checked(length).ok_or(Damaged::Cut)?;
        self.0 = rest;
        Ok(text)
    }

    fn name(&mut self) -> Result<&'b str, Damaged> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Damaged::Name)
    }

    pub(super) fn end(&self) -> Result<(), Damaged> {
        if self.0.is_empty() { Ok(()) } else { Err(Damaged::TooLong) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn snapshots() -> impl Strategy<Value = Snapshot> {
        let body = prop::collection::vec((any::<Vec<u8>>(), any::<Vec<u8>>()), 0..5).prop_map(Body::new);
        let changed = prop::collection::btree_map("[a-z:_]{0,12}", body, 0..8);
        (changed, prop::collection::btree_set("[A-Z]{0,6}", 0..4)).prop_map(|(changed, mut removed)| {
            removed.retain(|name| !changed.contains_key(name));
            Snapshot { changed, removed }
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(snapshot in snapshots()) {
            prop_assert_eq!(snapshot.encode().len(), snapshot.size());
            prop_assert_eq!(Snapshot::decode(snapshot.encode()), Ok(snapshot));
        }

        #[test]
        fn a_cut_or_longer_one_is_none(snapshot in snapshots(), at in any::<prop::sample::Index>()) {
            let bytes = snapshot.encode();
            prop_assert!(Snapshot::decode(bytes[..at.index(bytes.len())].to_vec()).is_err());
            prop_assert!(Snapshot::decode([bytes.as_slice(), b"\0"].concat()).is_err());
        }

        #[test]
        fn whatever_is_read_is_written_the_same(snapshot in snapshots(), at in any::<prop::sample::Index>(), bit in 0..8) {
            let mut bytes = snapshot.encode();
            let at = at.index(bytes.len());
            bytes[at] ^= 1_u8 << bit;
            if let Ok(read) = Snapshot::decode(bytes.clone()) {
                prop_assert_eq!(read.encode(), bytes);
            }
        }
    }

    #[test]
    fn a_count_of_what_is_not_there_takes_no_memory() {
        let bytes = [&MAGIC[..], &[0xff, 0xff, 0xff, 0x7f]].concat();
        assert_eq!(Snapshot::decode(bytes), Err(Damaged::Cut));
    }
}
