//! A cluster: resharding under load, a master that dies, a planned failover.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyplane_store::Cause;
use keyplane_testing::{Cluster, Program, Slot};

use crate::rig::{Rig, is_open, options, test};
use crate::setup::{bin, order};

async fn rig(cluster: &Cluster) -> Rig {
    let mut options = options();
    // A redirect costs round trips, and a failover is waited for.
    options.command_timeout = Duration::from_secs(2);
    Rig::open_with(&cluster.url(), options).await
}

fn slot_of(rig: &Rig, id: &str) -> Slot {
    Slot::of(rig.keys.stock(&bin(id)).as_str())
}

#[test]
fn a_slot_moves_while_it_is_written() {
    test(async {
        let cluster = Arc::new(Cluster::start(Program::Redis, 3, 0));
        let rig = rig(&cluster).await;
        let slot = slot_of(&rig, "b");
        let from = cluster.node_of_slot(slot);
        let to = cluster.nodes().find(|node| *node != from).unwrap();

        let stop = Arc::new(AtomicBool::new(false));
        let writer = tokio::spawn({
            let (rig, stop) = (rig.clone(), Arc::clone(&stop));
            async move {
                let mut written = 0;
                while !stop.load(Ordering::Relaxed) {
                    written += 1;
                    assert_eq!(rig.add("b", 1).await.unwrap(), written);
                    rig.label("b", &written.to_string()).await.unwrap();
                    let results = rig
                        .clerk
                        .pipeline()
                        .run(rig.keys.label(&bin("b")).get())
                        .run(rig.keys.moves(&bin("b")).zadd([(written as f64, "ann")]))
                        .run(rig.keys.stock(&bin("elsewhere")).get())
                        .send()
                        .await;
                    assert!(results.iter().all(Result::is_ok), "{results:?}");
                }
                written
            }
        });
        let moves = tokio::task::spawn_blocking({
            let cluster = Arc::clone(&cluster);
            move || {
                for (from, to) in [(from, to), (to, from)] {
                    std::thread::sleep(Duration::from_millis(100));
                    cluster.migrate_slot_begin(slot, from, to);
                    std::thread::sleep(Duration::from_millis(100));
                    cluster.migrate_keys(slot);
                    std::thread::sleep(Duration::from_millis(100));
                    cluster.migrate_slot_end(slot);
                }
            }
        });
        moves.await.unwrap();
        stop.store(true, Ordering::Relaxed);
        let written = writer.await.unwrap();
        assert!(written > 10, "{written}");
        assert_eq!(rig.count("b").await, written);
    });
}

#[test]
fn a_master_that_dies_is_replaced() {
    test(async {
        let cluster = Cluster::start(Program::Redis, 3, 1);
        let rig = rig(&cluster).await;
        // A script that the replica has never seen.
        let book = rig.keys.order(&order("b"));
        rig.clerk.run(book.hset([("state", "open")])).await.unwrap();
        let master = cluster.node_of_slot(slot_of(&rig, "b"));
        cluster.kill(master);
        if let Err(error) = rig.add("b", 1).await {
            assert!(is_open(&error) || !error.maybe_applied(), "{error}");
            assert!(error.is_retryable(), "{error}");
        }
        rig.heals("b").await;
        rig.clerk.run(book.hset([("note", "after")])).await.unwrap();
        assert_ne!(cluster.node_of_slot(slot_of(&rig, "b")), master);
    });
}

#[test]
fn a_planned_failover_repeats_nothing() {
    test(async {
        let cluster = Arc::new(Cluster::start(Program::Redis, 3, 1));
        let rig = rig(&cluster).await;
        let master = cluster.node_of_slot(slot_of(&rig, "b"));
        let failover = tokio::task::spawn_blocking({
            let cluster = Arc::clone(&cluster);
            move || cluster.failover(master)
        });
        let (mut sure, mut open) = (0, 0);
        while !failover.is_finished() || sure < 50 {
            match rig.add("b", 1).await {
                Ok(_) => sure += 1,
                Err(error) if error.maybe_applied() => open += 1,
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        }
        failover.await.unwrap();
        let count = rig.count("b").await;
        assert!(count >= sure && count <= sure + open, "{count}: {sure} sure, {open} open");
    });
}

#[test]
fn keys_of_one_step_must_share_a_slot() {
    test(async {
        let cluster = Cluster::start(Program::Redis, 3, 0);
        let rig = rig(&cluster).await;
        let (one, other) = (rig.keys.lines(&order("one")), rig.keys.order(&order("other")));
        let error = rig.clerk.run(one.rpush("x").linked_to(&other)).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::CrossSlot(..)), "{error}");
    });
}
