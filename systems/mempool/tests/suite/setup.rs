//! A pool for one test, its chain, and transactions that nobody else has.

use keyplane_key::Naming;
use keyplane_kit::Fence;
use keyplane_kit::lease::Held;
use keyplane_mempool::keys::Keyspace;
use keyplane_mempool::model::{Input, Payload, Thresholds};
use keyplane_mempool::{Block, BlockHash, ChainEvent, Point, Pool, Settings, Stage, Status, Tx, TxHash};
use keyplane_store::{Options, Store};
use keyplane_testing::Place;

/// The thresholds of the original's tests.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.thresholds = Thresholds { finalize: 6, drop: 2 };
    settings
}

pub(crate) fn naming(place: &Place) -> Naming {
    Naming::new(place.namespace.clone(), place.hash_tags).unwrap()
}

/// A node of the pool: its own connections, its own id.
pub(crate) async fn node(place: &Place) -> Pool {
    node_with(place, settings()).await
}

pub(crate) async fn node_with(place: &Place, settings: Settings) -> Pool {
    place.contract(Keyspace::SOURCE);
    let store = Store::open(&place.url, Options::default()).await.expect("a store");
    let id = format!("{:08x}-0000-4000-8000-{:012x}", fastrand::u32(..), fastrand::u64(..1 << 48));
    Pool::new(&store, naming(place), &id, settings).unwrap()
}

/// A node that is the watcher.
pub(crate) struct Watcher {
    pub(crate) pool: Pool,
    held: Held,
}

impl Watcher {
    pub(crate) async fn new(place: &Place) -> Self {
        Self::of(node(place).await).await
    }

    pub(crate) async fn of(pool: Pool) -> Self {
        let lease = pool.lease().unwrap();
        let held = lease.try_acquire(pool.node_id()).await.unwrap().expect("the lock is free");
        Self { pool, held }
    }

    pub(crate) fn fence(&self) -> &Fence {
        self.held.fence().unwrap()
    }

    /// A block in the original's words.
    pub(crate) async fn sees(&self, seen: &[TxHash], unseen: &[TxHash]) {
        let point = Point { slot: fastrand::u64(1..1 << 40), hash: BlockHash::new(drawn()) };
        self.pool.confirm_seen(self.fence(), point, seen, unseen).await.unwrap();
    }

    pub(crate) async fn apply(&self, block: &Block) {
        self.pool.confirm(self.fence(), &ChainEvent::Forward(block.clone())).await.unwrap();
    }

    pub(crate) async fn back_to(&self, block: &Block) {
        self.pool.confirm(self.fence(), &ChainEvent::Back { to: block.point }).await.unwrap();
    }

    /// Takes a transaction in and has it acknowledged.
    pub(crate) async fn acknowledged(&self) -> TxHash {
        let hash = received(&self.pool).await;
        self.pool.mark_inflight(&[hash]).await.unwrap();
        self.pool.mark_acknowledged(&[hash]).await.unwrap();
        hash
    }
}

pub(crate) fn drawn() -> [u8; 32] {
    std::array::from_fn(|_| fastrand::u8(..))
}

/// A transaction that spends something of its own.
pub(crate) fn tx() -> Tx {
    spending(&[Input { tx: TxHash::new(drawn()), index: fastrand::u16(..100) }])
}

pub(crate) fn spending(inputs: &[Input]) -> Tx {
    let bytes = (0..fastrand::usize(100..400)).map(|_| fastrand::u8(..)).collect();
    Tx { hash: TxHash::new(drawn()), payload: Payload { era: 7, bytes }, inputs: inputs.to_vec() }
}

pub(crate) async fn received(pool: &Pool) -> TxHash {
    let tx = tx();
    pool.receive(&tx).await.unwrap();
    tx.hash
}

/// A block on another, or the first one.
pub(crate) fn block_on(below: Option<&Block>, txs: &[TxHash]) -> Block {
    Block {
        point: Point {
            slot: below.map_or(1000, |below| below.point.slot + 20),
            hash: BlockHash::new(drawn()),
        },
        height: below.map_or(70, |below| below.height + 1),
        prev: below.map_or(BlockHash::new([1; 32]), |below| below.point.hash),
        txs: txs.to_vec(),
    }
}

pub(crate) async fn status(pool: &Pool, tx: &TxHash) -> Status {
    pool.check_status(tx).await.unwrap().expect("it is known")
}

pub(crate) async fn stage(pool: &Pool, tx: &TxHash) -> Option<Stage> {
    pool.check_status(tx).await.unwrap().map(|status| status.stage)
}

/// The finished ones: id and stage.
pub(crate) async fn finished(pool: &Pool) -> Vec<(TxHash, Stage)> {
    let page = pool.dump_finalized(0, 10_000).await.unwrap();
    page.items.iter().map(|item| (item.entry.hash, item.entry.stage)).collect()
}

pub(crate) async fn queue(pool: &Pool) -> Vec<TxHash> {
    pool.peek_pending(10_000).await.unwrap().iter().map(|pending| pending.hash).collect()
}
