//! The real chain, replayed: against the plain reading of the recording.

use std::collections::HashMap;

use keyplane_mempool::ports::recorded::{longest_chain, read_blocks, read_txs};
use keyplane_mempool::run::Replay;
use keyplane_mempool::{Point, Stage, Tx, TxHash};
use keyplane_testing::{Place, VirtualEngine, every_store, recording};

use crate::setup::{Watcher, block_on, finished, node_with, settings, tx};
use crate::timed;

#[every_store(except(unix, tls, valkey, sentinel))]
async fn the_real_chain_is_finalized_whatever_is_rolled_back(place: Place) {
    let test = "the_real_chain_is_finalized_whatever_is_rolled_back";
    let files = (recording(test, "cardano/blocks.jsonl"), recording(test, "cardano/txs.jsonl"));
    let (Some(blocks), Some(txs)) = files else { return };
    let chain = longest_chain(read_blocks(&blocks).unwrap());
    let txs = read_txs(&txs).unwrap();
    assert_eq!((chain.len(), txs.len()), (913, 1715));

    let mut settings = settings();
    settings.thresholds.drop = 30;
    let watcher = Watcher::of(node_with(&place, settings).await).await;
    let mut replay = Replay::new(&watcher.pool, watcher.fence(), &txs);
    let seed = fastrand::get_seed();
    println!("seed {seed}");
    let mut undone = 0;
    for (number, block) in chain.iter().enumerate() {
        replay.apply(block).await.unwrap();
        if number % 50 == 49 {
            let depth = fastrand::usize(1..=20);
            watcher.back_to(&chain[number - depth]).await;
            undone += depth;
            for again in &chain[number - depth + 1..=number] {
                watcher.apply(again).await;
            }
        }
    }
    let done = replay.settle().await.unwrap();
    println!("{done:?}, {undone} blocks undone");
    assert_eq!(
        (done.blocks, done.received, done.finalized, done.dropped, done.pending),
        (913, 834, 834, 0, 0)
    );

    let truth: HashMap<TxHash, Point> =
        chain.iter().flat_map(|block| block.txs.iter().map(|tx| (*tx, block.point))).collect();
    assert_eq!(truth.len(), 834);
    let log = finished(&watcher.pool).await;
    assert!(log.iter().all(|(tx, stage)| truth.contains_key(tx) && *stage == Stage::Finalized));
    let hashes: Vec<TxHash> = log.iter().map(|(tx, _)| *tx).collect();
    let tip = watcher.pool.tip().await.unwrap().unwrap().height;
    let heights: HashMap<Point, u64> = chain.iter().map(|block| (block.point, block.height)).collect();
    for (tx, status) in hashes.iter().zip(watcher.pool.check_all(&hashes).await.unwrap()) {
        let status = status.unwrap();
        assert_eq!(status.confirmed_at, Some(truth[tx]));
        assert_eq!(status.confirmations, tip - heights[&truth[tx]] + 1);
    }
}

/// What is kept is no measure of what was done.
#[tokio::test]
async fn a_short_log_makes_the_count_no_smaller() {
    let (engine, mut settings) = (VirtualEngine::start(1), settings());
    settings.max_finalized = 3;
    let watcher = Watcher::of(timed::pool(&engine, settings).await).await;
    let txs: HashMap<TxHash, Tx> = (0..21).map(|_| tx()).map(|tx| (tx.hash, tx)).collect();
    let hashes: Vec<TxHash> = txs.keys().copied().collect();
    let mut replay = Replay::new(&watcher.pool, watcher.fence(), &txs);
    let mut tip = block_on(None, &hashes[..1]);
    replay.apply(&tip).await.unwrap();
    for txs in hashes[1..].chunks(5) {
        tip = block_on(Some(&tip), txs);
        replay.apply(&tip).await.unwrap();
    }
    let done = replay.settle().await.unwrap();
    assert_eq!((done.blocks, done.received, done.finalized, done.dropped), (5, 21, 21, 0));
    assert_eq!(finished(&watcher.pool).await.len(), 3);
}
