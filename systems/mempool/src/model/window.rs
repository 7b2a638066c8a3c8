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
    /// The pool has blocks that this node has not heard of: nothing to do until it has, or until its own chain is longer.
    Behind,
    /// The window does not reach back far enough: blocks from here on are needed.
    TooFar,
}

/// The newest blocks of the chain, without those that were undone.
#[derive(Debug, Clone, Default)]
pub struct Window {
    blocks: VecDeque<Block>,
    /// Blocks on each other that do not fit on the last one: an old block that is told again, or the beginning of a longer branch.
    beside: VecDeque<Block>,
    /// The block right below them, if it was seen.
    below: Option<Point>,
    /// Blocks that were seen, and seen undone: a pool that has them goes back. One that has blocks never seen here is ahead.
    undone: VecDeque<Point>,
    /// Where the chain went back to, below all that was seen. What that undid is not known, so it is taken at its word.
    at_its_word: Option<Point>,
    most: usize,
}

impl Window {
    /// An empty window for so many blocks.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), ..Self::default() }
    }

    /// Takes part in what the chain does. A block that does not fit on the last one waits beside: it counts once its branch is the
    /// higher one.
    pub fn follow(&mut self, event: &ChainEvent) {
        match event {
            ChainEvent::Forward(block) => self.push(block),
            ChainEvent::Back { to } => self.go_back(*to),
        }
    }

    fn go_back(&mut self, to: Point) {
        if !self.knows(to) {
            self.at_its_word = Some(to);
        }
        let stay = self.position(to).map_or(0, |at| at + 1);
        if stay == 0 {
            self.below = Some(to);
        }
        self.undone.extend(self.blocks.drain(stay..).map(|block| block.point));
        let over = self.undone.len().saturating_sub(self.most);
        self.undone.drain(..over);
        self.beside.clear();
    }

    fn push(&mut self, block: &Block) {
        if self.position(block.point).is_some() {
            return;
        }
        if self.tip().is_none_or(|tip| tip.hash == block.prev) {
            self.append(block.clone());
            return;
        }
        if self.beside.back().is_some_and(|last| last.point.hash != block.prev) {
            self.beside.clear();
        }
        self.beside.push_back(block.clone());
        if self.blocks.back().is_none_or(|last| last.height < block.height) {
            self.change_over();
        } else if self.beside.len() > self.most {
            self.beside.pop_front();
        }
    }

    fn append(&mut self, block: Block) {
        self.undone.retain(|point| *point != block.point);
        self.blocks.push_back(block);
        if self.blocks.len() > self.most {
            self.below = self.blocks.pop_front().map(|block| block.point);
        }
    }

    /// Goes on with the branch beside, from where it left this one. If that was not seen, nothing of this one is of use.
    fn change_over(&mut self) {
        let branch = std::mem::take(&mut self.beside);
        let root = branch.front().map(|block| block.prev);
        match self.blocks.iter().rposition(|block| Some(block.point.hash) == root) {
            Some(at) => self.blocks.truncate(at + 1),
            None => *self = Self::new(self.most),
        }
        branch.into_iter().for_each(|block| self.append(block));
    }

    /// Whether this block is part of what was seen, or right below it.
    #[must_use]
    pub fn knows(&self, point: Point) -> bool {
        self.up_to(point).is_some()
    }

    /// Whether the chain has gone back to `to` from this tip, as far as was seen.
    #[must_use]
    pub fn has_gone_back(&self, to: Point, tip: Point) -> bool {
        self.at_its_word == Some(to) || self.undone.contains(&tip)
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

    /// How a pool of this height with these newest blocks, the newest first, gets where this chain is. A pool that has applied
    /// nothing applies all that was seen.
    ///
    /// A node that hears of the chain late sees a pool that is ahead of it, and to undo what it has not heard of would be wrong. So
    /// the pool goes back only over blocks that were seen undone here, or to a chain that is longer than its own.
    #[must_use]
    pub fn catch_up(&self, applied: &[Point], height: u64) -> Catch {
        if self.tip().is_none() {
            return Catch::Level;
        }
        let Some(tip) = applied.first() else {
            return Catch::Up { back: None, forward: self.blocks.iter().cloned().collect() };
        };
        let common = applied.iter().enumerate().find_map(|(at, point)| Some((at, self.up_to(*point)?)));
        let Some((at, count)) = common else { return Catch::TooFar };
        let forward: Vec<Block> = self.blocks.iter().skip(count).cloned().collect();
        if applied[at] == *tip {
            return if forward.is_empty() { Catch::Level } else { Catch::Up { back: None, forward } };
        }
        let is_undone = applied[..at].iter().any(|block| self.has_gone_back(applied[at], *block));
        let is_longer = forward.last().is_some_and(|block| block.height > height);
        if !is_undone && !is_longer {
            return Catch::Behind;
        }
        Catch::Up { back: Some(applied[at]), forward }
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
        let height = u64::from(name % 10);
        Block { point: point(name), height, prev: point(prev).hash, txs: Vec::new() }
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
        assert_eq!(window.catch_up(&[point(4)], 4), Catch::Level);
        assert_eq!(window.catch_up(&[point(3)], 3), up(None, &[(4, 3)]));
        assert_eq!(window.catch_up(&[point(1)], 1), up(None, &[(2, 1), (3, 2), (4, 3)]));
        assert_eq!(window.catch_up(&[], 0), up(None, &[(2, 1), (3, 2), (4, 3)]));
        assert_eq!(window.catch_up(&[point(9)], 9), Catch::TooFar);
        assert_eq!(Window::new(3).catch_up(&[point(9)], 9), Catch::Level);
    }

    /// Blocks from 11 on are another branch: 13 stands as high as 3.
    #[test]
    fn a_pool_on_a_shorter_branch_goes_back_first() {
        let window = grown(&[(2, 1), (3, 2), (4, 3)]);
        assert_eq!(window.catch_up(&[point(14), point(13), point(2)], 4), Catch::Behind);
        assert_eq!(window.catch_up(&[point(13), point(2)], 3), up(Some(2), &[(3, 2), (4, 3)]));
        assert_eq!(window.catch_up(&[point(12), point(1)], 2), up(Some(1), &[(2, 1), (3, 2), (4, 3)]));
    }

    #[test]
    fn a_pool_with_blocks_that_were_not_heard_of_is_left_alone() {
        let window = grown(&[(2, 1), (3, 2)]);
        assert_eq!(window.catch_up(&[point(5), point(4), point(3), point(2)], 5), Catch::Behind);
        let on_a_stale_branch = grown(&[(2, 1), (13, 2)]);
        assert_eq!(on_a_stale_branch.catch_up(&[point(4), point(3), point(2)], 4), Catch::Behind);
        let repeated = grown(&[(3, 2)]);
        assert_eq!(repeated.catch_up(&[point(5), point(4), point(3)], 5), Catch::Behind);
    }

    #[test]
    fn a_pool_goes_back_over_what_was_seen_undone_and_not_over_what_came_back() {
        let mut window = grown(&[(2, 1), (3, 2), (4, 3)]);
        window.follow(&ChainEvent::Back { to: point(2) });
        let applied = [point(4), point(3), point(2)];
        assert_eq!(window.catch_up(&applied, 4), up(Some(2), &[]));
        window.follow(&ChainEvent::Forward(block(3, 2)));
        assert_eq!(window.catch_up(&applied, 4), up(Some(3), &[]));
        window.follow(&ChainEvent::Forward(block(4, 3)));
        assert_eq!(window.catch_up(&applied, 4), Catch::Level);
    }

    #[test]
    fn what_falls_out_of_the_window_is_remembered_as_the_block_below() {
        let window = grown(&[(2, 1), (3, 2), (4, 3), (5, 4), (6, 5)]);
        assert_eq!(window.catch_up(&[point(3)], 3), up(None, &[(4, 3), (5, 4), (6, 5)]));
        assert_eq!(window.catch_up(&[point(2)], 2), Catch::TooFar);
    }

    #[test]
    fn an_undo_below_the_window_is_not_forgotten() {
        let mut window = grown(&[(5, 4), (6, 5)]);
        window.follow(&ChainEvent::Back { to: point(2) });
        let applied = [6, 5, 4, 3, 2].map(point);
        assert_eq!(window.catch_up(&applied, 6), up(Some(2), &[]));
        assert_eq!(window.catch_up(&[point(2)], 2), Catch::Level);
        window.follow(&ChainEvent::Forward(block(13, 2)));
        assert_eq!(window.catch_up(&applied, 6), up(Some(2), &[(13, 2)]));
    }

    #[test]
    fn an_undo_that_is_the_first_thing_to_be_seen_is_taken_at_its_word_until_blocks_follow() {
        let mut window = seen(&[ChainEvent::Back { to: point(2) }]);
        let applied = [4, 3, 2].map(point);
        assert_eq!(window.catch_up(&applied, 4), up(Some(2), &[]));
        window.follow(&ChainEvent::Forward(block(3, 2)));
        assert_eq!(window.catch_up(&applied, 4), Catch::Behind, "it only looked where to begin");
    }

    #[test]
    fn what_was_undone_is_forgotten_where_the_window_begins_anew() {
        let mut window = grown(&[(4, 3), (5, 4), (6, 5)]);
        window.follow(&ChainEvent::Back { to: point(99) });
        window.follow(&ChainEvent::Forward(block(3, 2)));
        assert_eq!(window.catch_up(&[7, 6, 5, 4, 3].map(point), 7), Catch::Behind);
    }

    #[test]
    fn old_blocks_that_are_told_again_take_nothing_away() {
        let mut window = grown(&[(4, 3), (5, 4), (6, 5)]);
        for (name, prev) in [(2, 1), (3, 2), (4, 3), (12, 11), (5, 4), (1, 0)] {
            window.follow(&ChainEvent::Forward(block(name, prev)));
        }
        assert_eq!(window.catch_up(&[point(4)], 4), up(None, &[(5, 4), (6, 5)]));
        window.follow(&ChainEvent::Forward(block(7, 6)));
        assert_eq!(window.catch_up(&[point(4)], 4), up(None, &[(5, 4), (6, 5), (7, 6)]));
    }

    /// A feed that does not tell of the undo.
    #[test]
    fn a_branch_counts_from_when_it_is_the_higher_one() {
        let mut window = grown(&[(2, 1), (3, 2), (4, 3)]);
        window.follow(&ChainEvent::Forward(block(13, 2)));
        window.follow(&ChainEvent::Forward(block(14, 13)));
        assert_eq!(window.catch_up(&[point(3), point(2)], 3), up(None, &[(4, 3)]));
        window.follow(&ChainEvent::Forward(block(15, 14)));
        assert_eq!(
            window.catch_up(&[point(4), point(3), point(2)], 4),
            up(Some(2), &[(13, 2), (14, 13), (15, 14)])
        );
    }

    #[test]
    fn a_block_from_elsewhere_begins_it_anew() {
        let window = grown(&[(2, 1), (3, 2), (9, 8)]);
        assert_eq!((window.tip(), window.first().map(|block| block.point)), (Some(point(9)), Some(point(9))));
    }
}
