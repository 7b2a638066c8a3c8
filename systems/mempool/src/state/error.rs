//! What can go wrong, and what the caller can do.

use keyplane_kit::SetupError;
use keyplane_store::{Error, HandleError};

use super::receive::Limit;
use crate::model::{Block, NotCountable, Point, RecordError, Stage, TxHash};

/// A pool that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The contract or the component.
    #[error(transparent)]
    Handle(#[from] HandleError),
    /// A setting that no pool can work by.
    #[error("{setting} is 0: {why}")]
    Zero {
        /// Which one.
        setting: &'static str,
        /// What would become of it.
        why: &'static str,
    },
    /// The name of the pool.
    #[error("the key prefix cannot be used: {0}")]
    Namespace(String),
    /// The store cannot be reached, or not by this URL.
    #[error(transparent)]
    Store(#[from] keyplane_store::OpenError),
    /// The name of a peer.
    #[error(transparent)]
    Peer(#[from] super::NotAPeer),
    /// A part of the kit.
    #[error(transparent)]
    Kit(#[from] SetupError),
    /// The contract's lock is no lease.
    #[error("the watcher's lock has no {part} beside it")]
    Helper {
        /// What is missing.
        part: &'static str,
    },
}

/// Why a transaction was not accepted. Nothing was stored, except where it says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The pool has it already.
    #[error("the transaction {hash} is in the pool already: {stage}")]
    Duplicate {
        /// Which one.
        hash: TxHash,
        /// Where it is.
        stage: Stage,
    },
    /// Another one spends the same.
    #[error("the input {input} is spent by {by}, which is in the pool")]
    Conflict {
        /// What both spend.
        input: String,
        /// The first one.
        by: String,
    },
    /// The pool is full. Try again after some transactions are finished.
    #[error("the mempool is full: {limit} reached ({used} of {max})")]
    Full {
        /// Which limit.
        limit: Limit,
        /// How much there is.
        used: u64,
        /// How much there may be.
        max: u64,
    },
    /// It can never be accepted.
    #[error("the transaction has {size} bytes; the limit is {max}")]
    TooLarge {
        /// Its size.
        size: u64,
        /// The limit.
        max: u64,
    },
    /// The store failed. The transaction may be stored or not: sending it again is safe, and tells.
    #[error(transparent)]
    Store(#[from] Error),
    /// The process is about to end. The transaction may be stored or not, as above.
    #[error(
        "no answer came before the node stopped: sending the transaction again tells whether it is stored"
    )]
    Unanswered,
}

/// Why nothing can be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
    /// What the store holds is not what belongs there.
    #[error("{key} of {of} cannot be read: {why}")]
    Damaged {
        /// Of which key.
        key: &'static str,
        /// Which entry.
        of: String,
        /// What is wrong.
        why: String,
    },
}

impl ReadError {
    pub(super) fn damaged(key: &'static str, of: impl Into<String>, why: &dyn std::fmt::Display) -> Self {
        Self::Damaged { key, of: of.into(), why: why.to_string() }
    }

    pub(super) fn record(key: &'static str, of: impl Into<String>) -> impl FnOnce(RecordError) -> Self {
        move |error| Self::damaged(key, of, &error)
    }
}

/// Why a chain event was not applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfirmError {
    /// Somebody else is the watcher. Nothing was changed by this call after that.
    #[error("another node is the watcher")]
    Fenced,
    /// The block does not stand on the tip: blocks between are missing, or some have to be undone first.
    #[error("block {} at height {} does not follow the tip {} at height {height}", .block.point.hash, .block.height, .tip.hash)]
    NotNext {
        /// The block.
        block: Box<Block>,
        /// The tip.
        tip: Point,
        /// Its height.
        height: u64,
    },
    /// The block to go back to is not among those that were applied here.
    #[error("cannot go back to {}: it is not among the applied blocks", .to.hash)]
    TooFarBack {
        /// Where to.
        to: Point,
    },
    /// No chain is that high.
    #[error(transparent)]
    NotCountable(#[from] NotCountable),
    /// Others changed the same transactions again and again. Trying again is safe.
    #[error("the step did not come through: what it was planned on changed {times} times")]
    Contended {
        /// How often it was tried.
        times: usize,
    },
    /// The store failed, or holds what does not belong there. Trying again is safe: a step is carried out once.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<Error> for ConfirmError {
    fn from(error: Error) -> Self {
        Self::Read(error.into())
    }
}
