//! An engine whose clock is the test's, and machines on it.

use std::collections::HashMap;
use std::future::Future;
use std::time::{Duration, UNIX_EPOCH};

use keyplane_engine::Reply;
use keyplane_kit::Fence;
use keyplane_kit::lease::{Held, Lease};
use keyplane_store::{Handle, Options, Store};
use keyplane_testing::VirtualEngine;
use tokio::runtime::{Builder, Runtime};

use crate::setup::{Keyspace, east};

pub(crate) const MILLI: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

pub(crate) struct World {
    pub(crate) engine: VirtualEngine,
    pub(crate) keys: Keyspace,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { engine: VirtualEngine::start(1), keys: Keyspace::default() }
    }

    /// A process that starts: nothing is left of any other but what is in the store.
    pub(crate) async fn machine(&self) -> Handle {
        let store = Store::on_engine(self.engine.live().clone(), Options::default()).await.unwrap();
        let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
        // So long that nothing is renewed while a test runs.
        let settings = HashMap::from([("leader_ttl".to_owned(), 3000 * DAY)]);
        store.as_component(&contract, "machine", &settings).unwrap()
    }

    /// Begins a term.
    pub(crate) async fn lead(&self, handle: &Handle) -> (Held, Fence) {
        let lease = Lease::new(handle, self.keys.leader(&east())).unwrap();
        let held = lease.try_acquire("m1").await.unwrap().expect("the lock is free");
        let fence = held.fence().unwrap().clone();
        (held, fence)
    }

    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.engine.now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
    }

    /// A command past the store.
    pub(crate) async fn raw(&self, words: &[&str]) -> Reply {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.engine.live().connect("test").execute(&words).await.unwrap()
    }
}

/// A runtime whose time stands still, for properties: each case runs on the same one.
pub(crate) struct Paused {
    runtime: Runtime,
    pub(crate) world: World,
}

impl Paused {
    pub(crate) fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let world = runtime.block_on(async { World::new() });
        Self { runtime, world }
    }

    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}
