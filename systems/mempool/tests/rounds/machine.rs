//! One node: it takes transactions in, offers them, and follows the chain. When it crashes, all of it begins anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use keyplane_key::Naming;
use keyplane_kit::Tokens;
use keyplane_kit::lease::Options as LeaseOptions;
use keyplane_mempool::model::{Input, Payload, Thresholds};
use keyplane_mempool::ports::{Answer, Away, Peer, SimChain};
use keyplane_mempool::run::propagate;
use keyplane_mempool::state::{ConfirmError, Offer, PeerName, Pool, ReceiveError, Settings};
use keyplane_mempool::{ChainEvent, Node, Stage, Tx, TxHash};
use keyplane_store::{Dialer, Options, Store};
use keyplane_testing::Network;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::world::TXS;

/// What a sender knows of a transaction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent {
    /// Nodes that accepted it.
    pub(crate) accepted: u64,
    /// Somebody was told that it is in the pool.
    pub(crate) known: bool,
    /// A node crashed, or its store did not answer, while it was sent.
    pub(crate) unsure: bool,
}

/// What is outside of all nodes.
pub(crate) struct Book {
    pub(crate) chain: SimChain,
    pub(crate) sent: BTreeMap<TxHash, Sent>,
    pub(crate) steps: Vec<String>,
    pub(crate) crashes: u64,
    pub(crate) store_crashes: u64,
    pub(crate) terms: u64,
    /// Offers to peers, and how often two nodes made the same one at the same time.
    pub(crate) offers: u64,
    pub(crate) twice: u64,
    offering: BTreeSet<(String, TxHash)>,
    /// The next transaction of each sender: senders do not crash with the node.
    next: [u64; 3],
    starts: [u64; 3],
}

pub(crate) type Shared = Arc<Mutex<Book>>;

impl Book {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            chain: SimChain::new(seed, 40),
            sent: BTreeMap::new(),
            steps: Vec::new(),
            crashes: 0,
            store_crashes: 0,
            terms: 0,
            offers: 0,
            twice: 0,
            offering: BTreeSet::new(),
            next: [0; 3],
            starts: [0; 3],
        }
    }

    pub(crate) fn step(&mut self, what: &str) {
        let moment = turmoil::sim_elapsed().unwrap_or_default().as_millis();
        self.steps.push(format!("{moment:>7} ms  {what}"));
    }

    pub(crate) fn all_sent(&self) -> bool {
        self.next.iter().all(|next| *next >= TXS)
    }
}

const UUIDS: [(&str, &str); 4] = [
    ("ann", "aaaaaaaa-0000-4000-8000-000000000001"),
    ("bob", "bbbbbbbb-0000-4000-8000-000000000002"),
    ("cat", "cccccccc-0000-4000-8000-000000000003"),
    ("chain", "dddddddd-0000-4000-8000-000000000004"),
];

pub(crate) async fn open(name: &str, start: u64) -> Pool {
    let mut options = Options::default();
    options.command_timeout = Duration::from_millis(400);
    options.connect_timeout = Duration::from_millis(250);
    let mut settings = Settings::default();
    settings.thresholds = Thresholds { finalize: 6, drop: 12 };
    settings.watcher_lock_ttl = Duration::from_millis(900);
    let id = UUIDS.iter().find(|(own, _)| *own == name).unwrap().1;
    // Every start is another node.
    let id = format!("{start:08x}{}", &id[8..]);
    let dialer = Dialer::new(Network::card());
    loop {
        let url = Network::URL.parse().unwrap();
        match Store::connect_through(url, options.clone(), dialer.clone()).await {
            Ok(store) => {
                return Pool::new(&store, Naming::new("mp".to_owned(), false).unwrap(), &id, settings)
                    .unwrap();
            }
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// The same number is the same transaction, whoever makes it. Every tenth spends what the one before it makes.
fn tx(number: u64) -> Tx {
    let mut rng = Rng::with_seed(number);
    let hash = TxHash::new(std::array::from_fn(|_| rng.u8(..)));
    let spent =
        if number % 10 == 9 { tx(number - 1).hash } else { TxHash::new(std::array::from_fn(|_| rng.u8(..))) };
    let bytes = (0..rng.usize(100..300)).map(|_| rng.u8(..)).collect();
    Tx { hash, payload: Payload { era: 7, bytes }, inputs: vec![Input { tx: spent, index: 0 }] }
}

pub(crate) async fn work(name: &'static str, number: u64, seed: u64, book: Shared) -> turmoil::Result {
    let start = {
        let mut book = book.lock().unwrap();
        let starts = &mut book.starts[number as usize];
        *starts += 1;
        *starts
    };
    let mut rng = Rng::with_seed(seed ^ (start << 40));
    let pool = open(name, start).await;
    let mut options = LeaseOptions::default();
    options.tokens = Tokens::seeded(rng.u64(..));
    let lease = pool.lease_with(options)?;
    let node = Node::start(pool.clone(), lease);
    let feeding = follow(name, &node, &book);
    let sending = send(&pool, number as usize, Rng::with_seed(rng.u64(..)), &book);
    let (_go_on, stop) = watch::channel(false);
    let [first, second] = ["relay-1", "relay-2"]
        .map(|name| propagate(pool.clone(), Relay::new(name, &book, rng.u64(..)), stop.clone()));
    tokio::join!(feeding, sending, first, second);
    Ok(())
}

/// Follows the chain from where the pool is.
async fn follow(name: &str, node: &Node, book: &Shared) {
    let mut at = loop {
        match node.pool().tip().await {
            Ok(tip) => break tip.map(|tip| tip.point),
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    };
    let mut terms = node.watch().terms();
    loop {
        sleep(Duration::from_millis(20)).await;
        if terms.has_changed().unwrap_or(false) {
            terms.mark_unchanged();
            let mut book = book.lock().unwrap();
            book.terms += 1;
            book.step(&format!("{name} is the watcher"));
        }
        let Some(event) = book.lock().unwrap().chain.after(at) else { continue };
        at = Some(match &event {
            ChainEvent::Forward(block) => block.point,
            ChainEvent::Back { to } => *to,
        });
        match node.confirm(&event).await {
            Ok(_) | Err(ConfirmError::Read(_) | ConfirmError::Contended { .. }) => {}
            Err(error) => book.lock().unwrap().step(&format!("{name}: {error}")),
        }
    }
}

/// Sends its share, some of it as others do at the same time, until it is told what became of each.
async fn send(pool: &Pool, number: usize, mut rng: Rng, book: &Shared) {
    loop {
        let next = {
            let mut book = book.lock().unwrap();
            let next = book.next[number];
            if next >= TXS {
                break;
            }
            book.next[number] = (next + 8).min(TXS);
            next
        };
        // A third is its own; one in five of the others is sent here too.
        let mine = (next..(next + 8).min(TXS)).filter(|tx| *tx % 3 == number as u64 || rng.u8(..5) == 0);
        let numbers: Vec<u64> = mine.collect();
        for number in numbers {
            send_one(pool, tx(number), book).await;
        }
        sleep(Duration::from_millis(rng.u64(..30))).await;
    }
}

async fn send_one(pool: &Pool, tx: Tx, book: &Shared) {
    let note = |change: fn(&mut Sent)| change(book.lock().unwrap().sent.entry(tx.hash).or_default());
    note(|sent| sent.unsure = true);
    for _ in 0..40 {
        match pool.receive(&tx).await {
            Ok(_) => note(|sent| {
                sent.accepted += 1;
                sent.known = true;
            }),
            Err(ReceiveError::Duplicate { stage: Stage::Dropped, .. }) => {
                unreachable!("it may be tried again")
            }
            Err(ReceiveError::Duplicate { .. }) => note(|sent| sent.known = true),
            Err(_) => {
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        }
        return;
    }
}

/// A peer of all nodes. Both put what they take before the one that makes the blocks. Now and then one does not answer, and it
/// may have taken what it was offered or not.
struct Relay {
    name: PeerName,
    book: Shared,
    rng: Mutex<Rng>,
}

impl Relay {
    fn new(name: &str, book: &Shared, seed: u64) -> Self {
        Self { name: name.parse().unwrap(), book: Arc::clone(book), rng: Mutex::new(Rng::with_seed(seed)) }
    }

    fn drawn(&self, below: u64) -> u64 {
        self.rng.lock().unwrap().u64(..below)
    }
}

/// An offer that is under way: no two nodes make the same one.
struct Offering<'r> {
    relay: &'r Relay,
    tx: TxHash,
}

impl<'r> Offering<'r> {
    fn begin(relay: &'r Relay, tx: TxHash) -> Self {
        let mut book = relay.book.lock().unwrap();
        book.offers += 1;
        if !book.offering.insert((relay.name.to_string(), tx)) {
            book.twice += 1;
        }
        drop(book);
        Self { relay, tx }
    }
}

impl Drop for Offering<'_> {
    fn drop(&mut self) {
        self.relay.book.lock().unwrap().offering.remove(&(self.relay.name.to_string(), self.tx));
    }
}

impl Peer for Relay {
    fn name(&self) -> &PeerName {
        &self.name
    }

    async fn reach(&self) -> Result<(), Away> {
        sleep(Duration::from_millis(self.drawn(5))).await;
        if self.drawn(3) == 0 { Err(Away("not now".to_owned())) } else { Ok(()) }
    }

    async fn offer(&self, tx: &Offer) -> Result<Answer, Away> {
        let offering = Offering::begin(self, tx.hash);
        sleep(Duration::from_micros(self.drawn(2000))).await;
        let drawn = self.drawn(100);
        if drawn != 0 {
            self.book.lock().unwrap().chain.offer(tx.hash);
        }
        drop(offering);
        if drawn < 2 { Err(Away("it was cut off".to_owned())) } else { Ok(Answer::Taken) }
    }
}
