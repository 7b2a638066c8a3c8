//! What can be asked.

use keyplane_key::Arg;
use keyplane_store::Error;

use super::error::ReadError;
use super::{Inner, Pool};
use crate::model::{Entry, FinalizedEntry, InflightRecord, Payload, Status, TxHash};
use crate::scripts;

/// A transaction that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pending {
    /// Its id.
    pub hash: TxHash,
    /// Its bytes; `None` if somebody has taken them away.
    pub payload: Option<Payload>,
}

/// A transaction on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inflight {
    /// Its id.
    pub hash: TxHash,
    /// Its bytes.
    pub payload: Payload,
    /// Where it is now.
    pub status: Status,
}

/// A finished transaction and its number.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finished {
    /// Its place in the log.
    pub seq: u64,
    /// What became of it. Its counts are as of then.
    pub entry: FinalizedEntry,
    /// Blocks from its own up to the tip of now; 0 if it was dropped.
    pub confirmations: u64,
}

/// A page of the finished ones.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// In order.
    pub items: Vec<Finished>,
    /// Where the next page begins; `None` when this is the last.
    pub next_cursor: Option<u64>,
    /// Entries up to this number are gone, and the cursor pointed among them.
    pub trimmed_to: Option<u64>,
}

/// How many transactions are where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// In the queue.
    pub pending: u64,
    /// On their way.
    pub inflight: u64,
    /// Finished and kept.
    pub finalized: u64,
}

/// Records that are asked for in one round trip.
const BATCH: u64 = 256;

impl Pool {
    /// Whether anything waits.
    pub async fn has_pending(&self) -> Result<bool, Error> {
        let Inner { node, names, .. } = &*self.0;
        Ok(node.run(names.pending.llen()).await? > 0)
    }

    /// How many transactions are where. Three reads, not one moment.
    pub async fn counts(&self) -> Result<Counts, Error> {
        let Inner { node, names, .. } = &*self.0;
        let commands = [names.pending.llen(), names.inflight.hlen(), names.finalized.zcard()];
        let counts = node.run_all(commands).await?;
        let count = |at: usize| counts.get(at).copied().unwrap_or_default();
        Ok(Counts { pending: count(0), inflight: count(1), finalized: count(2) })
    }

    /// The oldest pending transactions, in the order of the queue. They stay there.
    pub async fn peek_pending(&self, limit: u64) -> Result<Vec<Pending>, ReadError> {
        let hashes = self.head(limit).await?;
        let payloads = self.payloads(&hashes).await?;
        Ok(hashes.into_iter().zip(payloads).map(|(hash, payload)| Pending { hash, payload }).collect())
    }

    /// The first hashes of the queue. What is none is passed over; the watcher takes it out.
    async fn head(&self, limit: u64) -> Result<Vec<TxHash>, Error> {
        let Inner { node, names, .. } = &*self.0;
        let (most, mut first, mut hashes) = (i64::try_from(limit).unwrap_or(i64::MAX), 0, Vec::new());
        loop {
            let missing = most.saturating_sub(hashes.len() as i64);
            if missing <= 0 {
                return Ok(hashes);
            }
            let page = node.run(names.pending.lrange(first, first.saturating_add(missing - 1))).await?;
            hashes.extend(page.iter().filter_map(|raw| TxHash::from_slice(raw).ok()));
            if (page.len() as i64) < missing {
                return Ok(hashes);
            }
            first += missing;
        }
    }

    /// The status of a transaction; `None` if the pool does not know it. One round trip.
    pub async fn check_status(&self, tx: &TxHash) -> Result<Option<Status>, ReadError> {
        Ok(self.check_all(&[*tx]).await?.pop().flatten())
    }

    /// The same for several, at one moment.
    pub async fn check_all(&self, txs: &[TxHash]) -> Result<Vec<Option<Status>>, ReadError> {
        let Inner { node, names, .. } = &*self.0;
        let texts: Vec<String> = txs.iter().map(ToString::to_string).collect();
        let call = scripts::CheckStatus {
            stage: &names.stage,
            tip: &names.tip,
            hashes: texts.iter().map(Arg::from).collect(),
        };
        let (tip, told): (Option<u64>, Vec<Option<String>>) = node.call(call).await?;
        let status = |(tx, told): (&TxHash, &Option<String>)| {
            let entry = entry(tx, told.as_deref())?;
            Ok(entry.map(|entry| Status::derive(entry.known.stage, &entry.known.mark, tip)))
        };
        txs.iter().zip(&told).map(status).collect()
    }

    /// The record of a transaction that is propagated, acknowledged or confirmed.
    pub async fn find_inflight(&self, tx: &TxHash) -> Result<Option<Inflight>, ReadError> {
        let Inner { node, names, .. } = &*self.0;
        let Some(record) = node.run(names.inflight.hget(tx.bytes())).await? else { return Ok(None) };
        Ok(self.inflight(vec![(tx.bytes().to_vec(), record)]).await?.pop())
    }

    /// Transactions on their way, in no order, at most so many.
    pub async fn peek_inflight(&self, limit: usize) -> Result<Vec<Inflight>, ReadError> {
        let Inner { node, names, .. } = &*self.0;
        let (mut found, mut cursor) = (std::collections::BTreeMap::new(), 0);
        loop {
            let (next, records) = node.run(names.inflight.hscan(cursor, BATCH)).await?;
            // A scan may show a record twice.
            found.extend(records);
            if next == 0 || found.len() >= limit {
                return self.inflight(found.into_iter().take(limit).collect()).await;
            }
            cursor = next;
        }
    }

    /// Records with the depth of now. One that was finished since it was read is left out.
    async fn inflight(&self, records: Vec<(Vec<u8>, Vec<u8>)>) -> Result<Vec<Inflight>, ReadError> {
        let mut read = Vec::with_capacity(records.len());
        for (field, record) in records {
            let hash = TxHash::from_slice(&field)
                .map_err(|error| ReadError::damaged("inflight", "a field", &error))?;
            let record = InflightRecord::from_cbor(&record)
                .map_err(ReadError::record("inflight", hash.to_string()))?;
            read.push((hash, record.payload));
        }
        let hashes: Vec<TxHash> = read.iter().map(|(hash, _)| *hash).collect();
        let statuses = self.check_all(&hashes).await?;
        let told = read.into_iter().zip(statuses).filter_map(|((hash, payload), status)| {
            let status = status.filter(|status| status.stage.is_inflight())?;
            Some(Inflight { hash, payload, status })
        });
        Ok(told.collect())
    }

    /// Finished transactions from a number on, with the depth of now. 0 begins with the oldest.
    pub async fn dump_finalized(&self, cursor: u64, limit: u32) -> Result<Page, ReadError> {
        let mut page = self.read_finalized(cursor, limit).await?;
        self.deepen(&mut page.items).await?;
        Ok(page)
    }

    /// The same with the depth that they had when they were finished.
    pub(super) async fn read_finalized(&self, cursor: u64, limit: u32) -> Result<Page, ReadError> {
        let Inner { node, names, .. } = &*self.0;
        let call = scripts::DumpFinalized {
            finalized: &names.finalized,
            stats: &names.stats,
            cursor: cursor.into(),
            // One more tells whether there is a next page.
            count: (u64::from(limit) + 1).into(),
        };
        let (trimmed, entries): (Option<u64>, Vec<(Vec<u8>, f64)>) = node.call(call).await?;
        let mut items: Vec<Finished> = entries.into_iter().map(finished).collect::<Result<_, ReadError>>()?;
        let next_cursor = items.get(limit as usize).map(|item| item.seq);
        items.truncate(limit as usize);
        Ok(Page { items, next_cursor, trimmed_to: trimmed.filter(|to| (1..=*to).contains(&cursor)) })
    }

    /// The other end of the log: the newest first, without the first `skip`, at most `count`.
    pub async fn newest_finished(&self, skip: u32, count: u32) -> Result<Vec<Finished>, ReadError> {
        let Inner { node, names, .. } = &*self.0;
        let last = -i64::from(skip) - 1;
        let Some(first) = last.checked_sub(i64::from(count) - 1).filter(|first| *first <= last) else {
            return Ok(Vec::new());
        };
        let entries = node.run(names.finalized.zrange_with_scores(first, last)).await?;
        let mut items: Vec<Finished> = entries.into_iter().rev().map(finished).collect::<Result<_, _>>()?;
        self.deepen(&mut items).await?;
        Ok(items)
    }

    /// Depths of now. One that nobody has made known yet, or that is where its entry says no longer, keeps what is written there.
    async fn deepen(&self, items: &mut [Finished]) -> Result<(), ReadError> {
        let hashes: Vec<TxHash> = items.iter().map(|item| item.entry.hash).collect();
        if hashes.is_empty() {
            return Ok(());
        }
        for (item, status) in items.iter_mut().zip(self.check_all(&hashes).await?) {
            let status = status.filter(|status| status.stage == item.entry.stage);
            item.confirmations = status.map_or(item.confirmations, |status| status.confirmations);
        }
        Ok(())
    }
}

pub(super) fn finished((entry, seq): (Vec<u8>, f64)) -> Result<Finished, ReadError> {
    let entry =
        FinalizedEntry::from_cbor(&entry).map_err(ReadError::record("finalized", format!("number {seq}")))?;
    Ok(Finished { seq: seq as u64, confirmations: entry.confirmations.into(), entry })
}

/// What is known of a transaction.
pub(super) fn entry(tx: &TxHash, told: Option<&str>) -> Result<Option<Entry>, ReadError> {
    let read = |text: &str| text.parse().map_err(|error| ReadError::damaged("stage", tx.to_string(), &error));
    told.map(read).transpose()
}

/// Hashes that a script told; it was given them.
pub(super) fn hashes(texts: &[String]) -> Vec<TxHash> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}
