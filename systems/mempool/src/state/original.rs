//! Chain events as the original tells them: a point, the transactions seen there, and those that are no longer.

use keyplane_kit::Fence;

use super::Pool;
use super::chain::{Confirmed, Step};
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
        let block = Block {
            point,
            height: tip.map_or(1, |tip| tip.height + 1),
            prev: tip.map_or(Point::ORIGIN.hash, |tip| tip.point.hash),
            txs: seen.to_vec(),
        };
        match tip {
            // The same event again.
            Some(tip) if tip.point == point => Ok(()),
            _ => self.apply(fence, &block).await.map(|_: Confirmed| ()),
        }
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
        let view = self.look(0, unseen).await?;
        let moves = model::retry(unseen, &view.known, self.0.settings.thresholds);
        if !moves.is_empty() {
            self.commit(fence, &view, &Step::of(moves)).await?;
        }
        Ok(true)
    }
}
