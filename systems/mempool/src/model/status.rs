//! What is told about a transaction: its stage, and the depth that follows from the tip of now.

use super::chain::Point;
use super::mark::{Detail, Mark};
use super::stage::Stage;

/// The status of a transaction that the pool knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Its stage.
    pub stage: Stage,
    /// Blocks from its own up to the tip; 0 while it is in none.
    pub confirmations: u64,
    /// Blocks that came without it since it was propagated; 0 once it is in one.
    pub non_confirmations: u64,
    /// The block that holds it.
    pub confirmed_at: Option<Point>,
    /// Goes up with every change of its stage.
    pub version: u64,
}

impl Status {
    /// What stage and mark say at a height of the chain.
    #[must_use]
    pub fn derive(stage: Stage, mark: &Mark, tip: Option<u64>) -> Self {
        let above = |height: u64| tip.and_then(|tip| tip.checked_sub(height));
        Self {
            stage,
            confirmations: if stage.is_on_chain() {
                above(mark.height).map_or(0, |above| above + 1)
            } else {
                0
            },
            non_confirmations: match (stage, mark.detail) {
                (_, Detail::Missed(blocks)) => blocks,
                (Stage::Propagated | Stage::Acknowledged, _) => missed(mark, tip),
                _ => 0,
            },
            confirmed_at: mark.point(),
            version: mark.version,
        }
    }
}

/// Blocks that came since it was propagated. One that was propagated before the first block has missed none.
pub(super) fn missed(mark: &Mark, tip: Option<u64>) -> u64 {
    tip.map_or(0, |tip| tip.saturating_sub(mark.height))
}
