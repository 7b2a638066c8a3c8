//! The shared mempool: what its operations cost the server as the pool grows, how far a receipt is from the least that a script
//! can cost, and how it compares with the command sequences of the original, all on one redis-server in the same run:
//! `cargo run --release -p keyplane-bench --bin mempool [ROUNDS] [PART OF A NAME]`
//!
//! The parts are `growth`, `floor` and `seed`. Transactions have 1,024 bytes and spend one input. Persistence is off. Sides take
//! turns, and figures are medians over the rounds; where a bar is missed, the table says so.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::expect_used)]

mod floor;
mod growth;
mod ours;
mod seed;
mod versus;

use std::future::Future;
use std::time::Instant;

use keyplane_bench::sides::main_thread_seconds_of;
use keyplane_store::{Options, Store};
use keyplane_testing::{Program, Server, Settings};

/// Both sizes that everything is measured at.
const SMALL: usize = 1_000;
const LARGE: usize = 50_000;

/// Callers at the same time.
const TASKS: usize = 32;

/// The server, and a store on it.
struct Rig {
    server: Server,
    store: Store,
}

/// What a number of operations took.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// Operations per second.
    rate: f64,
    /// Microseconds of the server's CPU per operation, with its network.
    cpu: f64,
    /// Microseconds that the server counts for scripts per operation.
    script: f64,
}

impl Rig {
    async fn start() -> Self {
        let settings = Settings::tcp().line("slowlog-log-slower-than -1").line("slowlog-max-len 50");
        let server = Server::start(Program::Redis, &settings);
        let store = Store::open(&server.url(), Options::default()).await.expect("a store");
        Self { server, store }
    }

    /// Measures so many operations.
    async fn cost(&self, operations: usize, work: impl Future<Output = ()>) -> Cost {
        let _: () = redis::cmd("CONFIG").arg("RESETSTAT").query(&mut self.server.admin()).unwrap();
        let (start, before) = (Instant::now(), self.cpu());
        work.await;
        let (seconds, after) = (start.elapsed().as_secs_f64(), self.cpu());
        let each = operations as f64;
        Cost {
            rate: each / seconds,
            cpu: (after - before) / each * 1e6,
            script: (self.counted("evalsha") + self.counted("evalsha_ro")) / each,
        }
    }

    fn cpu(&self) -> f64 {
        main_thread_seconds_of(self.server.pid())
    }

    /// Microseconds that the server counts for a command since the last reset.
    fn counted(&self, command: &str) -> f64 {
        let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut self.server.admin()).unwrap();
        let start = format!("cmdstat_{command}:");
        let Some(line) = stats.lines().find(|line| line.starts_with(&start)) else { return 0.0 };
        let (_, rest) = line.split_once(",usec=").expect("a figure");
        rest.split(',').next().and_then(|figure| figure.parse().ok()).expect("a number")
    }

    fn set_slowlog(&self, slower_than: i64) {
        let mut set = redis::cmd("CONFIG");
        set.arg("SET").arg("slowlog-log-slower-than").arg(slower_than);
        let _: () = set.query(&mut self.server.admin()).unwrap();
    }
}

/// For the table: whether a bar is reached.
fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "**missed**" }
}

/// Middle, least and most.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(9);
    let chosen = std::env::args().nth(2).unwrap_or_default();
    let start = Instant::now();
    println!("{rounds} alternating rounds; medians\n");
    for part in ["growth", "floor", "seed"].into_iter().filter(|part| part.contains(&chosen)) {
        // A server of its own for each part: what one leaves behind does not weigh on the next.
        let rig = Rig::start().await;
        match part {
            "growth" => growth::measure(&rig, rounds).await,
            "floor" => floor::measure(&rig, rounds).await,
            _ => versus::measure(&rig, rounds).await,
        }
        eprintln!("{part}: done after {:.0?}", start.elapsed());
    }
}
