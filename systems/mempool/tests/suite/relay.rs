//! A peer of a test: it keeps what it takes, until it forgets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use keyplane_mempool::ports::{Answer, Away, Peer};
use keyplane_mempool::run::propagate;
use keyplane_mempool::state::{Offer, PeerName};
use keyplane_mempool::{Pool, TxHash};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// How the peer is, and what it has.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    /// In the order in which it took them.
    pub(crate) has: Vec<TxHash>,
    /// All that it was offered, also what it refused or forgot.
    pub(crate) heard: Vec<TxHash>,
    pub(crate) is_down: bool,
    /// It takes a child only when it has the parent.
    pub(crate) parents: BTreeMap<TxHash, TxHash>,
    /// It fails on these.
    pub(crate) chokes_on: BTreeSet<TxHash>,
    /// It refuses these.
    pub(crate) dislikes: BTreeSet<TxHash>,
    /// An answer takes so long.
    pub(crate) takes: Duration,
}

/// One connection to it.
#[derive(Debug, Clone)]
pub(crate) struct Relay {
    name: PeerName,
    desk: Arc<Mutex<Desk>>,
}

impl Relay {
    pub(crate) fn new() -> Self {
        Self { name: "relay-1".parse().unwrap(), desk: Arc::default() }
    }

    pub(crate) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap()
    }

    pub(crate) fn has(&self) -> Vec<TxHash> {
        self.desk().has.clone()
    }

    /// It is killed and comes back: nothing is left.
    pub(crate) fn forget(&self) {
        let mut desk = self.desk();
        desk.has.clear();
        desk.is_down = false;
    }

    /// A node of the pool offers to it, until the test is over.
    pub(crate) fn served_by(&self, pool: &Pool) -> Serving {
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(propagate(pool.clone(), self.clone(), stopped));
        Serving { stop, task }
    }

    /// Until it has so many, at most so long.
    pub(crate) async fn wait_for(&self, count: usize, most: Duration) {
        let step = Duration::from_millis(20);
        for _ in 0..most.as_millis() / step.as_millis() {
            if self.desk().has.len() >= count {
                return;
            }
            sleep(step).await;
        }
        panic!("after {most:?} it has {} of {count}", self.desk().has.len());
    }
}

pub(crate) struct Serving {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Serving {
    pub(crate) async fn end(self) {
        self.stop.send(true).unwrap();
        self.task.await.unwrap();
    }
}

impl Peer for Relay {
    fn name(&self) -> &PeerName {
        &self.name
    }

    async fn reach(&self) -> Result<(), Away> {
        if self.desk().is_down { Err(Away("down".to_owned())) } else { Ok(()) }
    }

    async fn offer(&self, tx: &Offer) -> Result<Answer, Away> {
        let takes = self.desk().takes;
        if !takes.is_zero() {
            sleep(takes).await;
        }
        let mut desk = self.desk();
        if desk.is_down {
            return Err(Away("down".to_owned()));
        }
        desk.heard.push(tx.hash);
        if desk.chokes_on.contains(&tx.hash) {
            return Ok(Answer::Failed("something is wrong".to_owned()));
        }
        if desk.dislikes.contains(&tx.hash) {
            return Ok(Answer::Refused("not this one".to_owned()));
        }
        if desk.parents.get(&tx.hash).is_some_and(|parent| !desk.has.contains(parent)) {
            return Ok(Answer::Refused("an input is unknown".to_owned()));
        }
        if !desk.has.contains(&tx.hash) {
            desk.has.push(tx.hash);
        }
        Ok(Answer::Taken)
    }
}
