//! A chain that is not one: it takes transactions as a peer does, puts them into blocks, forks, and undoes what it forked
//! from. All of it follows from a seed.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use fastrand::Rng;

use super::peer::{Answer, Away, Peer};
use crate::model::{Block, BlockHash, ChainEvent, Point, TxHash};
use crate::state::{Offer, PeerName};

/// Seconds between blocks, as on the real chain.
const SLOTS: u64 = 20;

/// A simulated chain and the mempool of the peer that makes its blocks.
#[derive(Debug)]
pub struct SimChain {
    rng: Rng,
    /// The chain as it is, from its first block on.
    blocks: Vec<Block>,
    /// All blocks that there ever were, for those who are on a branch that was left.
    seen: HashMap<BlockHash, Block>,
    waiting: Vec<TxHash>,
    /// On the chain or waiting: a peer takes a transaction once.
    taken: BTreeSet<TxHash>,
    /// Of so many transactions, one never gets into a block, and one gets there late. 0: none.
    neglects_one_in: usize,
    /// Those that get there late, and the height from which they may.
    late: Vec<(u64, TxHash)>,
}

/// So many blocks later at most: time enough to be given up.
const LATEST: u64 = 40;

impl SimChain {
    /// A chain with one empty block.
    #[must_use]
    pub fn new(seed: u64, neglects_one_in: usize) -> Self {
        let mut chain = Self {
            rng: Rng::with_seed(seed),
            blocks: Vec::new(),
            seen: HashMap::new(),
            waiting: Vec::new(),
            taken: BTreeSet::new(),
            neglects_one_in,
            late: Vec::new(),
        };
        chain.grow(0);
        chain
    }

    /// The chain as it is, from its first block on.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Transactions that wait for a block.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Offers a transaction to the peer.
    pub fn offer(&mut self, tx: TxHash) {
        if !self.taken.insert(tx) {
            return;
        }
        let drawn =
            if self.neglects_one_in > 0 { self.rng.usize(..self.neglects_one_in) } else { usize::MAX };
        match drawn {
            0 => {}
            1 => self.late.push((self.height() + self.rng.u64(1..LATEST), tx)),
            _ => self.waiting.push(tx),
        }
    }

    fn height(&self) -> u64 {
        self.blocks.last().map_or(0, |block| block.height)
    }

    /// Makes a block of at most so many waiting transactions, in the order in which they came.
    pub fn grow(&mut self, most: usize) -> &Block {
        let height = self.height();
        self.waiting.extend(self.late.extract_if(.., |(from, _)| *from <= height).map(|(_, tx)| tx));
        let count = most.min(self.waiting.len());
        let txs: Vec<TxHash> = self.waiting.drain(..count).collect();
        let below = self.blocks.last();
        let block = Block {
            point: Point {
                slot: below.map_or(1000, |below| below.point.slot) + self.rng.u64(1..2 * SLOTS),
                hash: BlockHash::new(std::array::from_fn(|_| self.rng.u8(..))),
            },
            height: below.map_or(1, |below| below.height + 1),
            prev: below.map_or(Point::ORIGIN.hash, |below| below.point.hash),
            txs,
        };
        self.seen.insert(block.point.hash, block.clone());
        self.blocks.push(block);
        &self.blocks[self.blocks.len() - 1]
    }

    /// Undoes some blocks, but never the first. Their transactions wait again, before the others.
    pub fn fork(&mut self, depth: usize) {
        let keep = self.blocks.len().saturating_sub(depth).max(1);
        let undone = self.blocks.split_off(keep);
        let back = undone.into_iter().flat_map(|block| block.txs);
        self.waiting.splice(0..0, back);
    }

    /// What comes next for somebody who is at this point; `None` when nothing does. Who is nowhere begins with the first
    /// block.
    #[must_use]
    pub fn after(&self, at: Option<Point>) -> Option<ChainEvent> {
        let Some(at) = at else { return self.blocks.first().cloned().map(ChainEvent::Forward) };
        if let Some(place) = self.place(&at.hash) {
            return self.blocks.get(place + 1).cloned().map(ChainEvent::Forward);
        }
        // Down the branch that was left, to a block that stayed.
        let mut hash = at.hash;
        loop {
            hash = self.seen.get(&hash)?.prev;
            if let Some(place) = self.place(&hash) {
                return Some(ChainEvent::Back { to: self.blocks[place].point });
            }
        }
    }

    fn place(&self, hash: &BlockHash) -> Option<usize> {
        let height = self.seen.get(hash)?.height;
        let first = self.blocks.first()?.height;
        let place = usize::try_from(height.checked_sub(first)?).ok()?;
        (self.blocks.get(place)?.point.hash == *hash).then_some(place)
    }
}

/// The peer that makes the blocks of a simulated chain.
#[derive(Debug, Clone)]
pub struct SimPeer {
    name: PeerName,
    chain: Arc<Mutex<SimChain>>,
}

impl SimPeer {
    /// A peer under this name.
    #[must_use]
    pub fn new(name: PeerName, chain: Arc<Mutex<SimChain>>) -> Self {
        Self { name, chain }
    }
}

impl Peer for SimPeer {
    fn name(&self) -> &PeerName {
        &self.name
    }

    async fn reach(&self) -> Result<(), Away> {
        Ok(())
    }

    async fn offer(&self, tx: &Offer) -> Result<Answer, Away> {
        self.chain.lock().unwrap_or_else(PoisonError::into_inner).offer(tx.hash);
        Ok(Answer::Taken)
    }
}
