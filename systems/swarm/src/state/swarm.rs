//! A swarm as a whole.

use std::collections::BTreeMap;

use keyplane_store::Reply;

use super::error::{OpError, ReadError};
use super::names::Names;
use super::outcome::Done;
use super::{Inner, MOST_TRIES, SCHEMA_VERSION, Swarms, check, flat, layouts};
use crate::keys::{Status, SwarmId};
use crate::model::{AgentLine, Mode, Strategy, TaskLine};
use crate::scripts;

/// A swarm to be.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSwarm {
    /// Its id.
    pub id: SwarmId,
    /// What it does.
    pub strategy: Strategy,
    /// How its agents are arranged.
    pub mode: Mode,
    /// What it is for: the contract's `Objective`, as JSON.
    pub objective: String,
}

/// A change of the header. Nothing is changed that is not named.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SwarmChange {
    /// Only if it is at this version.
    pub expected: Option<u64>,
    /// Only while this is the fence of the swarm's lock: `term:token`, as the lock was given out.
    pub fence: Option<String>,
    /// Its status.
    pub status: Option<Status>,
    /// Overall confidence, 0 to 1.
    pub confidence: Option<f64>,
    /// What it is for.
    pub objective: Option<String>,
    /// Checkpoints and recoveries so far: the contract's `RecoveryState`, as JSON.
    pub recovery: Option<String>,
}

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
    /// Creates a swarm. `by` is who does it, for the log of events.
    pub async fn create(&self, new: &NewSwarm, by: &str) -> Result<Done, OpError> {
        let Inner { coordinator, keyspace, most, swarm_fields, .. } = &*self.0;
        let names = self.names(&new.id)?;
        let fields = [
            ("schemaVersion", SCHEMA_VERSION.to_owned()),
            ("strategy", new.strategy.to_string()),
            ("mode", new.mode.to_string()),
            ("objective", new.objective.clone()),
        ];
        layouts::check(self.contract(), "objective", "Objective", &new.objective)?;
        check(swarm_fields, &fields)?;
        let status_index = names.status_index(Status::Initializing);
        let checkpoints = keyspace.checkpoints(&new.id);
        let call = scripts::CreateSwarm {
            swarm: &names.swarm,
            events: &names.events,
            dirty: &names.dirty,
            swarm_outbox: &names.outbox,
            roster: &names.roster,
            task_roster: &names.task_roster,
            records: &names.records,
            checkpoints: &checkpoints,
            id: new.id.as_str().into(),
            active_index: (&names.active_index).into(),
            most: (*most).into(),
            by: by.into(),
            status_index: (&status_index).into(),
            fields: flat(&fields),
        };
        let told: Vec<Reply> = coordinator.call(call).await?;
        let told = self.told(&new.id, &told);
        match told.word() {
            "ok" => Ok(told.done()),
            _ => Err(told.refusal(&new.id, new.id.as_str(), "")),
        }
    }

    /// Changes the header. Activity: the swarm lives on.
    pub async fn update(&self, swarm: &SwarmId, change: &SwarmChange, by: &str) -> Result<Done, OpError> {
        let Inner { coordinator, most, swarm_fields, .. } = &*self.0;
        let names = self.names(swarm)?;
        let mut fields = Vec::new();
        fields.extend(change.confidence.map(|confidence| ("confidence", confidence.to_string())));
        fields.extend(change.objective.clone().map(|objective| ("objective", objective)));
        fields.extend(change.recovery.clone().map(|recovery| ("recovery", recovery)));
        if let Some(objective) = &change.objective {
            layouts::check(self.contract(), "objective", "Objective", objective)?;
        }
        check(swarm_fields, &fields)?;
        let to = change.status.map_or("", Status::as_str);
        let from = swarm_fields.leading_to("status", to);
        let entered = change.status.map_or_else(String::new, |status| names.status_index(status));
        let mut seen = Status::Running;
        for _ in 0..MOST_TRIES {
            let left = names.status_index(seen);
            let call = scripts::UpdateSwarm {
                swarm: &names.swarm,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                lock_fence: &names.lock_fence,
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: by.into(),
                expected: change.expected.map_or_else(String::new, |version| version.to_string()).into(),
                to: to.into(),
                from: from.into(),
                seen: seen.as_str().into(),
                left_index: (&left).into(),
                status_index: (&entered).into(),
                fence: change.fence.as_deref().unwrap_or_default().into(),
                fields: flat(&fields),
            };
            let told: Vec<Reply> = coordinator.call(call).await?;
            let told = self.told(swarm, &told);
            match (told.word(), told.text(1).parse::<Status>()) {
                ("ok", _) => return Ok(told.done()),
                // It leaves the index of another status than was guessed.
                ("index", Ok(status)) => seen = status,
                _ => return Err(told.refusal(swarm, swarm.as_str(), to)),
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// Ends a running swarm, when none of its tasks waits, is blocked or is under way.
    pub async fn complete(&self, swarm: &SwarmId, by: &str) -> Result<Done, OpError> {
        let Inner { coordinator, most, most_listed, .. } = &*self.0;
        let names = self.names(swarm)?;
        let (left, entered) = (names.status_index(Status::Running), names.status_index(Status::Completed));
        let mut shards = 0;
        for _ in 0..MOST_TRIES {
            let task_shards = names.task_roster_shards(shards);
            let call = scripts::CompleteSwarm {
                swarm: &names.swarm,
                ready: &names.ready,
                leases: &names.leases,
                task_roster: &names.task_roster,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                task_roster_shard: task_shards.iter().collect(),
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: by.into(),
                left_index: (&left).into(),
                status_index: (&entered).into(),
                most_listed: (*most_listed).into(),
            };
            let told: Vec<Reply> = coordinator.call(call).await?;
            let told = self.told(swarm, &told);
            match told.word() {
                "ok" => return Ok(told.done()),
                "shards" => shards = told.number(1),
                _ => return Err(told.refusal(swarm, swarm.as_str(), "completed")),
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

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
            let more = |at: usize| u64::from(!texts(&parts, at).is_empty());
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

    async fn parts(&self, names: &Names, agents: u64, tasks: u64) -> Result<Vec<Reply>, ReadError> {
        let (roster_shards, task_shards) = (names.roster_shards(agents), names.task_roster_shards(tasks));
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

/// Fields and values of one of the hashes.
fn texts(parts: &[Reply], at: usize) -> BTreeMap<String, String> {
    let text = |reply: &Reply| match reply {
        Reply::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    };
    match parts.get(at) {
        Some(Reply::Array(part)) => {
            part.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
        }
        _ => BTreeMap::new(),
    }
}

fn lines<L: std::str::FromStr>(
    parts: &[Reply],
    which: impl Iterator<Item = usize>,
) -> Result<BTreeMap<String, L>, L::Err> {
    which.flat_map(|at| texts(parts, at)).map(|(id, line)| Ok((id, line.parse()?))).collect()
}

fn damaged(key: &'static str, swarm: &SwarmId, why: &dyn std::fmt::Display) -> ReadError {
    ReadError::Damaged { key, swarm: swarm.to_string(), why: why.to_string() }
}
