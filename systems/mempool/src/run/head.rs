//! The head of the queue: what leaves it for the peers.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::TxHash;
use crate::state::{Pool, ReadError};

/// Taken out at once, from the head.
const MOST: u64 = 32;

/// Taken out at once from further back. Up to so many cost no rebuild of the queue.
const MOST_BEHIND: u64 = 31;

/// How often what was passed over is looked at again: somebody may have sent it once more.
const LOOK: Duration = Duration::from_secs(5);

/// So many entries are remembered as told. Who forgets them tells them twice.
const MOST_TOLD: usize = 10_000;

/// Where what can be offered begins. What cannot stays: whoever sends it again brings its bytes back, and the watcher gives it
/// up when it is too old; but it does not stand in the way of the others.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// Entries before it.
    passed: u64,
    looked: Option<Instant>,
    told: BTreeSet<TxHash>,
}

impl Head {
    /// Takes some out, in the order of the queue.
    pub(super) async fn take_out(&mut self, pool: &Pool) -> Result<(), ReadError> {
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            (self.passed, self.looked) = (0, Some(Instant::now()));
        }
        loop {
            let most = if self.passed == 0 { MOST } else { MOST_BEHIND };
            let entries = pool.queued(self.passed, most).await?;
            // What is no hash, the watcher weeds out when its term begins.
            let txs: Vec<TxHash> = entries.iter().copied().flatten().collect();
            let marked = pool.mark_inflight(&txs).await?;
            self.tell(pool, &marked.without_payload);
            let seen = entries.len() as u64;
            if !marked.moved.is_empty() || seen < most {
                return Ok(());
            }
            self.passed += seen;
        }
    }

    /// Once for each.
    fn tell(&mut self, pool: &Pool, lost: &[TxHash]) {
        if self.told.len() > MOST_TOLD {
            self.told.clear();
        }
        for tx in lost {
            if self.told.insert(*tx) {
                tracing::warn!(node_id = pool.node_id(), %tx, "it waits without its bytes and is passed over");
            }
        }
    }
}
