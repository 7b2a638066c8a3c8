//! Chain events as the original tells them: a point, the transactions seen there, and those that are no longer.

use keyplane_kit::Fence;

use super::Pool;
use super::chain::{Confirmed, MOST_TRIES, Outcome, PAGE, Step, Tip};
use super::error::ConfirmError;
use crate::model::{self, Block, Point, TxHash};

impl Pool {
    /// Applies an event in the original's words. Blocks that hold one of `unseen` are undone; then, unless that was all,
    /// a block with `seen` is applied on the tip. Prefer [`confirm`](Self::confirm): these words cannot tell undoing an
    /// empty block from applying it, nor how high a block is.
    pub async fn confirm_seen(
        &self,
        fence: &Fence,
        point: Point,
        seen: &[TxHash],
        unseen: &[TxHash],
    ) -> Result<(), ConfirmError> {
        let undone = self.unsee(fence, unseen).await?;
        if undone && seen.is_empty() {
            return Ok(());
        }
        let tip = self.tip().await?;
        if let Some(tip) = tip
            && self.is_applied(tip, point).await?
        {
            // The same event again.
            return Ok(());
        }
        let block = Block {
            point,
            height: tip.map_or(1, |tip| tip.height + 1),
            prev: tip.map_or(Point::ORIGIN.hash, |tip| tip.point.hash),
            txs: seen.to_vec(),
        };
        self.apply(fence, &block).await.map(|_: Confirmed| ())
    }

    /// Whether that block is the tip or below it. These words do not say how high it is, but slots grow with the height.
    async fn is_applied(&self, tip: Tip, point: Point) -> Result<bool, ConfirmError> {
        if tip.point == point {
            return Ok(true);
        }
        let (mut height, mut lowest) = (tip.height, tip.point.slot);
        while lowest >= point.slot {
            let blocks = self.read_applied(height).await?;
            if blocks.iter().any(|(_, block)| block.point() == point) {
                return Ok(true);
            }
            match (blocks.last(), height.checked_sub(PAGE as u64)) {
                (Some((_, block)), Some(below)) if blocks.len() == PAGE => {
                    (height, lowest) = (below, block.slot)
                }
                _ => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Undoes every block down to the lowest that holds one of these, and gives back those that no block holds.
    async fn unsee(&self, fence: &Fence, unseen: &[TxHash]) -> Result<bool, ConfirmError> {
        if unseen.is_empty() {
            return Ok(false);
        }
        let view = self.look(0, unseen).await?;
        let on_chain = view.known.values().filter(|known| known.stage.is_on_chain());
        if let Some(lowest) = on_chain.map(|known| known.mark.height).min() {
            let below = lowest.saturating_sub(1);
            let to = match (self.block_at(below).await?, self.block_at(lowest).await?) {
                (Some(block), _) => block.point(),
                (None, Some(block)) => Point { slot: 0, hash: block.prev },
                (None, None) => return Err(ConfirmError::TooFarBack { to: Point::ORIGIN }),
            };
            self.go_back(fence, to).await?;
        }
        self.retry(fence, unseen).await?;
        Ok(true)
    }

    /// Those that were offered and are in no block are pending again, whatever becomes of them meanwhile.
    async fn retry(&self, fence: &Fence, txs: &[TxHash]) -> Result<(), ConfirmError> {
        for _ in 0..MOST_TRIES {
            let view = self.look(0, txs).await?;
            let moves = model::retry(txs, &view.known, self.0.settings.thresholds);
            if moves.is_empty() {
                return Ok(());
            }
            if let Outcome::Done { .. } = self.commit(fence, &view, &Step::of(moves)).await? {
                return Ok(());
            }
        }
        Err(ConfirmError::Contended { times: MOST_TRIES })
    }
}
