//! The eleven behaviours that every store of the original shows: finalized after six blocks, dropped after two misses.

use std::time::Duration;

use keyplane_mempool::{BlockHash, MempoolStore, Node, Point, Stage, TxHash};
use keyplane_testing::{Place, every_store};

use crate::setup::{Watcher, drawn, finished, node, received, stage, status};

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

#[every_store(except(unix, tls))]
async fn a_point_that_was_told_before_is_no_block_again(place: Place) {
    let watcher = Watcher::new(&place).await;
    let tx = watcher.acknowledged().await;
    // More than are looked at in one round trip.
    let points: Vec<Point> = (1..=70).map(|slot| Point { slot, hash: BlockHash::new(drawn()) }).collect();
    let tell = async |point, seen: &[TxHash]| {
        watcher.pool.confirm_seen(watcher.fence(), point, seen, &[]).await.unwrap();
    };
    tell(points[0], &[tx]).await;
    for point in &points[1..] {
        tell(*point, &[]).await;
    }
    let tip = watcher.pool.tip().await.unwrap();
    for again in [points[0], points[1], points[68], points[69]] {
        tell(again, &[tx]).await;
    }
    assert_eq!(watcher.pool.tip().await.unwrap(), tip);
    assert_eq!(status(&watcher.pool, &tx).await.confirmed_at, Some(points[0]));
}

/// A peer's answer may come between the look and the step: the step is planned again.
#[every_store(except(unix, tls))]
async fn what_is_unseen_is_given_back_whatever_happens_meanwhile(place: Place) {
    let watcher = Watcher::new(&place).await;
    let other = node(&place).await;
    for later in 0..50 {
        let tx = [received(&other).await];
        other.mark_inflight(&tx).await.unwrap();
        let acknowledged = async {
            for _ in 0..later {
                tokio::task::yield_now().await;
            }
            other.mark_acknowledged(&tx).await.unwrap();
        };
        tokio::join!(watcher.sees(&[], &tx), acknowledged);
        assert_eq!(stage(&other, &tx[0]).await, Some(Stage::Pending));
    }
}

/// Without a lock of its own to show: the node knows whether it is the watcher.
#[every_store(except(unix, tls))]
async fn a_node_understands_the_words_of_the_original(place: Place) {
    let (first, second) = (node(&place).await, node(&place).await);
    let watcher = Node::start(first.clone(), first.lease().unwrap());
    while watcher.watch().fence().is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let other = Node::start(second.clone(), second.lease().unwrap());
    let tx = [received(&first).await];
    let at = |slot| Point { slot, hash: BlockHash::new([slot as u8; 32]) };
    MempoolStore::confirm_seen(&other, at(1), &tx, &[]).await.unwrap();
    assert_eq!(first.tip().await.unwrap(), None, "another one is the watcher");
    for slot in 1..=6 {
        MempoolStore::confirm_seen(&watcher, at(slot), &tx, &[]).await.unwrap();
    }
    assert_eq!(stage(&first, &tx[0]).await, Some(Stage::Finalized));
    other.stop().await;
    watcher.stop().await;
}
