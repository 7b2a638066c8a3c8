//! Pools of a wanted size, and the work that is measured on them.

use keyplane_key::Naming;
use keyplane_kit::lease::Held;
use keyplane_mempool::model::{Input, Payload, Thresholds};
use keyplane_mempool::{Block, BlockHash, ChainEvent, Point, Pool, Settings, Tx, TxHash};
use keyplane_store::Store;

use crate::TASKS;

const BYTES: usize = 1024;

/// The id of the node; there is one.
const NODE: &str = "6f1d0c5e-3b1a-4c52-9c0e-8a7d5f2b9e14";

pub(crate) fn drawn() -> [u8; 32] {
    std::array::from_fn(|_| fastrand::u8(..))
}

/// Random bytes: nothing here looks into them.
pub(crate) fn payload() -> Payload {
    let mut bytes = vec![0; BYTES];
    fastrand::Rng::new().fill(&mut bytes);
    Payload { era: 7, bytes }
}

pub(crate) fn txs(count: usize) -> Vec<Tx> {
    let one = |_| {
        let input = Input { tx: TxHash::new(drawn()), index: fastrand::u16(..100) };
        Tx { hash: TxHash::new(drawn()), payload: payload(), inputs: vec![input] }
    };
    (0..count).map(one).collect()
}

/// Nothing is dropped: an empty block has nothing to do but to be applied.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.thresholds = Thresholds { finalize: 6, drop: 1_000_000 };
    settings.limits.count = 10_000_000;
    settings.limits.bytes = 10_000_000_000;
    settings
}

pub(crate) fn pool(store: &Store, name: &str) -> Pool {
    Pool::new(store, Naming::new(name, false).unwrap(), NODE, settings()).unwrap()
}

/// Receives them, many at a time.
pub(crate) async fn receive(pool: &Pool, txs: Vec<Tx>) {
    let mut tasks = Vec::new();
    let mut txs = txs.into_iter();
    let share = txs.len().div_ceil(TASKS);
    for _ in 0..TASKS {
        let (pool, share) = (pool.clone(), txs.by_ref().take(share).collect::<Vec<Tx>>());
        tasks.push(tokio::spawn(async move {
            for tx in &share {
                pool.receive(tx).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// Fills a pool, in portions: what is not yet sent takes memory too.
pub(crate) async fn fill(pool: &Pool, count: usize) -> Vec<TxHash> {
    let mut hashes = Vec::with_capacity(count);
    while hashes.len() < count {
        let portion = txs((count - hashes.len()).min(5_000));
        hashes.extend(portion.iter().map(|tx| tx.hash));
        receive(pool, portion).await;
    }
    hashes
}

/// Moves everything that waits, in the order of the queue.
pub(crate) async fn propagate(pool: &Pool) {
    loop {
        let hashes = waiting(pool, 100).await;
        if hashes.is_empty() {
            return;
        }
        pool.mark_inflight(&hashes).await.unwrap();
    }
}

/// The head of the queue.
pub(crate) async fn waiting(pool: &Pool, count: u64) -> Vec<TxHash> {
    pool.peek_pending(count).await.unwrap().iter().map(|pending| pending.hash).collect()
}

/// A pool that follows a chain.
pub(crate) struct Chain {
    pub(crate) pool: Pool,
    held: Held,
    tip: Block,
}

impl Chain {
    /// With one block, so that later ones are not the first.
    pub(crate) async fn new(pool: Pool) -> Self {
        let held = pool.lease().unwrap().acquire(pool.node_id()).await.unwrap();
        let tip = Block {
            point: Point { slot: 1000, hash: BlockHash::new(drawn()) },
            height: 70,
            prev: BlockHash::new([1; 32]),
            txs: Vec::new(),
        };
        let chain = Self { pool, held, tip };
        chain.apply(&chain.tip).await;
        chain
    }

    async fn apply(&self, block: &Block) {
        let fence = self.held.fence().unwrap();
        self.pool.confirm(fence, &ChainEvent::Forward(block.clone())).await.unwrap();
    }

    pub(crate) async fn grow(&mut self, txs: &[TxHash]) {
        let block = Block {
            point: Point { slot: self.tip.point.slot + 20, hash: BlockHash::new(drawn()) },
            height: self.tip.height + 1,
            prev: self.tip.point.hash,
            txs: txs.to_vec(),
        };
        self.apply(&block).await;
        self.tip = block;
    }

    pub(crate) async fn grow_empty(&mut self, blocks: usize) {
        for _ in 0..blocks {
            self.grow(&[]).await;
        }
    }

    /// So many transactions that went the whole way, in blocks of 300.
    pub(crate) async fn finish(&mut self, count: usize) -> Vec<TxHash> {
        let hashes = fill(&self.pool, count).await;
        propagate(&self.pool).await;
        for block in hashes.chunks(300) {
            self.grow(block).await;
        }
        self.grow_empty(6).await;
        let counts = self.pool.counts().await.unwrap();
        assert_eq!(counts.finalized, count as u64, "all of them are finished");
        hashes
    }
}
