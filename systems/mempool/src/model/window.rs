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
    /// The block right below them, if it was seen.
    below: Option<Point>,
    most: usize,
}

impl Window {
    /// An empty window for so many blocks.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { blocks: VecDeque::new(), below: None, most: most.max(1) }
    }

    /// Takes part in what the chain does. A block that does not fit on the last one begins the window anew.
    pub fn follow(&mut self, event: &ChainEvent) {
        match event {
            ChainEvent::Forward(block) => self.push(block),
            ChainEvent::Back { to } => match self.position(*to) {
                Some(at) => self.blocks.truncate(at + 1),
                None => {
                    self.blocks.clear();
                    self.below = Some(*to);
                }
            },
        }
    }

    fn push(&mut self, block: &Block) {
        if self.position(block.point).is_some() {
            return;
        }
        if self.tip().is_some_and(|tip| tip.hash != block.prev) {
            self.blocks.clear();
            self.below = None;
        }
        self.blocks.push_back(block.clone());
        if self.blocks.len() > self.most {
            self.below = self.blocks.pop_front().map(|block| block.point);
        }
    }

    /// Where the chain ends; `None` if nothing was seen.
    #[must_use]
    pub fn tip(&self) -> Option<Point> {
        self.blocks.back().map(|block| block.point).or(self.below)
    }

    /// The oldest block.
    #[must_use]
    pub fn first(&self) -> Option<&Block> {
        self.blocks.front()
    }

    fn position(&self, point: Point) -> Option<usize> {
        self.blocks.iter().rposition(|block| block.point == point)
    }

    /// How many of the blocks are at or below this point, if it is on the chain.
    fn up_to(&self, point: Point) -> Option<usize> {
        let is_below =
            self.below == Some(point) || self.first().is_some_and(|first| first.prev == point.hash);
        self.position(point).map(|at| at + 1).or(is_below.then_some(0))
    }

    /// How a pool with these newest blocks, the newest first, gets where this chain is. A pool that has applied nothing
    /// applies all that was seen.
    #[must_use]
    pub fn catch_up(&self, applied: &[Point]) -> Catch {
        if self.tip().is_none() {
            return Catch::Level;
        }
        let Some(tip) = applied.first() else {
            return Catch::Up { back: None, forward: self.blocks.iter().cloned().collect() };
        };
        let common = applied.iter().find_map(|point| Some((*point, self.up_to(*point)?)));
        let Some((point, count)) = common else { return Catch::TooFar };
        let back = (point != *tip).then_some(point);
        let forward: Vec<Block> = self.blocks.iter().skip(count).cloned().collect();
        if back.is_none() && forward.is_empty() { Catch::Level } else { Catch::Up { back, forward } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::BlockHash;
    use super::*;

    fn point(name: u8) -> Point {
        Point { slot: u64::from(name), hash: BlockHash::new([name; 32]) }
    }

    fn block(name: u8, prev: u8) -> Block {
        Block { point: point(name), height: 0, prev: point(prev).hash, txs: Vec::new() }
    }

    fn seen(events: &[ChainEvent]) -> Window {
        let mut window = Window::new(3);
        events.iter().for_each(|event| window.follow(event));
        window
    }

    fn grown(blocks: &[(u8, u8)]) -> Window {
        seen(&blocks.iter().map(|(name, prev)| ChainEvent::Forward(block(*name, *prev))).collect::<Vec<_>>())
    }

    fn up(back: Option<u8>, forward: &[(u8, u8)]) -> Catch {
        let forward = forward.iter().map(|(name, prev)| block(*name, *prev)).collect();
        Catch::Up { back: back.map(point), forward }
    }

    #[test]
    fn a_pool_that_is_behind_gets_what_it_lacks() {
        let window = grown(&[(2, 1), (3, 2), (4, 3)]);
        assert_eq!(window.catch_up(&[point(4)]), Catch::Level);
        assert_eq!(window.catch_up(&[point(3)]), up(None, &[(4, 3)]));
        assert_eq!(window.catch_up(&[point(1)]), up(None, &[(2, 1), (3, 2), (4, 3)]));
        assert_eq!(window.catch_up(&[]), up(None, &[(2, 1), (3, 2), (4, 3)]));
        assert_eq!(window.catch_up(&[point(9)]), Catch::TooFar);
        assert_eq!(Window::new(3).catch_up(&[point(9)]), Catch::Level);
    }

    #[test]
    fn a_pool_on_another_branch_goes_back_first() {
        let window = grown(&[(2, 1), (3, 2), (4, 3)]);
        assert_eq!(window.catch_up(&[point(8), point(7), point(3)]), up(Some(3), &[(4, 3)]));
        assert_eq!(window.catch_up(&[point(8), point(1)]), up(Some(1), &[(2, 1), (3, 2), (4, 3)]));
    }

    #[test]
    fn what_falls_out_of_the_window_is_remembered_as_the_block_below() {
        let window = grown(&[(2, 1), (3, 2), (4, 3), (5, 4), (6, 5)]);
        assert_eq!(window.catch_up(&[point(3)]), up(None, &[(4, 3), (5, 4), (6, 5)]));
        assert_eq!(window.catch_up(&[point(2)]), Catch::TooFar);
    }

    #[test]
    fn an_undo_below_the_window_is_not_forgotten() {
        let mut window = grown(&[(5, 4), (6, 5)]);
        window.follow(&ChainEvent::Back { to: point(2) });
        assert_eq!(window.catch_up(&[point(6), point(5), point(2)]), up(Some(2), &[]));
        assert_eq!(window.catch_up(&[point(2)]), Catch::Level);
        window.follow(&ChainEvent::Forward(block(7, 2)));
        assert_eq!(window.catch_up(&[point(6), point(5), point(2)]), up(Some(2), &[(7, 2)]));
    }

    #[test]
    fn a_block_from_elsewhere_begins_it_anew() {
        let window = grown(&[(2, 1), (3, 2), (9, 8)]);
        assert_eq!((window.tip(), window.first().map(|block| block.point)), (Some(point(9)), Some(point(9))));
    }
}
