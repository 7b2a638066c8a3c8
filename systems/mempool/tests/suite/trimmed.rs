//! The log of finished ones is short, and what is in it comes back.

use std::collections::HashMap;
use std::time::Duration;

use fastrand::Rng;
use keyplane_kit::events::Position;
use keyplane_mempool::state::{Change, ReceiveError};
use keyplane_mempool::{Block, Pool, Settings, Stage, Tx, TxHash};
use keyplane_testing::{Place, VirtualEngine, every_store};

use crate::setup::{Watcher, block_on, finished, node_with, settings, stage, tx};
use crate::timed;

fn keeping(most: u64) -> Settings {
    let mut settings = settings();
    settings.max_finalized = most;
    settings.thresholds.finalize = 1;
    settings.thresholds.drop = 1;
    settings
}

/// Its old entry is the oldest, and makes room by itself.
#[every_store(except(unix, tls))]
async fn one_that_was_dropped_and_is_finalized_after_all_is_kept(place: Place) {
    let watcher = Watcher::of(node_with(&place, keeping(1)).await).await;
    let tx = tx();
    watcher.pool.receive(&tx).await.unwrap();
    watcher.pool.mark_inflight(&[tx.hash]).await.unwrap();
    let mut tip = block_on(None, &[]);
    watcher.apply(&tip).await;
    tip = block_on(Some(&tip), &[]);
    watcher.apply(&tip).await;
    assert_eq!(stage(&watcher.pool, &tx.hash).await, Some(Stage::Dropped));

    watcher.pool.receive(&tx).await.unwrap();
    tip = block_on(Some(&tip), &[tx.hash]);
    watcher.apply(&tip).await;
    watcher.apply(&block_on(Some(&tip), &[])).await;
    assert_eq!(finished(&watcher.pool).await, [(tx.hash, Stage::Finalized)]);
    assert_eq!(stage(&watcher.pool, &tx.hash).await, Some(Stage::Finalized));
    let again = watcher.pool.receive(&tx).await.unwrap_err();
    assert!(matches!(again, ReceiveError::Duplicate { stage: Stage::Finalized, .. }), "{again}");
}

/// A block may finish more than are kept at all.
#[every_store(except(unix, tls))]
async fn no_step_leaves_more_than_are_kept(place: Place) {
    let watcher = Watcher::of(node_with(&place, keeping(3)).await).await;
    let mut txs = Vec::new();
    for _ in 0..10 {
        txs.push(watcher.acknowledged().await);
    }
    watcher.apply(&block_on(None, &txs)).await;
    let kept = finished(&watcher.pool).await;
    assert_eq!(kept.len(), 3);
    for tx in &txs {
        let is_kept = kept.contains(&(*tx, Stage::Finalized));
        assert_eq!(stage(&watcher.pool, tx).await, is_kept.then_some(Stage::Finalized));
    }
    let page = watcher.pool.dump_finalized(1, 10).await.unwrap();
    assert_eq!(page.trimmed_to, Some(7));
}

/// What the pool should hold by its events, as plain lists.
struct Plain {
    most: usize,
    stages: HashMap<TxHash, Stage>,
    /// The oldest first. A dropped one that was sent again keeps its entry until it has another.
    log: Vec<(TxHash, Stage)>,
    read: Position,
}

impl Plain {
    fn new(most: usize) -> Self {
        Self { most, stages: HashMap::new(), log: Vec::new(), read: Position::Beginning }
    }

    async fn follow(&mut self, pool: &Pool) {
        let batch = pool.events().read(self.read, 1000).await.unwrap();
        assert_eq!(batch.gaps, []);
        self.read = batch.next;
        for change in batch.events.iter().map(|event| Change::read(event).unwrap()) {
            let was_undone = change.from.is_some_and(Stage::is_final) && change.reason != "received";
            if change.stage.is_final() || was_undone {
                self.log.retain(|(tx, _)| *tx != change.hash);
            }
            if change.stage.is_final() {
                self.log.push((change.hash, change.stage));
            }
            self.stages.insert(change.hash, change.stage);
        }
        let over = self.log.len().saturating_sub(self.most);
        for (tx, _) in self.log.drain(..over) {
            if self.stages.get(&tx).is_some_and(|stage| stage.is_final()) {
                self.stages.remove(&tx);
            }
        }
    }

    async fn check(&self, pool: &Pool, txs: &[Tx], what: &str) {
        assert_eq!(finished(pool).await, self.log, "{what}");
        let hashes: Vec<TxHash> = txs.iter().map(|tx| tx.hash).collect();
        for (tx, status) in hashes.iter().zip(pool.check_all(&hashes).await.unwrap()) {
            assert_eq!(status.map(|status| status.stage), self.stages.get(tx).copied(), "{tx} {what}");
        }
    }
}

/// A few transactions are sent, missed, sent again, put into blocks and taken out of them, and few are kept: what the events have
/// told is what is there.
#[tokio::test(start_paused = true)]
async fn what_is_kept_is_what_the_events_have_told() {
    for seed in 0..40 {
        let mut rng = Rng::with_seed(seed);
        let most = rng.u64(1..4);
        let engine = VirtualEngine::start(seed);
        let mut settings = keeping(most);
        // Longer than the test, so that nobody has to renew it.
        settings.watcher_lock_ttl = Duration::from_secs(24 * 3600);
        let watcher = Watcher::of(timed::pool(&engine, settings).await).await;
        let txs: Vec<Tx> = (0..5).map(|_| tx()).collect();
        let mut chain = vec![block_on(None, &[])];
        watcher.apply(&chain[0]).await;
        let mut plain = Plain::new(most as usize);
        for step in 0..80 {
            let what = one_step(&watcher, &txs, &mut chain, &mut rng).await;
            plain.follow(&watcher.pool).await;
            plain.check(&watcher.pool, &txs, &format!("after {what} in step {step} of seed {seed}")).await;
        }
    }
}

async fn one_step(watcher: &Watcher, txs: &[Tx], chain: &mut Vec<Block>, rng: &mut Rng) -> &'static str {
    match rng.u8(..8) {
        0..=3 => {
            let tx = &txs[rng.usize(..txs.len())];
            match watcher.pool.receive(tx).await {
                Ok(_) | Err(ReceiveError::Duplicate { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            if rng.bool() {
                watcher.pool.mark_inflight(&[tx.hash]).await.unwrap();
            }
            "receiving"
        }
        4..=6 => {
            let held = |tx: &TxHash| chain.iter().any(|block| block.txs.contains(tx));
            let free = txs.iter().map(|tx| tx.hash).filter(|tx| !held(tx));
            let seen: Vec<TxHash> = free.filter(|_| rng.u8(..3) == 0).collect();
            chain.push(block_on(chain.last(), &seen));
            watcher.apply(&chain[chain.len() - 1]).await;
            "a block"
        }
        _ => {
            chain.truncate(rng.usize(1..=chain.len()).max(chain.len().saturating_sub(3)));
            watcher.back_to(&chain[chain.len() - 1]).await;
            "an undo"
        }
    }
}
