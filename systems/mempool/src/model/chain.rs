//! The chain as the mempool sees it.

use super::hash::{BlockHash, TxHash};

/// A place on the chain. The origin, before the first block, is slot 0 with a hash of zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// The slot.
    pub slot: u64,
    /// The block.
    pub hash: BlockHash,
}

impl Point {
    /// Before the first block.
    pub const ORIGIN: Self = Self { slot: 0, hash: BlockHash::new([0; 32]) };

    /// Slot, big-endian, and hash: as records hold it.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 40] {
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&self.slot.to_be_bytes());
        bytes[8..].copy_from_slice(self.hash.bytes());
        bytes
    }

    /// The other way round.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 40]) -> Self {
        let (mut slot, mut hash) = ([0; 8], [0; 32]);
        slot.copy_from_slice(&bytes[..8]);
        hash.copy_from_slice(&bytes[8..]);
        Self { slot: u64::from_be_bytes(slot), hash: BlockHash::new(hash) }
    }
}

/// A block: where it is, and which transactions are in it, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Slot and hash.
    pub point: Point,
    /// Blocks below it.
    pub height: u64,
    /// The block below.
    pub prev: BlockHash,
    /// Ids of its transactions: parents before children.
    pub txs: Vec<TxHash>,
}

/// The largest height and slot: beyond it the store's numbers, which are doubles, skip some.
const MOST: u64 = 1 << 53;

/// A height or a slot that no chain has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the {what} {value} is above {MOST}: no chain has it")]
pub struct NotCountable {
    what: &'static str,
    value: u64,
}

fn countable(what: &'static str, value: u64) -> Result<(), NotCountable> {
    if value > MOST { Err(NotCountable { what, value }) } else { Ok(()) }
}

impl Block {
    /// Whether its numbers can be counted on.
    pub fn countable(&self) -> Result<(), NotCountable> {
        countable("slot", self.point.slot).and(countable("height", self.height))
    }
}

impl ChainEvent {
    /// Where the chain ends after it.
    #[must_use]
    pub fn point(&self) -> Point {
        match self {
            Self::Forward(block) => block.point,
            Self::Back { to } => *to,
        }
    }

    /// Whether its numbers can be counted on.
    pub fn countable(&self) -> Result<(), NotCountable> {
        match self {
            Self::Forward(block) => block.countable(),
            Self::Back { to } => countable("slot", to.slot),
        }
    }
}

/// What the chain did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainEvent {
    /// It grew by a block.
    Forward(Block),
    /// Blocks were undone: this is the tip again.
    Back {
        /// The block that stays.
        to: Point,
    },
}
