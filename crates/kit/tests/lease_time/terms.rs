//! Terms: one for each who takes it, and each higher than the last.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, UNIX_EPOCH};

use keyplane_kit::lease::Lease;
use keyplane_store::{Options, Store};
use keyplane_testing::{VirtualServer, run};
use tokio::time::{Instant, sleep};

use crate::line::{Line, Mode};
use crate::setup::{Keyspace, east};
use crate::world::{TTL, World, millis};

#[tokio::test(start_paused = true)]
async fn every_term_is_counted_and_rises() {
    let world = World::start();
    let (a, b) = (world.lease().await, world.lease().await);
    let mut last = 0;
    for turn in 1..=200_u64 {
        let lease = if turn % 2 == 0 { &a } else { &b };
        // Many within one millisecond, so that the clock alone could not tell them apart.
        let held = lease.try_acquire("m").await.unwrap().unwrap();
        let term = held.fence().unwrap().term().number();
        assert!(term > last, "{term} after {last}");
        last = term;
        assert_eq!(a.status().await.unwrap().transitions, turn);
        held.release().await.unwrap();
    }
    sleep(TTL).await;
    let term = a.acquire("m").await.unwrap().fence().unwrap().term().number();
    let now = world.engine.now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    assert_eq!(u128::from(term), now, "the server's time, when that is higher");
}

/// A connection that breaks with the answer in it: the store makes another and asks again.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_asked_for_again_and_is_the_same_term() {
    let (world, line) = (World::start(), Line::new());
    let lease = world.lease_of(&world.across(&line).await);
    line.set(Mode::BreakOnce);
    let asked = Instant::now();
    let held = lease.try_acquire("a").await.unwrap().expect("it was free, and this is the same asker");
    assert_eq!(line.mode(), Mode::Pass, "the first answer was lost");
    let status = lease.status().await.unwrap();
    assert_eq!((status.transitions, status.fence.as_deref()), (1, Some(held.fence().unwrap().as_str())));
    // It ends by when it was first asked for: the server may have begun then.
    assert!(Instant::now() + held.remaining().unwrap() <= asked + TTL * 9 / 10);
    assert!(held.release().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_a_release_is_asked_for_again_and_is_the_same() {
    let (world, line) = (World::start(), Line::new());
    let lease = world.lease_of(&world.across(&line).await);
    let held = lease.acquire("a").await.unwrap();
    line.set(Mode::BreakOnce);
    assert!(held.release().await.unwrap(), "it was still ours");
    assert_eq!((line.mode(), world.holder().await), (Mode::Pass, None));
}

/// On a real server whose clock is set back. Locks end by that clock too, so they are given back here.
#[test]
fn terms_rise_although_the_servers_clock_goes_back() {
    let Some(server) = VirtualServer::start_or_skip("terms_rise_although_the_servers_clock_goes_back") else {
        return;
    };
    let clock = File::options().write(true).open(server.server().dir().join("clock")).unwrap();
    let start = server.now().duration_since(UNIX_EPOCH).unwrap();
    let url = server.url();
    run(async move {
        let store = Store::open(&url, Options::default()).await.unwrap();
        let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
        let hour = HashMap::from([("leader_ttl".to_owned(), Duration::from_secs(3600))]);
        let handle = store.as_component(&contract, "machine", &hour).unwrap();
        let lease = Lease::new(&handle, Keyspace::default().leader(&east())).unwrap();
        let mut last = 0;
        for back in [0, 1, 1000, 60_000, 86_400_000, 500] {
            let micros = i64::try_from((start - millis(back)).as_micros()).unwrap();
            clock.write_all_at(&micros.to_ne_bytes(), 0).unwrap();
            for _ in 0..3 {
                let held = lease.try_acquire("m").await.unwrap().unwrap();
                let term = held.fence().unwrap().term().number();
                assert!(term > last, "{term} after {last}, with the clock {back} ms back");
                last = term;
                held.release().await.unwrap();
            }
        }
        assert_eq!(u128::from(last), start.as_millis() + 17, "one more each time");
    });
    drop(server);
}
