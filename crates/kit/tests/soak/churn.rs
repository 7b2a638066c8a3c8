//! Pools that come and go, with all that the kit keeps about them.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use fastrand::Rng;
use keyplane_key::{Hash, Key};
use keyplane_kit::deadline::{Deadlines, Due};
use keyplane_kit::events::{Events, Position};
use keyplane_kit::heartbeat::Heartbeat;
use keyplane_kit::index::{Index, drain};
use keyplane_kit::lease::Lease;
use keyplane_kit::record::{Change, Children, Records};
use keyplane_kit::timeline::Timeline;
use keyplane_store::Handle;
use keyplane_testing::Place;

use crate::setup::{Keyspace, MachineId, PoolId, east, keys, machine, pool};

/// Pools that there are at a time.
const ALIVE: usize = 20;

pub(crate) struct Churn {
    handle: Handle,
    keys: Keyspace,
    pools: Records,
    machines: Records,
    open: Index,
    all: Index,
    lease: Lease,
    alarms: Deadlines,
    sightings: Timeline,
    hearts: Heartbeat,
    /// Some pools are left to run out: nobody tells the indexes.
    abandons: bool,
    rng: Rng,
    alive: VecDeque<PoolId>,
    born: u64,
    fired: u64,
    reconciled: u64,
    rebuilt: u64,
}

impl fmt::Display for Churn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { born, fired, reconciled, rebuilt, .. } = self;
        write!(f, "{born} pools, {fired} timers, {reconciled} members reconciled, {rebuilt} rebuilds")
    }
}

impl Churn {
    pub(crate) async fn new(place: &Place, abandons: bool) -> Self {
        // It is about what stays behind, not about a machine that is busy.
        let handle = machine(place).await.with_timeout(Duration::from_secs(60));
        let (keys, east) = (keys(place), east());
        Self {
            pools: Records::of(&handle, &pool::info::POOL).unwrap(),
            machines: Records::of(&handle, &pool::info::MACHINE).unwrap(),
            open: Index::sorted(&handle, keys.open_pools()).unwrap(),
            all: Index::plain(&handle, keys.all_pools()).unwrap(),
            lease: Lease::new(&handle, keys.leader(&east)).unwrap(),
            alarms: Deadlines::new(&handle, keys.alarms(&east)).unwrap(),
            sightings: Timeline::new(&handle, keys.sightings(&east)).unwrap(),
            hearts: Heartbeat::new(&handle, &pool::info::WORKER, "seen_ms", Duration::from_secs(30)).unwrap(),
            rng: Rng::with_seed(11),
            alive: VecDeque::new(),
            born: 0,
            fired: 0,
            reconciled: 0,
            rebuilt: 0,
            handle,
            keys,
            abandons,
        }
    }

    pub(crate) async fn step(&mut self) {
        self.bear().await;
        if self.alive.len() > ALIVE {
            self.end().await;
        }
        self.work().await;
        self.lead().await;
        if self.born.is_multiple_of(20) {
            self.keep().await;
        }
    }

    fn indexes(&self) -> [&Index; 2] {
        [&self.open, &self.all]
    }

    async fn bear(&mut self) {
        self.born += 1;
        let (id, name) = (PoolId::new(format!("p{}", self.born)).unwrap(), format!("p{}", self.born));
        let key = self.keys.pool(&id);
        let change = Change::create().set("state", "open");
        let change = change.entering(&self.open, name.as_str(), 1.0).entering(&self.all, name.as_str(), 0.0);
        self.pools.commit(&key, change).await.unwrap();
        for number in 0..3 {
            let child = self.keys.machine(&id, &MachineId::new(format!("m{number}")).unwrap());
            let joined = Change::create().renewing(&key).set("load", "0");
            let joined = joined.list_in(&self.keys.roster(&id), format!("m{number}"), "0");
            self.machines.commit(&child, joined).await.unwrap();
        }
        self.feed(&key).await;
        self.alive.push_back(id);
    }

    /// Applies notes; an index that has run out is built anew.
    async fn feed(&mut self, key: &Key<Hash>) {
        let drained = drain(&self.handle, key, &self.indexes()).await.unwrap();
        if drained.absent.is_empty() {
            return;
        }
        for index in
            self.indexes().into_iter().filter(|index| drained.absent.iter().any(|name| name == index.key()))
        {
            let rebuild = index.rebuild().await.unwrap();
            for id in &self.alive {
                let key = self.keys.pool(id);
                let mark = index.mark(&key).await.unwrap();
                if self.pools.read(&key).await.unwrap().is_some() {
                    assert!(rebuild.admit(&mark, id.as_str().as_bytes(), 1.0).await.unwrap());
                }
            }
            assert!(rebuild.finish().await.unwrap());
        }
        self.rebuilt += drained.absent.len() as u64;
        drain(&self.handle, key, &self.indexes()).await.unwrap();
    }

    /// The oldest pool ends: it is removed, or left to run out.
    async fn end(&mut self) {
        let Some(id) = self.alive.pop_front() else { return };
        if self.abandons && self.rng.bool() {
            return;
        }
        let key = self.keys.pool(&id);
        let mut gone = Vec::new();
        for number in 0..3 {
            gone.push(self.keys.machine(&id, &MachineId::new(format!("m{number}")).unwrap()));
        }
        gone.push(self.keys.roster(&id));
        self.handle.run_all(gone.iter().map(Key::unlink)).await.unwrap();
        self.handle.run(self.keys.log(&id).unlink()).await.unwrap();
        let name = id.as_str().to_owned();
        let change = Change::remove().leaving(&self.open, name.as_str()).leaving(&self.all, name.as_str());
        self.pools.commit(&key, change).await.unwrap();
        self.feed(&key).await;
    }

    /// Something happens in a few pools.
    async fn work(&mut self) {
        for _ in 0..5 {
            let id = self.alive[self.rng.usize(..self.alive.len())].clone();
            let (key, log) = (self.keys.pool(&id), self.keys.log(&id));
            let change = Change::update().count("updates", 1).telling(&log, [("is", "updated")]);
            let done = self.pools.commit(&key, change).await.unwrap();
            if done.horizon_is_near {
                self.stretch(&id).await;
            }
            let name = format!("m{}", self.rng.u8(..50));
            self.sightings.record(&name).await.unwrap();
            let worker = self.keys.worker(&east(), &MachineId::new(&name).unwrap());
            self.hearts.beat(&worker, [("state", "fine")]).await.unwrap();
            self.alarms.schedule(&name, Due::In(Duration::from_secs(self.rng.u64(..90)))).await.unwrap();
        }
        let log = Events::new(&self.handle, self.keys.log(&self.alive[0]));
        log.read(Position::Beginning, 10).await.unwrap();
    }

    async fn stretch(&self, id: &PoolId) {
        let Some(stretch) = self.pools.stretch(&self.keys.pool(id)).await.unwrap() else { return };
        let mut children = Children::default();
        let roster = self.keys.roster(id);
        for (name, _) in self.handle.run(roster.hgetall()).await.unwrap() {
            let name = MachineId::new(String::from_utf8(name).unwrap()).unwrap();
            children.hashes.push(self.keys.machine(id, &name));
        }
        children.hashes.push(roster);
        children.streams.push(self.keys.log(id));
        stretch.finish(&children).await.unwrap();
    }

    /// A term in which due timers fire.
    async fn lead(&mut self) {
        let held = self.lease.acquire("m").await.unwrap();
        let fence = held.fence().unwrap().clone();
        let fired = self.alarms.due(&fence, 100).await.unwrap();
        self.alarms.done(&fence, &fired).await.unwrap();
        self.fired += fired.len() as u64;
        held.release().await.unwrap();
    }

    /// What runs out without anybody's doing is found.
    pub(crate) async fn keep(&mut self) {
        let record_of = |member: &[u8]| {
            let id = std::str::from_utf8(member).ok().and_then(|text| PoolId::new(text).ok())?;
            Some(self.keys.pool(&id))
        };
        let mut removed = 0;
        for index in self.indexes() {
            let done = index.reconcile(&pool::info::POOL, record_of).await.unwrap();
            removed += done.map_or(0, |done| done.removed);
        }
        self.reconciled += removed;
        self.sightings.prune().await.unwrap();
    }
}
