//! What a client has queued between MULTI and EXEC.

/// Commands that wait for EXEC.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) commands: Vec<Vec<Vec<u8>>>,
    /// One of them was refused, so none will run.
    pub(crate) broken: bool,
}
