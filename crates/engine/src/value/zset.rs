//! Sorted sets.

/// Members by score, then by their bytes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Zset {}

impl Zset {
    pub(crate) fn is_empty(&self) -> bool {
        true
    }

    pub(crate) fn encoding(&self) -> &'static str {
        "skiplist"
    }

    pub(crate) fn size(&self) -> usize {
        0
    }
}
