//! An engine in virtual time, the machines that share its pool, and an observer that has all rights.

use std::collections::HashMap;
use std::time::Duration;

use keyplane_engine::Reply;
use keyplane_engine::live::Connection;
use keyplane_kit::lease::Lease;
use keyplane_store::{Handle, Options, Store};
use keyplane_testing::VirtualEngine;
use tokio::time::Instant;

use crate::line::Line;
use crate::setup::{Keyspace, PoolId, east};

/// As the contract says.
pub(crate) const TTL: Duration = Duration::from_secs(9);

pub(crate) fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) struct World {
    pub(crate) engine: VirtualEngine,
    pub(crate) keys: Keyspace,
    observer: Connection,
    ttl: Duration,
}

impl World {
    pub(crate) fn start() -> Self {
        Self::with_ttl(TTL)
    }

    /// Where locks last that long.
    pub(crate) fn with_ttl(ttl: Duration) -> Self {
        let engine = VirtualEngine::start(1);
        let observer = engine.live().connect("observer");
        Self { engine, keys: Keyspace::default(), observer, ttl }
    }

    /// A machine that nothing stands between.
    pub(crate) async fn machine(&self) -> Handle {
        self.component(&Store::on_engine(self.engine.live().clone(), Options::default()).await.unwrap())
    }

    /// A machine at the end of a line, when the server knows all scripts: a slow line is slow once.
    pub(crate) async fn across(&self, line: &Line) -> Handle {
        let elsewhere = self.keys.leader(&PoolId::new("west").unwrap());
        let held = Lease::new(&self.machine().await, elsewhere).unwrap().acquire("w").await.unwrap();
        tokio::time::sleep(TTL / 2).await;
        held.release().await.unwrap();
        let dialer = line.to(self.engine.live());
        let url = "redis://engine:6379".parse().unwrap();
        self.component(&Store::connect_through(url, Options::default(), dialer).await.unwrap())
    }

    fn component(&self, store: &Store) -> Handle {
        let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
        let settings = HashMap::from([("leader_ttl".to_owned(), self.ttl)]);
        store.as_component(&contract, "machine", &settings).unwrap()
    }

    /// The lease of a machine of its own.
    pub(crate) async fn lease(&self) -> Lease {
        self.lease_of(&self.machine().await)
    }

    pub(crate) fn lease_of(&self, handle: &Handle) -> Lease {
        Lease::new(handle, self.keys.leader(&east())).unwrap()
    }

    /// Sends a command past the store.
    pub(crate) async fn raw(&self, words: &[&str]) -> Reply {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.observer.execute(&words).await.unwrap()
    }

    pub(crate) async fn text(&self, words: &[&str]) -> Option<String> {
        match self.raw(words).await {
            Reply::Bulk(bytes) => Some(String::from_utf8(bytes).unwrap()),
            Reply::Nil => None,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    pub(crate) fn lock(&self) -> String {
        self.keys.leader(&east()).to_string()
    }

    /// What the lock's value is.
    pub(crate) async fn holder(&self) -> Option<String> {
        self.text(&["GET", &self.lock()]).await
    }

    /// When the lock ends on the server, unless it is renewed. `None` when it is free.
    pub(crate) async fn ends(&self) -> Option<Instant> {
        match self.raw(&["PTTL", &self.lock()]).await {
            Reply::Int(left) => Some(Instant::now() + millis(u64::try_from(left).ok()?)),
            other => panic!("{other:?}"),
        }
    }
}
