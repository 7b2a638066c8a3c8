//! Lists.

use std::collections::VecDeque;

/// Elements from left to right.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct List {
    pub(crate) elements: VecDeque<Vec<u8>>,
}

impl List {
    pub(crate) fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.elements.len()
    }

    pub(crate) fn encoding(&self) -> &'static str {
        "quicklist"
    }

    pub(crate) fn size(&self) -> usize {
        self.elements.iter().map(|element| element.capacity() + 24).sum()
    }
}
