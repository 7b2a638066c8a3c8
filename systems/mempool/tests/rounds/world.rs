//! The network, the chain, and what goes wrong.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use keyplane_testing::{Fault, Network, Trace};
use tokio::time::sleep;

use crate::machine::{Book, Shared, open, work};
use crate::truth::{Found, Tally, find};

const NODES: [&str; 3] = ["ann", "bob", "cat"];

/// How long faults are made and the chain forks, in simulated time.
const LASTS: Duration = Duration::from_secs(12);

/// Between blocks.
const BLOCK: Duration = Duration::from_millis(250);

/// Two thousand transactions in all.
pub(crate) const TXS: u64 = 2000;

pub(crate) fn faults(seed: u64) -> Vec<Fault> {
    let of_nodes = Fault::draw(seed, &NODES, LASTS);
    of_nodes.into_iter().chain(Fault::draw_of_store(seed, LASTS)).collect()
}

pub(crate) struct Outcome {
    pub(crate) trace: Trace,
    pub(crate) steps: Vec<String>,
    book: Book,
    found: Found,
}

impl Outcome {
    pub(crate) fn check(&self) -> Result<Tally, String> {
        self.found.check(&self.book)
    }

    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.trace.digest, &self.steps, self.found.digest()).hash(&mut hasher);
        hasher.finish()
    }
}

pub(crate) fn run(seed: u64, faults: &[Fault]) -> Outcome {
    let mut network = Network::with_log(seed);
    let book: Shared = Arc::new(Mutex::new(Book::new(seed)));
    for (number, name) in NODES.into_iter().enumerate() {
        let (book, seed) = (Arc::clone(&book), seed ^ (number as u64 + 1) << 32);
        network.sim.host(name, move || work(name, number as u64, seed, Arc::clone(&book)));
    }
    let found = Arc::new(Mutex::new(Found::default()));
    network.sim.client("chain", drive(seed, Arc::clone(&book), Arc::clone(&found)));
    network.run(faults, |step, crashed| {
        let mut book = book.lock().unwrap();
        book.steps.push(step);
        match crashed {
            Some(Network::STORE) => book.store_crashes += 1,
            Some(_) => book.crashes += 1,
            None => {}
        }
    });
    let trace = network.trace();
    drop(network);
    let mut book = std::mem::replace(&mut *book.lock().unwrap(), Book::new(0));
    let found = std::mem::take(&mut *found.lock().unwrap());
    Outcome { trace, steps: std::mem::take(&mut book.steps), book, found }
}

/// Makes blocks and forks; when the faults are over, blocks until all is settled; then looks.
async fn drive(seed: u64, book: Shared, found: Arc<Mutex<Found>>) -> turmoil::Result {
    let mut rng = Rng::with_seed(seed ^ 0xc4a1);
    while turmoil::sim_elapsed().unwrap_or_default() < LASTS {
        sleep(BLOCK).await;
        let mut book = book.lock().unwrap();
        if rng.u8(..5) == 0 {
            let depth = rng.usize(1..8);
            book.chain.fork(depth);
            book.step(&format!("the chain undoes {depth} blocks"));
        }
        let most = rng.usize(..160);
        book.chain.grow(most);
    }
    sleep(Fault::LONGEST).await;
    let pool = open("chain", 0).await;
    // Everything is sent, offered and either on the chain for long or missed for long.
    for _ in 0..600 {
        book.lock().unwrap().chain.grow(1000);
        sleep(BLOCK).await;
        // First the tip: what is counted after it is what the whole chain has made of it.
        let applied = pool.tip().await?.map(|tip| tip.point);
        let counts = pool.counts().await?;
        let (sent, tip) = {
            let book = book.lock().unwrap();
            (book.all_sent(), book.chain.blocks().last().map(|block| block.point))
        };
        if sent && applied == tip && counts.pending == 0 && counts.inflight == 0 {
            break;
        }
    }
    *found.lock().unwrap() = find(&pool, &book).await;
    Ok(())
}
