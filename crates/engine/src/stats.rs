//! What the engine counts about itself, for INFO and SLOWLOG.

use std::collections::{BTreeMap, VecDeque};

use crate::time::Time;

#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) commands: u64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) expired: u64,
    pub(crate) errors: u64,
    pub(crate) started: Time,
    pub(crate) by_command: BTreeMap<&'static str, Calls>,
    pub(crate) slow: VecDeque<Slow>,
    pub(crate) slow_so_far: u64,
}

/// How often a command was sent, and how long it took.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Calls {
    pub(crate) calls: u64,
    pub(crate) micros: u64,
    pub(crate) rejected: u64,
    pub(crate) failed: u64,
}

/// An entry of SLOWLOG.
#[derive(Debug, Clone)]
pub(crate) struct Slow {
    pub(crate) id: u64,
    pub(crate) at: Time,
    pub(crate) micros: u64,
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) address: String,
    pub(crate) name: Vec<u8>,
}
