//! Swarms: what a look, an update and a checkpoint cost beside the seed's commands and beside langgraph's savers, and how long
//! an agent waits when a thousand write ten times a second; all on one redis-server in the same run:
//! `cargo run --release -p keyplane-bench --bin swarm [PART ...] [NAME=NUMBER ...]`
//!
//! The parts are `status`, `update`, `checkpoint` and `load`; without one it is all of them. Numbers are `rounds` (9), `swarms`
//! (100), `agents` (1000) and `tasks` (500) of each, `seconds` (20) of load, at `rate` (10) updates of an agent per second:
//! `swarm status rounds=2 swarms=5 agents=100` takes seconds. Persistence is off. Sides take turns, and figures are medians over
//! the rounds; where a bar is missed, the table says so. `checkpoint` needs Python, and PyPI for the first time.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::expect_used)]

mod checkpoint;
mod fleet;
mod load;
mod peers;
mod seed;
mod status;
mod update;
mod words;

use std::process::ExitCode;
use std::time::Instant;

use keyplane_bench::rig::Rig;

use fleet::Fleet;

const PARTS: [&str; 4] = ["status", "update", "checkpoint", "load"];

/// How much of everything.
#[derive(Debug, Clone, Copy)]
struct Size {
    rounds: usize,
    swarms: usize,
    agents: u64,
    tasks: u64,
    seconds: u64,
    rate: u64,
}

impl Size {
    fn set(&mut self, name: &str, number: u64) -> bool {
        match name {
            "rounds" => self.rounds = number as usize,
            "swarms" => self.swarms = number as usize,
            "agents" => self.agents = number,
            "tasks" => self.tasks = number,
            "seconds" => self.seconds = number,
            "rate" => self.rate = number,
            _ => return false,
        }
        // Of nothing there is nothing to measure; a swarm without tasks is one.
        number > 0 || name == "tasks"
    }
}

/// What is asked for on the command line, or the word that nobody understands.
fn asked() -> Result<(Vec<String>, Size), String> {
    let mut size = Size { rounds: 9, swarms: 100, agents: 1000, tasks: 500, seconds: 20, rate: 10 };
    let mut parts = Vec::new();
    for word in std::env::args().skip(1) {
        let number = word.split_once('=').and_then(|(name, text)| Some((name, text.parse().ok()?)));
        match number {
            Some((name, number)) if size.set(name, number) => {}
            _ if PARTS.contains(&word.as_str()) => parts.push(word),
            _ => return Err(word),
        }
    }
    Ok((parts, size))
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let (chosen, size) = match asked() {
        Ok(asked) => asked,
        Err(word) => {
            eprintln!("`{word}` is no part ({}) and no number of something", PARTS.join(", "));
            return ExitCode::FAILURE;
        }
    };
    let (start, mut code) = (Instant::now(), ExitCode::SUCCESS);
    let rig = Rig::start().await;
    let fleet = Fleet::fill(&rig, size).await;
    eprintln!("the fleet is there after {:.0?}", start.elapsed());
    println!(
        "{} swarms of {} agents and {} tasks; medians of alternating rounds\n",
        size.swarms, size.agents, size.tasks
    );
    for part in PARTS.into_iter().filter(|part| chosen.is_empty() || chosen.iter().any(|one| one == part)) {
        match part {
            "status" => status::measure(&rig, &fleet).await,
            "update" => update::measure(&rig, &fleet).await,
            "checkpoint" => {
                if let Err(error) = checkpoint::measure(&rig, &fleet).await {
                    eprintln!("checkpoint: not measured: {error}");
                    code = ExitCode::FAILURE;
                }
            }
            _ => load::measure(&rig, &fleet).await,
        }
        eprintln!("{part}: done after {:.0?}", start.elapsed());
    }
    code
}
