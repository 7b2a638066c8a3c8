//! How long an agent waits for its update when all agents of a swarm write several times a second.
//!
//! Each has a moment for every update, whatever became of the one before: what is late counts from the moment at which it was
//! due. The server and all agents share this machine; what redis-benchmark makes of a bare HSET here stands beside it.

use std::time::Duration;

use keyplane_bench::rig::{Rig, redis_benchmark, verdict};
use keyplane_swarm::state::AgentChange;
use keyplane_swarm::{SwarmId, Swarms};
use tokio::time::Instant;

use crate::fleet::{BY, Fleet, agent_id};

/// The seed's bound, in milliseconds.
const BAR: f64 = 50.0;

/// Requests of redis-benchmark.
const REQUESTS: usize = 100_000;

/// Share of what was asked for that must have been done, for the waits to mean anything.
const DONE: f64 = 0.99;

pub(crate) async fn measure(rig: &Rig, fleet: &Fleet) {
    let size = fleet.size;
    let set = ["HSET", "bench:plain", "status", "active", "confidence", "0.5"].map(str::to_owned);
    let machine = redis_benchmark(rig.server.port(), REQUESTS, &["-c", "50", "-P", "1"], &set);
    let lasts = Duration::from_secs(size.seconds);
    let (start, before) = (Instant::now(), rig.cpu());
    let mut agents = Vec::new();
    for number in 0..size.agents {
        agents.push(tokio::spawn(write(
            fleet.swarms.clone(),
            fleet.ids[0].clone(),
            number,
            size.rate,
            lasts,
        )));
    }
    let mut waits = Vec::new();
    for agent in agents {
        waits.extend(agent.await.unwrap());
    }
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), rig.cpu() - before);
    waits.sort_unstable();

    let of_thousand = |share: usize| millis(waits[(waits.len() - 1) * share / 1000]);
    let asked = (size.agents * size.rate) as f64;
    let rate = waits.len() as f64 / seconds;
    let p99 = of_thousand(990);
    println!(
        "### Load: {} agents of one swarm, {} updates a second each, {} s\n",
        size.agents, size.rate, size.seconds
    );
    println!("| | op/s | p50 ms | p99 ms | p99.9 ms | most ms | server µs CPU | server busy | bar |");
    println!("|---|---|---|---|---|---|---|---|---|");
    println!(
        "| updates of agents | {rate:.0} of {asked:.0} | {:.2} | **{p99:.2}** | {:.2} | {:.2} | {:.1} | {:.0} % | p99 < {BAR:.0} ms: {} |",
        of_thousand(500),
        of_thousand(999),
        of_thousand(1000),
        cpu / waits.len() as f64 * 1e6,
        cpu / seconds * 100.0,
        verdict(p99 < BAR && rate >= asked * DONE),
    );
    println!(
        "| redis-benchmark -c 50 -P 1 HSET, alone | {:.0} | {:.2} | {:.2} | | {:.2} | | | |\n",
        machine.rate, machine.p50, machine.p99, machine.most
    );
}

/// One agent; how long each of its updates took, from when it was due.
async fn write(swarms: Swarms, swarm: SwarmId, number: u64, rate: u64, lasts: Duration) -> Vec<Duration> {
    let agent = agent_id(number);
    let pause = Duration::from_secs(1) / u32::try_from(rate).unwrap();
    let mut due = Instant::now() + pause.mul_f64(fastrand::f64());
    let end = due + lasts;
    let mut waits = Vec::new();
    while due < end {
        tokio::time::sleep_until(due).await;
        let change = AgentChange { confidence: Some(fastrand::f64()), ..AgentChange::default() };
        swarms.update_agent(&swarm, &agent, &change, BY).await.unwrap();
        waits.push(due.elapsed());
        due += pause;
    }
    waits
}

fn millis(wait: Duration) -> f64 {
    wait.as_secs_f64() * 1000.0
}
