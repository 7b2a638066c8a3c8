//! The steps of the watcher. Each is looked at, planned by [`model`](crate::model) and carried out by one script, which refuses
//! when the fence is another or anything that the plan was made from has changed; then it is planned again.

use std::collections::{BTreeSet, HashMap, HashSet};

use keyplane_key::Arg;
use keyplane_kit::Fence;

use super::error::{ConfirmError, ReadError};
use super::read::entry;
use super::{Inner, Pool};
use crate::model::{self, Applied, Block, ChainEvent, Due, Known, Move, Point, TxHash};
use crate::scripts;

mod commit;

/// As far back as the chain can be undone.
const DEEPEST: u64 = 2160;

/// What is finished in one step. The rest follows in the next: no step holds up the store for long.
const MOST_DUE: usize = 500;

/// A plan is out of date when somebody moved one of its transactions within a round trip. So often in a row is no chance.
pub(super) const MOST_TRIES: usize = 100;

/// The last applied block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tip {
    /// Where it is.
    pub point: Point,
    /// Its height.
    pub height: u64,
}

/// What became of a chain event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Confirmed {
    /// A block was applied.
    Applied {
        /// Transactions of the pool that it holds.
        confirmed: usize,
        /// Transactions that its height finished.
        finished: usize,
    },
    /// The block had been applied before; nothing changed.
    Repeated,
    /// Blocks were undone.
    Undone {
        /// How many.
        blocks: usize,
        /// Transactions that are pending again.
        back: usize,
        /// Transactions of these blocks that were trimmed from the finished ones: nothing is known of them.
        forgotten: Vec<TxHash>,
    },
}

/// The queue's head: hashes, and what is known of them.
type Head = Vec<(Vec<u8>, Option<String>)>;

/// What there is to do at the head of the queue.
#[derive(Default)]
struct Oldest {
    /// Older than the limit by the server's clock.
    old: Vec<TxHash>,
    /// What does not belong there, as it stands there and as text.
    weeds: BTreeSet<(Vec<u8>, String)>,
}

/// Answers of a script, some of which are missing.
type Texts = Vec<Option<String>>;

/// What the store holds at one moment.
pub(super) struct View {
    tip: Option<Tip>,
    commits: u64,
    finalized: u64,
    pub(super) known: HashMap<TxHash, Known>,
    due: Vec<(Due, Known)>,
}

/// What a step does beside its moves.
#[derive(Default)]
pub(super) struct Step {
    moves: Vec<Move>,
    /// The tip after it, if it changes.
    tip: Option<Tip>,
    /// The block that the changes belong to.
    applied: Option<Applied>,
    /// The height of a block to forget.
    forget: Option<u64>,
    /// Transactions that must still be unknown.
    unknown: Vec<TxHash>,
    /// Nothing was applied before.
    is_first: bool,
}

impl Step {
    /// Moves that belong to no block.
    pub(super) fn of(moves: Vec<Move>) -> Self {
        Self { moves, ..Self::default() }
    }
}

/// What the script said.
pub(super) enum Outcome {
    Done { due_left: u64 },
    Changed,
}

impl Pool {
    /// Applies one chain event. Refused unless `fence` is the current one. Repeating it changes nothing.
    pub async fn confirm(&self, fence: &Fence, event: &ChainEvent) -> Result<Confirmed, ConfirmError> {
        match event {
            ChainEvent::Forward(block) => self.apply(fence, block).await,
            ChainEvent::Back { to } => self.go_back(fence, *to).await,
        }
    }

    /// The last applied block; `None` if nothing was applied yet.
    pub async fn tip(&self) -> Result<Option<Tip>, ReadError> {
        let Inner { node, names, .. } = &*self.0;
        let fields = node.run(names.tip.hmget(["height", "slot", "hash"])).await?;
        let text = |field: &Option<Vec<u8>>| field.as_ref().map(|f| String::from_utf8_lossy(f).into_owned());
        tip(&fields.iter().map(text).collect::<Vec<_>>())
    }

    /// The newest applied blocks, the newest first, at most so many.
    pub async fn applied(&self, most: usize) -> Result<Vec<Point>, ReadError> {
        let Some(tip) = self.tip().await? else { return Ok(Vec::new()) };
        let mut points = vec![tip.point];
        let mut height = tip.height;
        while points.len() < most {
            let blocks = self.read_applied(height).await?;
            if blocks.is_empty() {
                break;
            }
            // Each names the one below it; its slot is known only if that was applied here too.
            points.extend(
                blocks.iter().skip(usize::from(height == tip.height)).map(|(_, block)| block.point()),
            );
            match height.checked_sub(blocks.len() as u64) {
                Some(below) if blocks.len() == PAGE => height = below,
                _ => break,
            }
        }
        points.truncate(most);
        Ok(points)
    }

    /// Whether an undo could lead there: it is the tip, or an applied block, or right below them. Before the first block all is.
    pub(crate) async fn stands_on(&self, to: Point) -> Result<bool, ConfirmError> {
        Ok(self.height_of(to).await?.is_some() || self.tip().await?.is_none())
    }

    pub(super) async fn apply(&self, fence: &Fence, block: &Block) -> Result<Confirmed, ConfirmError> {
        block.countable()?;
        let thresholds = self.0.settings.thresholds;
        for _ in 0..MOST_TRIES {
            let view = self.look(block.height, &block.txs).await?;
            if let Some(tip) = view.tip {
                if self.has_applied(&tip, block).await? {
                    self.settle(fence).await?;
                    return Ok(Confirmed::Repeated);
                }
                let next = tip.point == Point::ORIGIN || block.height == tip.height + 1;
                if block.prev != tip.point.hash || !next {
                    let block = Box::new(block.clone());
                    return Err(ConfirmError::NotNext { block, tip: tip.point, height: tip.height });
                }
            }
            let mut moves = model::include(block, &view.known, thresholds);
            let confirmed = moves.len();
            // What a first block finds due was counted from no block at all.
            let due = if view.tip.is_some() { due_beside(&view.due, &moves) } else { Vec::new() };
            moves.extend(model::settle(block.height, &due, thresholds));
            let finished = moves.len() - confirmed;
            let mut applied = Applied::new(block);
            applied.remember(&moves);
            let step = Step {
                moves,
                tip: Some(Tip { point: block.point, height: block.height }),
                applied: Some(applied),
                forget: block.height.checked_sub(DEEPEST),
                unknown: block.txs.iter().filter(|tx| !view.known.contains_key(tx)).copied().collect(),
                is_first: view.tip.is_none(),
            };
            match self.commit(fence, &view, &step).await? {
                Outcome::Changed => {}
                Outcome::Done { due_left: 0 } => return Ok(Confirmed::Applied { confirmed, finished }),
                Outcome::Done { .. } => {
                    let finished = finished + self.settle(fence).await?;
                    return Ok(Confirmed::Applied { confirmed, finished });
                }
            }
        }
        Err(ConfirmError::Contended { times: MOST_TRIES })
    }

    /// Whether this very block is the tip or below it.
    async fn has_applied(&self, tip: &Tip, block: &Block) -> Result<bool, ConfirmError> {
        if tip.point == block.point {
            return Ok(true);
        }
        if block.height >= tip.height {
            return Ok(false);
        }
        let found = self.block_at(block.height).await?;
        Ok(found.is_some_and(|applied| applied.point() == block.point))
    }

    /// Finishes what the tip's height has made due and an earlier step has left: how many.
    pub async fn settle(&self, fence: &Fence) -> Result<usize, ConfirmError> {
        let thresholds = self.0.settings.thresholds;
        let mut finished = 0;
        let mut tries = 0;
        loop {
            let Some(tip) = self.tip().await? else { return Ok(finished) };
            let view = self.look(tip.height, &[]).await?;
            let moves = model::settle(tip.height, &view.due, thresholds);
            let Some(mut applied) = self.block_at(tip.height).await? else { return Ok(finished) };
            if moves.is_empty() || view.tip != Some(tip) || applied.point() != tip.point {
                return Ok(finished);
            }
            let count = moves.len();
            applied.remember(&moves);
            let step = Step { moves, tip: Some(tip), applied: Some(applied), ..Step::default() };
            match self.commit(fence, &view, &step).await? {
                Outcome::Done { due_left } => {
                    finished += count;
                    if due_left == 0 {
                        return Ok(finished);
                    }
                }
                Outcome::Changed if tries < MOST_TRIES => tries += 1,
                Outcome::Changed => return Err(ConfirmError::Contended { times: tries }),
            }
        }
    }

    pub(super) async fn go_back(&self, fence: &Fence, to: Point) -> Result<Confirmed, ConfirmError> {
        // Before anything is undone: is it there at all?
        let wanted = self.height_of(to).await?.ok_or(ConfirmError::TooFarBack { to })?;
        let (mut blocks, mut back, mut forgotten) = (0, 0, Vec::new());
        loop {
            match self.tip().await? {
                Some(tip) if tip.height > wanted => {
                    let below = if tip.height - 1 == wanted { Some(to) } else { None };
                    let undone = self.undo(fence, &tip, below).await?;
                    blocks += 1;
                    back += undone.moves.iter().filter(|one| one.to.stage == model::Stage::Pending).count();
                    forgotten.extend(undone.forgotten);
                }
                Some(tip) if tip.point == to => return Ok(Confirmed::Undone { blocks, back, forgotten }),
                _ => return Err(ConfirmError::TooFarBack { to }),
            }
        }
    }

    /// The height of an applied block, or of the one right below them.
    async fn height_of(&self, to: Point) -> Result<Option<u64>, ConfirmError> {
        let Some(tip) = self.tip().await? else { return Ok(None) };
        if tip.point == to {
            return Ok(Some(tip.height));
        }
        let mut height = tip.height;
        loop {
            let blocks = self.read_applied(height).await?;
            let found = blocks.iter().find(|(_, block)| block.prev == to.hash);
            if let Some((height, _)) = found {
                let height = height.saturating_sub(1);
                // The slot of one that was not applied here is known to the caller alone.
                let is_it = self.block_at(height).await?.is_none_or(|block| block.point() == to);
                return Ok(is_it.then_some(height));
            }
            match height.checked_sub(PAGE as u64) {
                Some(below) if blocks.len() == PAGE => height = below,
                _ => return Ok(None),
            }
        }
    }

    /// Undoes the newest block. `below` is where the tip will be, if that is known better than by the store.
    async fn undo(
        &self,
        fence: &Fence,
        tip: &Tip,
        below: Option<Point>,
    ) -> Result<model::Undone, ConfirmError> {
        let missing = || ConfirmError::TooFarBack { to: tip.point };
        for _ in 0..MOST_TRIES {
            let applied = self.block_at(tip.height).await?.ok_or_else(missing)?;
            let height = tip.height.saturating_sub(1);
            let point = match below {
                Some(point) => point,
                None => self.block_at(height).await?.ok_or_else(missing)?.point(),
            };
            let txs: Vec<TxHash> = applied.changes.iter().map(|change| change.tx).collect();
            let view = self.look(0, &txs).await?;
            if view.tip != Some(*tip) {
                return Err(ConfirmError::Fenced);
            }
            let undone = model::undo(&applied, &view.known, self.0.settings.thresholds);
            let step = Step {
                moves: undone.moves.clone(),
                tip: Some(Tip { point, height }),
                forget: Some(tip.height),
                ..Step::default()
            };
            if let Outcome::Done { .. } = self.commit(fence, &view, &step).await? {
                return Ok(undone);
            }
            // It may be that our own step came through and its answer did not.
            if self.tip().await? != Some(*tip) {
                return Ok(undone);
            }
        }
        Err(ConfirmError::Contended { times: MOST_TRIES })
    }

    /// Drops what has waited longer than the limit: how many. At most some hundreds at a time. What was offered to peers is
    /// dropped by the blocks that come without it, not by the clock.
    pub async fn expire(&self, fence: &Fence) -> Result<usize, ConfirmError> {
        let Oldest { old, weeds } = self.oldest().await?;
        if !weeds.is_empty() {
            let entries = self.weed(fence, &weeds.into_iter().collect::<Vec<_>>()).await?;
            tracing::warn!(
                node_id = self.node_id(),
                entries,
                "took out of the queue what was not pending, or no hash"
            );
        }
        if old.is_empty() {
            return Ok(0);
        }
        let view = self.look(0, &old).await?;
        let old: Vec<(TxHash, Known)> =
            old.iter().filter_map(|tx| Some((*tx, *view.known.get(tx)?))).collect();
        let moves = model::expire(&old, self.0.settings.thresholds);
        let count = moves.len();
        if count == 0 {
            return Ok(0);
        }
        // Who comes by next finds what was changed meanwhile.
        match self.commit(fence, &view, &Step::of(moves)).await? {
            Outcome::Done { .. } => Ok(count),
            Outcome::Changed => Ok(0),
        }
    }

    /// What there is to do at the head of the queue.
    async fn oldest(&self) -> Result<Oldest, ConfirmError> {
        let Inner { watcher, names, settings, .. } = &*self.0;
        let age = settings.limits.age.as_secs();
        let call =
            scripts::ReadOldest { pending: &names.pending, stage: &names.stage, most: MOST_DUE.into() };
        let (now, head): (u64, Head) = watcher.call(call).await?;
        let (mut oldest, mut is_old) = (Oldest::default(), age != 0);
        for (raw, told) in head {
            let Ok(tx) = TxHash::from_slice(&raw) else {
                oldest.weeds.insert((raw, String::new()));
                continue;
            };
            match entry(&tx, told.as_deref())? {
                Some(entry) if entry.known.stage != model::Stage::Pending => {
                    oldest.weeds.insert((raw, tx.to_string()));
                }
                // The queue is in the order of their ages.
                Some(entry) => {
                    is_old &= now.saturating_sub(entry.received) > age;
                    oldest.old.extend(is_old.then_some(tx));
                }
                // Nobody has made it known yet.
                None => {}
            }
        }
        Ok(oldest)
    }

    pub(super) async fn block_at(&self, height: u64) -> Result<Option<Applied>, ReadError> {
        let Inner { watcher, names, .. } = &*self.0;
        let found = watcher.run(names.applied.hget(height.to_string())).await?;
        found.map(|text| read_block(height, &text)).transpose()
    }

    /// Applied blocks from a height down, the highest first, with their heights.
    pub(super) async fn read_applied(&self, height: u64) -> Result<Vec<(u64, Applied)>, ReadError> {
        let Inner { watcher, names, .. } = &*self.0;
        let lowest = (height + 1).saturating_sub(PAGE as u64);
        let heights: Vec<u64> = (lowest..=height).rev().collect();
        let fields: Vec<String> = heights.iter().map(ToString::to_string).collect();
        let found = watcher.run(names.applied.hmget(&fields)).await?;
        let read = |(height, text): (u64, Option<Vec<u8>>)| {
            Some(read_block(height, &text?).map(|block| (height, block)))
        };
        heights.into_iter().zip(found).map_while(read).collect()
    }

    pub(super) async fn look(&self, height: u64, txs: &[TxHash]) -> Result<View, ConfirmError> {
        let Inner { watcher, names, .. } = &*self.0;
        let texts: Vec<String> = txs.iter().map(ToString::to_string).collect();
        let call = scripts::Look {
            tip: &names.tip,
            stage: &names.stage,
            due: &names.due,
            finalized: &names.finalized,
            stats: &names.stats,
            height: height.into(),
            most_due: MOST_DUE.into(),
            hashes: texts.iter().map(Arg::from).collect(),
        };
        let (at, asked, due): (Texts, Texts, Texts) = watcher.call(call).await?;
        let mut view = View {
            tip: tip(&at)?,
            commits: number(&at, 3),
            finalized: number(&at, 4),
            known: HashMap::with_capacity(txs.len()),
            due: Vec::with_capacity(due.len() / 2),
        };
        for (tx, told) in txs.iter().zip(&asked) {
            view.known.extend(entry(tx, told.as_deref())?.map(|entry| (*tx, entry.known)));
        }
        for told in due.chunks(2) {
            let Some(Some(member)) = told.first() else { continue };
            let due =
                Due::read(member).ok_or_else(|| ReadError::damaged("due", member, &"no member of it"))?;
            let told = told.get(1).and_then(Option::as_deref);
            view.due.extend(entry(&due.tx(), told)?.map(|entry| (due, entry.known)));
        }
        Ok(view)
    }
}

/// Blocks that are read at once.
pub(super) const PAGE: usize = 64;

/// What is due and does not move with the block itself.
fn due_beside(due: &[(Due, Known)], moves: &[Move]) -> Vec<(Due, Known)> {
    let moved: HashSet<TxHash> = moves.iter().map(|one| one.tx).collect();
    due.iter().filter(|(due, _)| !moved.contains(&due.tx())).copied().collect()
}

fn tip(fields: &[Option<String>]) -> Result<Option<Tip>, ReadError> {
    let [Some(height), Some(slot), Some(hash), ..] = fields else { return Ok(None) };
    let damaged = |what: &str| ReadError::damaged("tip", what, &"not what belongs there");
    let slot = slot.parse().map_err(|_| damaged("slot"))?;
    let hash = hash.parse().map_err(|_| damaged("hash"))?;
    let height = height.parse().map_err(|_| damaged("height"))?;
    Ok(Some(Tip { point: Point { slot, hash }, height }))
}

fn number(fields: &[Option<String>], at: usize) -> u64 {
    fields.get(at).and_then(Option::as_ref).and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn read_block(height: u64, text: &[u8]) -> Result<Applied, ReadError> {
    serde_json::from_slice(text).map_err(|error| ReadError::damaged("applied", height.to_string(), &error))
}

#[cfg(test)]
mod races;
