//! Terms that begin only once a replica has them.

use std::time::Duration;

use keyplane_kit::lease::{LeaseError, Options};
use keyplane_testing::{Sentinel, run};

use crate::pair::{Pair, Side};
use crate::setup::east;

fn replicated(within: Duration) -> Options {
    let mut options = Options::default();
    options.replicas = 1;
    options.replicas_within = within;
    options
}

/// Long enough for any replica that lives.
const PATIENT: Duration = Duration::from_secs(10);

#[test]
fn with_a_live_replica_the_term_is_there_when_it_begins() {
    let pair = Pair::start();
    run(async move {
        let old = Side::of(&pair.primary).await;
        let lease = old.lease_with(&east(), replicated(PATIENT));
        let mut held = Vec::new();
        for _ in 0..5 {
            let term = lease.try_acquire("m").await.unwrap().expect("it is free");
            let (key, fence) = (lease.fence_key().to_string(), term.fence().unwrap().as_str().to_owned());
            let there: String = redis::cmd("GET").arg(key).query(&mut pair.replica.admin()).unwrap();
            assert_eq!(there, fence);
            held.push(fence);
            assert!(term.release().await.unwrap());
        }
        assert_eq!((lease.counters().acquired.get(), lease.counters().burnt.get()), (5, 0));
    });
}

#[test]
fn with_a_replica_that_is_cut_off_no_term_begins_and_its_fence_is_worth_nothing() {
    let pair = Pair::start();
    run(async move {
        let old = Side::of(&pair.primary).await;
        pair.cut();
        let pool = east();
        let lease = old.lease_with(&pool, replicated(Duration::from_millis(300)));
        let waiting = tokio::spawn({
            let lease = lease.clone();
            async move { lease.try_acquire("m").await }
        });
        // The fence that is being confirmed is in its key: whoever sees it there cannot use it later.
        let key = lease.fence_key().to_string();
        let seen = loop {
            let now: Option<String> = redis::cmd("GET").arg(&key).query(&mut pair.primary.admin()).unwrap();
            match now {
                Some(fence) if !fence.ends_with(":released") => break Some(fence),
                Some(_) => break None,
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        };
        let refused = waiting.await.unwrap();
        assert!(matches!(refused, Err(LeaseError::TooFewReplicas { wanted: 1, got: 0 })), "{refused:?}");
        let status = lease.status().await.unwrap();
        assert_eq!((status.holder, status.transitions), (None, 1));
        let burnt = status.fence.unwrap();
        assert!(burnt.ends_with(":released"), "{burnt}");
        assert!(seen.is_none_or(|seen| seen != burnt));
        assert_eq!((lease.counters().acquired.get(), lease.counters().burnt.get()), (0, 1));
        // One who does not ask for replicas has it at once, in a term of its own.
        let held = old.take(&pool, "n").await;
        let fence = held.fence().unwrap().clone();
        let burnt: u64 = burnt.split_once(':').unwrap().0.parse().unwrap();
        assert!(fence.term().number() > burnt);
        assert!(old.write(&pool, &fence).await);
    });
}

#[test]
fn behind_sentinels_a_term_survives_the_failover_that_it_waited_for() {
    let sentinel = Sentinel::start();
    run(async move {
        let side = Side::at(&sentinel.url()).await;
        let pool = east();
        let mut both = replicated(PATIENT);
        both.replicas = 2;
        let lease = side.lease_with(&pool, both);
        let held = lease.try_acquire("m").await.unwrap().expect("it is free");
        let fence = held.fence().unwrap().clone();
        assert!(side.write(&pool, &fence).await);
        tokio::task::block_in_place(|| sentinel.failover());
        // The promoted one has the term: its holder goes on, and nobody else gets it.
        assert!(side.lease(&pool).try_acquire("n").await.unwrap().is_none());
        assert!(side.write(&pool, &fence).await);
        assert!(held.release().await.unwrap());
        assert!(!side.write(&pool, &fence).await);
    });
}
