//! A guarded update of a record against a plain HSET, both by redis-benchmark with 50 connections and no pipeline, on one
//! redis-server in the same run: `cargo run --release -p keyplane-bench --bin record [ROUNDS] [REQUESTS]`
//!
//! The update is what the kit sends: version, fence, legal move, field limit and TTL in one script. It is made once through the
//! kit, and redis-benchmark repeats it as the server has seen it. CPU is that of the server, from its own process; "script"
//! is what the server itself counts for the command, without the network. In the end the same for a record with one child
//! and with 10,000.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;

use keyplane_bench::rig::redis_benchmark;
use keyplane_bench::sides::{cpu_seconds_of, median};
use keyplane_key::Naming;
use keyplane_kit::lease::Lease;
use keyplane_kit::record::{Change, Records};
use keyplane_store::{Handle, Options, Store};
use keyplane_testing::{Program, Server, Settings};

mod crew {
    #![allow(missing_docs, unreachable_pub, dead_code)]
    keyplane_macros::keyspace!("contracts/crew.toml");
}

use crew::{CrewId, Keyspace, WorkerId};

/// What one round of redis-benchmark showed.
#[derive(Clone, Copy)]
struct Round {
    rate: f64,
    /// Microseconds of the server's CPU per request.
    cpu: f64,
    /// Microseconds that the server counts for the command.
    script: f64,
}

struct Rig {
    server: Server,
    requests: usize,
}

impl Rig {
    fn round(&self, words: &[String]) -> Round {
        let mut admin = self.server.admin();
        let _: () = redis::cmd("CONFIG").arg("RESETSTAT").query(&mut admin).unwrap();
        let before = cpu_seconds_of(self.server.pid());
        let options = ["-c", "50", "-P", "1"];
        let rate = redis_benchmark(self.server.port(), self.requests, &options, words).rate;
        let cpu = (cpu_seconds_of(self.server.pid()) - before) / self.requests as f64 * 1e6;
        Round { rate, cpu, script: self.counted(&words[0]) }
    }

    /// What the server counts for a command, per call.
    fn counted(&self, command: &str) -> f64 {
        let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut self.server.admin()).unwrap();
        let start = format!("cmdstat_{}:", command.to_lowercase());
        let line = stats.lines().find(|line| line.starts_with(&start)).expect("the command was run");
        let (_, rest) = line.split_once("usec_per_call=").expect("a figure");
        rest.split(',').next().and_then(|figure| figure.parse().ok()).expect("a number")
    }

    /// The last script call, word by word, as the server has seen it.
    fn last_call(&self) -> Vec<String> {
        type Entry = (u64, u64, u64, Vec<String>, String, String);
        let log: Vec<Entry> =
            redis::cmd("SLOWLOG").arg("GET").arg(20).query(&mut self.server.admin()).unwrap();
        let call =
            log.into_iter().map(|entry| entry.3).find(|words| words[0].eq_ignore_ascii_case("EVALSHA"));
        call.expect("a script was called")
    }
}

async fn open(url: &str) -> (Handle, Keyspace) {
    let store = Store::open(url, Options::default()).await.unwrap();
    let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
    let handle = store.as_component(&contract, "worker", &HashMap::new()).unwrap();
    (handle, Keyspace::new(Naming::new("bench", false).unwrap()).unwrap())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<usize>().expect("a number"));
    let (rounds, requests) = (args.next().unwrap_or(11), args.next().unwrap_or(100_000));
    let settings = Settings::tcp().line("slowlog-log-slower-than 0").line("slowlog-max-len 50");
    let rig = Rig { server: Server::start(Program::Redis, &settings), requests };
    let (handle, keys) = open(&rig.server.url()).await;
    let (crews, workers) = (
        Records::of(&handle, &crew::info::CREW).unwrap(),
        Records::of(&handle, &crew::info::WORKER).unwrap(),
    );

    let east = CrewId::new("east").unwrap();
    let held = Lease::new(&handle, keys.lock(&east)).unwrap().acquire("m").await.unwrap();
    let fence = held.fence().unwrap().clone();
    let update = || Change::update().guarded_by(&fence).set("state", "open").set("size", "5");
    crews.commit(&keys.crew(&east), Change::create().set("state", "open")).await.unwrap();
    crews.commit(&keys.crew(&east), update()).await.unwrap();
    let of_parent = rig.last_call();
    let orders = Records::of(&handle, &crew::info::ORDER).unwrap();
    orders.commit(&keys.order(&east), Change::create().set("state", "open")).await.unwrap();
    orders.commit(&keys.order(&east), update()).await.unwrap();
    let guarded = rig.last_call();

    let plain = ["HSET", "bench:plain", "state", "open", "size", "5"].map(str::to_owned).to_vec();
    let mut renewing = Vec::new();
    for (name, children) in [("one", 1), ("many", 10_000)] {
        let id = CrewId::new(name).unwrap();
        crews.commit(&keys.crew(&id), Change::create().set("state", "open")).await.unwrap();
        let mut last = Vec::new();
        for number in 0..children {
            let key = keys.worker(&id, &WorkerId::new(format!("w{number}")).unwrap());
            let change = Change::upsert().renewing(&keys.crew(&id)).set("load", "0");
            workers.commit(&key, change.clone()).await.unwrap();
            if number == 0 {
                workers.commit(&key, change).await.unwrap();
                last = rig.last_call();
            }
        }
        renewing.push(last);
    }
    // From here on the log would only cost.
    let _: () = redis::cmd("CONFIG")
        .arg("SET")
        .arg("slowlog-log-slower-than")
        .arg(-1)
        .query(&mut rig.server.admin())
        .unwrap();
    drop(held);

    let sides = [
        ("plain HSET of two fields", plain),
        ("guarded update of two fields", guarded),
        ("the same of a record that others are linked to", of_parent),
        ("worker of a crew of 1, renewing it", renewing.remove(0)),
        ("worker of a crew of 10,000, renewing it", renewing.remove(0)),
    ];
    tell(&rig, rounds, &sides);
}

fn tell(rig: &Rig, rounds: usize, sides: &[(&str, Vec<String>)]) {
    let mut measured: Vec<Vec<Round>> = vec![Vec::new(); sides.len()];
    for round in 0..=rounds {
        for turn in 0..sides.len() {
            let side = (round + turn) % sides.len();
            let shown = rig.round(&sides[side].1);
            // The first round warms up.
            if round > 0 {
                measured[side].push(shown);
            }
        }
    }
    println!("redis-benchmark -c 50 -P 1 -n {}, {rounds} alternating rounds; medians\n", rig.requests);
    println!("| request | op/s | ratio to HSET | least–most ratio | server µs CPU | script µs |");
    println!("|---|---|---|---|---|---|");
    for ((name, _), side) in sides.iter().zip(&measured) {
        let of = |which: fn(&Round) -> f64| median(side.iter().map(which).collect());
        let mut ratios: Vec<f64> =
            side.iter().zip(&measured[0]).map(|(own, plain)| own.rate / plain.rate).collect();
        ratios.sort_by(f64::total_cmp);
        let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
        let (rate, cpu, script) = (of(|r| r.rate), of(|r| r.cpu), of(|r| r.script));
        println!(
            "| {name} | {rate:.0} | **{:.2}** | {least:.2}–{most:.2} | {cpu:.2} | {script:.2} |",
            median(ratios.clone())
        );
    }
}
