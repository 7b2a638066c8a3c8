//! What a guarded update costs the server: the version that it was made for is compared, a move must be legal, the roster, the
//! leases, the log of events and the marks for the next checkpoint follow, and the swarm lives on.
//!
//! Beside it what costs less and promises less: the seed's transaction, and a bare HSET.

use keyplane_bench::rig::{Cost, Rig, spread, verdict};
use keyplane_swarm::state::{AgentChange, SwarmChange};
use keyplane_swarm::{SwarmId, Swarms};

use crate::fleet::{BY, Fleet, agent_id};
use crate::seed::Seed;

/// Callers at the same time, and what each does in a round.
const TASKS: usize = 32;
const EACH: usize = 250;

/// Updates of one agent before the next.
const OF_ONE: usize = 10;

/// Microseconds of the server's CPU.
const BAR: f64 = 15.0;

const NAMES: [&str; 5] = [
    "update of an agent, for its version",
    "update of a header, for its version",
    "heartbeat of an agent",
    "the seed's MULTI block: two HSET and a ZADD",
    "HSET of two fields",
];

/// Those that the bar is for.
const GUARDED: usize = 2;

pub(crate) async fn measure(rig: &Rig, fleet: &Fleet) {
    let callers = fleet.ids.len().min(TASKS);
    let seed = Seed::open(rig).await;
    let mut measured: [Vec<Cost>; NAMES.len()] = Default::default();
    for round in 0..=fleet.size.rounds {
        eprintln!("update: round {round} of {}", fleet.size.rounds);
        for turn in 0..NAMES.len() {
            let side = (round + turn) % NAMES.len();
            let cost = rig.cost(callers * EACH, all(fleet, &seed, side)).await;
            // The first round warms up.
            if round > 0 {
                measured[side].push(cost);
            }
        }
    }
    tell(callers, &measured);
}

/// Everybody does the same at the same time.
async fn all(fleet: &Fleet, seed: &Seed, side: usize) {
    let mut tasks = Vec::new();
    for swarm in fleet.ids.iter().take(TASKS) {
        let of = Caller::new(fleet, seed, swarm);
        tasks.push(match side {
            0 => tokio::spawn(of.update_agents()),
            1 => tokio::spawn(of.update_swarm()),
            2 => tokio::spawn(of.heartbeat()),
            3 => tokio::spawn(of.update_as_the_seed()),
            _ => tokio::spawn(of.set()),
        });
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// One of many, with a swarm of its own: who knows the version meets no conflict.
struct Caller {
    swarms: Swarms,
    seed: Seed,
    swarm: SwarmId,
    key: String,
    index: String,
    agents: u64,
}

impl Caller {
    fn new(fleet: &Fleet, seed: &Seed, swarm: &SwarmId) -> Self {
        Self {
            swarms: fleet.swarms.clone(),
            seed: seed.clone(),
            swarm: swarm.clone(),
            key: fleet.keyspace.swarm(swarm).as_str().to_owned(),
            index: fleet.keyspace.index_active().as_str().to_owned(),
            agents: fleet.size.agents,
        }
    }

    /// Several times each, so that all but the first time the version is known.
    async fn update_agents(self) {
        for first in 0..EACH / OF_ONE {
            let agent = agent_id(first as u64 % self.agents);
            let mut expected = None;
            for time in 0..OF_ONE {
                let confidence = Some(time as f64 / OF_ONE as f64);
                let change = AgentChange { expected, confidence, ..AgentChange::default() };
                let done = self.swarms.update_agent(&self.swarm, &agent, &change, BY).await.unwrap();
                expected = Some(done.version);
            }
        }
    }

    async fn update_swarm(self) {
        let mut expected = None;
        for time in 0..EACH {
            let confidence = Some(time as f64 / EACH as f64);
            let change = SwarmChange { expected, confidence, ..SwarmChange::default() };
            expected = Some(self.swarms.update(&self.swarm, &change, BY).await.unwrap().version);
        }
    }

    async fn heartbeat(self) {
        for time in 0..EACH as u64 {
            self.swarms.heartbeat(&self.swarm, &agent_id(time % self.agents)).await.unwrap();
        }
    }

    async fn update_as_the_seed(mut self) {
        for _ in 0..EACH {
            self.seed.update(&self.key, &self.index, self.swarm.as_str()).await;
        }
    }

    async fn set(mut self) {
        let key = format!("bench:{}", self.swarm);
        for _ in 0..EACH {
            self.seed.set(&key).await;
        }
    }
}

fn tell(callers: usize, measured: &[Vec<Cost>]) {
    println!("### Update: {callers} callers, each of which waits for its answer\n");
    println!("| operation | op/s | server µs CPU | least–most | script µs | bar |");
    println!("|---|---|---|---|---|---|");
    for (place, (name, side)) in NAMES.iter().zip(measured).enumerate() {
        let of = |which: fn(&Cost) -> f64| spread(side.iter().map(which).collect());
        let ((rate, ..), (cpu, least, most), (script, ..)) =
            (of(|c| c.rate), of(|c| c.cpu), of(|c| c.script));
        let script = if script > 0.0 { format!("{script:.1}") } else { String::new() };
        let bar = if place < GUARDED {
            format!("≤ {BAR:.0} µs: {}", verdict(cpu <= BAR))
        } else {
            String::new()
        };
        println!("| {name} | {rate:.0} | **{cpu:.1}** | {least:.1}–{most:.1} | {script} | {bar} |");
    }
    println!();
}
