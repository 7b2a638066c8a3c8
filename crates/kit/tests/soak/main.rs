//! All primitives under churn for a long time: keys and memory stay as they are, and the audit at the end is clean.
//!
//! A day in virtual time by itself; ten minutes in real time are for `cargo xtask test --long`
//! (`KEYPLANE_SOAK_SECONDS` makes them another number).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod churn;
#[path = "../suite/setup.rs"]
#[allow(dead_code)]
mod setup;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyplane_kit::record::{Change, Records};
use keyplane_testing::{Kind, Place, Program, Server, Settings, VirtualServer};
use redis::Connection;

use churn::Churn;

/// What a server holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    keys: u64,
    memory: u64,
}

fn held(admin: &mut Connection) -> Held {
    let info: String = redis::cmd("INFO").arg("memory").query(admin).unwrap();
    let memory = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    Held { keys: redis::cmd("DBSIZE").query(admin).unwrap(), memory: memory.trim().parse().unwrap() }
}

/// Runs without the time limit of other tests, and then the audit.
fn at_length(place: &Place, work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(work);
    place.finish();
}

/// The last third holds no more than the second did, beyond what comes and goes.
fn is_flat(samples: &[Held]) {
    let third = samples.len() / 3;
    assert!(third > 2, "too few samples to say anything");
    let most = |samples: &[Held], of: fn(&Held) -> u64| samples.iter().map(of).max().unwrap();
    let (middle, last) = (&samples[third..2 * third], &samples[2 * third..]);
    for (what, of) in [("keys", (|held| held.keys) as fn(&Held) -> u64), ("bytes", |held| held.memory)] {
        let (before, after) = (most(middle, of), most(last, of));
        eprintln!("{what}: {before} at most, later {after}");
        assert!(after * 100 <= before * 105, "{what} grow: {before}, then {after}");
    }
}

#[test]
fn a_day_in_virtual_time() {
    let Some(server) = VirtualServer::start_or_skip("a_day_in_virtual_time") else { return };
    let place = Place::new(Kind::Redis, server.url(), None);
    at_length(&place, async {
        let mut churn = Churn::new(&place, true).await;
        let mut samples = Vec::new();
        let mut admin = server.admin();
        for step in 0..24 * 60 * 2 {
            churn.step().await;
            server.advance(Duration::from_secs(30));
            if step % 60 == 59 {
                samples.push(held(&mut admin));
            }
        }
        eprintln!("{churn}");
        is_flat(&samples);
    });
}

#[test]
#[ignore = "ten minutes; cargo xtask test --long runs it"]
fn ten_minutes_in_real_time() {
    let seconds = std::env::var("KEYPLANE_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    let lasts = Duration::from_secs(seconds.unwrap_or(600));
    let server = Server::start(Program::Redis, &Settings::tcp());
    let place = Place::new(Kind::Redis, server.url(), None);
    let mut admin = server.admin();
    at_length(&place, async {
        let mut churn = Churn::new(&place, false).await;
        let (mut samples, start) = (Vec::new(), Instant::now());
        while start.elapsed() < lasts {
            for _ in 0..100 {
                churn.step().await;
            }
            // An outbox stays for a second after its last note: how many wait depends on how fast the machine is.
            tokio::time::sleep(Duration::from_millis(2100)).await;
            churn.keep().await;
            samples.push(held(&mut admin));
        }
        eprintln!("{churn}");
        is_flat(&samples);
    });
}

#[test]
fn a_thousand_writers_lose_no_update() {
    let server = Server::start(Program::Redis, &Settings::tcp());
    let place = Place::new(Kind::Redis, server.url(), None);
    at_length(&place, async {
        let handle = setup::machine(&place).await.with_timeout(Duration::from_secs(60));
        let pools = Arc::new(Records::of(&handle, &setup::pool::info::POOL).unwrap());
        let key = setup::keys(&place).pool(&setup::east());
        pools.commit(&key, Change::create().set("state", "open")).await.unwrap();
        let mut writers = tokio::task::JoinSet::new();
        for _ in 0..1000 {
            let (pools, key) = (Arc::clone(&pools), key.clone());
            writers.spawn(async move {
                for _ in 0..100 {
                    pools.commit(&key, Change::update().count("updates", 1)).await.unwrap();
                }
            });
        }
        writers.join_all().await;
        let found = pools.read(&key).await.unwrap().unwrap();
        assert_eq!((found.version, found.text("updates")), (100_001, Some("100000")));
    });
}
