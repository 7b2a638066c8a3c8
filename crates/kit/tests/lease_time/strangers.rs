//! Those who take the same lock without a fence, as older programs do: `SET lock me NX`.

use tokio::time::{Instant, sleep, timeout};

use crate::world::{TTL, World, millis};

#[tokio::test(start_paused = true)]
async fn a_stranger_with_an_end_is_waited_for() {
    let world = World::start();
    let lease = world.lease().await;
    world.raw(&["SET", &world.lock(), "stranger", "NX", "PX", "25000"]).await;
    assert!(lease.try_acquire("a").await.unwrap().is_none());
    assert_eq!(lease.status().await.unwrap().holder.as_deref(), Some("stranger"));
    let ends = world.ends().await.unwrap();
    let held = lease.acquire("a").await.unwrap();
    let late = Instant::now() - ends;
    assert!(late <= millis(3), "{late:?} after its end");
    assert_eq!((held.owner(), world.holder().await.as_deref()), ("a", Some("a")));
}

#[tokio::test(start_paused = true)]
async fn a_stranger_without_an_end_is_looked_at_once_per_ttl() {
    let world = World::start();
    let lease = world.lease().await;
    world.raw(&["SET", &world.lock(), "stranger", "NX"]).await;
    let waiter = tokio::spawn({
        let lease = lease.clone();
        async move { lease.acquire("a").await }
    });
    sleep(TTL * 100).await;
    assert!(!waiter.is_finished());
    let asked = lease.counters().contended.get();
    assert!((98..=101).contains(&asked), "{asked} times in 100 TTLs");
    assert_eq!(world.holder().await.as_deref(), Some("stranger"));
    world.raw(&["DEL", &world.lock()]).await;
    let gone = Instant::now();
    waiter.await.unwrap().unwrap();
    assert!(gone.elapsed() <= TTL + millis(5), "{:?}", gone.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stranger_of_our_own_name_is_not_us() {
    let world = World::start();
    let lease = world.lease().await;
    world.raw(&["SET", &world.lock(), "a", "NX", "PX", "5000"]).await;
    assert!(lease.try_acquire("a").await.unwrap().is_none());
    // Nor when our last term has the same name.
    sleep(millis(5001)).await;
    lease.acquire("a").await.unwrap().release().await.unwrap();
    world.raw(&["SET", &world.lock(), "a", "NX", "PX", "5000"]).await;
    assert!(lease.try_acquire("a").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stranger_who_overwrites_the_lock_is_noticed_and_left_alone() {
    let world = World::start();
    let lease = world.lease().await;
    let held = lease.acquire("a").await.unwrap();
    world.raw(&["SET", &world.lock(), "stranger", "PX", "60000"]).await;
    let (taken, ends) = (Instant::now(), world.ends().await);
    timeout(TTL, held.lost()).await.expect("it is noticed");
    assert!(taken.elapsed() <= TTL / 3 + millis(5), "{:?}", taken.elapsed());
    held.release().await.unwrap();
    assert_eq!((world.holder().await.as_deref(), world.ends().await), (Some("stranger"), ends));
}
