//! The port that `keyplane store` listens on against a redis-server, both on loopback TCP:
//!
//! - `cargo run --release -p keyplane-bench --bin listener [ROUNDS] [REQUESTS]`: redis-benchmark, pipelines of 16;
//! - `cargo run --release -p keyplane-bench --bin listener keys [KEYS]`: so many keys, how long and how much memory.
//!
//! CPU is that of the server, from its own process.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use keyplane_bench::sides::{cpu_seconds_of, median};
use keyplane_engine::live::{Live, Options};
use keyplane_testing::{Program, Server, Settings};

/// What redis-benchmark is asked for, and how its table calls that.
const TESTS: [(&str, &str); 7] = [
    ("set", "SET"),
    ("get", "GET"),
    ("incr", "INCR"),
    ("lpush", "LPUSH"),
    ("hset", "HSET"),
    ("zadd", "ZADD"),
    ("mset", "MSET (10 keys)"),
];

/// The engine with a listener, in a process of its own.
struct Listener {
    child: Child,
    port: u16,
}

impl Listener {
    fn start() -> Self {
        let this = std::env::current_exe().unwrap();
        let mut child = Command::new(this).arg("serve").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().unwrap() }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (live, _) = Live::start(Options::default()).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap().port());
        live.serve(listener).await;
    });
}

/// Operations per second and microseconds of the server's CPU per operation.
fn measure(port: u16, pid: u32, test: &str, requests: usize) -> (f64, f64) {
    let before = cpu_seconds_of(pid);
    let (port, count) = (port.to_string(), requests.to_string());
    let output = Command::new("redis-benchmark")
        .args(["-p", &port, "-n", &count, "-t", test])
        .args("-P 16 -c 50 -d 64 -r 100000 --csv".split(' '))
        .output()
        .expect("redis-benchmark");
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().expect("a line of redis-benchmark");
    let rate = last.split(',').nth(1).and_then(|field| field.trim_matches('"').parse().ok());
    let rate: f64 = rate.expect("a rate, by redis-benchmark");
    (rate, (cpu_seconds_of(pid) - before) / requests as f64 * 1e6)
}

fn rates(rounds: usize, requests: usize) {
    let (ours, theirs) = (Listener::start(), Server::start(Program::Redis, &Settings::tcp()));
    println!("redis-benchmark -P 16 -c 50 -d 64 -r 100000, {rounds} alternating rounds; medians\n");
    println!(
        "| command | engine op/s | redis op/s | ratio | least–most ratio | engine µs CPU | redis µs CPU |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (test, name) in TESTS {
        let mut sides: [Vec<(f64, f64)>; 2] = Default::default();
        for round in 0..=rounds {
            for turn in 0..2 {
                let side = (round + turn) % 2;
                let (port, pid) =
                    if side == 0 { (ours.port, ours.child.id()) } else { (theirs.port(), theirs.pid()) };
                let measured = measure(port, pid, test, requests);
                // The first round warms up.
                if round > 0 {
                    sides[side].push(measured);
                }
            }
        }
        let [engine, redis] = &sides;
        let mut ratios: Vec<f64> =
            engine.iter().zip(redis).map(|((ours, _), (theirs, _))| ours / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        let of =
            |side: &[(f64, f64)], which: fn(&(f64, f64)) -> f64| median(side.iter().map(which).collect());
        println!(
            "| {name} | {:.0} | {:.0} | **{:.2}** | {:.2}–{:.2} | {:.2} | {:.2} |",
            of(engine, |(rate, _)| *rate),
            of(redis, |(rate, _)| *rate),
            median(ratios.clone()),
            ratios.first().copied().unwrap_or_default(),
            ratios.last().copied().unwrap_or_default(),
            of(engine, |(_, cpu)| *cpu),
            of(redis, |(_, cpu)| *cpu),
        );
    }
}

/// Memory of a process, in bytes.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
}

/// Sends so many SETs, a thousand at a time.
fn fill(port: u16, keys: usize) {
    const AT_ONCE: usize = 1000;
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut requests = BufWriter::with_capacity(256 * 1024, stream);
    let value = "v".repeat(64);
    for start in (0..keys).step_by(AT_ONCE) {
        let count = AT_ONCE.min(keys - start);
        for number in start..start + count {
            let key = format!("bench:key:{number:010}");
            write!(requests, "*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n$64\r\n{value}\r\n", key.len()).unwrap();
        }
        requests.flush().unwrap();
        let mut told = vec![0; b"+OK\r\n".len() * count];
        answers.read_exact(&mut told).unwrap();
    }
}

fn keys(count: usize) {
    println!("{count} keys of 20 bytes with values of 64 bytes, through the port, pipelines of 1000\n");
    println!("| | seconds | bytes per key | of that beyond key and value | server µs CPU per key |");
    println!("|---|---|---|---|---|");
    let report = |name: &str, port: u16, pid: u32| {
        let (memory, cpu, start) = (resident(pid), cpu_seconds_of(pid), Instant::now());
        fill(port, count);
        let seconds = start.elapsed().as_secs_f64();
        let each = (resident(pid) - memory) as f64 / count as f64;
        let cpu = (cpu_seconds_of(pid) - cpu) / count as f64 * 1e6;
        println!("| {name} | {seconds:.1} | {each:.0} | {:.0} | {cpu:.2} |", each - 84.0);
    };
    {
        let ours = Listener::start();
        report("engine", ours.port, ours.child.id());
    }
    let theirs = Server::start(Program::Redis, &Settings::tcp());
    report("redis-server", theirs.port(), theirs.pid());
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |place: usize, default: usize| args.get(place).and_then(|text| text.parse().ok()).unwrap_or(default);
    match args.first().map(String::as_str) {
        Some("serve") => serve(),
        Some("keys") => keys(number(1, 10_000_000)),
        _ => rates(number(0, 9), number(1, 300_000)),
    }
}
