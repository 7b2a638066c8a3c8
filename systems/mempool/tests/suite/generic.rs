//! The eleven behaviours that every store of the original shows: finalized after six blocks, dropped after two misses.

use keyplane_mempool::Stage;
use keyplane_testing::{Place, every_store};

use crate::setup::{Watcher, finished, received, stage, status};

#[every_store(except(unix, tls))]
async fn finalized_after_the_threshold(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = watcher.acknowledged().await;
    for _ in 0..6 {
        watcher.sees(&[tx], &[]).await;
    }
    assert_eq!(finished(&watcher.pool).await, [(tx, Stage::Finalized)]);
}

#[every_store(except(unix, tls))]
async fn dropped_after_the_threshold(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = watcher.acknowledged().await;
    watcher.sees(&[], &[]).await;
    watcher.sees(&[], &[]).await;
    assert_eq!(finished(&watcher.pool).await, [(tx, Stage::Dropped)]);
}

#[every_store(except(unix, tls))]
async fn a_block_resets_the_misses(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = watcher.acknowledged().await;
    watcher.sees(&[], &[]).await;
    assert_eq!(status(&watcher.pool, &tx).await.non_confirmations, 1);
    watcher.sees(&[tx], &[]).await;
    let after = status(&watcher.pool, &tx).await;
    assert_eq!((after.stage, after.confirmations, after.non_confirmations), (Stage::Confirmed, 1, 0));
}

#[every_store(except(unix, tls))]
async fn an_undone_block_gives_its_transactions_back(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = watcher.acknowledged().await;
    watcher.sees(&[tx], &[]).await;
    watcher.sees(&[], &[tx]).await;
    assert_eq!(stage(&watcher.pool, &tx).await, Some(Stage::Pending));
    assert!(watcher.pool.has_pending().await.unwrap());
}

#[every_store(except(unix, tls))]
async fn confirmed_again_after_a_rollback(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = watcher.acknowledged().await;
    watcher.sees(&[tx], &[]).await;
    watcher.sees(&[], &[tx]).await;
    watcher.pool.mark_inflight(&[tx]).await.unwrap();
    watcher.pool.mark_acknowledged(&[tx]).await.unwrap();
    for _ in 0..6 {
        watcher.sees(&[tx], &[]).await;
    }
    assert_eq!(finished(&watcher.pool).await, [(tx, Stage::Finalized)]);
}

#[every_store(except(unix, tls))]
async fn not_finalized_before_the_threshold(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = watcher.acknowledged().await;
    for _ in 0..5 {
        watcher.sees(&[tx], &[]).await;
    }
    assert_eq!(stage(&watcher.pool, &tx).await, Some(Stage::Confirmed));
    assert_eq!(finished(&watcher.pool).await, []);
}

#[every_store(except(unix, tls))]
async fn not_dropped_before_the_threshold(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = watcher.acknowledged().await;
    watcher.sees(&[], &[]).await;
    assert_eq!(stage(&watcher.pool, &tx).await, Some(Stage::Acknowledged));
    assert_eq!(finished(&watcher.pool).await, []);
}

#[every_store(except(unix, tls))]
async fn one_seen_and_another_unseen_at_once(place: Place) {
    let watcher = Watcher::new(&place).await;
    let (one, other) = (watcher.acknowledged().await, watcher.acknowledged().await);
    watcher.sees(&[one], &[other]).await;
    assert_eq!(stage(&watcher.pool, &one).await, Some(Stage::Confirmed));
    assert_eq!(stage(&watcher.pool, &other).await, Some(Stage::Pending));
}

#[every_store(except(unix, tls))]
async fn seen_once_it_grows_deeper_with_every_block(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = watcher.acknowledged().await;
    watcher.sees(&[tx], &[]).await;
    for depth in 2..6 {
        watcher.sees(&[], &[]).await;
        let now = status(&watcher.pool, &tx).await;
        assert_eq!((now.stage, now.confirmations), (Stage::Confirmed, depth));
    }
    watcher.sees(&[], &[]).await;
    assert_eq!(finished(&watcher.pool).await, [(tx, Stage::Finalized)]);
}

#[every_store(except(unix, tls))]
async fn never_acknowledged_it_is_finalized_all_the_same(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = received(&watcher.pool).await;
    watcher.pool.mark_inflight(&[tx]).await.unwrap();
    for _ in 0..6 {
        watcher.sees(&[tx], &[]).await;
    }
    assert_eq!(finished(&watcher.pool).await, [(tx, Stage::Finalized)]);
}

#[every_store(except(unix, tls))]
async fn never_acknowledged_it_is_dropped_all_the_same(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = received(&watcher.pool).await;
    watcher.pool.mark_inflight(&[tx]).await.unwrap();
    watcher.sees(&[], &[]).await;
    watcher.sees(&[], &[]).await;
    assert_eq!(finished(&watcher.pool).await, [(tx, Stage::Dropped)]);
}
