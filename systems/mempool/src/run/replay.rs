//! A recorded chain, applied to a pool: each transaction is received before the block that holds it.

use std::collections::HashMap;

use keyplane_kit::Fence;
use keyplane_kit::events::Position;

use crate::model::{Block, BlockHash, ChainEvent, Point, Stage, Tx, TxHash};
use crate::state::{Change, ConfirmError, Pool, ReadError, ReceiveError};

/// What a replay did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Replayed {
    /// Recorded blocks applied.
    pub blocks: u64,
    /// Transactions received.
    pub received: u64,
    /// Transactions that were finalized during it, whether the log still keeps them or not.
    pub finalized: u64,
    /// Transactions that were dropped during it, and appeared in no block after that.
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
    /// What has become final since it began, by the events: the log keeps the newest alone.
    settled: HashMap<TxHash, Stage>,
    /// Up to where they were read; `None` before it has begun.
    read: Option<Position>,
}

/// Events read at once.
const PAGE: u64 = 1000;

impl<'a> Replay<'a> {
    /// A replay into this pool, as its watcher.
    #[must_use]
    pub fn new(pool: &'a Pool, fence: &'a Fence, txs: &'a HashMap<TxHash, Tx>) -> Self {
        Self { pool, fence, txs, done: Replayed::default(), settled: HashMap::new(), read: None }
    }

    /// Receives the transactions of a block that are recorded, and applies the block.
    pub async fn apply(&mut self, block: &Block) -> Result<(), ReplayError> {
        self.follow().await?;
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
        self.follow().await?;
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
            self.follow().await?;
        }
        self.count().await?;
        Ok(self.done)
    }

    /// Takes note of what has become final, and of what is so no longer.
    async fn follow(&mut self) -> Result<(), ReplayError> {
        let events = self.pool.events();
        let mut from = match self.read {
            Some(from) => from,
            None => events.end().await.map_err(ReadError::from)?,
        };
        loop {
            let batch = events.read(from, PAGE).await.map_err(ReadError::from)?;
            from = batch.next;
            for change in batch.events.iter().filter_map(Change::read) {
                match change.stage.is_final() {
                    true => self.settled.insert(change.hash, change.stage),
                    false => self.settled.remove(&change.hash),
                };
            }
            if batch.events.is_empty() {
                self.read = Some(from);
                return Ok(());
            }
        }
    }

    async fn count(&mut self) -> Result<(), ReplayError> {
        let all = self.settled.len();
        let finalized = self.settled.values().filter(|stage| stage.is_on_chain()).count();
        (self.done.finalized, self.done.dropped) = (finalized as u64, (all - finalized) as u64);
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
