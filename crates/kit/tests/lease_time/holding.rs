//! As long as one machine has it.

use keyplane_kit::lease::{Lapsed, LeaseError};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::journal::record;
use crate::line::{Line, Mode};
use crate::setup::east;
use crate::world::{TTL, World, millis};

#[tokio::test(start_paused = true)]
async fn renewed_at_a_third_of_its_time_it_is_kept_for_hours() {
    let world = World::start();
    let lease = world.lease().await;
    let held = lease.acquire("a").await.unwrap();
    let (fence, start) = (held.fence().unwrap().clone(), Instant::now());
    let hours = 5 * 3600;
    while start.elapsed().as_secs() < hours {
        sleep(millis(1701)).await;
        assert_eq!(held.fence(), Ok(&fence));
        let left = world.ends().await.unwrap() - Instant::now();
        assert!(left > TTL * 2 / 3 - millis(10), "{left:?} left after {:?}", start.elapsed());
    }
    let renewed = lease.counters().renewed.get();
    assert!((hours / 3 - 1..=hours / 3 + 1).contains(&renewed), "{renewed} times in {hours} s");
    assert_eq!((lease.counters().lost.get(), lease.counters().renewals_failed.get()), (0, 0));
    assert_eq!(lease.status().await.unwrap().transitions, 1);
    assert!(timeout(TTL, held.lost()).await.is_err(), "it is not lost");
}

/// Whatever the line does, and whenever in the rhythm of renewals.
#[tokio::test(start_paused = true)]
async fn a_holder_that_cannot_renew_stops_itself_before_its_lock_ends() {
    for before in [Mode::Pass, Mode::Slow(millis(950))] {
        for fault in [Mode::Cut, Mode::Deaf, Mode::Slow(TTL)] {
            for moment in (0..6500).step_by(250) {
                let about = format!("{before:?}, after {moment} ms {fault:?}");
                let (world, line) = (World::start(), Line::new());
                let lease = world.lease_of(&world.across(&line).await);
                line.set(before);
                let held = lease.acquire("a").await.unwrap();
                sleep(millis(moment)).await;
                line.set(fault);
                // Until it says that it is over, it may be used; the server must know the lock as long.
                while held.fence().is_ok() {
                    assert_eq!(world.holder().await.as_deref(), Some("a"), "{about}");
                    sleep(millis(5)).await;
                }
                let ends = world.ends().await.unwrap_or_else(|| panic!("{about}: the lock ended first"));
                let early = ends - Instant::now();
                assert!(early >= TTL / 10 - millis(10), "{about}: stopped {early:?} before the end");
                assert_eq!(held.remaining(), Err(Lapsed));
                timeout(millis(1), held.lost()).await.unwrap_or_else(|_| panic!("{about}: it is lost"));
                sleep(TTL).await;
                assert_eq!((lease.counters().lost.get(), world.holder().await), (1, None), "{about}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_awaits_the_loss_is_told_at_the_moment_of_it() {
    let (world, line) = (World::start(), Line::new());
    let lease = world.lease_of(&world.across(&line).await);
    let held = lease.acquire("a").await.unwrap();
    sleep(millis(3500)).await;
    let end = Instant::now() + held.remaining().unwrap();
    line.set(Mode::Cut);
    held.lost().await;
    assert_eq!(held.fence(), Err(Lapsed));
    // Tokio's timers count in milliseconds.
    assert!(Instant::now() - end <= millis(1), "{:?} late", Instant::now() - end);
    assert!(world.ends().await.is_some());
}

/// The answer to a renewal that comes after the end does not bring back what was said to be lost.
#[tokio::test(start_paused = true)]
async fn what_was_lost_stays_lost() {
    let mut lost = 0;
    for late in (1000..3000).step_by(50) {
        let (world, line) = (World::start(), Line::new());
        let lease = world.lease_of(&world.across(&line).await);
        let held = lease.acquire("a").await.unwrap();
        // The first renewal is lost, and the answer to the next is on its way when the end comes.
        for (moment, mode) in
            [(2900, Mode::Cut), (2100, Mode::Pass), (1400, Mode::Slow(millis(late))), (1100, Mode::Pass)]
        {
            sleep(millis(moment)).await;
            line.set(mode);
        }
        if timeout(TTL, held.lost()).await.is_err() {
            continue;
        }
        lost += 1;
        for _ in 0..200 {
            assert_eq!(held.fence(), Err(Lapsed), "answered after {late} ms");
            sleep(millis(10)).await;
        }
        assert_eq!(lease.counters().lost.get(), 1, "answered after {late} ms");
    }
    assert!((5..35).contains(&lost), "{lost} of 40: too few, or too many, to show anything");
}

#[tokio::test(start_paused = true)]
async fn a_short_cut_does_not_end_a_term() {
    for cut in [500, 1500, 3000, 4000] {
        let (world, line) = (World::start(), Line::new());
        let lease = world.lease_of(&world.across(&line).await);
        let held = lease.acquire("a").await.unwrap();
        let fence = held.fence().unwrap().clone();
        sleep(millis(2900)).await;
        line.set(Mode::Cut);
        sleep(millis(cut)).await;
        line.set(Mode::Pass);
        for _ in 0..60 {
            sleep(millis(1000)).await;
            assert_eq!(held.fence(), Ok(&fence), "after a cut of {cut} ms");
        }
        assert!(lease.counters().renewals_failed.get() > 0);
        assert_eq!(lease.counters().lost.get(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_was_replaced_learns_it_with_the_next_renewal() {
    let world = World::start();
    let (lease, other) = (world.lease().await, world.lease().await);
    let held = lease.acquire("a").await.unwrap();
    world.raw(&["DEL", &world.lock()]).await;
    let replaced = Instant::now();
    // The same name: only the fence tells them apart.
    let second = other.try_acquire("a").await.unwrap().unwrap();
    timeout(TTL, held.lost()).await.expect("it is noticed");
    assert!(replaced.elapsed() <= TTL / 3 + millis(5), "{:?}", replaced.elapsed());
    assert_eq!(held.fence(), Err(Lapsed));
    assert!(!held.release().await.unwrap());
    assert!(second.fence().is_ok());
    assert_eq!(world.holder().await.as_deref(), Some("a"));
    sleep(TTL * 3).await;
    assert!(second.fence().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_release_in_the_middle_of_a_renewal_is_final() {
    for moment in (2900..4100).step_by(50) {
        let (world, line) = (World::start(), Line::new());
        let handle = world.across(&line).await;
        let lease = world.lease_of(&handle);
        let held = lease.acquire("a").await.unwrap();
        let fence = held.fence().unwrap().clone();
        line.set(Mode::Slow(millis(400)));
        sleep(millis(moment)).await;
        assert!(held.release().await.unwrap());
        assert_eq!(world.holder().await, None);
        line.set(Mode::Pass);
        sleep(TTL * 2).await;
        assert_eq!(world.holder().await, None, "renewed after its release at {moment} ms");
        assert!(!record(&handle, &world.keys, &east(), &fence, "late").await.unwrap());
        assert_eq!((lease.counters().released.get(), lease.counters().lost.get()), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_was_dropped_runs_out_by_itself() {
    let world = World::start();
    let (handle, other) = (world.machine().await, world.lease().await);
    let lease = world.lease_of(&handle);
    let held = lease.acquire("a").await.unwrap();
    let fence = held.fence().unwrap().clone();
    sleep(millis(3500)).await;
    let ends = world.ends().await.unwrap();
    drop(held);
    sleep_until(ends - millis(1)).await;
    assert_eq!(world.ends().await, Some(ends), "nobody renews it");
    assert!(other.try_acquire("b").await.unwrap().is_none());
    sleep(millis(2)).await;
    // The fence outlives the lock: until there is another term, what is still under way may land.
    assert!(record(&handle, &world.keys, &east(), &fence, "late").await.unwrap());
    let next = other.try_acquire("b").await.unwrap().unwrap();
    assert!(!record(&handle, &world.keys, &east(), &fence, "later").await.unwrap());
    assert!(next.fence().unwrap().term() > fence.term());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_begins_no_term() {
    let (world, line) = (World::with_ttl(millis(1000)), Line::new());
    let lease = world.lease_of(&world.across(&line).await);
    line.set(Mode::Slow(millis(950)));
    assert!(matches!(lease.try_acquire("a").await, Err(LeaseError::TooLate)));
    assert_eq!(lease.counters().acquired.get(), 0, "no term was begun");
    line.set(Mode::Pass);
    let held = lease.acquire("a").await.unwrap();
    assert_eq!(held.owner(), "a");
    assert_eq!(lease.counters().acquired.get(), 1);
}
