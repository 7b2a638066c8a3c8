//! How the pool is.

use std::time::Duration;

use keyplane_store::{Reply, read_reply};

use super::error::ReadError;
use super::read::Counts;
use super::{Inner, Pool};
use crate::model::Entry;
use crate::scripts;

/// The pool at one moment, by the server's clock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Pulse {
    /// Unix seconds.
    pub now: u64,
    /// How many transactions are where.
    pub counts: Counts,
    /// How long the first of the queue has waited.
    pub oldest_pending: Option<Duration>,
    /// The node that applies the chain.
    pub watcher: Option<String>,
    /// How long its lock lasts without renewal.
    pub lock_left: Option<Duration>,
    /// The number of its term, or of the last one.
    pub term: Option<u64>,
    /// Terms so far.
    pub terms: u64,
    /// What was counted so far.
    pub totals: Totals,
}

/// Counters that only go up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Totals {
    /// Accepted.
    pub received: u64,
    /// Refused as known.
    pub duplicates: u64,
    /// Refused for an input that another one spends.
    pub conflicts: u64,
    /// Refused for a limit.
    pub full: u64,
    /// Finalized, once more for each time.
    pub finalized: u64,
    /// Dropped, once more for each time.
    pub dropped: u64,
    /// Moves that an undone block took back.
    pub rolled_back: u64,
    /// Final records that the chain proved wrong.
    pub corrected: u64,
}

impl Totals {
    /// From the fields, in the script's order, and what is unfinished.
    fn new(fields: &[Option<u64>], unfinished: u64) -> Self {
        let at = |at: usize| fields.get(at).copied().flatten().unwrap_or_default();
        Self {
            received: (unfinished + at(3) + at(4)).saturating_sub(at(7)),
            duplicates: at(0),
            conflicts: at(1),
            full: at(2),
            finalized: at(3),
            dropped: at(4),
            rolled_back: at(5),
            corrected: at(6),
        }
    }

    /// Each with its name.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("received", self.received),
            ("duplicates", self.duplicates),
            ("conflicts", self.conflicts),
            ("full", self.full),
            ("finalized", self.finalized),
            ("dropped", self.dropped),
            ("rolled_back", self.rolled_back),
            ("corrected", self.corrected),
        ]
    }
}

impl Pool {
    /// How the pool is. One round trip.
    pub async fn pulse(&self) -> Result<Pulse, ReadError> {
        let Inner { node, names, .. } = &*self.0;
        let call = scripts::Pulse {
            pending: &names.pending,
            inflight: &names.inflight,
            finalized: &names.finalized,
            stage: &names.stage,
            stats: &names.stats,
            watcher_lock: &names.watcher_lock,
            watcher_lock_fence: &names.watcher_fence,
            watcher_lock_transitions: &names.watcher_terms,
        };
        let (told, totals): (Vec<Reply>, Vec<Option<u64>>) = node.call(call).await?;
        let text =
            |at: usize| told.get(at).cloned().and_then(|reply| read_reply::<Option<String>>(reply).ok()?);
        let number = |at: usize| text(at).and_then(|text| text.parse::<u64>().ok());
        let count = |at: usize| number(at).unwrap_or_default();
        let oldest = text(4).map(|entry| entry.parse::<Entry>()).transpose();
        let oldest = oldest.map_err(|error| ReadError::damaged("stage", "the oldest pending one", &error))?;
        let counts = Counts { pending: count(1), inflight: count(2), finalized: count(3) };
        Ok(Pulse {
            now: count(0),
            counts,
            oldest_pending: oldest.map(|entry| Duration::from_secs(count(0).saturating_sub(entry.received))),
            watcher: text(5),
            lock_left: number(6).map(Duration::from_millis),
            term: text(7).and_then(|fence| fence.split_once(':')?.0.parse().ok()),
            terms: count(8),
            totals: Totals::new(&totals, counts.pending + counts.inflight),
        })
    }
}
