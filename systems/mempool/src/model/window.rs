//! The newest part of the chain, as one node has seen it: what a node replays when it becomes the watcher.

use std::collections::VecDeque;

use super::chain::{Block, ChainEvent, Point};

/// How the pool's tip and the chain of this node come together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Catch {
    /// The pool is where the chain is.
    Level,
    /// The pool has to undo blocks, or none, and apply these.
    Up {
        /// The last block that both have, if the pool is not on it.
        back: Option<Point>,
        /// The blocks above it.
        forward: Vec<Block>,
    },
    /// The window does not reach back far enough: blocks from here on are needed.
    TooFar,
}

/// The newest blocks of the chain, without those that were undone.
#[derive(Debug, Clone, Default)]
pub struct Window {
    blocks: VecDeque<Block>,
    most: usize,
}

impl Window {
    /// An empty window for so many blocks.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { blocks: VecDeque::new(), most: most.max(1) }
    }

    /// Takes part in what the chain does. A block that does not fit on the last one begins the window anew.
    pub fn follow(&mut self, event: &ChainEvent) {
        match event {
            ChainEvent::Forward(block) => self.push(block),
            ChainEvent::Back { to } => match self.position(*to) {
                Some(at) => self.blocks.truncate(at + 1),
                // The block below the first one: all of ours are undone. Any other: we know nothing.
                None => self.blocks.clear(),
            },
        }
    }

    fn push(&mut self, block: &Block) {
        if self.position(block.point).is_some() {
            return;
        }
        if self.blocks.back().is_some_and(|last| last.point.hash != block.prev) {
            self.blocks.clear();
        }
        self.blocks.push_back(block.clone());
        if self.blocks.len() > self.most {
            self.blocks.pop_front();
        }
    }

    /// The newest block.
    #[must_use]
    pub fn tip(&self) -> Option<&Block> {
        self.blocks.back()
    }

    fn position(&self, point: Point) -> Option<usize> {
        self.blocks.iter().rposition(|block| block.point == point)
    }

    /// How a pool with these newest blocks, the newest first, gets where this chain is. A pool that has applied nothing
    /// starts with the newest block.
    #[must_use]
    pub fn catch_up(&self, applied: &[Point]) -> Catch {
        let Some(last) = self.blocks.back() else { return Catch::Level };
        let Some(tip) = applied.first() else {
            return Catch::Up { back: None, forward: vec![last.clone()] };
        };
        // Below our first block there may be the one that both have.
        let below = |point: &Point| self.blocks.front().is_some_and(|first| first.prev == point.hash);
        for point in applied {
            let above = match self.position(*point) {
                Some(at) => at + 1,
                None if below(point) => 0,
                None => continue,
            };
            let forward: Vec<Block> = self.blocks.iter().skip(above).cloned().collect();
            let back = (point != tip).then_some(*point);
            return match (back, forward.is_empty()) {
                (None, true) => Catch::Level,
                (back, _) => Catch::Up { back, forward },
            };
        }
        Catch::TooFar
    }
}
