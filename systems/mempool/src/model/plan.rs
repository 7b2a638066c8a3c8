//! What a block does to the pool, and what undoing it does.
//!
//! - A block confirms its transactions, whatever stage they are in: also one that was never offered to a peer, and one that
//!   was dropped too early.
//! - Depth is a difference of heights. What a height finishes is found in an index by height, so a block costs what it
//!   changes.
//! - An undo is exact. What the block held is pending again, in its order; what its height finished is unfinished again.
//!   A transaction that has moved on by itself since is left where it is.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::chain::{Block, Point};
use super::entry::Known;
use super::hash::{BlockHash, TxHash};
use super::mark::{Detail, Mark};
use super::record::{frame_finalized, frame_inflight};
use super::stage::Stage;
use super::status::{Status, missed};

/// After how many blocks a transaction is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Its own block and those above it, until it is finalized.
    pub finalize: u32,
    /// Blocks without it since it was propagated, until it is dropped.
    pub drop: u32,
}

impl Default for Thresholds {
    /// Six as in the original. Two misses, forty seconds, gave up too early there; thirty are about ten minutes.
    fn default() -> Self {
        Self { finalize: 6, drop: 30 }
    }
}

impl Thresholds {
    /// The height that finishes a transaction of this stage.
    pub(crate) fn due(self, stage: Stage, mark: &Mark) -> Option<u64> {
        match stage {
            Stage::Propagated | Stage::Acknowledged => Some(mark.height + u64::from(self.drop)),
            Stage::Confirmed => Some(mark.height + u64::from(self.finalize).saturating_sub(1)),
            Stage::Pending | Stage::Finalized | Stage::Dropped => None,
        }
    }
}

/// Why a transaction moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A block holds it.
    Block,
    /// A block holds it although it had been dropped.
    Corrected,
    /// Its block is deep enough.
    Depth,
    /// Too many blocks came without it.
    Missed,
    /// A block was undone.
    Undo,
    /// It waited too long.
    Age,
    /// It waited too long, and its bytes were gone: it could not have been offered.
    Lost,
}

impl Reason {
    /// As events spell it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Corrected => "corrected",
            Self::Depth => "depth",
            Self::Missed => "missed",
            Self::Undo => "undo",
            Self::Age => "age",
            Self::Lost => "lost",
        }
    }

    /// The same for one whose bytes are gone. A block does not need them.
    pub(crate) fn without_bytes(self) -> Self {
        if self == Self::Age { Self::Lost } else { self }
    }
}

/// One transaction goes from where it was seen to another stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// Which one.
    pub tx: TxHash,
    /// What it is expected to be.
    pub from: Known,
    /// What it becomes.
    pub to: Known,
    /// The height that will finish it.
    pub due: Option<u64>,
    /// Why.
    pub reason: Reason,
}

impl Move {
    fn new(tx: TxHash, from: Known, to: Stage, mark: Mark, thresholds: Thresholds, reason: Reason) -> Self {
        Self { tx, from, to: Known { stage: to, mark }, due: thresholds.due(to, &mark), reason }
    }

    /// What stands before and behind the payload in its new record, with the counts of this height.
    pub(crate) fn frame(&self, tip: Option<u64>) -> (Vec<u8>, Vec<u8>) {
        let Known { stage, mark } = self.to;
        let status = Status::derive(stage, &mark, tip);
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let (confirmations, misses) = (count(status.confirmations), count(status.non_confirmations));
        match stage {
            Stage::Pending => (Vec::new(), Vec::new()),
            Stage::Finalized | Stage::Dropped => {
                (frame_finalized(&self.tx, stage, confirmations, misses, mark.point()), Vec::new())
            }
            _ => frame_inflight(stage, confirmations, mark.point(), misses),
        }
    }
}

/// A block that was applied and what it changed, as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Its slot.
    pub slot: u64,
    /// Its hash.
    #[serde(with = "text")]
    pub hash: BlockHash,
    /// The block below.
    #[serde(with = "text")]
    pub prev: BlockHash,
    /// Parents before children, so that an undo in this order offers them in this order.
    pub changes: Vec<Change>,
}

/// What a block did to one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Which one.
    #[serde(with = "text")]
    pub tx: TxHash,
    /// Stage before.
    #[serde(with = "text")]
    pub from: Stage,
    /// Stage after.
    #[serde(with = "text")]
    pub to: Stage,
    /// Version and height before.
    #[serde(with = "text")]
    pub mark: Mark,
}

/// Values that are texts in JSON.
mod text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(super) fn deserialize<'d, T: FromStr<Err: Display>, D: Deserializer<'d>>(
        from: D,
    ) -> Result<T, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

impl Applied {
    /// A block that has changed nothing yet.
    #[must_use]
    pub fn new(block: &Block) -> Self {
        let Point { slot, hash } = block.point;
        Self { slot, hash, prev: block.prev, changes: Vec::new() }
    }

    /// Keeps what these moves change.
    pub fn remember(&mut self, moves: &[Move]) {
        self.changes.extend(moves.iter().map(|one| Change {
            tx: one.tx,
            from: one.from.stage,
            to: one.to.stage,
            mark: one.from.mark,
        }));
    }

    /// Where it is.
    #[must_use]
    pub fn point(&self) -> Point {
        Point { slot: self.slot, hash: self.hash }
    }
}

/// What a block does to its own transactions.
#[must_use]
pub fn include(block: &Block, known: &HashMap<TxHash, Known>, thresholds: Thresholds) -> Vec<Move> {
    let mut seen = std::collections::HashSet::new();
    let move_in = |tx: &TxHash| {
        let from = *known.get(tx)?;
        let reason = match from.stage {
            Stage::Pending | Stage::Propagated | Stage::Acknowledged => Reason::Block,
            Stage::Dropped => Reason::Corrected,
            Stage::Confirmed | Stage::Finalized => return None,
        };
        let mark = from.mark.next(block.height, Detail::At(block.point));
        Some(Move::new(*tx, from, Stage::Confirmed, mark, thresholds, reason))
    };
    block.txs.iter().filter(|tx| seen.insert(**tx)).filter_map(move_in).collect()
}

/// What the chain's growth to a height finishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Is deep enough.
    Finalize(TxHash),
    /// Was missed too often.
    Drop(TxHash),
}

impl Due {
    /// Which transaction.
    #[must_use]
    pub fn tx(self) -> TxHash {
        let (Self::Finalize(tx) | Self::Drop(tx)) = self;
        tx
    }

    /// Reads a member of the index.
    #[must_use]
    pub fn read(member: &str) -> Option<Self> {
        let (word, hash) = member.split_once(':')?;
        let hash = hash.parse().ok()?;
        match word {
            "finalize" => Some(Self::Finalize(hash)),
            "drop" => Some(Self::Drop(hash)),
            _ => None,
        }
    }
}

/// What becomes of those that a height finishes.
#[must_use]
pub fn settle(height: u64, due: &[(Due, Known)], thresholds: Thresholds) -> Vec<Move> {
    let finish = |(due, from): &(Due, Known)| {
        let (tx, to, reason, detail) = match (*due, from.stage) {
            (Due::Finalize(tx), Stage::Confirmed) => (tx, Stage::Finalized, Reason::Depth, from.mark.detail),
            (Due::Drop(tx), Stage::Propagated | Stage::Acknowledged) => {
                (tx, Stage::Dropped, Reason::Missed, Detail::Missed(missed(&from.mark, Some(height))))
            }
            _ => return None,
        };
        Some(Move::new(tx, *from, to, from.mark.next(from.mark.height, detail), thresholds, reason))
    };
    due.iter().filter_map(finish).collect()
}

/// What undoing a block does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// In the order in which transactions go back.
    pub moves: Vec<Move>,
    /// Those whose finished entry was trimmed: nothing is known of them any more.
    pub forgotten: Vec<TxHash>,
}

/// Undoes what a block changed.
#[must_use]
pub fn undo(applied: &Applied, known: &HashMap<TxHash, Known>, thresholds: Thresholds) -> Undone {
    let mut undone = Undone { moves: Vec::new(), forgotten: Vec::new() };
    let mut of: HashMap<TxHash, Vec<&Change>> = HashMap::new();
    for change in &applied.changes {
        of.entry(change.tx).or_default().push(change);
    }
    for first in &applied.changes {
        // All changes of one transaction are undone at once, where the first one stands.
        let Some(changes) = of.remove(&first.tx) else { continue };
        let Some(from) = known.get(&first.tx) else {
            undone.forgotten.push(first.tx);
            continue;
        };
        let was_in_it = changes.iter().any(|change| change.to == Stage::Confirmed);
        let last = changes.last().map_or(first.to, |change| change.to);
        if from.stage != last || !is_as_left(&from.mark, &first.mark, was_in_it.then(|| applied.point())) {
            continue;
        }
        let (to, mark) = match was_in_it {
            true => (Stage::Pending, from.mark.next(0, Detail::None)),
            false => (first.from, from.mark.next(first.mark.height, first.mark.detail)),
        };
        undone.moves.push(Move::new(first.tx, *from, to, mark, thresholds, Reason::Undo));
    }
    undone
}

/// Whether a transaction is where the block left it. Its version may be another: what later blocks did to it has been undone.
fn is_as_left(now: &Mark, before: &Mark, block: Option<Point>) -> bool {
    match block {
        Some(block) => now.point() == Some(block),
        None => now.height == before.height && now.point() == before.point(),
    }
}

/// Gives up what waited too long to be offered.
#[must_use]
pub fn expire(old: &[(TxHash, Known)], thresholds: Thresholds) -> Vec<Move> {
    let give_up = |(tx, from): &(TxHash, Known)| {
        (from.stage == Stage::Pending).then(|| {
            let mark = from.mark.next(from.mark.height, Detail::Missed(0));
            Move::new(*tx, *from, Stage::Dropped, mark, thresholds, Reason::Age)
        })
    };
    old.iter().filter_map(give_up).collect()
}

/// Gives transactions back to the queue that were offered and are in no block.
#[must_use]
pub fn retry(txs: &[TxHash], known: &HashMap<TxHash, Known>, thresholds: Thresholds) -> Vec<Move> {
    let give_back = |tx: &TxHash| {
        let from = *known.get(tx)?;
        matches!(from.stage, Stage::Propagated | Stage::Acknowledged).then(|| {
            let mark = from.mark.next(0, Detail::None);
            Move::new(*tx, from, Stage::Pending, mark, thresholds, Reason::Undo)
        })
    };
    txs.iter().filter_map(give_back).collect()
}
