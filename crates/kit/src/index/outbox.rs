//! Notes of changes, and applying them.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use keyplane_key::{Arg, Hash, Key, Stream};
use keyplane_store::{Error, Handle};

use super::{Index, scripts};
use crate::error::{SetupError, helper};
use crate::events::Entry;

/// Notes read at once.
const AT_ONCE: u64 = 200;

/// What a drain did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Notes that are applied, now or before.
    pub notes: u64,
    /// Indexes that must be rebuilt first; their notes are still there.
    pub absent: Vec<String>,
}

/// Why notes were not applied. They are still there.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DrainError {
    /// The record has no outbox.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A note is for an index that was not given.
    #[error("a note is for the index `{0}`, which was not given")]
    UnknownIndex(String),
    /// A note that this primitive did not write.
    #[error("the note {id} in the outbox cannot be read")]
    Unreadable {
        /// The entry.
        id: String,
    },
    /// The store failed. Draining again is safe.
    #[error(transparent)]
    Store(#[from] Error),
}

/// The outbox of a record.
pub(crate) fn outbox_of(record: &Key<Hash>) -> Result<Key<Stream>, SetupError> {
    helper(record, "outbox", "outbox")
}

/// One note.
struct Note {
    id: String,
    millis: u64,
    number: u64,
    index: String,
    leaves: bool,
    member: Vec<u8>,
    score: Vec<u8>,
}

impl Note {
    fn read((id, fields): Entry) -> Result<Self, DrainError> {
        let unreadable = || DrainError::Unreadable { id: id.clone() };
        let get = |name: &str| {
            fields.iter().find(|(field, _)| field == name.as_bytes()).map(|(_, value)| value.clone())
        };
        let (millis, number) = numbers(&id).ok_or_else(unreadable)?;
        Ok(Self {
            millis,
            number,
            index: get("index").and_then(|name| String::from_utf8(name).ok()).ok_or_else(unreadable)?,
            leaves: get("op").ok_or_else(unreadable)? == b"leave",
            member: get("member").ok_or_else(unreadable)?,
            score: get("score").unwrap_or_else(|| b"0".to_vec()),
            id,
        })
    }
}

/// The two numbers of an id.
pub(super) fn numbers(id: &str) -> Option<(u64, u64)> {
    let (millis, number) = id.split_once('-')?;
    Some((millis.parse().ok()?, number.parse().ok()?))
}

/// Applies the notes in a record's outbox to their indexes. All indexes that its changes name must be given.
///
/// Anybody may drain, at any time, several at once: each note is applied once.
pub async fn drain(handle: &Handle, record: &Key<Hash>, indexes: &[&Index]) -> Result<Drained, DrainError> {
    drain_to(handle, record, |name| Ok(indexes.iter().find(|index| index.key() == name).copied())).await
}

/// The same where nobody knows beforehand which indexes the notes name, because there is one for each word that somebody
/// may bring: `find` has the index of a key.
pub async fn drain_to<I: Borrow<Index>>(
    handle: &Handle,
    record: &Key<Hash>,
    find: impl Fn(&str) -> Result<Option<I>, SetupError>,
) -> Result<Drained, DrainError> {
    let outbox = outbox_of(record)?;
    let mut drained = Drained::default();
    loop {
        let entries = handle.run(outbox.xrange_first("-", "+", AT_ONCE)).await?;
        let notes = entries.into_iter().map(Note::read).collect::<Result<Vec<_>, _>>()?;
        if notes.is_empty() {
            return Ok(drained);
        }
        let done = apply_all(record, &notes, &find, &mut drained).await?;
        if !done.is_empty() {
            drained.notes += handle.run(outbox.xdel(&done)).await?;
        }
        if !drained.absent.is_empty() {
            return Ok(drained);
        }
        if let Some(last) = notes.iter().rfind(|note| note.leaves) {
            close(handle, record, &outbox, last.millis).await?;
        }
    }
}

/// The ids of those that are applied.
async fn apply_all<'n, I: Borrow<Index>>(
    record: &Key<Hash>,
    notes: &'n [Note],
    find: &impl Fn(&str) -> Result<Option<I>, SetupError>,
    drained: &mut Drained,
) -> Result<Vec<&'n str>, DrainError> {
    let mut by_index: BTreeMap<&str, Vec<&'n Note>> = BTreeMap::new();
    for note in notes {
        by_index.entry(&note.index).or_default().push(note);
    }
    let mut done = Vec::new();
    for (name, notes) in by_index {
        let index = find(name)?.ok_or_else(|| DrainError::UnknownIndex(name.to_owned()))?;
        if index.borrow().apply(record, &notes).await? {
            done.extend(notes.iter().map(|note| note.id.as_str()));
        } else {
            drained.absent.push(name.to_owned());
        }
    }
    Ok(done)
}

/// Removes an outbox that nobody needs any more.
pub(super) async fn close(
    handle: &Handle,
    record: &Key<Hash>,
    outbox: &Key<Stream>,
    quiet_since: u64,
) -> Result<bool, Error> {
    handle.call(scripts::Close { record, outbox, quiet_since: quiet_since.into() }).await
}

impl Index {
    /// Whether the index is there to take them.
    async fn apply(&self, record: &Key<Hash>, notes: &[&Note]) -> Result<bool, Error> {
        let args = notes.iter().flat_map(|note| -> [Arg<'_>; 5] {
            let word = if note.leaves { "leave" } else { "enter" };
            let (score, member) = (note.score.as_slice().into(), note.member.as_slice().into());
            [note.millis.into(), note.number.into(), word.into(), score, member]
        });
        let call = scripts::Apply {
            feed: &self.feed,
            zsets: self.target.zsets(),
            sets: self.target.sets(),
            kind: self.target.word().into(),
            source: record.as_str().into(),
            millis: self.millis.into(),
            notes: args.collect(),
        };
        let applied: i64 = self.handle.call(call).await?;
        let Ok(applied) = u64::try_from(applied) else {
            self.counters.absent.one();
            return Ok(false);
        };
        self.counters.applied.many(applied);
        self.counters.repeated.many(notes.len() as u64 - applied);
        Ok(true)
    }
}
