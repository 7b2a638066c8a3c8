//! Where a transaction is on its way.

use std::fmt;
use std::str::FromStr;

/// A stage. A transaction that the pool does not know has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Waits to be offered to peers.
    Pending,
    /// Was offered to a peer.
    Propagated,
    /// A peer has taken it.
    Acknowledged,
    /// Is in a block.
    Confirmed,
    /// Is in a block that is deep enough.
    Finalized,
    /// Was given up: too many blocks came without it, or it grew too old.
    Dropped,
}

impl Stage {
    /// All of them, in their order.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Propagated,
        Self::Acknowledged,
        Self::Confirmed,
        Self::Finalized,
        Self::Dropped,
    ];

    /// As keys, events and commands spell it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Propagated => "propagated",
            Self::Acknowledged => "acknowledged",
            Self::Confirmed => "confirmed",
            Self::Finalized => "finalized",
            Self::Dropped => "dropped",
        }
    }

    /// Has a record among the inflight ones.
    #[must_use]
    pub fn is_inflight(self) -> bool {
        matches!(self, Self::Propagated | Self::Acknowledged | Self::Confirmed)
    }

    /// Has an entry among the finished ones, and nothing is expected any more.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Finalized | Self::Dropped)
    }

    /// Is in a block.
    #[must_use]
    pub fn is_on_chain(self) -> bool {
        matches!(self, Self::Confirmed | Self::Finalized)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A word that names no stage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a stage; there are pending, propagated, acknowledged, confirmed, finalized and dropped"
)]
pub struct NotAStage(String);

impl FromStr for Stage {
    type Err = NotAStage;

    fn from_str(word: &str) -> Result<Self, NotAStage> {
        Self::ALL.into_iter().find(|stage| stage.word() == word).ok_or_else(|| NotAStage(word.to_owned()))
    }
}
