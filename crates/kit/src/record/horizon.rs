//! Children that live as long as their record, without touching them with every renewal.
//!
//! A child that is written lives twice its parent's lifetime from then. A stretch notes the moment first, then finds the
//! children, makes each live twice a lifetime from that moment, and only then moves the horizon there. So a child that is
//! born while the children are being found lives long enough by itself, and the horizon never stands beyond the end of
//! any child.

use keyplane_key::{Hash, Key, List, Set, Str, Stream, Zset};
use keyplane_store::Error;

use super::{Records, scripts};
use crate::life::millis;

/// Children in one script: it must not hold up others.
const AT_ONCE: usize = 200;

/// Keys that are linked to a record.
#[derive(Debug, Default)]
#[allow(missing_docs)]
#[non_exhaustive]
pub struct Children {
    pub hashes: Vec<Key<Hash>>,
    pub strings: Vec<Key<Str>>,
    pub lists: Vec<Key<List>>,
    pub sets: Vec<Key<Set>>,
    pub zsets: Vec<Key<Zset>>,
    pub streams: Vec<Key<Stream>>,
}

impl Children {
    fn len(&self) -> usize {
        let Self { hashes, strings, lists, sets, zsets, streams } = self;
        hashes.len() + strings.len() + lists.len() + sets.len() + zsets.len() + streams.len()
    }
}

/// A stretch that has begun: now find the children, and [finish](Self::finish).
#[derive(Debug)]
#[must_use = "the horizon moves when the stretch is finished"]
pub struct Stretch<'r> {
    records: &'r Records,
    record: Key<Hash>,
    horizon: u64,
}

impl Records {
    /// Begins to move the horizon of a record. `None` when it is gone. The children must be found **after** this.
    pub async fn stretch(&self, record: &Key<Hash>) -> Result<Option<Stretch<'_>>, Error> {
        let lasts = millis(&self.handle, record.info());
        let horizon: u64 = self.handle.call(scripts::BeginStretch { record, millis: lasts.into() }).await?;
        let begun = Stretch { records: self, record: record.clone(), horizon };
        Ok((horizon > 0).then_some(begun))
    }
}

impl Stretch<'_> {
    /// Where the horizon will stand, in Unix milliseconds.
    #[must_use]
    pub fn horizon(&self) -> u64 {
        self.horizon
    }

    /// Makes all children live until the new horizon, and then moves it there. Whether the record is still there. One that
    /// fails half-way has made some children live longer, and nothing else; begin anew.
    pub async fn finish(self, children: &Children) -> Result<bool, Error> {
        let Children { hashes, strings, lists, sets, zsets, streams } = children;
        let longest = [hashes.len(), strings.len(), lists.len(), sets.len(), zsets.len(), streams.len()]
            .into_iter()
            .max();
        for from in (0..longest.unwrap_or(0)).step_by(AT_ONCE) {
            let call = scripts::Stretch {
                record: &self.record,
                child_hash: some(hashes, from),
                child_string: some(strings, from),
                child_list: some(lists, from),
                child_set: some(sets, from),
                child_zset: some(zsets, from),
                child_stream: some(streams, from),
                horizon: self.horizon.into(),
            };
            if !self.records.handle.call::<bool>(call).await? {
                return Ok(false);
            }
        }
        self.records.counters.stretched.many(children.len() as u64);
        let end = scripts::EndStretch { record: &self.record, horizon: self.horizon.into() };
        self.records.handle.call(end).await
    }
}

fn some<K>(keys: &[K], from: usize) -> Vec<&K> {
    keys.iter().skip(from).take(AT_ONCE).collect()
}
