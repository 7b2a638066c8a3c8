//! The few settings that CONFIG can change.

use crate::notify::Wanted;

#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) notify: Wanted,
    pub(crate) password: Option<Vec<u8>>,
    /// Microseconds from which a command is slow; below zero none is.
    pub(crate) slow_from: i64,
    /// How many slow ones are kept.
    pub(crate) slow_kept: usize,
    /// Instructions of Lua after which a script is stopped.
    pub(crate) script_budget: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            notify: Wanted::default(),
            password: None,
            slow_from: 10_000,
            slow_kept: 128,
            script_budget: 1 << 31,
        }
    }
}
