//! All records as of one moment, and what they amount to.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::thread;

use bytes::Bytes;
use ring::digest::{Context, SHA256};

use super::record::Body;
use super::snapshot::{Damaged, Parts, Snapshot};

/// A snapshot that takes several times as long to read as a thread takes to start.
const WORTH_A_THREAD: usize = 128 << 10;

/// SHA-256 over a record's name and its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordHash([u8; 32]);

/// SHA-256 over the hashes of all records, in the order of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateHash([u8; 32]);

impl RecordHash {
    /// Of a record.
    #[must_use]
    pub fn of(name: &str, body: &Body) -> Self {
        let length = u64::try_from(name.len()).unwrap_or(u64::MAX).to_be_bytes();
        Self(sha256([&length[..], name.as_bytes(), body.bytes()]))
    }
}

impl StateHash {
    /// Of records whose names are in order. Who keeps the hashes of records need not keep the records to know it.
    pub fn of<'h>(records: impl IntoIterator<Item = &'h RecordHash>) -> Self {
        Self(sha256(records.into_iter().map(|record| &record.0[..])))
    }
}

/// SHA-256 of these parts, one behind the other.
pub fn sha256<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

impl fmt::Display for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A text that is no hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no SHA-256: 64 hexadecimal digits in lower case")]
pub struct NoHash(String);

impl FromStr for StateHash {
    type Err = NoHash;

    fn from_str(text: &str) -> Result<Self, NoHash> {
        let digit = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let mut hash = [0; 32];
        let bytes = text.as_bytes();
        if bytes.len() != 64 {
            return Err(NoHash(text.to_owned()));
        }
        for (byte, pair) in hash.iter_mut().zip(bytes.chunks_exact(2)) {
            let both = digit(pair[0]).zip(digit(pair[1]));
            let (high, low) = both.ok_or_else(|| NoHash(text.to_owned()))?;
            *byte = high << 4 | low;
        }
        Ok(Self(hash))
    }
}

/// A record with its name and its hash.
type Named = (String, (Body, RecordHash));

/// All records as of one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    records: BTreeMap<String, (Body, RecordHash)>,
}

impl State {
    /// What a full snapshot holds, from its bytes. Hashes are most of what a load costs, so a second thread reads half of a
    /// large one.
    pub(super) fn read(bytes: &Bytes) -> Result<Self, Damaged> {
        let changed = Parts::read(bytes)?.changed;
        let (half, rest) =
            changed.split_at(if bytes.len() < WORTH_A_THREAD { changed.len() } else { changed.len() / 2 });
        let records = thread::scope(|scope| {
            let other = (!rest.is_empty())
                .then(|| thread::Builder::new().spawn_scoped(scope, || read_each(bytes, rest)).ok());
            let mut records = read_each(bytes, half)?;
            let others = other.flatten().and_then(|other| other.join().ok());
            records.extend(others.unwrap_or_else(|| read_each(bytes, rest))?);
            Ok(records)
        })?;
        // Names are in order: a map that is made at once costs less than one that grows.
        Ok(Self { records: records.into_iter().collect() })
    }

    /// Adds a record, or replaces it.
    pub fn insert(&mut self, name: impl Into<String>, body: Body) {
        let name = name.into();
        let hash = RecordHash::of(&name, &body);
        self.records.insert(name, (body, hash));
    }

    /// Takes a record away.
    pub fn remove(&mut self, name: &str) {
        self.records.remove(name);
    }

    /// What a snapshot says on top of what was there.
    pub fn apply(&mut self, snapshot: Snapshot) {
        for name in &snapshot.removed {
            self.remove(name);
        }
        for (name, body) in snapshot.changed {
            self.insert(name, body);
        }
    }

    /// A snapshot of all of it.
    #[must_use]
    pub fn full(&self) -> Snapshot {
        let changed = self.records.iter().map(|(name, (body, _))| (name.clone(), body.clone())).collect();
        Snapshot { changed, ..Snapshot::default() }
    }

    /// What it amounts to.
    #[must_use]
    pub fn hash(&self) -> StateHash {
        StateHash::of(self.records.values().map(|(_, hash)| hash))
    }

    /// A record.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Body> {
        self.records.get(name).map(|(body, _)| body)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Body)> {
        self.records.iter().map(|(name, (body, _))| (name.as_str(), body))
    }

    /// Hashes by name, for whoever takes the next increment.
    #[must_use]
    pub fn hashes(&self) -> BTreeMap<String, RecordHash> {
        self.records.iter().map(|(name, (_, hash))| (name.clone(), *hash)).collect()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

fn read_each(whole: &Bytes, some: &[(&str, &[u8])]) -> Result<Vec<Named>, Damaged> {
    let record = |(name, bytes): &(&str, &[u8])| {
        let body = Body::read(whole.slice_ref(bytes))?;
        let hash = RecordHash::of(name, &body);
        Ok(((*name).to_owned(), (body, hash)))
    };
    some.iter().map(record).collect()
}

/// A field that differs: its name, and what it held before and after.
pub type FieldDifference = (String, Option<Vec<u8>>, Option<Vec<u8>>);

/// How a record differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// Only the later state has it.
    Added,
    /// Only the earlier state has it.
    Removed,
    /// Fields that differ.
    Changed(Vec<FieldDifference>),
}

/// The records that differ between two states, by name.
#[must_use]
pub fn difference(earlier: &State, later: &State) -> BTreeMap<String, Difference> {
    let mut found = BTreeMap::new();
    for (name, (body, hash)) in &later.records {
        match earlier.records.get(name) {
            None => drop(found.insert(name.clone(), Difference::Added)),
            Some((_, same)) if same == hash => {}
            Some((before, _)) => drop(found.insert(name.clone(), Difference::Changed(fields(before, body)))),
        }
    }
    for name in earlier.records.keys().filter(|name| !later.records.contains_key(*name)) {
        found.insert(name.clone(), Difference::Removed);
    }
    found
}

fn fields(before: &Body, after: &Body) -> Vec<FieldDifference> {
    let before: BTreeMap<&[u8], &[u8]> = before.fields().collect();
    let after: BTreeMap<&[u8], &[u8]> = after.fields().collect();
    let mut names: Vec<&[u8]> = before.keys().chain(after.keys()).copied().collect();
    names.sort_unstable();
    names.dedup();
    let side = |fields: &BTreeMap<&[u8], &[u8]>, name: &[u8]| fields.get(name).map(|value| value.to_vec());
    names
        .into_iter()
        .filter(|name| before.get(name) != after.get(name))
        .map(|name| (String::from_utf8_lossy(name).into_owned(), side(&before, name), side(&after, name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(records: &[(&str, &str)]) -> State {
        let mut state = State::default();
        for (name, status) in records {
            state.insert(*name, Body::new([("status", status)]));
        }
        state
    }

    #[test]
    fn the_hash_depends_on_what_is_there_and_not_on_how_it_came() {
        let (one, other) = (state(&[("a", "idle"), ("b", "busy")]), state(&[("b", "busy"), ("a", "idle")]));
        assert_eq!(one.hash(), other.hash());
        for changed in
            [&[("a", "idle")][..], &[("a", "idle"), ("b", "idle")], &[("a", "idle"), ("c", "busy")]]
        {
            assert_ne!(state(changed).hash(), one.hash());
        }
        assert_eq!(StateHash::of(one.hashes().values()), one.hash());
        assert_eq!(one.hash().to_string().parse(), Ok(one.hash()));
        assert!("00".repeat(31).parse::<StateHash>().is_err());
    }

    #[test]
    fn large_ones_are_read_as_small_ones_are() {
        for size in [1, WORTH_A_THREAD / 100] {
            let text = "x".repeat(size);
            let mut state = State::default();
            for number in 0..101 {
                state.insert(format!("{number:03}"), Body::new([("is", &text)]));
            }
            let bytes = state.full().encode();
            assert_eq!(bytes.len() > WORTH_A_THREAD, size > 1);
            assert_eq!(State::read(&bytes.clone().into()), Ok(state));
            // The last record says that it has more fields than it has; it is in the half that another thread reads.
            let mut damaged = bytes;
            let last = damaged.windows(4).rposition(|at| at == [1, 2, b'i', b's']).unwrap();
            damaged[last] = 2;
            assert_eq!(State::read(&damaged.into()), Err(Damaged::Cut));
        }
    }

    /// SHA-256 of nothing, as everybody knows it.
    #[test]
    fn the_hash_of_nothing_is_the_known_one() {
        let known = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(State::default().hash().to_string(), known);
    }

    #[test]
    fn differences_are_told_by_field() {
        let found =
            difference(&state(&[("a", "idle"), ("b", "busy")]), &state(&[("a", "busy"), ("c", "idle")]));
        let sides = |text: &str| Some(text.as_bytes().to_vec());
        let changed = Difference::Changed(vec![("status".to_owned(), sides("idle"), sides("busy"))]);
        let expected = [("a", changed), ("b", Difference::Removed), ("c", Difference::Added)];
        assert_eq!(found, expected.map(|(name, how)| (name.to_owned(), how)).into());
    }
}
