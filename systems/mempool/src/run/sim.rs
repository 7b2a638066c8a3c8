//! Nodes that share a pool, a chain that forks, and a watcher that is stopped now and then: the whole system, in one process.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use keyplane_key::Naming;
use keyplane_store::Store;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::node::Node;
use crate::model::{ChainEvent, Point};
use crate::ports::{SimChain, SimPeer, SimWallet};
use crate::state::{Counts, OpenError, PeerName, Pool, ReadError, Settings, Totals};

const NODES: [&str; 3] = ["node-1", "node-2", "node-3"];

/// Between blocks.
const BLOCK: Duration = Duration::from_secs(1);

/// A watcher is stopped so often.
const TERM: Duration = Duration::from_secs(9);

/// How long a stopped node stays away.
const AWAY: Duration = Duration::from_secs(4);

/// News that are kept.
const NEWS: usize = 100;

/// A node as it is seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Its name here.
    pub name: &'static str,
    /// Its id; none while it is stopped.
    pub id: Option<String>,
    /// It applies the chain.
    pub is_watcher: bool,
}

/// Something worth to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct News {
    /// Since the beginning.
    pub at: Duration,
    /// What.
    pub what: String,
}

/// The simulation at one moment.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Picture {
    /// The nodes.
    pub members: Vec<Member>,
    /// How many transactions are where.
    pub counts: Counts,
    /// Totals of the pool: received, finalized, dropped, rolled back, corrected.
    pub totals: Totals,
    /// The chain's height.
    pub height: u64,
    /// The pool's.
    pub applied: Option<u64>,
    /// The newest news.
    pub news: Vec<News>,
}

/// A running simulation. It ends when it is dropped.
#[derive(Debug)]
pub struct Sim {
    shared: Arc<Shared>,
    pool: Pool,
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    store: Store,
    naming: Naming,
    settings: Settings,
    chain: Arc<Mutex<SimChain>>,
    peers: [PeerName; 2],
    members: Mutex<Vec<Member>>,
    news: Mutex<VecDeque<News>>,
    begun: Instant,
}

impl Sim {
    /// Starts it on a store. Needs a tokio runtime.
    pub fn start(
        store: &Store,
        naming: Naming,
        mut settings: Settings,
        seed: u64,
    ) -> Result<Self, OpenError> {
        // A failover that can be watched.
        settings.watcher_lock_ttl = Duration::from_secs(2);
        settings.thresholds.drop = 20;
        let member = |name| Member { name, id: None, is_watcher: false };
        let shared = Arc::new(Shared {
            store: store.clone(),
            naming: naming.clone(),
            settings,
            chain: Arc::new(Mutex::new(SimChain::new(seed, 30))),
            peers: ["relay-1".parse()?, "relay-2".parse()?],
            members: Mutex::new(NODES.map(member).to_vec()),
            news: Mutex::new(VecDeque::new()),
            begun: Instant::now(),
        });
        let pool = Pool::new(store, naming, "00000000-0000-4000-8000-000000000000", settings)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(make_blocks(Arc::clone(&shared), Rng::with_seed(seed ^ 1)));
        for number in 0..NODES.len() {
            tasks.spawn(keep_running(Arc::clone(&shared), number, seed ^ (number as u64 + 2)));
        }
        Ok(Self { shared, pool, _tasks: tasks })
    }

    /// What is to be seen now.
    pub async fn picture(&self) -> Result<Picture, ReadError> {
        let pulse = self.pool.pulse().await?;
        let applied = self.pool.tip().await?.map(|tip| tip.height);
        Ok(Picture {
            counts: pulse.counts,
            totals: pulse.totals,
            applied,
            members: lock(&self.shared.members).clone(),
            height: lock(&self.shared.chain).blocks().last().map_or(0, |block| block.height),
            news: lock(&self.shared.news).iter().cloned().collect(),
        })
    }

    /// The pool.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn tell(&self, what: String) {
        let mut news = lock(&self.news);
        if news.len() == NEWS {
            news.pop_front();
        }
        news.push_back(News { at: self.begun.elapsed(), what });
    }
}

/// A block in every second; now and then another branch.
async fn make_blocks(shared: Arc<Shared>, mut rng: Rng) {
    loop {
        sleep(BLOCK).await;
        let mut chain = lock(&shared.chain);
        if rng.u8(..7) == 0 {
            let depth = rng.usize(1..4);
            chain.fork(depth);
            let height = chain.blocks().last().map_or(0, |block| block.height);
            shared.tell(format!("the chain forks: {depth} blocks above height {height} are undone"));
        }
        let most = rng.usize(5..60);
        chain.grow(most);
    }
}

/// Runs a node; when it was the watcher for a while it is stopped, and comes back under another id.
async fn keep_running(shared: Arc<Shared>, number: usize, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    sleep(Duration::from_millis(50 * number as u64)).await;
    loop {
        let id = format!("{:08x}-{:04x}-4000-8000-{:012x}", rng.u32(..), rng.u16(..), rng.u64(..1 << 48));
        let Ok(pool) = Pool::new(&shared.store, shared.naming.clone(), &id, shared.settings) else { return };
        let Ok(lease) = pool.lease() else { return };
        lock(&shared.members)[number].id = Some(id);
        let node = Node::start(pool, lease);
        for peer in &shared.peers {
            node.propagate_to(SimPeer::new(peer.clone(), Arc::clone(&shared.chain)));
        }
        serve(&shared, &node, number, &mut rng).await;
        node.stop().await;
        shared.tell(format!("{} is stopped", NODES[number]));
        lock(&shared.members)[number] = Member { name: NODES[number], id: None, is_watcher: false };
        sleep(AWAY).await;
        shared.tell(format!("{} is back", NODES[number]));
    }
}

/// Until the node has been the watcher for a while.
async fn serve(shared: &Shared, node: &Node, number: usize, rng: &mut Rng) {
    let mut wallet = SimWallet::new(rng.u64(..));
    let mut at = node.pool().tip().await.ok().flatten().map(|tip| tip.point);
    let mut elected: Option<Instant> = None;
    loop {
        let is_watcher = node.watch().fence().is_some();
        lock(&shared.members)[number].is_watcher = is_watcher;
        match (is_watcher, elected) {
            (true, None) => {
                elected = Some(Instant::now());
                shared.tell(format!("{} is the watcher", NODES[number]));
            }
            (true, Some(since)) if since.elapsed() > TERM => return,
            (false, Some(_)) => elected = None,
            _ => {}
        }
        // What cannot be done now is done the next time: the store may be away.
        drop(take_in(node.pool(), &mut wallet, rng).await);
        follow(shared, node, &mut at).await;
        sleep(Duration::from_millis(rng.u64(60..140))).await;
    }
}

async fn take_in(pool: &Pool, wallet: &mut SimWallet, rng: &mut Rng) -> Result<(), ReadError> {
    for _ in 0..rng.usize(..4) {
        let Ok(tx) = wallet.pay() else { continue };
        // A refusal is an answer.
        drop(pool.receive(&tx).await);
    }
    Ok(())
}

async fn follow(shared: &Shared, node: &Node, at: &mut Option<Point>) {
    loop {
        let Some(event) = lock(&shared.chain).after(*at) else { return };
        *at = Some(match &event {
            ChainEvent::Forward(block) => block.point,
            ChainEvent::Back { to } => *to,
        });
        if let Err(error) = node.confirm(&event).await {
            shared.tell(format!("{}: {error}", node.pool().node_id()));
        }
    }
}
