//! Removing what follows no record any more.

use keyplane_key::{Arg, Hash, Key, KeyInfo};
use keyplane_store::Error;

use super::outbox::{close, numbers, outbox_of};
use super::{DrainError, Index, Target, scripts};

/// Members, or outboxes, looked at in one round trip.
const AT_ONCE: usize = 200;

/// What a reconcile did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconciled {
    /// Members looked at.
    pub looked: u64,
    /// Members removed, because their records are gone.
    pub removed: u64,
    /// Records that nothing is kept about any more.
    pub forgotten: u64,
}

impl Index {
    /// Lets the index live on, removes members whose records are gone, and forgets what was kept about records of `family`
    /// that are gone. `record_of` names the record of a member; a member that has none is removed. `None`: the index must be
    /// rebuilt.
    pub async fn reconcile(
        &self,
        family: &'static KeyInfo,
        record_of: impl Fn(&[u8]) -> Option<Key<Hash>>,
    ) -> Result<Option<Reconciled>, DrainError> {
        if !self.renew().await? {
            return Ok(None);
        }
        let mut done = Reconciled::default();
        let mut rank = 0;
        while let Some(page) = self.page(rank).await? {
            if page.is_empty() {
                self.forget(family, &mut done).await?;
                self.counters.removed.many(done.removed);
                return Ok(Some(done));
            }
            let removed = self.look(&page, &record_of).await?;
            done.looked += page.len() as u64;
            done.removed += removed;
            // Those that stay are behind us; a plain index has come whole.
            rank = match self.target {
                Target::Sorted(_) => rank + page.len() as i64 - removed as i64,
                Target::Plain(_) => i64::MAX,
            };
        }
        Ok(None)
    }

    /// Whether it is there.
    async fn renew(&self) -> Result<bool, Error> {
        let call = scripts::Renew {
            feed: &self.feed,
            zsets: self.target.zsets(),
            sets: self.target.sets(),
            millis: self.millis.into(),
        };
        self.handle.call(call).await
    }

    async fn page(&self, rank: i64) -> Result<Option<Vec<Vec<u8>>>, Error> {
        if rank == i64::MAX {
            return Ok(Some(Vec::new()));
        }
        let page = self.members(rank, rank.saturating_add(AT_ONCE as i64 - 1)).await?;
        Ok(page.map(|page| page.into_iter().map(|(member, _)| member).collect()))
    }

    /// Expels the dead of these members.
    async fn look(
        &self,
        members: &[Vec<u8>],
        record_of: impl Fn(&[u8]) -> Option<Key<Hash>>,
    ) -> Result<u64, DrainError> {
        let mut removed = 0;
        for some in members.chunks(AT_ONCE) {
            let (mut known, mut suspects) = (Vec::new(), Vec::new());
            for member in some {
                match record_of(member) {
                    Some(record) => known.push((record, member.as_slice())),
                    None => suspects.push((String::new(), String::new(), member.as_slice())),
                }
            }
            let (records, members): (Vec<_>, Vec<_>) = known.into_iter().unzip();
            for (at, seen) in self.dead(&records).await? {
                self.bury(&records[at], &seen).await?;
                suspects.push((records[at].as_str().to_owned(), seen, members[at]));
            }
            removed += self.expel(&suspects).await?;
        }
        Ok(removed)
    }

    /// Which of these records are gone, and what had been applied of them before that was asked.
    async fn dead(&self, records: &[Key<Hash>]) -> Result<Vec<(usize, String)>, Error> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let asked = self.feed.hmget(records.iter().map(Key::as_str)).reading::<Vec<Option<String>>>();
        let seen = self.handle.run(asked).await?;
        let alive = self.handle.run_all(records.iter().map(Key::exists)).await?;
        let gone = alive.iter().zip(seen).enumerate().filter(|(_, (alive, _))| !**alive);
        Ok(gone.map(|(at, (_, seen))| (at, seen.unwrap_or_default())).collect())
    }

    async fn expel(&self, suspects: &[(String, String, &[u8])]) -> Result<u64, Error> {
        if suspects.is_empty() {
            return Ok(0);
        }
        let triple = |(source, seen, member): &'_ (String, String, &[u8])| -> [Arg<'static>; 3] {
            [source.clone().into(), seen.clone().into(), member.to_vec().into()]
        };
        let call = scripts::Expel {
            feed: &self.feed,
            zsets: self.target.zsets(),
            sets: self.target.sets(),
            kind: self.target.word().into(),
            suspects: suspects.iter().flat_map(triple).collect(),
        };
        self.handle.call(call).await
    }

    /// Removes the outbox of a record that is gone. Whether there is none any more.
    async fn bury(&self, record: &Key<Hash>, seen: &str) -> Result<bool, DrainError> {
        let outbox = outbox_of(record)?;
        let quiet_since = numbers(seen).map_or(0, |(millis, _)| millis);
        let closed = close(&self.handle, record, &outbox, quiet_since).await?;
        Ok(closed || !self.handle.run(outbox.exists()).await?)
    }

    /// Forgets records that are gone and whose outbox is empty, and removes that outbox.
    async fn forget(&self, family: &'static KeyInfo, done: &mut Reconciled) -> Result<(), DrainError> {
        let mut cursor = 0;
        loop {
            let (next, fields) = self.handle.run(self.feed.hscan(cursor, AT_ONCE as u64)).await?;
            let is_source =
                |(name, _): &(Vec<u8>, Vec<u8>)| !matches!(name.as_slice(), b"built" | b"by" | b"building");
            let sources =
                fields.into_iter().filter(is_source).filter_map(|(name, _)| String::from_utf8(name).ok());
            let records: Vec<Key<Hash>> = sources.map(|text| Key::new(family, text)).collect();
            for (at, seen) in self.dead(&records).await? {
                if self.bury(&records[at], &seen).await? {
                    self.expel(&[(records[at].as_str().to_owned(), seen, b"")]).await?;
                    done.forgotten += 1;
                }
            }
            cursor = next;
            if cursor == 0 {
                return Ok(());
            }
        }
    }
}
