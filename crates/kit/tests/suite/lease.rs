//! The lease on every store.

use std::time::Duration;

use keyplane_kit::lease::{Held, Lease};
use keyplane_store::Handle;
use keyplane_testing::{Place, every_store};

use crate::setup::{Keyspace, east, eventually, keys, machine, patient, scripts};

fn lease(handle: &Handle, keys: &Keyspace) -> Lease {
    Lease::new(handle, keys.leader(&east())).unwrap()
}

/// Writes the plan as whoever showed this fence.
async fn decide(handle: &Handle, keys: &Keyspace, held: &Held, plan: &str) -> String {
    let fence = held.fence().unwrap();
    let call = scripts::Decide {
        leader_fence: fence.key(),
        plan: &keys.plan(&east()),
        fence: fence.into(),
        decision: plan.into(),
    };
    handle.call(call).await.unwrap()
}

#[every_store(except(unix, tls))]
async fn one_holds_it_and_the_next_term_fences_the_last(place: Place) {
    let (a, b, keys) = (machine(&place).await, machine(&place).await, keys(&place));
    let (of_a, of_b) = (lease(&a, &keys), lease(&b, &keys));
    let first = of_a.try_acquire("a").await.unwrap().expect("it is free");
    assert!(of_b.try_acquire("b").await.unwrap().is_none());
    assert_eq!(of_b.status().await.unwrap().holder.as_deref(), Some("a"));
    assert_eq!(decide(&a, &keys, &first, "one").await, "");

    // The lock is gone, as if it had run out while `a` was paused.
    let lock = keys.leader(&east());
    place.raw::<i64>(lock.as_str(), &["DEL", lock.as_str()]);
    let second = of_b.try_acquire("b").await.unwrap().expect("it is free again");
    assert!(second.fence().unwrap().term() > first.fence().unwrap().term());
    assert_eq!(decide(&b, &keys, &second, "two").await, "one");
    // `a` still believes, and is refused.
    assert_eq!(decide(&a, &keys, &first, "stale").await, "fenced");
    assert!(!first.release().await.unwrap(), "it was no longer ours");
    assert_eq!(decide(&b, &keys, &second, "three").await, "two");

    let fence = second.fence().unwrap().clone();
    assert!(second.release().await.unwrap());
    let status = of_a.status().await.unwrap();
    assert_eq!((status.holder, status.transitions), (None, 2));
    assert_eq!(status.fence, Some(format!("{}:released", fence.term())));
}

#[every_store(except(unix, tls))]
async fn a_release_wakes_whoever_waits(place: Place) {
    let hour = Duration::from_secs(3600);
    let (a, b, keys) = (patient(&place, hour).await, patient(&place, hour).await, keys(&place));
    let first = lease(&a, &keys).acquire("a").await.unwrap();
    let waiter = lease(&b, &keys);
    let waiting = tokio::spawn({
        let waiter = waiter.clone();
        async move { waiter.acquire("b").await }
    });
    eventually(|| waiter.counters().contended.get() == 1).await;
    assert!(first.release().await.unwrap());
    let held = waiting.await.unwrap().unwrap();
    // It asked twice: once in vain and once when it was woken. One that polls asks more often, and one that is not woken
    // waits for the hour of the lock.
    assert_eq!((waiter.counters().contended.get(), waiter.counters().acquired.get()), (1, 1));
    held.release().await.unwrap();
}

#[every_store(except(unix, tls))]
async fn one_who_lives_elsewhere_holds_it_by_what_it_was_told(place: Place) {
    let (handle, keys) = (machine(&place).await, keys(&place));
    // Each request may come to another process: nothing is kept between them.
    let told = lease(&handle, &keys).take("guest").await.unwrap().expect("it is free").as_str().to_owned();
    assert_eq!(lease(&handle, &keys).take("other").await.unwrap(), None);
    let lease = lease(&handle, &keys);
    let fence = lease.fence(&told).expect("term:token");
    assert!(lease.renew("guest", &fence).await.unwrap());
    assert!(!lease.renew("other", &fence).await.unwrap(), "the fence is not its own");
    assert!(lease.release("guest", &fence).await.unwrap());
    assert!(!lease.renew("guest", &fence).await.unwrap(), "it was given back");
    assert!(lease.fence("nonsense").is_none());
    let counters = lease.counters();
    assert_eq!((counters.acquired.get(), counters.renewed.get(), counters.released.get()), (0, 1, 1));
}
