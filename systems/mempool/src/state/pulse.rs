//! How the pool is.

use std::time::Duration;

use keyplane_store::{Error, Reply, read_reply};

use super::read::Counts;
use super::{Inner, Pool};
use crate::scripts;

/// The pool at one moment, by the server's clock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Pulse {
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
}

impl Pool {
    /// How the pool is. One round trip.
    pub async fn pulse(&self) -> Result<Pulse, Error> {
        let Inner { node, names, .. } = &*self.0;
        let told: Vec<Reply> = node
            .call(scripts::Pulse {
                pending: &names.pending,
                inflight: &names.inflight,
                finalized: &names.finalized,
                received: &names.received,
                watcher_lock: &names.watcher_lock,
                watcher_lock_fence: &names.watcher_fence,
                watcher_lock_transitions: &names.watcher_terms,
            })
            .await?;
        let text =
            |at: usize| told.get(at).cloned().and_then(|reply| read_reply::<Option<String>>(reply).ok()?);
        let number = |at: usize| text(at).and_then(|text| text.parse::<u64>().ok());
        let now = number(0).unwrap_or_default();
        Ok(Pulse {
            counts: Counts {
                pending: number(1).unwrap_or_default(),
                inflight: number(2).unwrap_or_default(),
                finalized: number(3).unwrap_or_default(),
            },
            oldest_pending: number(4).map(|since| Duration::from_millis(now.saturating_sub(since))),
            watcher: text(5),
            lock_left: number(6).map(Duration::from_millis),
            term: text(7).and_then(|fence| fence.split_once(':')?.0.parse().ok()),
            terms: number(8).unwrap_or_default(),
        })
    }
}
