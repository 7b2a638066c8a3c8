//! Three node processes on a real Redis, killed at random points while transactions flow and the chain forks. When all is
//! quiet, every accepted transaction has one final record, and it is the chain's.
//!
//! `KEYPLANE_TEST_ROUNDS` and `KEYPLANE_TEST_TRANSACTIONS` say how many; the seed of each round is printed.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use keyplane_mempool::model::Thresholds;
use keyplane_mempool::ports::{SimChain, SimWallet};
use keyplane_mempool::{ChainEvent, Point, Pool, Settings as PoolSettings, Stage, Tx, TxHash};
use keyplane_store::{Options, Store};
use keyplane_testing::{Program, Server, Settings, ask, chosen, until};
use serde_json::{Value, json};

use crate::node::Node;

/// What both peers miss, because the nodes that offered it were killed, is offered half a minute later; it must not be given up
/// before.
const SETTINGS: [(&str, &str); 2] =
    [("KEYPLANE_MEMPOOL_WATCHER_LOCK_TTL", "1s"), ("KEYPLANE_MEMPOOL_DROP_THRESHOLD", "100000")];

/// What all threads share.
struct World {
    chain: Mutex<SimChain>,
    /// Where the nodes are; none while one is dead.
    nodes: [Mutex<Option<String>>; 3],
    accepted: Mutex<Vec<TxHash>>,
    /// Offers that peers got.
    offers: AtomicU64,
    peers: OnceLock<String>,
    sending: AtomicU64,
    over: AtomicBool,
}

#[test]
fn killed_nodes_lose_nothing_and_the_log_is_the_chain() {
    for round in 0..chosen("KEYPLANE_TEST_ROUNDS", 1) {
        let seed = fastrand::u64(..) ^ round;
        println!("round {round}, seed {seed}");
        play(seed, chosen("KEYPLANE_TEST_TRANSACTIONS", 300));
    }
}

fn play(seed: u64, txs: u64) {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let world = Arc::new(World {
        chain: Mutex::new(SimChain::new(seed, 0)),
        nodes: Default::default(),
        accepted: Mutex::default(),
        offers: AtomicU64::new(0),
        peers: OnceLock::new(),
        sending: AtomicU64::new(2),
        over: AtomicBool::new(false),
    });
    let peers = ["relay-1", "relay-2"].map(|name| format!("{name}=http://{}/submit", relay(&world)));
    world.peers.set(peers.join(",")).unwrap();
    let mut nodes: Vec<Option<Node>> = (0..3).map(|place| Some(start(&server, &world, place))).collect();
    let mut threads = Vec::new();
    for place in 0..3 {
        let world = Arc::clone(&world);
        threads.push(thread::spawn(move || feed(&world, place)));
    }
    for sender in 0..2 {
        let world = Arc::clone(&world);
        threads.push(thread::spawn(move || send(&world, seed ^ (sender + 1), txs / 2)));
    }
    let kills = disturb(&server, &world, &mut nodes, Rng::with_seed(seed));
    settle(&server, &world, kills, txs);
    world.over.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn start(server: &Server, world: &World, place: usize) -> Node {
    let peers = ("KEYPLANE_MEMPOOL_PEERS", world.peers.get().unwrap().as_str());
    let node = Node::start_with(&server.url(), &[SETTINGS[0], SETTINGS[1], peers]);
    *world.nodes[place].lock().unwrap() = Some(node.address.trim_start_matches("http://").to_owned());
    node
}

/// Grows the chain, forks it, and kills nodes, until everything is sent.
fn disturb(server: &Server, world: &World, nodes: &mut [Option<Node>], mut rng: Rng) -> usize {
    let mut kills = 0;
    while world.sending.load(Ordering::Relaxed) > 0 || kills < 5 {
        thread::sleep(Duration::from_millis(rng.u64(50..150)));
        {
            let mut chain = world.chain.lock().unwrap();
            if rng.u8(..8) == 0 {
                chain.fork(rng.usize(1..6));
            }
            chain.grow(rng.usize(..60));
        }
        if rng.u8(..3) == 0 {
            let place = rng.usize(..3);
            *world.nodes[place].lock().unwrap() = None;
            nodes[place].take().unwrap().signal("-KILL");
            nodes[place] = Some(start(server, world, place));
            kills += 1;
        }
    }
    kills
}

/// Tells one node of the chain, from where the pool is; after a restart again.
fn feed(world: &World, place: usize) {
    let (mut at, mut known): (Option<Point>, Option<String>) = (None, None);
    while !world.over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(10));
        let Some(address) = world.nodes[place].lock().unwrap().clone() else { continue };
        if known.as_ref() != Some(&address) {
            let Some((200, tip)) = ask(&address, "GET", "/api/tip", "", &[]) else { continue };
            at = point(&tip);
            known = Some(address.clone());
        }
        let Some(event) = world.chain.lock().unwrap().after(at) else { continue };
        let (path, body, next) = told(&event);
        match ask(&address, "POST", path, "application/json", body.to_string().as_bytes()) {
            Some((409, _)) | None => known = None,
            Some(_) => at = Some(next),
        }
    }
}

fn point(tip: &Value) -> Option<Point> {
    Some(Point { slot: tip["slot"].as_u64()?, hash: tip["hash"].as_str()?.parse().ok()? })
}

fn told(event: &ChainEvent) -> (&'static str, Value, Point) {
    match event {
        ChainEvent::Forward(block) => {
            let txs: Vec<String> = block.txs.iter().map(ToString::to_string).collect();
            let body = json!({
                "slot": block.point.slot,
                "hash": block.point.hash.to_string(),
                "height": block.height,
                "prev": block.prev.to_string(),
                "txs": txs,
            });
            ("/api/chain/forward", body, block.point)
        }
        ChainEvent::Back { to } => {
            ("/api/chain/back", json!({ "slot": to.slot, "hash": to.hash.to_string() }), *to)
        }
    }
}

/// Sends transactions to whichever node, each until it is told that the pool has it.
fn send(world: &World, seed: u64, txs: u64) {
    let (mut wallet, mut rng) = (SimWallet::new(seed), Rng::with_seed(seed));
    for _ in 0..txs {
        let tx = wallet.pay().unwrap();
        loop {
            let address = world.nodes[rng.usize(..3)].lock().unwrap().clone();
            let sent = address.and_then(|address| {
                ask(&address, "POST", "/tx/submit", "application/cbor", &tx.payload.bytes)
            });
            match sent {
                Some((200 | 409, _)) => break,
                // Dead, dying, or away: somebody else is there.
                Some((500.., _)) | None => thread::sleep(Duration::from_millis(20)),
                Some(other) => panic!("{other:?}"),
            }
        }
        world.accepted.lock().unwrap().push(tx.hash);
        // Not so fast that all is over before somebody dies.
        thread::sleep(Duration::from_millis(3));
    }
    world.sending.fetch_sub(1, Ordering::Relaxed);
}

/// A peer: what it is offered reaches the one who makes the blocks. Where it listens.
fn relay(world: &Arc<World>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let world = Arc::clone(world);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let world = Arc::clone(&world);
            thread::spawn(move || while take(&world, &stream).is_some() {});
        }
    });
    address
}

/// One offer on a connection that stays; `None` when there is no other.
fn take(world: &World, mut stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let tx = Tx::decode(body).unwrap();
    world.offers.fetch_add(1, Ordering::Relaxed);
    world.chain.lock().unwrap().offer(tx.hash);
    stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").ok()
}

/// Blocks until nothing is left to do; then every record is held against the chain.
fn settle(server: &Server, world: &World, kills: usize, txs: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut settings = PoolSettings::default();
    settings.thresholds = Thresholds::default();
    let pool = runtime.block_on(async {
        let store = Store::open(&server.url(), Options::default()).await.unwrap();
        let naming = keyplane_key::Naming::new("dolos:mempool".to_owned(), false).unwrap();
        Pool::new(&store, naming, "00000000-0000-4000-8000-000000000000", settings).unwrap()
    });
    until("all is settled", || {
        thread::sleep(Duration::from_millis(50));
        world.chain.lock().unwrap().grow(1000);
        let counts = runtime.block_on(pool.counts()).map_err(|error| error.to_string())?;
        if counts.pending + counts.inflight == 0 { Ok(()) } else { Err(format!("{counts:?}")) }
    });
    // Nobody else makes blocks any more.
    let blocks = world.chain.lock().unwrap().blocks().to_vec();
    let tip = blocks.last().unwrap().height;
    until("the last block is applied", || match runtime.block_on(pool.tip()) {
        Ok(Some(found)) if found.height == tip => Ok(()),
        found => Err(format!("{found:?} and not {tip}")),
    });
    let page = runtime.block_on(pool.dump_finalized(0, 100_000)).unwrap();
    let accepted = world.accepted.lock().unwrap().clone();
    let truth: HashMap<TxHash, (Point, u64)> = blocks
        .iter()
        .flat_map(|block| block.txs.iter().map(|tx| (*tx, (block.point, block.height))))
        .collect();
    assert_eq!((accepted.len() as u64, truth.len() as u64, page.items.len() as u64), (txs, txs, txs));
    for item in &page.items {
        let (at, _) = truth[&item.entry.hash];
        assert_eq!((item.entry.stage, item.entry.confirmed_at), (Stage::Finalized, Some(at)));
    }
    let statuses = runtime.block_on(pool.check_all(&accepted)).unwrap();
    for (tx, status) in accepted.iter().zip(statuses) {
        let status = status.unwrap();
        assert_eq!((status.stage, status.confirmations), (Stage::Finalized, tip - truth[tx].1 + 1));
    }
    let totals = runtime.block_on(pool.pulse()).unwrap().totals;
    let offers = world.offers.load(Ordering::Relaxed);
    println!("{txs} transactions, {offers} offers, {kills} kills, tip {tip}, {totals:?}");
}
