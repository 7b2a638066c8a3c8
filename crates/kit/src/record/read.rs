//! Reading records.

use keyplane_key::{Hash, Key};
use keyplane_store::Error;

use super::Records;
use super::rules::VERSION;

/// Records asked for in one round trip: enough to hide it, few enough to let others in between.
const AT_ONCE: usize = 128;

/// A record as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Its version.
    pub version: u64,
    /// Its fields, as the store has them.
    pub fields: Vec<(String, Vec<u8>)>,
}

impl Snapshot {
    fn read(pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let text = |(name, value): (Vec<u8>, Vec<u8>)| (String::from_utf8_lossy(&name).into_owned(), value);
        let mut snapshot = Self { version: 0, fields: pairs.into_iter().map(text).collect() };
        // One that was written by a stranger may have none.
        snapshot.version = snapshot.text(VERSION).and_then(|text| text.parse().ok()).unwrap_or(0);
        Some(snapshot)
    }

    /// The value of a field.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&[u8]> {
        self.fields.iter().find(|(name, _)| name == field).map(|(_, value)| value.as_slice())
    }

    /// The value of a field, if it is text.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        self.get(field).and_then(|value| std::str::from_utf8(value).ok())
    }
}

impl Records {
    /// A record as it is now; `None` when it is not there.
    pub async fn read(&self, key: &Key<Hash>) -> Result<Option<Snapshot>, Error> {
        let pairs = self.handle.run(key.hgetall()).await?;
        self.counters.read.one();
        Ok(Snapshot::read(pairs))
    }

    /// Several records, in the order of their keys; 128 in a round trip.
    pub async fn read_many(&self, keys: &[Key<Hash>]) -> Result<Vec<Option<Snapshot>>, Error> {
        let mut found = Vec::with_capacity(keys.len());
        for some in keys.chunks(AT_ONCE) {
            let answers = self.handle.run_all(some.iter().map(Key::hgetall)).await?;
            found.extend(answers.into_iter().map(Snapshot::read));
        }
        self.counters.read.many(found.len() as u64);
        Ok(found)
    }

    /// All records of a roster: a hash with one field per record. Those that are gone meanwhile are left out.
    pub async fn read_all(
        &self,
        roster: &Key<Hash>,
        key_of: impl Fn(&str) -> Option<Key<Hash>>,
    ) -> Result<Vec<(String, Snapshot)>, Error> {
        let lines = self.handle.run(roster.hgetall()).await?;
        let ids = lines.into_iter().filter_map(|(id, _)| String::from_utf8(id).ok());
        let known: Vec<(String, Key<Hash>)> = ids.filter_map(|id| key_of(&id).map(|key| (id, key))).collect();
        let (ids, keys): (Vec<_>, Vec<_>) = known.into_iter().unzip();
        let found = self.read_many(&keys).await?;
        Ok(ids.into_iter().zip(found).filter_map(|(id, found)| found.map(|found| (id, found))).collect())
    }
}
