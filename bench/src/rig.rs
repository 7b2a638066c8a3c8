//! A redis-server of its own for a measurement, and what operations cost it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::future::Future;
use std::process::Command;
use std::time::Instant;

use keyplane_store::{Options, Store};
use keyplane_testing::{Program, Server, Settings};

use crate::sides::main_thread_seconds_of;

/// The server, and a store on it.
#[derive(Debug)]
pub struct Rig {
    /// A redis-server without persistence.
    pub server: Server,
    /// On that server.
    pub store: Store,
}

/// What a number of operations took.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Operations per second.
    pub rate: f64,
    /// Microseconds of the server's CPU per operation, with its network.
    pub cpu: f64,
    /// Microseconds that the server counts for scripts per operation.
    pub script: f64,
}

impl Rig {
    /// Starts a server.
    pub async fn start() -> Self {
        let settings = Settings::tcp().line("slowlog-log-slower-than -1").line("slowlog-max-len 50");
        let server = Server::start(Program::Redis, &settings);
        let store = Store::open(&server.url(), Options::default()).await.expect("a store");
        Self { server, store }
    }

    /// Measures so many operations.
    pub async fn cost(&self, operations: usize, work: impl Future<Output = ()>) -> Cost {
        self.reset_counts();
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

    /// What the server counts begins anew.
    pub fn reset_counts(&self) {
        let _: () = redis::cmd("CONFIG").arg("RESETSTAT").query(&mut self.server.admin()).unwrap();
    }

    /// Seconds of the server's CPU so far: of the thread that runs all commands.
    #[must_use]
    pub fn cpu(&self) -> f64 {
        main_thread_seconds_of(self.server.pid())
    }

    /// Microseconds that the server counts for a command since the last reset.
    #[must_use]
    pub fn counted(&self, command: &str) -> f64 {
        let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut self.server.admin()).unwrap();
        let start = format!("cmdstat_{command}:");
        let Some(line) = stats.lines().find(|line| line.starts_with(&start)) else { return 0.0 };
        let (_, rest) = line.split_once(",usec=").expect("a figure");
        rest.split(',').next().and_then(|figure| figure.parse().ok()).expect("a number")
    }

    /// From which time on the server notes commands, in microseconds; -1 for none.
    pub fn set_slowlog(&self, slower_than: i64) {
        let mut set = redis::cmd("CONFIG");
        set.arg("SET").arg("slowlog-log-slower-than").arg(slower_than);
        let _: () = set.query(&mut self.server.admin()).unwrap();
    }
}

/// What redis-benchmark tells of a command.
#[derive(Debug, Clone, Copy)]
pub struct Benchmark {
    /// Requests per second.
    pub rate: f64,
    /// Half of all requests take no longer, in milliseconds.
    pub p50: f64,
    /// Of a hundred requests, 99 take no longer.
    pub p99: f64,
    /// The longest.
    pub most: f64,
}

/// Runs redis-benchmark on a port, with further options, for a command.
#[must_use]
pub fn redis_benchmark(port: u16, requests: usize, options: &[&str], words: &[String]) -> Benchmark {
    let (port, count) = (port.to_string(), requests.to_string());
    let output = Command::new("redis-benchmark")
        .args(["-p", &port, "-n", &count, "--csv"])
        .args(options)
        .args(words)
        .output()
        .expect("redis-benchmark");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The command stands in the first column, and may hold commas. Then: rate, average, least, 50, 95, 99 of a hundred, most.
    let fields: Vec<&str> = text.lines().last().expect("a line").split("\",\"").collect();
    let number = |at: usize| fields[at].trim_matches('"').parse().expect("a figure, by redis-benchmark");
    Benchmark { rate: number(1), p50: number(4), p99: number(6), most: number(7) }
}

/// For a table: whether a bar is reached.
#[must_use]
pub fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "**missed**" }
}

/// Middle, least and most.
#[must_use]
pub fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}
