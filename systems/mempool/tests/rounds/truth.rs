//! What is found when all is quiet, against the chain.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::AddAssign;

use keyplane_kit::events::Position;
use keyplane_mempool::model::FinalizedEntry;
use keyplane_mempool::state::{Change, Counts};
use keyplane_mempool::{Pool, Stage, Status, TxHash};

use crate::machine::{Book, Shared};

/// What a run showed.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) rounds: u64,
    pub(crate) accepted: u64,
    pub(crate) unsure: u64,
    pub(crate) finalized: u64,
    pub(crate) dropped: u64,
    pub(crate) corrected: u64,
    pub(crate) rolled_back: u64,
    pub(crate) terms: u64,
    pub(crate) crashes: u64,
    pub(crate) store_crashes: u64,
    pub(crate) offers: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.accepted += other.accepted;
        self.unsure += other.unsure;
        self.finalized += other.finalized;
        self.dropped += other.dropped;
        self.corrected += other.corrected;
        self.rolled_back += other.rolled_back;
        self.terms += other.terms;
        self.crashes += other.crashes;
        self.store_crashes += other.store_crashes;
        self.offers += other.offers;
    }
}

/// What an event says.
#[derive(Debug, Hash)]
struct Told {
    version: u64,
    stage: String,
    reason: String,
}

/// What the store holds in the end.
#[derive(Default)]
pub(crate) struct Found {
    entries: Vec<FinalizedEntry>,
    statuses: BTreeMap<TxHash, Option<Status>>,
    counts: Counts,
    /// What events told, by transaction.
    told: BTreeMap<String, Vec<Told>>,
    gaps: usize,
}

pub(crate) async fn find(pool: &Pool, book: &Shared) -> Found {
    let mut found = Found::default();
    let page = pool.dump_finalized(0, 100_000).await.unwrap();
    found.entries = page.items.into_iter().map(|item| item.entry).collect();
    let sent: Vec<TxHash> = book.lock().unwrap().sent.keys().copied().collect();
    for part in sent.chunks(200) {
        let statuses = pool.check_all(part).await.unwrap();
        found.statuses.extend(part.iter().copied().zip(statuses));
    }
    found.counts = pool.counts().await.unwrap();
    let mut position = Position::Beginning;
    loop {
        let batch = pool.events().read(position, 1000).await.unwrap();
        found.gaps += batch.gaps.len();
        for event in &batch.events {
            let change = Change::read(event).unwrap();
            let (stage, reason) = (change.stage.to_string(), change.reason);
            let told = Told { version: change.version, stage, reason };
            found.told.entry(change.hash.to_string()).or_default().push(told);
        }
        if batch.events.is_empty() {
            return found;
        }
        position = batch.next;
    }
}

impl Found {
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.told.hash(&mut hasher);
        self.entries.len().hash(&mut hasher);
        hasher.finish()
    }

    pub(crate) fn check(&self, book: &Book) -> Result<Tally, String> {
        let blocks = book.chain.blocks();
        let tip = blocks.last().ok_or("no chain")?.height;
        let on_chain: HashMap<TxHash, _> =
            blocks.iter().flat_map(|block| block.txs.iter().map(move |tx| (*tx, block))).collect();
        let mut entries: BTreeMap<TxHash, &FinalizedEntry> = BTreeMap::new();
        for entry in &self.entries {
            if entries.insert(entry.hash, entry).is_some() {
                return Err(format!("{} has two final records", entry.hash));
            }
        }
        if book.twice > 0 {
            return Err(format!("{} times two nodes offered the same to the same peer", book.twice));
        }
        let mut tally = Tally {
            rounds: 1,
            terms: book.terms,
            crashes: book.crashes,
            store_crashes: book.store_crashes,
            offers: book.offers,
            ..Tally::default()
        };
        for (tx, sent) in &book.sent {
            let status = self.statuses.get(tx).copied().flatten();
            let told = self.told.get(&tx.to_string()).map_or(&[][..], Vec::as_slice);
            let received = told.iter().filter(|told| told.reason == "received").count() as u64;
            if sent.accepted > received {
                return Err(format!(
                    "{tx} was accepted {} times and received {received} times",
                    sent.accepted
                ));
            }
            let Some(status) = status else {
                if sent.known {
                    return Err(format!("{tx} was accepted and is unknown"));
                }
                tally.unsure += 1;
                continue;
            };
            tally.accepted += 1;
            let entry =
                entries.get(tx).ok_or_else(|| format!("{tx} is {} and has no final record", status.stage))?;
            match on_chain.get(tx) {
                Some(block) => {
                    let depth = tip - block.height + 1;
                    let truth =
                        (Stage::Finalized, Stage::Finalized, depth, Some(block.point), Some(block.point));
                    let is = (
                        status.stage,
                        entry.stage,
                        status.confirmations,
                        status.confirmed_at,
                        entry.confirmed_at,
                    );
                    if is != truth {
                        return Err(format!("{tx} is {is:?} and on the chain {truth:?}"));
                    }
                    tally.finalized += 1;
                }
                None => {
                    let is = (status.stage, entry.stage, entry.confirmed_at);
                    if is != (Stage::Dropped, Stage::Dropped, None) {
                        return Err(format!("{tx} is {is:?} and not on the chain"));
                    }
                    tally.dropped += 1;
                }
            }
        }
        self.check_events(&mut tally)?;
        let Counts { pending, inflight, finalized, .. } = self.counts;
        if (pending, inflight, finalized) != (0, 0, tally.accepted) {
            return Err(format!(
                "{pending} pending, {inflight} inflight, {finalized} final for {}",
                tally.accepted
            ));
        }
        Ok(tally)
    }

    /// Every change was told once, in order.
    fn check_events(&self, tally: &mut Tally) -> Result<(), String> {
        if self.gaps > 0 {
            return Err(format!("{} gaps in the events", self.gaps));
        }
        for (tx, told) in &self.told {
            let in_order = told.iter().map(|told| told.version).eq(1..=told.len() as u64);
            // It is accepted when it is new, or after it was given up.
            let mut pairs = told.iter().zip(told.iter().skip(1));
            let twice = pairs.any(|(before, told)| told.reason == "received" && before.stage != "dropped");
            if !in_order || twice {
                return Err(format!("{tx} changed as {told:#?}"));
            }
            let count = |reason: &str| told.iter().filter(|told| told.reason == reason).count() as u64;
            tally.rolled_back += count("undo");
            tally.corrected += count("corrected");
        }
        Ok(())
    }
}
