//! Every read and write of the pool's keys, as named operations. Each change is one script.

mod adopt;
mod chain;
mod changes;
mod error;
mod evicting;
mod inbox;
mod names;
mod original;
mod payloads;
mod peers;
mod pulse;
mod read;
mod receive;
mod stages;
mod sweep;

use std::sync::Arc;
use std::time::Duration;

use keyplane_key::Naming;
use keyplane_kit::events::{self, Events};
use keyplane_kit::lease::{self, Lease};
use keyplane_store::{Handle, Store};

use crate::keys::Keyspace;
use crate::model::Thresholds;

pub use adopt::Adopted;
pub use chain::{Confirmed, Tip};
pub use changes::Change;
pub use error::{ConfirmError, OpenError, ReadError, ReceiveError};
pub use evicting::Evicting;
pub use peers::{Claimed, NotAPeer, Offer, PeerName};
pub use pulse::{Pulse, Totals};
pub use read::{Counts, Finished, Inflight, Page, Pending};
pub use receive::{Limit, Received};
pub use stages::Marked;

use evicting::evicting;
use inbox::Inbox;
use names::Names;
pub(crate) use peers::CLAIM;

/// What the pool takes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Unfinished transactions.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of one transaction.
    pub tx_bytes: u64,
    /// How long one may wait to be offered. Zero: for ever.
    pub age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            count: 100_000,
            bytes: 512 * 1024 * 1024,
            // The protocol's own limit.
            tx_bytes: 16_384,
            age: Duration::from_secs(24 * 3600),
        }
    }
}

/// How a pool behaves. All nodes of one pool have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// After how many blocks a transaction is finished.
    pub thresholds: Thresholds,
    /// What the pool takes in.
    pub limits: Limits,
    /// Finished transactions kept.
    pub max_finalized: u64,
    /// How long the watcher's lock outlives its holder.
    pub watcher_lock_ttl: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            thresholds: Thresholds::default(),
            limits: Limits::default(),
            max_finalized: 10_000,
            watcher_lock_ttl: Duration::from_secs(10),
        }
    }
}

impl Settings {
    /// Whether a pool can work by them.
    fn check(&self) -> Result<(), OpenError> {
        let zero = |setting, why| Err(OpenError::Zero { setting, why });
        match self {
            // The store counts in milliseconds.
            Self { watcher_lock_ttl, .. } if watcher_lock_ttl.as_millis() == 0 => {
                zero("watcher_lock_ttl", "nobody could hold the lock")
            }
            Self { thresholds: Thresholds { finalize: 0, .. }, .. } => {
                zero("thresholds.finalize", "a transaction would be final before a block holds it")
            }
            Self { thresholds: Thresholds { drop: 0, .. }, .. } => {
                zero("thresholds.drop", "a transaction would be given up as soon as it is offered")
            }
            Self { max_finalized: 0, .. } => {
                zero("max_finalized", "what is final would be forgotten, and accepted again")
            }
            _ => Ok(()),
        }
    }
}

/// A pool as one node sees it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Does what any node may.
    node: Handle,
    /// Does what the watcher may; its scripts ask for the fence.
    watcher: Handle,
    names: Names,
    inbox: Inbox,
    settings: Settings,
    /// This node's id, a UUID.
    id: String,
    /// Events kept at least.
    most_events: u64,
    /// Servers of the store that may drop keys.
    evicting: Vec<Evicting>,
}

impl Pool {
    /// The pool with that name on a store, as the node with this id, which is a UUID.
    pub fn new(store: &Store, naming: Naming, id: &str, settings: Settings) -> Result<Self, OpenError> {
        settings.check()?;
        let contract = keyplane_store::contract(Keyspace::SOURCE)?;
        let durations =
            std::collections::HashMap::from([("watcher_lock_ttl".to_owned(), settings.watcher_lock_ttl)]);
        let node = store.as_component(&contract, "node", &durations)?;
        let watcher = store.as_component(&contract, "watcher", &durations)?;
        let keys = Keyspace::new(naming).map_err(|error| OpenError::Namespace(error.to_string()))?;
        let most_events = events::most_kept(&node, "events").unwrap_or(100_000);
        let names = Names::new(keys)?;
        Ok(Self(Arc::new(Inner {
            node,
            watcher,
            names,
            inbox: Inbox::default(),
            settings,
            id: id.to_owned(),
            most_events,
            evicting: evicting(store),
        })))
    }

    /// This node's id.
    #[must_use]
    pub fn node_id(&self) -> &str {
        &self.0.id
    }

    /// How the pool behaves.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The lock of the watcher.
    pub fn lease(&self) -> Result<Lease, OpenError> {
        self.lease_with(lease::Options::default())
    }

    /// The same with options.
    pub fn lease_with(&self, options: lease::Options) -> Result<Lease, OpenError> {
        Ok(Lease::with(&self.0.node, self.0.names.watcher_lock.clone(), options)?)
    }

    /// Every change of a stage, on every node: to be read from an id, or followed.
    #[must_use]
    pub fn events(&self) -> Events {
        // What was received together is told together.
        Events::new(&self.0.node, self.0.names.events.clone()).sharing("hash")
    }
}
