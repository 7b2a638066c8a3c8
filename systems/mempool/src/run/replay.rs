//! A recorded chain, applied to a pool: each transaction is received before the block that holds it.

use std::collections::HashMap;

use keyplane_kit::Fence;

use crate::model::{Block, BlockHash, ChainEvent, Point, Tx, TxHash};
use crate::state::{ConfirmError, Pool, ReadError, ReceiveError};

/// What a replay did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Replayed {
    /// Recorded blocks applied.
    pub blocks: u64,
    /// Transactions received.
    pub received: u64,
    /// Entries in the log that are finalized.
    pub finalized: u64,
    /// Entries in the log that were dropped.
    pub dropped: u64,
    /// Transactions that are not settled.
    pub pending: u64,
}

/// Why a replay stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A transaction was refused.
    #[error("transaction {hash} of block {height}: {error}")]
    Receive {
        /// Which one.
        hash: TxHash,
        /// In which block.
        height: u64,
        /// Why.
        error: ReceiveError,
    },
    /// A block was refused.
    #[error(transparent)]
    Confirm(#[from] ConfirmError),
    /// The store failed.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A chain that is replayed.
#[derive(Debug)]
pub struct Replay<'a> {
    pool: &'a Pool,
    fence: &'a Fence,
    txs: &'a HashMap<TxHash, Tx>,
    done: Replayed,
}

/// Entries of the log read at once.
const PAGE: u32 = 1000;

impl<'a> Replay<'a> {
    /// A replay into this pool, as its watcher.
    #[must_use]
    pub fn new(pool: &'a Pool, fence: &'a Fence, txs: &'a HashMap<TxHash, Tx>) -> Self {
        Self { pool, fence, txs, done: Replayed::default() }
    }

    /// Receives the transactions of a block that are recorded, and applies the block.
    pub async fn apply(&mut self, block: &Block) -> Result<(), ReplayError> {
        for tx in block.txs.iter().filter_map(|hash| self.txs.get(hash)) {
            match self.pool.receive(tx).await {
                Ok(_) => self.done.received += 1,
                // A replay that is repeated, or goes on.
                Err(ReceiveError::Duplicate { .. }) => {}
                Err(error) => {
                    return Err(ReplayError::Receive { hash: tx.hash, height: block.height, error });
                }
            }
        }
        self.pool.mark_inflight(&block.txs).await.map_err(ReadError::from)?;
        self.pool.confirm(self.fence, &ChainEvent::Forward(block.clone())).await?;
        self.done.blocks += 1;
        Ok(())
    }

    /// Applies empty blocks until all is settled, and counts.
    pub async fn settle(mut self) -> Result<Replayed, ReplayError> {
        let thresholds = self.pool.settings().thresholds;
        for number in 0..=u64::from(thresholds.finalize.max(thresholds.drop)) {
            let counts = self.pool.counts().await.map_err(ReadError::from)?;
            let Some(tip) = self.pool.tip().await?.filter(|_| counts.inflight > 0) else { break };
            let block = Block {
                point: Point { slot: tip.point.slot + 1, hash: made_up(number) },
                height: tip.height + 1,
                prev: tip.point.hash,
                txs: Vec::new(),
            };
            self.pool.confirm(self.fence, &ChainEvent::Forward(block)).await?;
        }
        self.count().await?;
        Ok(self.done)
    }

    async fn count(&mut self) -> Result<(), ReplayError> {
        let mut cursor = Some(0);
        while let Some(from) = cursor {
            let page = self.pool.dump_finalized(from, PAGE).await?;
            let finalized = page.items.iter().filter(|item| item.entry.stage.is_on_chain()).count();
            self.done.finalized += finalized as u64;
            self.done.dropped += (page.items.len() - finalized) as u64;
            cursor = page.next_cursor;
        }
        let counts = self.pool.counts().await.map_err(ReadError::from)?;
        self.done.pending = counts.pending + counts.inflight;
        Ok(())
    }
}

/// A block that nobody made has a hash that no block has.
fn made_up(number: u64) -> BlockHash {
    let mut hash = [0xff; 32];
    hash[24..].copy_from_slice(&number.to_be_bytes());
    BlockHash::new(hash)
}
