//! Records that come back, some at a time, in one script each time.

use std::collections::{BTreeMap, BTreeSet};

use keyplane_key::{Arg, Hash, Key, Set};
use keyplane_kit::Fence;
use keyplane_kit::checkpoint::Body;
use keyplane_store::Reply;
use serde_json::Value;

use super::error::OpError;
use super::names::Names;
use super::records::{HEADER, Record};
use super::{Inner, Swarms};
use crate::keys::{AgentId, SwarmId, Tag, TaskId};
use crate::model::recovery::{Unheld, Waiting, shard};
use crate::scripts;

/// Records in one script: it must not hold up others.
const AT_ONCE: usize = 100;

/// Keys before those that a step names by their place.
const FIXED: usize = 8;

/// A place among the keys that steps name: one of the lists, or a record.
#[derive(Debug, Clone, Copy)]
enum Place {
    Roster,
    TaskRoster,
    RosterShard(usize),
    TaskRosterShard(usize),
    Tag(usize),
    Agent(usize),
    Blob(usize),
    Consensus(usize),
    Memory(usize),
    Phase(usize),
    Task(usize),
}

enum Step<'s> {
    Hash(Place, &'s str, &'s Body),
    Line(Place, String, String),
    Tag(Place, String),
    Ready(Place, u64, String),
    Records(String),
    Idle(Place, Place, String),
    /// A task, its roster, its place among those that can be claimed, and those that it waits for.
    Settle(Place, Place, u64, String, Vec<(Place, String)>),
    /// The same, and whoever holds it by its own word.
    Free(Place, Place, u64, String, String),
    /// What is listed and nowhere: its key, what the lists call it, and its name.
    Gone(Place, String, &'s str),
    /// Shards of the rosters.
    Count(usize, usize),
    Note(String),
}

/// One script: its keys, and what it does to them.
#[derive(Default)]
struct Batch<'s> {
    header: Option<&'s Body>,
    tags: Vec<Key<Set>>,
    agents: Vec<Key<Hash>>,
    blobs: Vec<Key<Hash>>,
    rounds: Vec<Key<Hash>>,
    memories: Vec<Key<Hash>>,
    phases: Vec<Key<Hash>>,
    tasks: Vec<Key<Hash>>,
    steps: Vec<Step<'s>>,
    /// How many shards of the rosters are needed.
    shards: (usize, usize),
}

/// What a script did.
struct Carried {
    restored: u64,
    idle: u64,
    freed: Vec<String>,
}

impl Swarms {
    /// Brings records back, with what lists them: how many. What is there already is left alone. `roles` are those of all agents.
    pub(super) async fn restore(
        &self,
        swarm: &SwarmId,
        fence: &Fence,
        records: &BTreeMap<String, Body>,
        roles: &BTreeSet<&str>,
        by: &str,
    ) -> Result<u64, OpError> {
        let names = self.names(swarm)?;
        let mut restored = 0;
        let header = records.get(HEADER);
        let steps = header.map(|_| notes(&names, roles)).unwrap_or_default();
        let first = Batch { header, steps, ..Batch::default() };
        restored += self.carry_out(swarm, &names, fence, &first, by).await?.restored;
        let rest: Vec<(&String, &Body)> = records.iter().filter(|(name, _)| *name != HEADER).collect();
        for some in rest.chunks(AT_ONCE) {
            let mut batch = Batch::default();
            for (name, body) in some {
                self.add(swarm, &mut batch, name, body);
            }
            restored += self.carry_out(swarm, &names, fence, &batch, by).await?.restored;
        }
        Ok(restored)
    }

    /// Puts tasks where they can be claimed, unless they are there or were claimed meanwhile.
    pub(super) async fn make_ready(
        &self,
        swarm: &SwarmId,
        fence: &Fence,
        tasks: &BTreeMap<String, u64>,
        by: &str,
    ) -> Result<(), OpError> {
        let names = self.names(swarm)?;
        let task = |(id, place): (&String, &u64)| Some((TaskId::from_store(id.clone()).ok()?, *place));
        let all: Vec<(TaskId, u64)> = tasks.iter().filter_map(task).collect();
        for some in all.chunks(AT_ONCE) {
            let mut batch = Batch::default();
            for (id, place) in some {
                batch.steps.push(Step::Ready(Place::Task(batch.tasks.len()), *place, id.to_string()));
                batch.tasks.push(self.0.keyspace.task(swarm, id));
            }
            self.carry_out(swarm, &names, fence, &batch, by).await?;
        }
        Ok(())
    }

    /// Makes agents idle that hold no task: how many were not.
    pub(super) async fn make_idle(
        &self,
        swarm: &SwarmId,
        fence: &Fence,
        agents: &[(AgentId, usize)],
        by: &str,
    ) -> Result<u64, OpError> {
        let names = self.names(swarm)?;
        let mut idle = 0;
        for some in agents.chunks(AT_ONCE) {
            let mut batch = Batch::default();
            for (id, shard) in some {
                batch.shards.0 = batch.shards.0.max(*shard);
                let (own, roster) = (Place::Agent(batch.agents.len()), roster(*shard));
                batch.agents.push(self.0.keyspace.agent(swarm, id));
                batch.steps.push(Step::Idle(own, roster, id.to_string()));
            }
            idle += self.carry_out(swarm, &names, fence, &batch, by).await?.idle;
        }
        Ok(idle)
    }

    /// Lets tasks that wait for others wait for those that are not completed by now. Whatever happens to these from here on, they
    /// know who waits.
    pub(super) async fn settle(
        &self,
        swarm: &SwarmId,
        fence: &Fence,
        waiting: &BTreeMap<String, Waiting>,
        by: &str,
    ) -> Result<(), OpError> {
        let names = self.names(swarm)?;
        let mut waiting = waiting.iter().peekable();
        while waiting.peek().is_some() {
            let mut batch = Batch::default();
            while let Some((id, waits)) = waiting.next_if(|_| batch.tasks.len() < AT_ONCE) {
                let Ok(own) = TaskId::from_store(id.clone()) else { continue };
                let (own, roster) = (batch.task(self, swarm, &own), batch.task_roster(waits.shard));
                let others = waits.others.iter().filter_map(|id| TaskId::from_store(id.clone()).ok());
                let others: Vec<(Place, String)> =
                    others.map(|id| (batch.task(self, swarm, &id), id.to_string())).collect();
                batch.steps.push(Step::Settle(own, roster, waits.place, id.clone(), others));
            }
            self.carry_out(swarm, &names, fence, &batch, by).await?;
        }
        Ok(())
    }

    /// Takes tasks back that are under way and that no agent holds: which.
    pub(super) async fn free(
        &self,
        swarm: &SwarmId,
        fence: &Fence,
        unheld: &BTreeMap<String, Unheld>,
        by: &str,
    ) -> Result<Vec<String>, OpError> {
        let (names, mut freed) = (self.names(swarm)?, Vec::new());
        for some in unheld.iter().collect::<Vec<_>>().chunks(AT_ONCE) {
            let mut batch = Batch::default();
            for (id, unheld) in some {
                let Ok(own) = TaskId::from_store((*id).clone()) else { continue };
                let (own, roster) = (batch.task(self, swarm, &own), batch.task_roster(unheld.shard));
                let holder = unheld.holder.clone();
                batch.steps.push(Step::Free(own, roster, unheld.place, (*id).clone(), holder));
            }
            freed.extend(self.carry_out(swarm, &names, fence, &batch, by).await?.freed);
        }
        Ok(freed)
    }

    /// Takes what is listed and nowhere out of the lists. So many shards of the rosters are known of.
    pub(super) async fn forget(
        &self,
        swarm: &SwarmId,
        fence: &Fence,
        gone: &BTreeSet<String>,
        shards: (usize, usize),
        by: &str,
    ) -> Result<(), OpError> {
        let names = self.names(swarm)?;
        for some in gone.iter().collect::<Vec<_>>().chunks(AT_ONCE) {
            let mut batch = Batch { shards, ..Batch::default() };
            for name in some {
                let Some((record, (_, id))) = Record::named(name).zip(name.split_once(':')) else { continue };
                let key = record.key(&self.0.keyspace, swarm);
                let own = batch.place(&record, key);
                batch.steps.push(Step::Gone(own, id.to_owned(), name));
            }
            self.carry_out(swarm, &names, fence, &batch, by).await?;
        }
        Ok(())
    }

    /// Lets the header count what the rosters list. So many shards are known of; there may be more behind them.
    pub(super) async fn count(
        &self,
        swarm: &SwarmId,
        fence: &Fence,
        known: (usize, usize),
        by: &str,
    ) -> Result<(), OpError> {
        let (names, store) = (self.names(swarm)?, &self.0.coordinator);
        let (mut agents, mut tasks) = known;
        let next = |shards: Vec<Key<Hash>>| shards.into_iter().next_back();
        while let Some(shard) = next(names.roster_shards(agents as u64 + 1)) {
            match store.run(shard.exists()).await? {
                true => agents += 1,
                false => break,
            }
        }
        while let Some(shard) = next(names.task_roster_shards(tasks as u64 + 1)) {
            match store.run(shard.exists()).await? {
                true => tasks += 1,
                false => break,
            }
        }
        let (shards, steps) = ((agents, tasks), vec![Step::Count(agents, tasks)]);
        let batch = Batch { shards, steps, ..Batch::default() };
        self.carry_out(swarm, &names, fence, &batch, by).await?;
        Ok(())
    }

    fn add<'s>(&self, swarm: &SwarmId, batch: &mut Batch<'s>, name: &'s str, body: &'s Body) {
        let Some(record) = Record::named(name) else { return };
        let key = record.key(&self.0.keyspace, swarm);
        let own = batch.place(&record, key);
        batch.steps.push(Step::Hash(own, name, body));
        let shard = shard(body);
        match record {
            Record::Agent(id) => {
                batch.shards.0 = batch.shards.0.max(shard);
                batch.steps.push(Step::Line(roster(shard), id.to_string(), agent_line(body)));
            }
            Record::Task(id) => {
                let list = batch.task_roster(shard);
                batch.steps.push(Step::Line(list, id.to_string(), task_line(body)));
            }
            Record::Memory(..) => {
                batch.steps.push(Step::Records(name.to_owned()));
                for tag in tags(body) {
                    let member = name.replacen("memory:", "", 1);
                    batch.steps.push(Step::Tag(Place::Tag(batch.tags.len()), member));
                    batch.steps.push(Step::Records(format!("tag#{tag}")));
                    batch.tags.push(self.0.keyspace.memory_tag(swarm, &tag));
                }
            }
            Record::Blob(..) | Record::Consensus(_) | Record::Phase(_) => {
                batch.steps.push(Step::Records(name.to_owned()));
            }
        }
    }

    async fn carry_out(
        &self,
        swarm: &SwarmId,
        names: &Names,
        fence: &Fence,
        batch: &Batch<'_>,
        by: &str,
    ) -> Result<Carried, OpError> {
        let Inner { coordinator, most, .. } = &*self.0;
        let shards =
            (names.roster_shards(batch.shards.0 as u64), names.task_roster_shards(batch.shards.1 as u64));
        let call = scripts::Recover {
            lock_fence: fence.key(),
            swarm: &names.swarm,
            ready: &names.ready,
            leases: &names.leases,
            records: &names.records,
            events: &names.events,
            dirty: &names.dirty,
            swarm_outbox: &names.outbox,
            roster: vec![&names.roster],
            task_roster: vec![&names.task_roster],
            roster_shard: shards.0.iter().collect(),
            task_roster_shard: shards.1.iter().collect(),
            memory_tag: batch.tags.iter().collect(),
            agent: batch.agents.iter().collect(),
            blob: batch.blobs.iter().collect(),
            consensus: batch.rounds.iter().collect(),
            memory: batch.memories.iter().collect(),
            phase: batch.phases.iter().collect(),
            task: batch.tasks.iter().collect(),
            fence: fence.into(),
            id: swarm.as_str().into(),
            active_index: (&names.active_index).into(),
            most: (*most).into(),
            by: by.into(),
            steps: batch.words(),
        };
        let told: Vec<Reply> = coordinator.call(call).await?;
        let told = self.told(swarm, &told).await;
        match told.word() {
            "ok" => Ok(Carried {
                restored: told.number(1),
                idle: told.number(2),
                freed: told.text(3).split_whitespace().map(str::to_owned).collect(),
            }),
            _ => Err(told.refusal(swarm, swarm.as_str(), "")),
        }
    }
}

impl Batch<'_> {
    /// One more record.
    fn place(&mut self, record: &Record, key: Key<Hash>) -> Place {
        let (keys, place): (&mut Vec<_>, fn(usize) -> Place) = match record {
            Record::Agent(_) => (&mut self.agents, Place::Agent),
            Record::Blob(..) => (&mut self.blobs, Place::Blob),
            Record::Consensus(_) => (&mut self.rounds, Place::Consensus),
            Record::Memory(..) => (&mut self.memories, Place::Memory),
            Record::Phase(_) => (&mut self.phases, Place::Phase),
            Record::Task(_) => (&mut self.tasks, Place::Task),
        };
        keys.push(key);
        place(keys.len() - 1)
    }

    /// One more task.
    fn task(&mut self, swarms: &Swarms, swarm: &SwarmId, id: &TaskId) -> Place {
        self.tasks.push(swarms.0.keyspace.task(swarm, id));
        Place::Task(self.tasks.len() - 1)
    }

    /// The roster that lists tasks with this shard.
    fn task_roster(&mut self, shard: usize) -> Place {
        self.shards.1 = self.shards.1.max(shard);
        shard.checked_sub(1).map_or(Place::TaskRoster, Place::TaskRosterShard)
    }

    /// The steps as the script takes them.
    fn words(&self) -> Vec<Arg<'_>> {
        let mut words = Vec::new();
        if let Some(header) = self.header {
            words.push("header".into());
            push_fields(&mut words, header);
        }
        for step in &self.steps {
            match step {
                Step::Hash(place, name, body) => {
                    words.extend(["hash".into(), self.number(*place), (*name).into()]);
                    push_fields(&mut words, body);
                }
                Step::Line(place, id, line) => {
                    words.extend(["line".into(), self.number(*place), id.into(), line.into()]);
                }
                Step::Tag(place, member) => words.extend(["tag".into(), self.number(*place), member.into()]),
                Step::Ready(own, place, id) => {
                    words.extend(["ready".into(), self.number(*own), (*place).into(), id.into()]);
                }
                Step::Records(member) => words.extend(["records".into(), member.into()]),
                Step::Note(index) => words.extend(["note".into(), index.into()]),
                Step::Settle(own, roster, place, id, others) => {
                    words.extend(["settle".into(), self.number(*own), self.number(*roster)]);
                    words.extend([(*place).into(), id.into(), others.len().into()]);
                    words.extend(others.iter().flat_map(|(at, id)| [self.number(*at), id.into()]));
                }
                Step::Free(own, roster, place, id, holder) => {
                    words.extend(["free".into(), self.number(*own), self.number(*roster)]);
                    words.extend([(*place).into(), id.into(), holder.into()]);
                }
                Step::Gone(own, id, name) => {
                    let lists = FIXED + 2 + self.shards.0 + self.shards.1;
                    words.extend(["gone".into(), self.number(*own), lists.into(), id.into(), (*name).into()]);
                }
                Step::Count(agents, tasks) => {
                    words.extend(["count".into(), (*agents).into(), (*tasks).into()]);
                }
                Step::Idle(own, roster, id) => {
                    words.extend(["idle".into(), self.number(*own), self.number(*roster), id.into()]);
                }
            }
        }
        words
    }

    /// Where a key stands among all of them, from 1 on.
    fn number(&self, place: Place) -> Arg<'static> {
        let (shards, task_shards) = self.shards;
        let tags = 2 + shards + task_shards;
        let agents = tags + self.tags.len();
        let blobs = agents + self.agents.len();
        let rounds = blobs + self.blobs.len();
        let memories = rounds + self.rounds.len();
        let phases = memories + self.memories.len();
        let before = match place {
            Place::Roster => 0,
            Place::TaskRoster => 1,
            Place::RosterShard(at) => 2 + at,
            Place::TaskRosterShard(at) => 2 + shards + at,
            Place::Tag(at) => tags + at,
            Place::Agent(at) => agents + at,
            Place::Blob(at) => blobs + at,
            Place::Consensus(at) => rounds + at,
            Place::Memory(at) => memories + at,
            Place::Phase(at) => phases + at,
            Place::Task(at) => phases + self.phases.len() + at,
        };
        (FIXED + before + 1).into()
    }
}

/// A header that comes back is in the indexes again.
fn notes<'s>(names: &Names, roles: &BTreeSet<&str>) -> Vec<Step<'s>> {
    let roles = roles.iter().filter_map(|role| crate::keys::Role::new(*role).ok());
    let status = names.status_index(crate::keys::Status::Recovering);
    roles.map(|role| names.role_index(&role)).chain([status]).map(Step::Note).collect()
}

fn push_fields<'b>(words: &mut Vec<Arg<'b>>, body: &'b Body) {
    words.push((2 * body.fields().count()).into());
    words.extend(body.fields().flat_map(|(field, value)| [Arg::from(field), Arg::from(value)]));
}

fn roster(shard: usize) -> Place {
    shard.checked_sub(1).map_or(Place::Roster, Place::RosterShard)
}

/// As include/agent.lua writes it, of an agent that nobody waits for yet.
fn agent_line(body: &Body) -> String {
    let field = |name: &str| body.text(name).unwrap_or_default();
    format!("{}|{}|||{}", field("status"), body.text("confidence").unwrap_or("0"), field("role"))
}

/// As include/task.lua writes it.
fn task_line(body: &Body) -> String {
    let field = |name: &str, otherwise: &'static str| body.text(name).unwrap_or(otherwise).to_owned();
    let (status, priority, progress) =
        (field("status", "pending"), field("priority", "medium"), field("progress", "0"));
    format!("{status}|{priority}|{progress}|{}|{}", field("assignedAgent", ""), field("attempt", "0"))
}

fn tags(memory: &Body) -> Vec<Tag> {
    let metadata: Value =
        memory.text("metadata").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let tags = metadata["tags"].as_array().cloned().unwrap_or_default();
    tags.iter().filter_map(|tag| Tag::new(tag.as_str()?).ok()).collect()
}
