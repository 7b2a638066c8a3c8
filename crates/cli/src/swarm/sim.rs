//! `keyplane swarm sim`: a fleet of agents, to watch.

use std::time::Duration;

use clap::Args as ClapArgs;
use keyplane_config::Section;
use keyplane_key::Naming;
use keyplane_store::Store;
use keyplane_swarm::Swarms;
use keyplane_swarm::run::{Picture, Sim, sim_settings};
use serde_json::{Value, json};

use crate::args::{Given, duration};
use crate::live::{self, Shown, bar};
use crate::outcome::{Failure, Outcome};
use crate::output::{FAINT, KEY, NAME, Output, STRONG};
use crate::site::Site;

pub(super) const HELP: &str = "Without a url it runs in memory and leaves nothing behind.\n\nExamples:\n  keyplane swarm sim\n  keyplane swarm sim --agents 50 --for 1m --json";

/// What is to be seen.
pub(crate) const STORY: &str = "Agents claim tasks; some fall silent, and others take over; validators vote; the swarm fails, loses records, and is recovered.";

/// A fleet to watch.
#[derive(Debug, ClapArgs)]
pub(crate) struct Watch {
    /// How many agents.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(6..=5000))]
    agents: u64,
    /// How long.
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = duration)]
    lasts: Duration,
}

pub(super) async fn run(watch: &Watch, given: &Given, output: &Output) -> Result<Outcome, Failure> {
    let Site { store, naming, .. } = Site::of(Section::Swarm, given, Some("embedded:")).await?;
    if !output.quiet && !output.json {
        output.line(format!(
            "{STRONG}{} agents, one swarm.{STRONG:#}\n{FAINT}{STORY}{FAINT:#}",
            watch.agents
        ))?;
    }
    fleet(&store, naming, watch.agents, watch.lasts, output).await?;
    Ok(Outcome::Fine)
}

/// As a part of the demo, on its store.
#[cfg(feature = "embedded")]
pub(crate) async fn in_demo(store: &Store, lasts: Duration, output: &Output) -> Result<(), Failure> {
    let naming = Naming::new("", false).map_err(|error| Failure::new(error.to_string()))?;
    fleet(store, naming, 200, lasts, output).await
}

async fn fleet(
    store: &Store,
    naming: Naming,
    agents: u64,
    lasts: Duration,
    output: &Output,
) -> Result<(), Failure> {
    let told = |error: &dyn std::fmt::Display| Failure::new(format!("the fleet: {error}"));
    let swarms = Swarms::new(store, naming, sim_settings()).map_err(|error| told(&error))?;
    let sim = Sim::start(swarms, agents, fastrand::u64(..)).await.map_err(|error| told(&error))?;
    live::show(lasts, output, async || sim.picture().await.map_err(|error| told(&error))).await
}

impl Shown for Picture {
    fn board(&self) -> String {
        let mut text = format!("\n  {KEY}{}{KEY:#}  {NAME}{}{NAME:#}\n\n", self.swarm, self.status);
        for (title, counts) in [("agents", &self.agents), ("tasks", &self.tasks)] {
            let all = counts.values().sum();
            for (at, (name, count)) in counts.iter().enumerate() {
                let title = if at == 0 { title } else { "" };
                text += &format!(
                    "  {STRONG}{title:<8}{STRONG:#}{name:<12}{count:>6}  {NAME}{}{NAME:#}\n",
                    bar(*count, all)
                );
            }
        }
        let counts = self.counts.iter().map(|(name, count)| format!("{count} {name}"));
        text += &format!("  {FAINT}{}{FAINT:#}\n", counts.collect::<Vec<_>>().join(", "));
        let saved = self.checkpoint.map(|(seq, stored)| format!("checkpoint {seq} took {stored} bytes"));
        text += &format!("  {FAINT}{}{FAINT:#}\n\n", saved.unwrap_or_else(|| "no checkpoint yet".to_owned()));
        text + &live::news(self.news.iter().map(|news| (news.at, news.what.as_str())))
    }

    fn summary(&self) -> String {
        let of = |counts: &std::collections::BTreeMap<&str, u64>, name: &str| {
            counts.get(name).copied().unwrap_or_default()
        };
        format!(
            "{}\tbusy {}\tidle {}\tpending {}\tin progress {}\tcompleted {}\tcheckpoint {}",
            self.status,
            of(&self.agents, "busy"),
            of(&self.agents, "idle"),
            of(&self.tasks, "pending"),
            of(&self.tasks, "in_progress"),
            of(&self.tasks, "completed"),
            self.checkpoint.map_or(0, |(seq, _)| seq),
        )
    }

    fn as_json(&self) -> Value {
        json!({
            "swarm": self.swarm,
            "status": self.status,
            "agents": self.agents,
            "tasks": self.tasks,
            "counts": self.counts.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
            "checkpoint": self.checkpoint.map(|(seq, stored)| json!({ "seq": seq, "stored": stored })),
        })
    }
}
