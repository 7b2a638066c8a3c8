//! One machine: it changes pools as it has read them, and feeds the indexes; again and again.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use keyplane_key::{Hash, Key};
use keyplane_kit::Tokens;
use keyplane_kit::events::{Events, Gap, Position};
use keyplane_kit::index::{Index, drain};
use keyplane_kit::record::{Change, CommitError, Records, Snapshot};
use keyplane_store::{Dialer, Handle, Options, Store};
use keyplane_testing::Network;
use tokio::time::sleep;

use crate::model::Known;
use crate::setup::{Keyspace, PoolId, pool};

pub(crate) const POOLS: [&str; 3] = ["east", "west", "north"];

/// What all machines, and the one who makes faults, write down. It outlives a crash.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) known: Known,
    pub(crate) steps: Vec<String>,
    /// Machines begin nothing new.
    pub(crate) over: bool,
    /// Nothing is under way any more.
    pub(crate) quiet: bool,
    /// Machines that are at work.
    pub(crate) busy: BTreeSet<&'static str>,
    /// How often each machine has started.
    starts: HashMap<&'static str, u64>,
}

pub(crate) type Shared = Arc<Mutex<Book>>;

impl Book {
    fn step(&mut self, what: &str) {
        let moment = turmoil::sim_elapsed().unwrap_or_default().as_millis();
        self.steps.push(format!("{moment:>7} ms  {what}"));
    }
}

pub(crate) async fn open() -> Handle {
    let mut options = Options::default();
    options.command_timeout = Duration::from_millis(250);
    options.connect_timeout = Duration::from_millis(250);
    let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
    let dialer = Dialer::new(Network::card());
    loop {
        let url = Network::URL.parse().unwrap();
        match Store::connect_through(url, options.clone(), dialer.clone()).await {
            Ok(store) => return store.as_component(&contract, "machine", &HashMap::new()).unwrap(),
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// The pools, and the indexes that follow them.
pub(crate) struct Pools {
    pub(crate) handle: Handle,
    pub(crate) keys: Keyspace,
    pub(crate) records: Records,
    pub(crate) open: Index,
    pub(crate) all: Index,
}

impl Pools {
    pub(crate) async fn new(seed: u64) -> Self {
        let (handle, keys) = (open().await, Keyspace::default());
        Self {
            records: Records::of(&handle, &pool::info::POOL).unwrap(),
            open: Index::sorted(&handle, keys.open_pools()).unwrap().with_tokens(Tokens::seeded(seed)),
            all: Index::plain(&handle, keys.all_pools()).unwrap().with_tokens(Tokens::seeded(seed + 1)),
            handle,
            keys,
        }
    }

    pub(crate) fn key(&self, name: &str) -> Key<Hash> {
        self.keys.pool(&PoolId::new(name).unwrap())
    }

    /// Applies what waits in the outbox of a pool; builds indexes that are not there.
    pub(crate) async fn feed(&self, name: &str) -> Result<(), Box<dyn std::error::Error>> {
        let drained = drain(&self.handle, &self.key(name), &[&self.open, &self.all]).await?;
        for absent in drained.absent {
            let index = if absent == self.open.key() { &self.open } else { &self.all };
            self.rebuild(index).await?;
        }
        Ok(())
    }

    pub(crate) async fn rebuild(&self, index: &Index) -> Result<(), Box<dyn std::error::Error>> {
        let rebuild = index.rebuild().await?;
        for name in POOLS {
            let key = self.key(name);
            let mark = index.mark(&key).await?;
            let found = self.records.read(&key).await?;
            if let Some(score) = found.and_then(|found| place(&found, index.key() == self.open.key()))
                && !rebuild.admit(&mark, name.as_bytes(), score).await?
            {
                return Ok(());
            }
        }
        rebuild.finish().await?;
        Ok(())
    }
}

/// The place of a pool in an index; `None` where it does not belong there.
pub(crate) fn place(found: &Snapshot, only_open: bool) -> Option<f64> {
    let size = found.text("size").and_then(|size| size.parse().ok()).unwrap_or(0.0);
    match (only_open, found.text("state")) {
        (false, _) => Some(0.0),
        (true, Some("open")) => Some(size),
        (true, _) => None,
    }
}

struct Machine {
    name: &'static str,
    pools: Pools,
    rng: Rng,
    book: Shared,
    start: u64,
    changes: u64,
}

/// Works until the world is over, or it crashes.
pub(crate) async fn work(name: &'static str, seed: u64, book: Shared) -> turmoil::Result {
    let start = {
        let mut book = book.lock().unwrap();
        book.busy.insert(name);
        let starts = book.starts.entry(name).or_default();
        *starts += 1;
        *starts
    };
    let rng = Rng::with_seed(seed ^ (start << 40));
    let pools = Pools::new(seed ^ (start << 8)).await;
    let mut machine = Machine { name, pools, rng, book, start, changes: 0 };
    while !machine.book.lock().unwrap().over {
        sleep(Duration::from_millis(machine.rng.u64(..60))).await;
        let pool = POOLS[machine.rng.usize(..POOLS.len())];
        machine.change(pool).await;
        if machine.rng.u8(..12) == 0 {
            machine.run_out().await;
        }
        // Sometimes it forgets to feed, as one that crashes does.
        if machine.rng.u8(..4) > 0 {
            drop(machine.pools.feed(pool).await);
        }
    }
    machine.book.lock().unwrap().busy.remove(name);
    Ok(())
}

impl Machine {
    /// Reads a pool, thinks, and changes it as if nobody else did.
    async fn change(&mut self, pool: &'static str) {
        let key = self.pools.key(pool);
        let Ok(found) = self.pools.records.read(&key).await else { return };
        sleep(Duration::from_millis(self.rng.u64(..40))).await;
        self.changes += 1;
        let id = format!("{}.{}.{}", self.name, self.start, self.changes);
        let history = self.pools.keys.history(&PoolId::new(pool).unwrap());
        let change = self.decide(pool, found.as_ref());
        let change = change.telling(&history, [("id", id.as_str())]);
        self.book.lock().unwrap().known.begun(pool, &id);
        let outcome = self.pools.records.commit(&key, change).await;
        let mut book = self.book.lock().unwrap();
        book.step(&format!("{} {id} of {pool}: {outcome:?}", self.name));
        match outcome {
            Ok(_) => book.known.acknowledged(pool, &id),
            Err(CommitError::Store(error)) if error.maybe_applied() => book.known.unknown += 1,
            Err(CommitError::Conflict { .. } | CommitError::Exists { .. } | CommitError::Missing) => {
                book.known.refused(&id);
                book.known.conflicts += 1;
            }
            Err(_) => book.known.refused(&id),
        }
    }

    /// An index runs out.
    async fn run_out(&mut self) {
        let Pools { handle, keys, .. } = &self.pools;
        let feed = if self.rng.bool() { keys.open_pools_feed() } else { keys.all_pools_feed() };
        drop(handle.run(feed.unlink()).await);
    }

    fn decide(&mut self, pool: &'static str, found: Option<&Snapshot>) -> Change {
        let Pools { open, all, .. } = &self.pools;
        let Some(found) = found else {
            let born = Change::create().set("state", "open").set("size", "0").set("updates", "1");
            return born.entering(open, pool, 0.0).entering(all, pool, 0.0);
        };
        let updates: u64 = found.text("updates").and_then(|n| n.parse().ok()).unwrap_or(0);
        let change = Change::update().expecting(found.version).set("updates", (updates + 1).to_string());
        let size = self.rng.u8(..100);
        match (self.rng.u8(..8), found.text("state")) {
            (0, _) => Change::remove().expecting(found.version).leaving(open, pool).leaving(all, pool),
            (1 | 2, Some("open")) => change.set("state", "draining").leaving(open, pool),
            (_, Some("draining")) => change.set("state", "open").set("size", size.to_string()).entering(
                open,
                pool,
                f64::from(size),
            ),
            _ => change.set("size", size.to_string()).entering(open, pool, f64::from(size)),
        }
    }
}

/// Follows the history of a pool from its beginning, and notes the numbers that it sees.
pub(crate) async fn watch(pool: &'static str, book: Shared) -> turmoil::Result {
    let (handle, keys) = (open().await, Keyspace::default());
    let log = Events::new(&handle, keys.history(&PoolId::new(pool).unwrap()));
    let mut tail = log.tail(Position::Beginning);
    loop {
        let quiet = book.lock().unwrap().quiet;
        match tail.next(16, Duration::from_millis(100)).await {
            Ok(batch) => {
                let mut book = book.lock().unwrap();
                let missed = batch.gaps.iter().any(|(_, gap)| matches!(gap, Gap::Missed(_) | Gap::Restarted));
                book.known.gaps += usize::from(missed);
                let ids = batch.events.iter().filter_map(|event| event.text("id")).map(str::to_owned);
                book.known.watched(pool, ids);
                if quiet && batch.events.is_empty() {
                    return Ok(());
                }
            }
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}
