//! Checkpoints of one swarm beside those of langgraph's SqliteSaver and ValkeySaver, from live state to acknowledged.
//!
//! The live state is in Redis on all sides, and reading it counts: the peers read every hash in one pipeline and are told the
//! names. They save everything every time, and check nothing when they load; ours is of one moment, holds what has changed or all
//! of it, and is verified when it is loaded. An increment is the checkpoint after one agent has changed. The peers do not know
//! which it was and read the swarm again; a line more shows them where a program knows it and reads that one agent.
//!
//! SqliteSaver commits to a file and waits for the disk, as it does by default. The server keeps the others' in memory.
//! Bytes are what a checkpoint takes there: the memory of its key, or what the file has grown by.

use std::future::Future;
use std::time::Instant;

use keyplane_bench::rig::{Rig, spread, verdict};
use keyplane_bench::sides::{main_thread_seconds_of, own_seconds};
use keyplane_swarm::keys::CheckpointId;
use keyplane_swarm::state::{AgentChange, Checkpoint, CheckpointOptions};
use keyplane_swarm::{AgentId, SwarmId};
use serde_json::json;

use crate::fleet::{BY, Fleet, agent_id, task_id};
use crate::peers::{Missing, Peers, Saver};

/// Increments in a round, of each kind.
const INCREMENTS: usize = 5;

const SIDES: [(&str, Option<Saver>); 3] =
    [("keyplane", None), ("SqliteSaver", Some(Saver::Sqlite)), ("ValkeySaver", Some(Saver::Valkey))];

/// What is measured of each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Full,
    Load,
    Increment,
    /// Only the peers can be told.
    Told,
    LoadChain,
}

/// In the order of a round.
const STEPS: [(Step, &str); 5] = [
    (Step::Full, "full put"),
    (Step::Load, "load of it"),
    (Step::Increment, "put after one agent has changed"),
    (Step::Told, "the same, when the peer is told which"),
    (Step::LoadChain, "load after all of those"),
];

/// What a step took, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Took {
    /// On the clock.
    pub(crate) seconds: f64,
    /// Of the CPU, by the process that does it.
    pub(crate) client: f64,
    /// Of the CPU, by the server.
    pub(crate) server: f64,
}

/// All rounds of one side.
#[derive(Debug, Default)]
struct Measured {
    steps: [Vec<Took>; STEPS.len()],
    /// Of full ones, and of increments.
    bytes: [Vec<f64>; 2],
}

impl Measured {
    fn add(&mut self, step: Step, took: Took) {
        self.steps[step as usize].push(took);
    }

    /// Middle, least and most of a figure, in milliseconds; `None` for what this side does not do.
    fn millis(&self, step: Step, which: fn(&Took) -> f64) -> Option<(f64, f64, f64)> {
        let all: Vec<f64> = self.steps[step as usize].iter().map(|took| which(took) * 1000.0).collect();
        (!all.is_empty()).then(|| spread(all))
    }

    /// The middle of what the clock showed, in milliseconds.
    fn clock(&self, step: Step) -> f64 {
        self.millis(step, |took| took.seconds).map_or(f64::NAN, |(middle, ..)| middle)
    }

    /// Of a full put or an increment.
    fn bytes(&self, step: Step) -> f64 {
        spread(self.bytes[usize::from(step != Step::Full)].clone()).0
    }
}

/// One swarm, and whoever saves it.
struct Sides<'a> {
    rig: &'a Rig,
    fleet: &'a Fleet,
    swarm: &'a SwarmId,
    peers: Peers,
}

pub(crate) async fn measure(rig: &Rig, fleet: &Fleet) -> Result<(), Missing> {
    let swarm = &fleet.ids[0];
    let key = |agent: &AgentId| fleet.keyspace.agent(swarm, agent).as_str().to_owned();
    let peers = Peers::start(json!({
        "url": rig.server.url(),
        "header": fleet.keyspace.swarm(swarm).as_str(),
        "agents": (0..fleet.size.agents).map(|number| key(&agent_id(number))).collect::<Vec<_>>(),
        "tasks": (0..fleet.size.tasks)
            .map(|number| fleet.keyspace.task(swarm, &task_id(number)).as_str().to_owned())
            .collect::<Vec<_>>(),
    }))?;
    let mut sides = Sides { rig, fleet, swarm, peers };
    let mut measured: [Measured; 3] = Default::default();
    for round in 0..=fleet.size.rounds {
        eprintln!("checkpoint: round {round} of {}", fleet.size.rounds);
        if round == 1 {
            // The first round has warmed up.
            measured = Default::default();
        }
        for turn in 0..SIDES.len() {
            let side = (round + turn) % SIDES.len();
            match SIDES[side].1 {
                None => sides.ours(&mut measured[side]).await,
                Some(saver) => sides.theirs(saver, &mut measured[side]).await?,
            }
        }
    }
    tell(fleet, &measured);
    Ok(())
}

impl Sides<'_> {
    /// One agent has done something.
    async fn change(&self) -> AgentId {
        let agent = agent_id(fastrand::u64(..self.fleet.size.agents));
        let change = AgentChange { confidence: Some(fastrand::f64()), ..AgentChange::default() };
        self.fleet.swarms.update_agent(self.swarm, &agent, &change, BY).await.unwrap();
        agent
    }

    async fn ours(&self, measured: &mut Measured) {
        self.change().await;
        let made = self.put(true, measured).await;
        assert_eq!(made.records, self.records(), "all of it");
        self.load(Step::Load, measured).await;
        for _ in 0..INCREMENTS {
            self.change().await;
            let made = self.put(false, measured).await;
            assert!(made.parent.is_some(), "an increment");
        }
        self.load(Step::LoadChain, measured).await;
    }

    /// Header, agents and tasks.
    fn records(&self) -> u64 {
        1 + self.fleet.size.agents + self.fleet.size.tasks
    }

    async fn put(&self, full: bool, measured: &mut Measured) -> Checkpoint {
        let options = CheckpointOptions { full, ..CheckpointOptions::default() };
        let (swarms, swarm) = (self.fleet.swarms.clone(), self.swarm.clone());
        let put = async move { swarms.checkpoint(&swarm, &options, BY).await.unwrap() };
        let (made, took) = self.timed(put).await;
        measured.add(if full { Step::Full } else { Step::Increment }, took);
        let key = self.fleet.keyspace.recovery(self.swarm, &CheckpointId::new(&made.id).unwrap());
        let mut usage = redis::cmd("MEMORY");
        usage.arg("USAGE").arg(key.as_str()).arg("SAMPLES").arg(0);
        measured.bytes[usize::from(!full)].push(usage.query(&mut self.rig.server.admin()).unwrap());
        made
    }

    /// Verified, and every field of every record looked at: the peers' are in dictionaries.
    async fn load(&self, step: Step, measured: &mut Measured) {
        let (swarms, swarm) = (self.fleet.swarms.clone(), self.swarm.clone());
        let load = async move {
            let loaded = swarms.load_newest(&swarm).await.unwrap().expect("there is one");
            let fields: usize = loaded.state.iter().map(|(_, body)| body.fields().count()).sum();
            assert!(loaded.passed_over.is_empty() && fields > loaded.state.len());
            loaded
        };
        let (loaded, took) = self.timed(load).await;
        assert_eq!(loaded.state.len() as u64, self.records(), "all of it");
        measured.add(step, took);
    }

    /// In a task of its own, as a server's are: on the thread of `main` every answer would have to wake that first.
    async fn timed<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> (T, Took) {
        let pid = self.rig.server.pid();
        let timed = async move {
            let (start, own, server) = (Instant::now(), own_seconds(), main_thread_seconds_of(pid));
            let done = work.await;
            let seconds = start.elapsed().as_secs_f64();
            let client = own_seconds() - own;
            (done, Took { seconds, client, server: main_thread_seconds_of(pid) - server })
        };
        tokio::spawn(timed).await.unwrap()
    }

    async fn theirs(&mut self, saver: Saver, measured: &mut Measured) -> Result<(), Missing> {
        self.change().await;
        self.ask(Step::Full, measured, |peers| peers.put(saver, None))?;
        self.ask(Step::Load, measured, |peers| peers.load(saver))?;
        for _ in 0..INCREMENTS {
            self.change().await;
            self.ask(Step::Increment, measured, |peers| peers.put(saver, None))?;
            let changed = self.change().await;
            let key = self.fleet.keyspace.agent(self.swarm, &changed);
            self.ask(Step::Told, measured, |peers| peers.put(saver, Some(key.as_str())))?;
        }
        self.ask(Step::LoadChain, measured, |peers| peers.load(saver))?;
        let bytes = self.peers.bytes(saver)?;
        measured.bytes.iter_mut().for_each(|all| all.push(bytes));
        Ok(())
    }

    fn ask(
        &mut self,
        step: Step,
        measured: &mut Measured,
        ask: impl FnOnce(&mut Peers) -> Result<Took, Missing>,
    ) -> Result<(), Missing> {
        let before = self.rig.cpu();
        let took = ask(&mut self.peers)?;
        measured.add(step, Took { server: self.rig.cpu() - before, ..took });
        Ok(())
    }
}

fn tell(fleet: &Fleet, measured: &[Measured; 3]) {
    println!("### Checkpoint of {} agents and {} tasks\n", fleet.size.agents, fleet.size.tasks);
    println!("| step | by | ms | least ms | client ms CPU | server ms CPU | bytes |");
    println!("|---|---|---|---|---|---|---|");
    for (step, name) in STEPS {
        for ((side, _), measured) in SIDES.iter().zip(measured) {
            let Some((middle, least, _)) = measured.millis(step, |took| took.seconds) else { continue };
            let of = |which| measured.millis(step, which).map_or(f64::NAN, |(middle, ..)| middle);
            let bytes = match step {
                Step::Load | Step::LoadChain => String::new(),
                _ => format!("{:.0}", measured.bytes(step)),
            };
            println!(
                "| {name} | {side} | **{middle:.2}** | {least:.2} | {:.2} | {:.2} | {bytes} |",
                of(|took| took.client),
                of(|took| took.server),
            );
        }
    }
    println!();
    judge(measured);
}

fn judge([ours, sqlite, valkey]: &[Measured; 3]) {
    let faster = |step: Step| if sqlite.clock(step) < valkey.clock(step) { sqlite } else { valkey };
    println!("| bar | is | |");
    println!("|---|---|---|");
    let line = |bar: &str, is: String, holds: bool| println!("| {bar} | {is} | {} |", verdict(holds));
    for (step, name) in [(Step::Load, "verified load"), (Step::LoadChain, "verified load of a chain")] {
        let (own, other) = (ours.clock(step), faster(step).clock(step));
        line(&format!("{name} faster than both"), format!("{own:.2} ms, {other:.2} ms"), own < other);
    }
    let other = faster(Step::Full);
    let times = ours.clock(Step::Full) / other.clock(Step::Full);
    line("full put within 2× of the faster", format!("{times:.2}×"), times <= 2.0);
    let share = other.bytes(Step::Full) / ours.bytes(Step::Full);
    line("full put at ≤ 1/5 of its bytes", format!("1/{share:.1}"), share >= 5.0);
    let bytes = ours.bytes(Step::Increment);
    line("increment ≤ 4 KB", format!("{bytes:.0} bytes"), bytes <= 4096.0);
    let times = faster(Step::Increment).clock(Step::Increment) / ours.clock(Step::Increment);
    line("increment ≥ 3× faster than the faster", format!("{times:.1}×"), times >= 3.0);
    let times = faster(Step::Told).clock(Step::Told) / ours.clock(Step::Increment);
    println!("| beside it: than the faster that is told what has changed | {times:.1}× | |\n");
}
