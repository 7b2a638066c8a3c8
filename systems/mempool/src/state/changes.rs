//! Events as they were written.

use keyplane_kit::events::{Event, EventId};

use crate::model::{Stage, TxHash};

/// A change of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// Its place in the log.
    pub id: EventId,
    /// Of which transaction.
    pub hash: TxHash,
    /// The stage after it.
    pub stage: Stage,
    /// The stage before it; `None` when the pool did not know the transaction.
    pub from: Option<Stage>,
    /// Version of the transaction after it.
    pub version: u64,
    /// Height of the block that caused it, or of the tip.
    pub height: Option<u64>,
    /// In a word.
    pub reason: String,
    /// The node that made it.
    pub by: String,
    /// When, in Unix seconds by the server's clock.
    pub at: u64,
}

impl Change {
    /// `None` for an entry that is none, which only a stranger can have written.
    #[must_use]
    pub fn read(event: &Event) -> Option<Self> {
        let mut why = event.text("why")?.split(' ');
        Some(Self {
            id: event.id,
            hash: event.text("hash")?.parse().ok()?,
            stage: event.text("stage")?.parse().ok()?,
            reason: why.next()?.to_owned(),
            version: why.next()?.parse().ok()?,
            at: why.next()?.parse().ok()?,
            by: why.next()?.to_owned(),
            from: why.next().map(str::parse).transpose().ok()?,
            height: why.next().map(str::parse).transpose().ok()?,
        })
    }
}
