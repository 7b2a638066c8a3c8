//! Data that the original wrote: its queue, its records and its log are as here, but nothing is known of stages, inputs and
//! heights. Whoever becomes the watcher makes it known, so that nothing that was accepted there is stuck.

use std::collections::BTreeSet;

use keyplane_key::Arg;
use keyplane_kit::Fence;

use super::chain::Tip;
use super::error::{ConfirmError, ReadError};
use super::{Inner, Pool};
use crate::model::{
    Detail, Entry, InflightRecord, Known, Mark, Payload, Point, Stage, Thresholds, Tx, TxHash,
};
use crate::scripts;

/// Looked at in one round trip.
const PAGE: usize = 256;

/// Taken out of the queue in one step: each may cost a walk along all of it.
const WEEDS: usize = 32;

/// What was adopted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Adopted {
    /// Transactions that are known from now on.
    pub txs: u64,
    /// Confirmed ones that wait for the first block: their height follows from it.
    pub waiting: u64,
    /// Entries of the queue that did not belong there, and are gone.
    pub weeds: u64,
}

/// A transaction of the original.
struct Found {
    hash: TxHash,
    stage: Stage,
    /// Blocks from its own up to the newest, as the original counted them.
    confirmations: u64,
    misses: u64,
    point: Option<Point>,
    payload: Option<Payload>,
    /// Number of its finished entry.
    seq: Option<u64>,
}

impl Pool {
    /// Makes known what the original left in the queue, among the records and in the log.
    pub async fn adopt(&self, fence: &Fence) -> Result<Adopted, ConfirmError> {
        let mut adopted = Adopted::default();
        if self.is_all_known().await? {
            return Ok(adopted);
        }
        let tip = self.tip().await?;
        self.adopt_pending(fence, tip, &mut adopted).await?;
        self.adopt_inflight(fence, tip, &mut adopted).await?;
        self.adopt_finished(fence, tip, &mut adopted).await?;
        Ok(adopted)
    }

    /// Whether there is nothing to adopt, by counts alone. Each known transaction stands in one place at least, so where there
    /// are no more places none is unknown. The known ones are counted first: what comes meanwhile is looked at in vain.
    async fn is_all_known(&self) -> Result<bool, ConfirmError> {
        let Inner { watcher, names, .. } = &*self.0;
        let counts =
            [names.stage.hlen(), names.pending.llen(), names.inflight.hlen(), names.finalized.zcard()];
        let counts = watcher.run_all(counts).await?;
        Ok(counts.first().copied() == Some(counts.iter().skip(1).sum()))
    }

    async fn adopt_pending(
        &self,
        fence: &Fence,
        tip: Option<Tip>,
        to: &mut Adopted,
    ) -> Result<(), ConfirmError> {
        let Inner { watcher, names, .. } = &*self.0;
        let (mut at, mut seen, mut weeds) = (0, BTreeSet::new(), Vec::new());
        loop {
            let page = watcher.run(names.pending.lrange(at, at + PAGE as i64 - 1)).await?;
            let mut hashes = Vec::with_capacity(page.len());
            for raw in &page {
                match TxHash::from_slice(raw) {
                    Ok(hash) if seen.insert(hash) => hashes.push(hash),
                    Ok(hash) => weeds.push((raw.clone(), hash.to_string())),
                    Err(_) => weeds.push((raw.clone(), String::new())),
                }
            }
            let unknown = self.unknown(hashes).await?;
            let payloads = self.payloads(&unknown).await?;
            let found = unknown.into_iter().zip(payloads).map(|(hash, payload)| Found {
                hash,
                stage: Stage::Pending,
                confirmations: 0,
                misses: 0,
                point: None,
                payload,
                seq: None,
            });
            self.make_known(fence, tip, found.collect(), to).await?;
            if page.len() < PAGE {
                break;
            }
            at += PAGE as i64;
        }
        weeds.extend(self.strays(&seen).await?);
        to.weeds += self.weed(fence, &weeds).await?;
        Ok(())
    }

    /// Those of the queue that are known, and not as pending.
    async fn strays(&self, queued: &BTreeSet<TxHash>) -> Result<Vec<(Vec<u8>, String)>, ConfirmError> {
        let queued: Vec<TxHash> = queued.iter().copied().collect();
        let mut strays = Vec::new();
        for page in queued.chunks(PAGE) {
            let stages = self.check_all(page).await?;
            let is_stray = |stage: Option<Stage>| stage.is_some_and(|stage| stage != Stage::Pending);
            let found = page.iter().zip(stages).filter(|(_, status)| is_stray(status.map(|one| one.stage)));
            strays.extend(found.map(|(hash, _)| (hash.bytes().to_vec(), hash.to_string())));
        }
        Ok(strays)
    }

    /// Takes out of the queue what does not belong there, each as it stands there and as text if it is a hash: how many.
    pub(super) async fn weed(&self, fence: &Fence, weeds: &[(Vec<u8>, String)]) -> Result<u64, ConfirmError> {
        let Inner { watcher, names, .. } = &*self.0;
        let mut gone = 0;
        for some in weeds.chunks(WEEDS) {
            let call = scripts::WeedPending {
                watcher_lock_fence: fence.key(),
                pending: &names.pending,
                stage: &names.stage,
                fence: fence.into(),
                suspects: some.iter().flat_map(|(raw, text)| [Arg::from(raw), Arg::from(text)]).collect(),
            };
            match watcher.call::<i64>(call).await? {
                count if count >= 0 => gone += count.unsigned_abs(),
                _ => return Err(ConfirmError::Fenced),
            }
        }
        Ok(gone)
    }

    async fn adopt_inflight(
        &self,
        fence: &Fence,
        tip: Option<Tip>,
        to: &mut Adopted,
    ) -> Result<(), ConfirmError> {
        let Inner { watcher, names, .. } = &*self.0;
        let mut cursor = 0;
        loop {
            let (next, records) = watcher.run(names.inflight.hscan(cursor, PAGE as u64)).await?;
            let mut found = Vec::with_capacity(records.len());
            for (field, record) in records {
                let hash = TxHash::from_slice(&field)
                    .map_err(|error| ReadError::damaged("inflight", "a field", &error))?;
                let record = InflightRecord::from_cbor(&record)
                    .map_err(ReadError::record("inflight", hash.to_string()))?;
                found.push(Found {
                    hash,
                    stage: record.stage,
                    confirmations: record.confirmations.into(),
                    misses: record.non_confirmations.into(),
                    point: record.confirmed_at,
                    payload: Some(record.payload),
                    seq: None,
                });
            }
            let unknown = self.unknown(found.iter().map(|one| one.hash).collect()).await?;
            found.retain(|one| unknown.contains(&one.hash));
            self.make_known(fence, tip, found, to).await?;
            if next == 0 {
                return Ok(());
            }
            cursor = next;
        }
    }

    async fn adopt_finished(
        &self,
        fence: &Fence,
        tip: Option<Tip>,
        to: &mut Adopted,
    ) -> Result<(), ConfirmError> {
        let mut cursor = 0;
        loop {
            let page = self.read_finalized(cursor, PAGE as u32).await?;
            let unknown = self.unknown(page.items.iter().map(|item| item.entry.hash).collect()).await?;
            let found = page.items.into_iter().filter(|item| unknown.contains(&item.entry.hash));
            let found = found.map(|item| Found {
                hash: item.entry.hash,
                stage: item.entry.stage,
                confirmations: item.entry.confirmations.into(),
                misses: item.entry.non_confirmations.into(),
                point: item.entry.confirmed_at,
                payload: Some(item.entry.payload),
                seq: Some(item.seq),
            });
            self.make_known(fence, tip, found.collect(), to).await?;
            match page.next_cursor {
                Some(next) => cursor = next,
                None => return Ok(()),
            }
        }
    }

    /// Those that the pool does not know.
    async fn unknown(&self, txs: Vec<TxHash>) -> Result<Vec<TxHash>, ConfirmError> {
        if txs.is_empty() {
            return Ok(txs);
        }
        let Inner { watcher, names, .. } = &*self.0;
        let texts: Vec<String> = txs.iter().map(ToString::to_string).collect();
        let entries = watcher.run(names.stage.hmget(&texts)).await?;
        Ok(txs.into_iter().zip(entries).filter(|(_, entry)| entry.is_none()).map(|(tx, _)| tx).collect())
    }

    async fn make_known(
        &self,
        fence: &Fence,
        tip: Option<Tip>,
        mut found: Vec<Found>,
        to: &mut Adopted,
    ) -> Result<(), ConfirmError> {
        if tip.is_none() {
            let before = found.len();
            found.retain(|one| !one.stage.is_on_chain() || one.seq.is_some());
            to.waiting += (before - found.len()) as u64;
        }
        if found.is_empty() {
            return Ok(());
        }
        let Inner { watcher, names, settings, .. } = &*self.0;
        let now = self.pulse().await?.now;
        let height = tip.map_or(0, |tip| tip.height);
        let payloads = names.payloads(found.iter().map(|one| &one.hash));
        let call = scripts::Adopt {
            watcher_lock_fence: fence.key(),
            stage: &names.stage,
            due: &names.due,
            offered: &names.offered,
            inputs: &names.inputs,
            finalized_index: &names.finalized_index,
            stats: &names.stats,
            payload: payloads.iter().collect(),
            fence: fence.into(),
            txs: found.iter().flat_map(|one| one.words(height, now, settings.thresholds)).collect(),
        };
        match watcher.call::<i64>(call).await? {
            count if count >= 0 => to.txs += count.unsigned_abs(),
            _ => return Err(ConfirmError::Fenced),
        }
        Ok(())
    }
}

impl Found {
    /// Where it is, if the newest block has this height.
    fn known(&self, height: u64) -> Known {
        let (height, detail) = match (self.stage, self.point) {
            (Stage::Confirmed | Stage::Finalized, Some(point)) => {
                (height.saturating_sub(self.confirmations.saturating_sub(1)), Detail::At(point))
            }
            (Stage::Dropped, _) => (height, Detail::Missed(self.misses)),
            (Stage::Propagated | Stage::Acknowledged, _) => {
                (height.saturating_sub(self.misses), Detail::None)
            }
            _ => (0, Detail::None),
        };
        Known { stage: self.stage, mark: Mark { version: 1, height, detail } }
    }

    /// In the words of the script.
    fn words(&self, height: u64, now: u64, thresholds: Thresholds) -> Vec<Arg<'static>> {
        let known = self.known(height);
        let bytes = self.payload.as_ref().map(|payload| payload.bytes.clone()).unwrap_or_default();
        let size = bytes.len() as u64;
        // What cannot be read spends nothing that is known.
        let inputs = Tx::decode(bytes).map(|tx| tx.inputs).unwrap_or_default();
        let inputs: Vec<String> = inputs.iter().map(ToString::to_string).collect();
        let due = thresholds.due(known.stage, &known.mark);
        let member = match known.stage {
            Stage::Propagated | Stage::Acknowledged => format!("drop:{}", self.hash),
            Stage::Confirmed => format!("finalize:{}", self.hash),
            _ => String::new(),
        };
        let count = inputs.len();
        let entry = Entry { known, received: now, size, inputs: inputs.clone() };
        let mut words = vec![
            Arg::from(self.hash.to_string()),
            entry.to_string().into(),
            size.into(),
            member.into(),
            due.map_or_else(String::new, |due| due.to_string()).into(),
            self.seq.map_or_else(String::new, |seq| seq.to_string()).into(),
            count.into(),
        ];
        words.extend(inputs.into_iter().map(Arg::from));
        words
    }
}
