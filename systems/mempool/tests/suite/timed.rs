//! What time does, in virtual time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyplane_key::Naming;
use keyplane_mempool::ports::{Answer, Away, Peer};
use keyplane_mempool::run::propagate;
use keyplane_mempool::state::{Offer, PeerName};
use keyplane_mempool::{ChainEvent, Node, Pool, Settings, Stage, TxHash};
use keyplane_store::{Options, Store};
use keyplane_testing::VirtualEngine;
use tokio::time::{Instant, sleep};

use crate::setup::{Watcher, block_on, settings, stage, tx};

pub(crate) async fn pool(engine: &VirtualEngine, settings: Settings) -> Pool {
    let store = Store::on_engine(engine.live().clone(), Options::default()).await.unwrap();
    let id = format!("{:08x}-0000-4000-8000-{:012x}", fastrand::u32(..), fastrand::u64(..1 << 48));
    Pool::new(&store, Naming::new("dolos:mempool", false).unwrap(), &id, settings).unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_waited_too_long_is_dropped_and_what_was_offered_is_not() {
    let engine = VirtualEngine::start(1);
    let mut settings = settings();
    settings.limits.age = Duration::from_secs(3600);
    // Longer than the test, so that nobody has to renew it.
    settings.watcher_lock_ttl = Duration::from_secs(24 * 3600);
    let watcher = Watcher::of(pool(&engine, settings).await).await;
    let (old, offered, young) = (tx(), tx(), tx());
    watcher.pool.receive(&old).await.unwrap();
    watcher.pool.receive(&offered).await.unwrap();
    watcher.pool.mark_inflight(&[offered.hash]).await.unwrap();
    engine.advance(Duration::from_secs(1800)).await;
    watcher.pool.receive(&young).await.unwrap();
    engine.advance(Duration::from_secs(1800)).await;
    assert_eq!(watcher.pool.expire(watcher.fence()).await.unwrap(), 0, "an hour is not more than an hour");
    assert_eq!(watcher.pool.pulse().await.unwrap().oldest_pending, Some(Duration::from_secs(3600)));
    engine.advance(Duration::from_secs(1)).await;
    assert_eq!(watcher.pool.expire(watcher.fence()).await.unwrap(), 1);
    assert_eq!(stage(&watcher.pool, &old.hash).await, Some(Stage::Dropped));
    assert_eq!(stage(&watcher.pool, &offered.hash).await, Some(Stage::Propagated));
    assert_eq!(stage(&watcher.pool, &young.hash).await, Some(Stage::Pending));
    // Its input is free, and it may try again.
    watcher.pool.receive(&old).await.unwrap();
    assert_eq!(watcher.pool.pulse().await.unwrap().totals.received, 4);
}

#[tokio::test(start_paused = true)]
async fn the_next_block_is_applied_within_the_ttl_and_a_second_of_the_watchers_death() {
    let engine = VirtualEngine::start(1);
    let ttl = Settings::default().watcher_lock_ttl;
    let mut tip = None;
    for moment in [0, 1, 1700, 3333, 4999, 9999] {
        let (first, second) = (pool(&engine, settings()).await, pool(&engine, settings()).await);
        let watcher = Node::start(first.clone(), first.lease().unwrap());
        while watcher.watch().fence().is_none() {
            sleep(Duration::from_millis(1)).await;
        }
        let follower = Node::start(second.clone(), second.lease().unwrap());
        let block = block_on(tip.as_ref(), &[]);
        for node in [&watcher, &follower] {
            node.confirm(&ChainEvent::Forward(block.clone())).await.unwrap();
        }
        assert_eq!(second.tip().await.unwrap().map(|tip| tip.point), Some(block.point));
        let held = tx();
        second.receive(&held).await.unwrap();
        sleep(Duration::from_millis(moment)).await;

        // As by kill -9: the lock is not given back.
        drop(watcher);
        let dead = Instant::now();
        let next = block_on(Some(&block), &[held.hash]);
        follower.confirm(&ChainEvent::Forward(next.clone())).await.unwrap();
        while second.tip().await.unwrap().map(|tip| tip.point) != Some(next.point) {
            sleep(Duration::from_millis(10)).await;
        }
        let taken = dead.elapsed();
        assert!(taken <= ttl + Duration::from_secs(1), "{taken:?} after a death at {moment} ms");
        assert_eq!(stage(&second, &held.hash).await, Some(Stage::Confirmed), "nothing is lost");
        follower.stop().await;
        tip = Some(next);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_node_has_claimed_is_offered_by_another() {
    let engine = VirtualEngine::start(1);
    let (dead, other) = (pool(&engine, settings()).await, pool(&engine, settings()).await);
    let tx = tx();
    dead.receive(&tx).await.unwrap();
    dead.mark_inflight(&[tx.hash]).await.unwrap();
    let relay = "relay-1".parse().unwrap();
    assert_eq!(dead.claim(&relay, 10, None).await.unwrap().offers.len(), 1);
    engine.advance(Duration::from_millis(14_999)).await;
    assert_eq!(other.claim(&relay, 10, None).await.unwrap().offers, []);
    engine.advance(Duration::from_millis(1)).await;
    let offers = other.claim(&relay, 10, None).await.unwrap().offers;
    assert_eq!(offers.iter().map(|offer| offer.hash).collect::<Vec<_>>(), [tx.hash]);
}

/// A peer that goes away once, in the middle of what it is offered.
struct Flaky {
    name: PeerName,
    heard: Arc<Mutex<Vec<TxHash>>>,
}

impl Peer for Flaky {
    fn name(&self) -> &PeerName {
        &self.name
    }

    async fn reach(&self) -> Result<(), Away> {
        Ok(())
    }

    async fn offer(&self, tx: &Offer) -> Result<Answer, Away> {
        let mut heard = self.heard.lock().unwrap();
        heard.push(tx.hash);
        if heard.len() == 4 { Err(Away("cut".to_owned())) } else { Ok(Answer::Taken) }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_peer_that_went_away_was_not_offered_does_not_wait_for_its_claim_to_run_out() {
    let engine = VirtualEngine::start(1);
    let pool = pool(&engine, settings()).await;
    let mut all = Vec::new();
    for _ in 0..10 {
        let tx = tx();
        pool.receive(&tx).await.unwrap();
        all.push(tx.hash);
    }
    let heard = Arc::default();
    let peer = Flaky { name: "relay-1".parse().unwrap(), heard: Arc::clone(&heard) };
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let offering = tokio::spawn(propagate(pool, peer, stopped));
    // Claims stand for fifteen.
    sleep(Duration::from_secs(5)).await;
    stop.send(true).unwrap();
    offering.await.unwrap();
    let mut heard = std::mem::take(&mut *heard.lock().unwrap());
    assert_eq!(heard[..4], all[..4]);
    // The fourth may have reached it or not. What it took before it went away it may have forgotten.
    let mut again = heard.split_off(4);
    again.sort_unstable();
    all.sort_unstable();
    assert_eq!(again, all);
}
