//! Lists.

use std::collections::VecDeque;

/// Elements from left to right.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct List {
    pub(crate) elements: VecDeque<Vec<u8>>,
}

/// An end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

impl List {
    pub(crate) fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.elements.len()
    }

    pub(crate) fn push(&mut self, side: Side, element: Vec<u8>) {
        match side {
            Side::Left => self.elements.push_front(element),
            Side::Right => self.elements.push_back(element),
        }
    }

    pub(crate) fn pop(&mut self, side: Side) -> Option<Vec<u8>> {
        match side {
            Side::Left => self.elements.pop_front(),
            Side::Right => self.elements.pop_back(),
        }
    }

    /// The place of an index that may count from the end; `None` is outside.
    pub(crate) fn place(&self, index: i64) -> Option<usize> {
        let from_end = usize::try_from(index.unsigned_abs()).ok()?;
        let place = if index < 0 { self.len().checked_sub(from_end)? } else { from_end };
        (place < self.len()).then_some(place)
    }

    /// Leaves only what is from the first to the last of these places; `None` leaves nothing.
    pub(crate) fn trim(&mut self, kept: Option<(usize, usize)>) {
        let (first, end) = kept.map_or((0, 0), |(first, last)| (first, last.saturating_add(1)));
        self.elements.truncate(end);
        self.elements.drain(..first.min(self.elements.len()));
    }

    /// Removes elements that are equal to this, at most so many, beginning at that side. How many.
    pub(crate) fn remove(&mut self, element: &[u8], from: Side, most: usize) -> usize {
        let equal = self.elements.iter().filter(|other| *other == element).count();
        let gone = equal.min(most);
        let first = if from == Side::Left { 0 } else { equal - gone };
        let mut met = 0;
        self.elements.retain(|other| {
            let number = met;
            met += usize::from(other == element);
            other != element || !(first..first + gone).contains(&number)
        });
        gone
    }

    pub(crate) fn encoding(&self) -> &'static str {
        "quicklist"
    }

    pub(crate) fn size(&self) -> usize {
        self.elements.iter().map(|element| element.capacity() + 24).sum()
    }
}
