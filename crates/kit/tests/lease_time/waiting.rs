//! Those who wait for it.

use keyplane_kit::lease::{Held, Lease, LeaseError};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::line::{Line, Mode};
use crate::world::{TTL, World, millis};

/// Waits in the background; tells when it got it.
fn waiting(lease: &Lease, owner: &'static str) -> JoinHandle<Result<(Held, Instant), LeaseError>> {
    let lease = lease.clone();
    tokio::spawn(async move { lease.acquire(owner).await.map(|held| (held, Instant::now())) })
}

#[tokio::test(start_paused = true)]
async fn when_a_holder_dies_the_next_has_it_at_the_end_of_the_lock() {
    // Whenever in the rhythm of renewals, and however long it was waited for.
    for (waits_from, dies) in [(0, 100), (0, 3100), (2500, 2600), (100, 20_000), (7000, 60_050)] {
        let world = World::start();
        let (first, second) = (world.lease().await, world.lease().await);
        let held = first.acquire("a").await.unwrap();
        sleep(millis(waits_from)).await;
        let waiter = waiting(&second, "b");
        sleep(millis(dies - waits_from)).await;
        assert!(!waiter.is_finished());
        drop(held);
        let ends = world.ends().await.unwrap();
        let (held, moment) = waiter.await.unwrap().unwrap();
        assert!(moment >= ends, "{:?} before the end", ends - moment);
        assert!(moment - ends <= millis(3), "{:?} after the end", moment - ends);
        assert!(held.fence().is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_is_cut_off_has_stopped_before_the_next_begins() {
    let (world, line) = (World::start(), Line::new());
    let (first, second) = (world.lease_of(&world.across(&line).await), world.lease().await);
    let held = first.acquire("a").await.unwrap();
    let waiter = waiting(&second, "b");
    sleep(millis(4000)).await;
    line.set(Mode::Cut);
    held.lost().await;
    let stopped = Instant::now();
    assert!(!waiter.is_finished());
    let (_next, began) = waiter.await.unwrap().unwrap();
    assert!(stopped + TTL / 10 - millis(3) <= began, "{stopped:?} {began:?}");
}

#[tokio::test(start_paused = true)]
async fn of_many_who_wait_a_release_lets_one_in_at_once_and_in_the_end_all() {
    let world = World::start();
    let held = world.lease().await.acquire("a").await.unwrap();
    let mut waiters = Vec::new();
    for owner in ["b", "c", "d", "e"] {
        let lease = world.lease().await;
        waiters.push((lease.clone(), waiting(&lease, owner)));
    }
    sleep(millis(20_000)).await;
    held.release().await.unwrap();
    let mut terms = Vec::new();
    while !waiters.is_empty() {
        let released = Instant::now();
        let place = loop {
            sleep(millis(1)).await;
            if let Some(place) = waiters.iter().position(|(_, waiter)| waiter.is_finished()) {
                break place;
            }
        };
        assert!(released.elapsed() <= millis(3), "after {:?}", released.elapsed());
        assert_eq!(waiters.iter().filter(|(_, waiter)| waiter.is_finished()).count(), 1);
        let (held, _) = waiters.remove(place).1.await.unwrap().unwrap();
        terms.push(held.fence().unwrap().term());
        held.release().await.unwrap();
    }
    assert!(terms.is_sorted_by(|one, next| one < next), "{terms:?}");
}

#[tokio::test(start_paused = true)]
async fn one_who_was_woken_and_is_gone_does_not_keep_the_others_out() {
    let (world, line) = (World::start(), Line::new());
    let held = world.lease().await.acquire("a").await.unwrap();
    // The first in the queue of the server; the release wakes it, and it never hears.
    let gone = waiting(&world.lease_of(&world.across(&line).await), "gone");
    sleep(millis(10)).await;
    let waiter = waiting(&world.lease().await, "b");
    sleep(millis(10)).await;
    line.set(Mode::Cut);
    held.release().await.unwrap();
    let released = Instant::now();
    let (_next, moment) = waiter.await.unwrap().unwrap();
    assert!(moment - released <= TTL, "{:?}", moment - released);
    gone.abort();
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_was_given_up_leaves_nothing_behind() {
    let world = World::start();
    let (first, second, third) = (world.lease().await, world.lease().await, world.lease().await);
    let held = first.acquire("a").await.unwrap();
    let given_up = waiting(&second, "b");
    sleep(millis(100)).await;
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    let waiter = waiting(&third, "c");
    sleep(millis(100)).await;
    held.release().await.unwrap();
    let released = Instant::now();
    let (held, moment) = waiter.await.unwrap().unwrap();
    assert!(moment - released <= millis(3), "{:?}", moment - released);
    assert_eq!(held.owner(), "c");
}
