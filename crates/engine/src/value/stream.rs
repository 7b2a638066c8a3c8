//! Streams, as event logs.

/// Entries by id.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Stream {}

impl Stream {
    pub(crate) fn size(&self) -> usize {
        0
    }
}
