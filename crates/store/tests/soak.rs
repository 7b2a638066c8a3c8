//! Random faults under load: whatever happens to the server and the line, every operation ends in time, nothing is done
//! twice, and in the end everything works again.
//!
//! Half a minute by itself; `KEYPLANE_SOAK_SECONDS` makes it longer. The seed is printed; `KEYPLANE_SOAK_SEED` repeats it,
//! as far as a real network can be repeated.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "faults/rig.rs"]
#[allow(dead_code)]
mod rig;
#[path = "suite/setup.rs"]
#[allow(dead_code)]
mod setup;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use keyplane_testing::{Mode, Program, Proxy, Server, Settings};

use rig::{DEADLINE, Rig};

const TASKS: usize = 16;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What a task knows about its own counter.
#[derive(Default)]
struct Tally {
    sure: AtomicI64,
    open: AtomicI64,
    refused: AtomicI64,
}

#[test]
#[ignore = "half a minute of faults; cargo xtask test --long runs it"]
fn random_faults_under_load() {
    let seed = from_environment("KEYPLANE_SOAK_SEED").unwrap_or_else(|| fastrand::u64(..));
    let lasts = Duration::from_secs(from_environment("KEYPLANE_SOAK_SECONDS").unwrap_or(30));
    eprintln!("KEYPLANE_SOAK_SEED={seed}");
    // Appends are kept, so that a killed server comes back with what it had answered.
    let server = Server::start(Program::Redis, &Settings::tcp().appendonly().line("appendfsync always"));
    let proxy = Proxy::start(server.addr());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let rig = runtime.block_on(Rig::open(&proxy.url()));
    let (stop, tallies) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new((0..TASKS).map(|_| Tally::default()).collect::<Vec<_>>()),
    );
    let workers: Vec<_> = (0..TASKS)
        .map(|task| runtime.spawn(work(rig.clone(), task, Arc::clone(&tallies), Arc::clone(&stop))))
        .collect();

    let mut dice = fastrand::Rng::with_seed(seed);
    let start = Instant::now();
    let mut faults = 0;
    while start.elapsed() < lasts {
        fault(&mut dice, &server, &proxy);
        faults += 1;
        std::thread::sleep(Duration::from_millis(dice.u64(50..400)));
    }
    proxy.set(Mode::Pass);
    stop.store(true, Ordering::Relaxed);
    runtime.block_on(async {
        for worker in workers {
            worker.await.expect("no operation hangs and none tells a lie");
        }
        rig.heals("end").await;
        check(&rig, &tallies).await;
    });
    let sum = |of: fn(&Tally) -> &AtomicI64| {
        tallies.iter().map(|tally| of(tally).load(Ordering::Relaxed)).sum::<i64>()
    };
    let (sure, open, refused) = (sum(|t| &t.sure), sum(|t| &t.open), sum(|t| &t.refused));
    eprintln!("{faults} faults; {sure} additions answered, {open} open, {refused} not applied");
    assert!(sure > 0 && open > 0, "the faults hardly met the load");
}

/// Adds to a counter of its own until it is told to stop, and counts what it was told.
async fn work(rig: Rig, task: usize, tallies: Arc<Vec<Tally>>, stop: Arc<AtomicBool>) {
    let (name, tally) = (format!("t{task}"), &tallies[task]);
    while !stop.load(Ordering::Relaxed) {
        match rig.add(&name, 1).await {
            Ok(_) => tally.sure.fetch_add(1, Ordering::Relaxed),
            Err(error) if error.maybe_applied() => tally.open.fetch_add(1, Ordering::Relaxed),
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                tally.refused.fetch_add(1, Ordering::Relaxed)
            }
        };
        if let Ok(found) = rig.read_label("never").await {
            assert_eq!(found, None);
        }
    }
}

fn fault(dice: &mut fastrand::Rng, server: &Server, proxy: &Proxy) {
    let pause = |dice: &mut fastrand::Rng| std::thread::sleep(Duration::from_millis(dice.u64(10..800)));
    match dice.u32(..8) {
        0 => proxy.set(Mode::CutAfter(dice.u64(..2000))),
        1 => {
            proxy.set(Mode::HalfOpen);
            pause(dice);
        }
        2 => {
            proxy.set(Mode::Reset);
            pause(dice);
        }
        3 => {
            proxy.set(Mode::Refuse);
            proxy.close_connections();
            pause(dice);
        }
        4 => {
            proxy.set(Mode::Delay(Duration::from_millis(dice.u64(1..2 * DEADLINE.as_millis() as u64))));
            pause(dice);
        }
        5 => {
            server.freeze();
            pause(dice);
            server.thaw();
        }
        6 => {
            server.kill();
            pause(dice);
            server.restart();
        }
        _ => drop(redis::cmd("SCRIPT").arg("FLUSH").exec(&mut server.admin())),
    }
    proxy.set(Mode::Pass);
}

/// Every counter lies between what was surely added and that plus what is open.
async fn check(rig: &Rig, tallies: &[Tally]) {
    for (task, tally) in tallies.iter().enumerate() {
        let (sure, open) = (tally.sure.load(Ordering::Relaxed), tally.open.load(Ordering::Relaxed));
        let count = rig.count(&format!("t{task}")).await;
        assert!(count >= sure && count <= sure + open, "t{task}: {count}; {sure} sure, {open} open");
    }
}
