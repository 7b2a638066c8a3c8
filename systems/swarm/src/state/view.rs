//! A swarm with its agents and tasks, as of one moment.

use std::borrow::Cow;
use std::collections::BTreeMap;

use keyplane_store::Reply;

use super::Swarms;
use super::error::ReadError;
use super::names::Names;
use crate::keys::SwarmId;
use crate::model::{AgentLine, BadLine, TaskLine};
use crate::scripts;

/// Shards that a header is believed to have without one being there: a million of agents. There may be more.
const MOST_EXPECTED: u64 = 1000;

/// A swarm as of one moment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SwarmView {
    /// That moment, by the server's clock, in Unix milliseconds.
    pub at: u64,
    /// Fields of the header.
    pub header: BTreeMap<String, String>,
    /// Its agents.
    pub agents: BTreeMap<String, AgentLine>,
    /// Its tasks.
    pub tasks: BTreeMap<String, TaskLine>,
    /// Agents and tasks of which the lists say something that nobody can read, by name: `agents:agent_dev00001`. They are among
    /// neither of the others; their records may be as they should.
    pub damaged: BTreeMap<String, BadLine>,
}

impl SwarmView {
    /// What it is doing.
    #[must_use]
    pub fn status(&self) -> &str {
        self.field("status")
    }

    /// The version of the header.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.field("version").parse().unwrap_or_default()
    }

    /// A field of the header; empty if it has none.
    #[must_use]
    pub fn field(&self, name: &str) -> &str {
        self.header.get(name).map_or("", String::as_str)
    }
}

impl Swarms {
    /// A swarm with its agents and tasks, as of one moment; `None` if there is none. One round trip while it has no more than
    /// a thousand of either.
    pub async fn read(&self, swarm: &SwarmId) -> Result<Option<SwarmView>, ReadError> {
        let names = self.names(swarm).map_err(|error| damaged("header", swarm, &error))?;
        let view = self.remains(&names, (0, 0)).await?;
        Ok((!view.header.is_empty()).then_some(view))
    }

    /// What there is of a swarm, with its header or without. No count says for certain how many shards its rosters have: one
    /// more is read than is expected, which is cheap as it is not there, and others until the last is empty. `least` at any rate.
    pub(super) async fn remains(&self, names: &Names, least: (u64, u64)) -> Result<SwarmView, ReadError> {
        let (mut agents, mut tasks) = (least.0 + 1, least.1 + 1);
        loop {
            let parts = self.parts(names, agents, tasks).await?;
            let header = texts(&parts, 1);
            let expected = self.shards_by(&header);
            let needed = |shards: u64, expected: u64, last: u64| {
                (shards + u64::from(!is_empty(&parts, last as usize))).max(expected + 1)
            };
            let needed =
                (needed(agents, expected.0, 3 + agents), needed(tasks, expected.1, 3 + agents + tasks));
            if needed == (agents, tasks) {
                return Ok(view(&parts, header, agents));
            }
            (agents, tasks) = needed;
        }
    }

    /// Shards of the rosters, of agents and of tasks, as a header counts them. Somebody may have written the count by hand.
    fn shards_by(&self, header: &BTreeMap<String, String>) -> (u64, u64) {
        let shards = |field: &str| {
            let count: u64 = header.get(field).and_then(|text| text.parse().ok()).unwrap_or_default();
            (count.saturating_sub(1) / self.0.most_listed).min(MOST_EXPECTED)
        };
        (shards("agentCount"), shards("taskCount"))
    }

    /// The time, the header, both rosters and so many shards of each, as of one moment.
    ///
    /// A script has to take each line apart and put it together again, which costs the server several times what handing over
    /// the hash does. So the hashes are read as they are, between two looks at the newest event. If that is another afterwards,
    /// they may be of several moments, and the script reads them.
    async fn parts(&self, names: &Names, agents: u64, tasks: u64) -> Result<Vec<Reply>, ReadError> {
        let (roster_shards, task_shards) = (names.roster_shards(agents), names.task_roster_shards(tasks));
        let look = || scripts::ReadMoment { events: &names.events };
        let plain = [&names.swarm, &names.roster, &names.task_roster];
        let mut reading = self.0.monitor.pipeline().call::<Reply>(look());
        for key in plain.into_iter().chain(&roster_shards).chain(&task_shards) {
            reading = reading.run(key.hgetall());
        }
        let mut parts = reading.call::<Reply>(look()).send_all().await?;
        let after = parts.pop();
        if let (Some(Reply::Array(before)), Some(Reply::Array(after))) = (parts.first(), after)
            && let ([at, was], [_, is]) = (before.as_slice(), after.as_slice())
            && was == is
        {
            parts[0] = at.clone();
            return Ok(parts);
        }
        let call = scripts::ReadSwarm {
            swarm: &names.swarm,
            roster: &names.roster,
            task_roster: &names.task_roster,
            roster_shard: roster_shards.iter().collect(),
            task_roster_shard: task_shards.iter().collect(),
        };
        Ok(self.0.monitor.call(call).await?)
    }
}

/// Out of what was read together, with so many shards of agents.
fn view(parts: &[Reply], header: BTreeMap<String, String>, agents: u64) -> SwarmView {
    let agent_parts = std::iter::once(2).chain(4..4 + agents as usize);
    let task_parts = std::iter::once(3).chain(4 + agents as usize..parts.len());
    let mut damaged = BTreeMap::new();
    SwarmView {
        at: moment(parts),
        agents: lines(parts, agent_parts, "agents", &mut damaged),
        tasks: lines(parts, task_parts, "tasks", &mut damaged),
        damaged,
        header,
    }
}

fn moment(parts: &[Reply]) -> u64 {
    match parts.first() {
        Some(Reply::Int(at)) => u64::try_from(*at).unwrap_or_default(),
        _ => 0,
    }
}

fn is_empty(parts: &[Reply], at: usize) -> bool {
    match parts.get(at) {
        Some(Reply::Map(part)) => part.is_empty(),
        Some(Reply::Array(part)) => part.is_empty(),
        _ => true,
    }
}

/// Fields and values of one of the hashes; a script tells them in a row.
fn pairs(parts: &[Reply], at: usize) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    match parts.get(at) {
        Some(Reply::Map(part)) => part.iter().map(|(field, value)| (text(field), text(value))).collect(),
        Some(Reply::Array(part)) => {
            part.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
        }
        _ => Vec::new(),
    }
}

fn text(reply: &Reply) -> Cow<'_, str> {
    match reply {
        Reply::Bytes(bytes) => String::from_utf8_lossy(bytes),
        _ => Cow::Borrowed(""),
    }
}

fn texts(parts: &[Reply], at: usize) -> BTreeMap<String, String> {
    let owned = |(field, value): (Cow<'_, str>, Cow<'_, str>)| (field.into_owned(), value.into_owned());
    pairs(parts, at).into_iter().map(owned).collect()
}

/// The lines of one family; those that cannot be read are put among the damaged.
fn lines<L: std::str::FromStr<Err = BadLine>>(
    parts: &[Reply],
    which: impl Iterator<Item = usize>,
    family: &str,
    damaged: &mut BTreeMap<String, BadLine>,
) -> BTreeMap<String, L> {
    let mut read = BTreeMap::new();
    for (id, line) in which.flat_map(|at| pairs(parts, at)) {
        match line.parse() {
            Ok(line) => drop(read.insert(id.into_owned(), line)),
            Err(bad) => drop(damaged.insert(format!("{family}:{id}"), bad)),
        }
    }
    read
}

fn damaged(key: &'static str, swarm: &SwarmId, why: &dyn std::fmt::Display) -> ReadError {
    ReadError::Damaged { key, swarm: swarm.to_string(), why: why.to_string() }
}
