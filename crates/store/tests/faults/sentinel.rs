//! Sentinels: the master dies, or is replaced by plan.

use std::sync::Arc;
use std::time::Duration;

use keyplane_testing::Sentinel;

use crate::rig::{Rig, options, test};
use crate::setup::order;

async fn rig(sentinel: &Sentinel) -> Rig {
    let mut options = options();
    options.command_timeout = Duration::from_secs(2);
    Rig::open_with(&sentinel.url(), options).await
}

#[test]
fn the_new_master_is_found() {
    test(async {
        let sentinel = Sentinel::start();
        let rig = rig(&sentinel).await;
        let book = rig.keys.order(&order("b"));
        rig.clerk.run(book.hset([("state", "open")])).await.unwrap();
        let old = sentinel.kill_master();
        if let Err(error) = rig.add("b", 1).await {
            assert!(error.is_retryable(), "{error}");
        }
        rig.heals("b").await;
        // A script that the new master has never seen.
        rig.clerk.run(book.hset([("note", "after")])).await.unwrap();
        assert_ne!(sentinel.master(), old);
    });
}

#[test]
fn a_planned_failover_repeats_nothing() {
    test(async {
        let sentinel = Arc::new(Sentinel::start());
        let rig = rig(&sentinel).await;
        let failover = tokio::task::spawn_blocking({
            let sentinel = Arc::clone(&sentinel);
            move || sentinel.failover()
        });
        let (mut sure, mut open) = (0_i64, 0);
        while !failover.is_finished() || sure < 50 {
            match rig.add("b", 1).await {
                Ok(_) => sure += 1,
                Err(error) if error.maybe_applied() => open += 1,
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        }
        failover.await.unwrap();
        rig.heals("c").await;
        // The old master may have answered what its replicas never got: Redis promises no more than that.
        let count = rig.count("b").await;
        assert!(count <= sure + open, "{count}: {sure} sure, {open} open");
    });
}
