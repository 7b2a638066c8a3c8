//! A swarm with its agents and tasks, as of one moment.

use std::borrow::Cow;
use std::collections::BTreeMap;

use keyplane_store::Reply;

use super::Swarms;
use super::error::ReadError;
use super::names::Names;
use crate::keys::SwarmId;
use crate::model::{AgentLine, TaskLine};
use crate::scripts;

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
        let (mut agents, mut tasks) = (0, 0);
        loop {
            let parts = self.parts(&names, agents, tasks).await?;
            let header = texts(&parts, 1);
            if header.is_empty() {
                return Ok(None);
            }
            let needed = self.shards_by(&header);
            if needed.0 > agents || needed.1 > tasks {
                (agents, tasks) = (needed.0.max(agents), needed.1.max(tasks));
                continue;
            }
            return Ok(Some(view(&parts, header, agents)?));
        }
    }

    /// What there is of a swarm, with its header or without. Then nothing says how many shards its rosters have, so they are read
    /// until one is empty, and `least` at any rate.
    pub(super) async fn remains(&self, names: &Names, least: (u64, u64)) -> Result<SwarmView, ReadError> {
        let (mut agents, mut tasks) = least;
        loop {
            let parts = self.parts(names, agents, tasks).await?;
            let header = texts(&parts, 1);
            let by_header = self.shards_by(&header);
            let last = |plain: usize, shards: u64, before: u64| match shards {
                0 => plain,
                shards => 3 + (before + shards) as usize,
            };
            let more = |at: usize| u64::from(!pairs(&parts, at).is_empty());
            let needed = (agents + more(last(2, agents, 0)), tasks + more(last(3, tasks, agents)));
            let needed = (needed.0.max(by_header.0), needed.1.max(by_header.1));
            if needed == (agents, tasks) {
                return view(&parts, header, agents);
            }
            (agents, tasks) = needed;
        }
    }

    /// Shards of the rosters, of agents and of tasks, as a header counts them.
    fn shards_by(&self, header: &BTreeMap<String, String>) -> (u64, u64) {
        let shards = |field: &str| {
            let count: u64 = header.get(field).and_then(|text| text.parse().ok()).unwrap_or_default();
            count.saturating_sub(1) / self.0.most_listed
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
fn view(parts: &[Reply], header: BTreeMap<String, String>, agents: u64) -> Result<SwarmView, ReadError> {
    let agent_parts = std::iter::once(2).chain(4..4 + agents as usize);
    let task_parts = std::iter::once(3).chain(4 + agents as usize..parts.len());
    Ok(SwarmView {
        at: moment(parts),
        agents: lines(parts, agent_parts)?,
        tasks: lines(parts, task_parts)?,
        header,
    })
}

fn moment(parts: &[Reply]) -> u64 {
    match parts.first() {
        Some(Reply::Int(at)) => u64::try_from(*at).unwrap_or_default(),
        _ => 0,
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

fn lines<L: std::str::FromStr>(
    parts: &[Reply],
    which: impl Iterator<Item = usize>,
) -> Result<BTreeMap<String, L>, L::Err> {
    which.flat_map(|at| pairs(parts, at)).map(|(id, line)| Ok((id.into_owned(), line.parse()?))).collect()
}

fn damaged(key: &'static str, swarm: &SwarmId, why: &dyn std::fmt::Display) -> ReadError {
    ReadError::Damaged { key, swarm: swarm.to_string(), why: why.to_string() }
}
