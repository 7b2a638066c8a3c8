//! Swarms that were changed through this process and whose notes nobody has applied yet.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::keys::SwarmId;

/// More than that are not remembered: their notes wait for the next look at all active swarms.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Touched {
    swarms: Mutex<HashSet<SwarmId>>,
    some: Notify,
}

impl Touched {
    pub(super) fn add(&self, swarm: &SwarmId) {
        let mut swarms = self.swarms.lock().unwrap_or_else(PoisonError::into_inner);
        // Most operations are on a swarm that is there already.
        if !swarms.contains(swarm) && swarms.len() < MOST {
            swarms.insert(swarm.clone());
            self.some.notify_one();
        }
    }

    /// All of them, once.
    pub(crate) fn take(&self) -> HashSet<SwarmId> {
        std::mem::take(&mut self.swarms.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Until there is one.
    pub(crate) async fn some(&self) {
        self.some.notified().await;
    }
}
