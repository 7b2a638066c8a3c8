//! Clients that work on the same keys while the network between them and the store breaks and heals.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use keyplane_store::{Dialer, Error, Handle, Options, Store};
use keyplane_testing::{Network, Trace};

use crate::setup::{Bin, Keyspace, Order, scripts};

const CLIENTS: [&str; 4] = ["ann", "bob", "cat", "dan"];
const BINS: [&str; 2] = ["b1", "b2"];

/// How often a bin was restocked.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Count {
    acknowledged: i64,
    /// Nobody knows.
    unknown: i64,
    /// Certainly not done.
    failed: i64,
}

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) trace: Trace,
    pub(crate) faults: usize,
    counts: BTreeMap<&'static str, Count>,
    /// What the store holds for each bin in the end.
    found: BTreeMap<&'static str, i64>,
    seed: u64,
}

impl Outcome {
    pub(crate) fn check(&self) {
        for (bin, count) in &self.counts {
            let found = self.found[bin];
            let most = count.acknowledged + count.unknown;
            assert!(
                (count.acknowledged..=most).contains(&found),
                "seed {}: {bin} was restocked {found} times, and clients know of {count:?}",
                self.seed
            );
        }
    }

    pub(crate) fn unknown(&self) -> i64 {
        self.counts.values().map(|count| count.unknown).sum()
    }

    pub(crate) fn failed(&self) -> i64 {
        self.counts.values().map(|count| count.failed).sum()
    }
}

#[derive(Default)]
struct Book {
    counts: BTreeMap<&'static str, Count>,
    found: BTreeMap<&'static str, i64>,
    /// Clients that are done.
    done: usize,
}

type Shared = Arc<Mutex<Book>>;

/// Runs clients that do so many things each, and faults between them.
pub(crate) fn run(seed: u64, things: usize) -> Outcome {
    let mut network = Network::new(seed);
    let book = Shared::default();
    for (number, name) in CLIENTS.into_iter().enumerate() {
        let (book, rng) = (Arc::clone(&book), Rng::with_seed(seed ^ (number as u64 + 1) << 32));
        network.sim.client(name, work(rng, things, book));
    }
    let auditor = Arc::clone(&book);
    network.sim.client("auditor", audit(auditor));
    let mut faults = Faults { rng: Rng::with_seed(seed), next: Duration::from_millis(200), made: 0 };
    while !network.sim.step().unwrap_or_else(|error| panic!("seed {seed}: {error}")) {
        if book.lock().unwrap().done < CLIENTS.len() {
            faults.go_on(&network);
        } else {
            CLIENTS.iter().for_each(|client| faults.heal(&network, client));
        }
    }
    let trace = network.trace();
    let book = book.lock().unwrap();
    Outcome { trace, faults: faults.made, counts: book.counts.clone(), found: book.found.clone(), seed }
}

struct Faults {
    rng: Rng,
    next: Duration,
    made: usize,
}

impl Faults {
    fn go_on(&mut self, network: &Network) {
        if network.sim.elapsed() < self.next {
            return;
        }
        self.next += Duration::from_millis(self.rng.u64(20..600));
        let client = CLIENTS[self.rng.usize(..CLIENTS.len())];
        self.made += 1;
        let sim = &network.sim;
        match self.rng.u8(..8) {
            0 => sim.partition(client, Network::STORE),
            1 => sim.partition_oneway(client, Network::STORE),
            2 => sim.partition_oneway(Network::STORE, client),
            3 => sim.hold(client, Network::STORE),
            4 => sim.set_link_max_message_latency(
                client,
                Network::STORE,
                Duration::from_millis(self.rng.u64(1..400)),
            ),
            _ => self.heal(network, client),
        }
    }

    fn heal(&self, network: &Network, client: &str) {
        network.sim.release(client, Network::STORE);
        network.sim.repair(client, Network::STORE);
    }
}

async fn open() -> Handle {
    let mut options = Options::default();
    options.command_timeout = Duration::from_millis(500);
    let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
    let dialer = Dialer::new(Network::card());
    loop {
        let url = Network::URL.parse().unwrap();
        match Store::connect_through(url, options.clone(), dialer.clone()).await {
            Ok(store) => return store.handle(&contract),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn work(mut rng: Rng, things: usize, book: Shared) -> turmoil::Result {
    let (handle, keys) = (open().await, Keyspace::default());
    for _ in 0..things {
        tokio::time::sleep(Duration::from_millis(rng.u64(..30))).await;
        let bin = BINS[rng.usize(..BINS.len())];
        match rng.u8(..4) {
            0 => read(&handle, &keys, bin).await,
            1 => write(&handle, &keys, &mut rng).await,
            2 => count(&book, bin, together(&handle, &keys, bin).await),
            _ => count(&book, bin, restock(&handle, &keys, bin).await),
        }
    }
    book.lock().unwrap().done += 1;
    Ok(())
}

fn count<T>(book: &Shared, bin: &'static str, result: Result<T, Error>) {
    let mut book = book.lock().unwrap();
    let count = book.counts.entry(bin).or_default();
    match result {
        Ok(_) => count.acknowledged += 1,
        Err(error) if error.maybe_applied() => count.unknown += 1,
        Err(_) => count.failed += 1,
    }
}

async fn restock(handle: &Handle, keys: &Keyspace, bin: &str) -> Result<i64, Error> {
    let bin = Bin::new(bin).unwrap();
    let (stock, moves) = (keys.stock(&bin), keys.moves(&bin));
    let call = scripts::Restock { stock: &stock, moves: &moves, parts: 1_u64.into(), who: "ann".into() };
    handle.call::<i64>(call).await
}

/// As a part of a pipeline, whose other parts do not count.
async fn together(handle: &Handle, keys: &Keyspace, bin: &str) -> Result<(), Error> {
    let bin = Bin::new(bin).unwrap();
    let (label, stock) = (keys.label(&bin), keys.stock(&bin));
    let pipeline = handle.pipeline().run(label.set("x")).run(stock.incrby(1)).run(label.get());
    pipeline.send().await.swap_remove(1).map(|_| ())
}

async fn read(handle: &Handle, keys: &Keyspace, bin: &str) {
    // What comes of it shows in the trace.
    drop(handle.run(keys.stock(&Bin::new(bin).unwrap()).get()).await);
}

async fn write(handle: &Handle, keys: &Keyspace, rng: &mut Rng) {
    let order = keys.order(&Order::new(format!("o{}", rng.u8(..5))).unwrap());
    drop(handle.run(order.hset([("state", "open"), ("n", "1")])).await);
}

/// When all others are done, reads what they have left behind: that is in the trace, too.
async fn audit(book: Shared) -> turmoil::Result {
    while book.lock().unwrap().done < CLIENTS.len() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (handle, keys) = (open().await, Keyspace::default());
    for name in BINS {
        let bin = Bin::new(name).unwrap();
        let found = handle.run(keys.stock(&bin).get()).await?;
        handle.run(keys.label(&bin).get()).await?;
        handle.run(keys.moves(&bin).zrange(0, -1)).await?;
        let found = found.map_or(0, |digits| String::from_utf8(digits).unwrap().parse().unwrap());
        book.lock().unwrap().found.insert(name, found);
    }
    for number in 0..5 {
        let order = Order::new(format!("o{number}")).unwrap();
        handle.run(keys.order(&order).hgetall()).await?;
    }
    Ok(())
}
