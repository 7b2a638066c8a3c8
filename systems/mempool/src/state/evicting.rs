//! Servers that drop keys when their memory is full. The store refuses one that has a limit, unless its settings accept that;
//! the limit may also come later. A pool on it should not begin without a word.

use std::fmt;

use keyplane_store::Store;
use keyplane_store::fitness::{Concern, judge};

use super::Pool;

/// A server that may drop keys of the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evicting {
    /// Where it is.
    pub address: String,
    /// Its `maxmemory-policy`.
    pub policy: String,
    /// What is to be said of it, and what to do.
    pub told: String,
}

impl fmt::Display for Evicting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}; with a key of the pool go transactions that were accepted, their bytes, or the watcher's lock",
            self.address, self.told
        )
    }
}

/// As they were when the store was opened; also those that its settings accept.
pub(super) fn evicting(store: &Store) -> Vec<Evicting> {
    let servers = store.servers().iter();
    let told = servers.filter_map(|server| {
        let found = judge(&server.facts).into_iter().find(|found| found.concern == Concern::Eviction)?;
        let (address, policy) = (server.address.clone(), server.facts.eviction.clone());
        Some(Evicting { address, policy, told: format!("{}; {}", found.what, found.advice) })
    });
    told.collect()
}

impl Pool {
    /// Servers that may drop keys of the pool, as they were when the store was opened. A node warns of them when it starts.
    #[must_use]
    pub fn evicting(&self) -> &[Evicting] {
        &self.0.evicting
    }
}
