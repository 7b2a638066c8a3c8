//! Tasks of a swarm: made, claimed under a lease, finished once.

use std::collections::BTreeSet;

use keyplane_key::Call;

use super::error::OpError;
use super::outcome::Done;
use super::rosters::Rosters;
use super::{Inner, MOST_TRIES, Swarms, check, flat};
use crate::keys::{AgentId, SwarmId, TaskId};
use crate::model::{Priority, TaskKind, TaskStatus};
use crate::scripts;

/// Tasks that a claim looks at. Whoever claims at the same time takes some of them.
const CANDIDATES: u64 = 16;

/// Tasks that may wait for one: who completes it makes them ready in one script, which must not hold up others.
const MOST_DEPENDANTS: u64 = 1000;

/// A task to be.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    /// Its id.
    pub id: TaskId,
    /// What it is called: at most 200 characters.
    pub title: String,
    /// What is to be done: at most 1,000 characters.
    pub description: String,
    /// What kind of work it is.
    pub kind: TaskKind,
    /// How urgent it is.
    pub priority: Priority,
    /// Tasks that must be completed first. They are there already; one that is named twice counts once.
    pub dependencies: Vec<TaskId>,
}

/// A task that an agent holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// Of which swarm.
    pub swarm: SwarmId,
    /// Which task.
    pub task: TaskId,
    /// Who holds it.
    pub agent: AgentId,
    /// The number of this claim. A report with another is refused.
    pub fence: u64,
    /// Tries before this one.
    pub attempt: u64,
}

/// What an agent that asks for work is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// It holds this task.
    Task(Claim),
    /// Nothing can be claimed now.
    Nothing,
}

impl Swarms {
    /// Adds a task. It waits for its dependencies, or can be claimed.
    pub async fn create_task(&self, swarm: &SwarmId, new: &NewTask, by: &str) -> Result<TaskStatus, OpError> {
        let Inner { coordinator, keyspace, most, most_listed, most_members, task_fields, .. } = &*self.0;
        let names = self.names(swarm)?;
        let mut named = BTreeSet::new();
        let dependencies: Vec<&TaskId> = new.dependencies.iter().filter(|task| named.insert(*task)).collect();
        let waits_for: Vec<&str> = dependencies.iter().map(|task| task.as_str()).collect();
        let mut fields = vec![
            ("title", new.title.clone()),
            ("description", new.description.clone()),
            ("type", new.kind.to_string()),
        ];
        if !waits_for.is_empty() {
            fields.push(("dependencies", serde_json::Value::from(waits_for.clone()).to_string()));
        }
        check(task_fields, &fields)?;
        let mut tasks = vec![keyspace.task(swarm, &new.id)];
        tasks.extend(dependencies.iter().map(|task| keyspace.task(swarm, task)));
        let call = |rosters: &Rosters| {
            Call::from(scripts::CreateTask {
                swarm: &names.swarm,
                task_roster: &names.task_roster,
                ready: &names.ready,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                task: tasks.iter().collect(),
                task_roster_shard: rosters.tasks.iter().collect(),
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: by.into(),
                task_id: new.id.as_str().into(),
                priority: new.priority.word().into(),
                most_listed: (*most_listed).into(),
                dependencies: waits_for.len().into(),
                most_ready: most_members.ready.into(),
                most_dependants: MOST_DEPENDANTS.into(),
                more: waits_for.iter().map(|task| (*task).into()).chain(flat(&fields)).collect(),
            })
        };
        let told = self.call_with_rosters(coordinator, &names, call).await?;
        match told.word() {
            "ok" => Ok(told.text(3).parse().unwrap_or(TaskStatus::Pending)),
            _ => Err(told.refusal(swarm, new.id.as_str(), "")),
        }
    }

    /// Takes the most urgent task that can be claimed, under a lease. An agent that holds one is told its claim once more: it may not
    /// have heard of it. Where there is none, tasks are taken back first whose leases have run out: nobody else may look after them.
    pub async fn claim(&self, swarm: &SwarmId, agent: &AgentId) -> Result<Claimed, OpError> {
        let claimed = self.claim_ready(swarm, agent).await;
        let finds_none = matches!(claimed, Ok(Claimed::Nothing) | Err(OpError::Busy { .. }));
        if finds_none && !self.take_back(swarm, CANDIDATES).await?.is_empty() {
            return self.claim_ready(swarm, agent).await;
        }
        claimed
    }

    async fn claim_ready(&self, swarm: &SwarmId, agent: &AgentId) -> Result<Claimed, OpError> {
        let names = self.names(swarm)?;
        for _ in 0..MOST_TRIES {
            let ready: Vec<String> =
                self.0.agent.run(names.ready.zrange(0, CANDIDATES as i64 - 1).reading()).await?;
            let mut tasks: Vec<TaskId> =
                ready.into_iter().filter_map(|task| TaskId::from_store(task).ok()).collect();
            // Asked also when there is none: whether the agent may ask at all.
            let mut claimed = self.claim_one_of(swarm, agent, &tasks).await;
            if let Err(OpError::Busy { task, .. }) = &claimed
                && !tasks.iter().any(|known| known.as_str() == task)
                && let Ok(task) = TaskId::from_store(task.as_str())
            {
                // Whether it holds that is seen in the task's record.
                tasks.push(task);
                claimed = self.claim_one_of(swarm, agent, &tasks).await;
            }
            if let Some(claimed) = claimed? {
                return Ok(claimed);
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// Takes this very task, under a lease. An agent that holds it is told its claim once more.
    pub async fn claim_task(
        &self,
        swarm: &SwarmId,
        agent: &AgentId,
        task: &TaskId,
    ) -> Result<Claimed, OpError> {
        let mut claimed = self.claim_one_of(swarm, agent, std::slice::from_ref(task)).await;
        let is_refused = matches!(claimed, Ok(None | Some(Claimed::Nothing)) | Err(OpError::Busy { .. }));
        // Held by nobody any more, if its lease has run out.
        if is_refused && self.take_back_one(swarm, task).await? {
            claimed = self.claim_one_of(swarm, agent, std::slice::from_ref(task)).await;
        }
        let claimed = claimed?;
        // Whatever else can be claimed: this cannot.
        Ok(claimed.unwrap_or(Claimed::Nothing))
    }

    /// Takes the first of some; `None` when others were faster and there is more.
    async fn claim_one_of(
        &self,
        swarm: &SwarmId,
        agent: &AgentId,
        tasks: &[TaskId],
    ) -> Result<Option<Claimed>, OpError> {
        let Inner { agent: handle, keyspace, settings, most, most_members, .. } = &*self.0;
        let names = self.names(swarm)?;
        let key = keyspace.agent(swarm, agent);
        let task_keys: Vec<_> = tasks.iter().map(|task| keyspace.task(swarm, task)).collect();
        let call = |rosters: &Rosters| {
            Call::from(scripts::ClaimTask {
                swarm: &names.swarm,
                agent: &key,
                roster: &names.roster,
                task_roster: &names.task_roster,
                ready: &names.ready,
                leases: &names.leases,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                task: task_keys.iter().collect(),
                roster_shard: rosters.agents.iter().collect(),
                task_roster_shard: rosters.tasks.iter().collect(),
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: agent.as_str().into(),
                agent_id: agent.as_str().into(),
                lease: Self::millis(settings.task_lease),
                roster_shards: rosters.agents.len().into(),
                most_leases: most_members.leases.into(),
                tasks: tasks.iter().map(|task| task.as_str().into()).collect(),
            })
        };
        let told = self.call_with_rosters(handle, &names, call).await?;
        match told.word() {
            "ok" | "holds" => {
                let task = TaskId::from_store(told.text(1))
                    .map_err(|_| OpError::Unreadable(told.text(1).to_owned()))?;
                let (swarm, agent) = (swarm.clone(), agent.clone());
                let (fence, attempt) = (told.number(2), told.number(3));
                Ok(Some(Claimed::Task(Claim { swarm, task, agent, fence, attempt })))
            }
            "none" if told.number(1) == 0 => Ok(Some(Claimed::Nothing)),
            "none" => Ok(None),
            _ => Err(told.refusal(swarm, agent.as_str(), "")),
        }
    }

    /// Reports how far a task is, in percent, and renews its lease.
    pub async fn progress(&self, claim: &Claim, percent: f64) -> Result<Done, OpError> {
        let Inner { agent: handle, keyspace, settings, most, task_fields, .. } = &*self.0;
        let names = self.names(&claim.swarm)?;
        let key = keyspace.task(&claim.swarm, &claim.task);
        let progress = percent.to_string();
        task_fields.check("progress", progress.as_bytes())?;
        let call = |rosters: &Rosters| {
            Call::from(scripts::ProgressTask {
                swarm: &names.swarm,
                task: &key,
                task_roster: &names.task_roster,
                leases: &names.leases,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                task_roster_shard: rosters.tasks.iter().collect(),
                id: claim.swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: claim.agent.as_str().into(),
                task_id: claim.task.as_str().into(),
                agent_id: claim.agent.as_str().into(),
                fence: claim.fence.into(),
                lease: Self::millis(settings.task_lease),
                progress: (&progress).into(),
                fields: Vec::new(),
            })
        };
        let told = self.call_with_rosters(handle, &names, call).await?;
        match told.word() {
            "ok" => Ok(told.done()),
            _ => Err(told.refusal(&claim.swarm, claim.task.as_str(), "")),
        }
    }

    /// Finishes a task with its result, any JSON up to 1 MB. Over 400 KB it is kept packed, and in pieces where that is still too
    /// much for its key. What waited for nothing else can be claimed from now on: how many.
    pub async fn complete_task(&self, claim: &Claim, result: &str) -> Result<u64, OpError> {
        let Inner { agent: handle, keyspace, most, task_fields, .. } = &*self.0;
        let names = self.names(&claim.swarm)?;
        let agent = keyspace.agent(&claim.swarm, &claim.agent);
        let result = self.keep_result(claim, result).await?;
        task_fields.check("result", &result)?;
        let mut dependants: Vec<TaskId> = Vec::new();
        let mut rosters = Rosters::default();
        for _ in 0..MOST_TRIES {
            let mut tasks = vec![keyspace.task(&claim.swarm, &claim.task)];
            tasks.extend(dependants.iter().map(|task| keyspace.task(&claim.swarm, task)));
            let call = |rosters: &Rosters| {
                Call::from(scripts::CompleteTask {
                    swarm: &names.swarm,
                    agent: &agent,
                    roster: &names.roster,
                    task_roster: &names.task_roster,
                    ready: &names.ready,
                    leases: &names.leases,
                    events: &names.events,
                    dirty: &names.dirty,
                    swarm_outbox: &names.outbox,
                    task: tasks.iter().collect(),
                    roster_shard: rosters.agents.iter().collect(),
                    task_roster_shard: rosters.tasks.iter().collect(),
                    id: claim.swarm.as_str().into(),
                    active_index: (&names.active_index).into(),
                    most: (*most).into(),
                    by: claim.agent.as_str().into(),
                    task_id: claim.task.as_str().into(),
                    agent_id: claim.agent.as_str().into(),
                    fence: claim.fence.into(),
                    dependants: dependants.len().into(),
                    roster_shards: rosters.agents.len().into(),
                    more: dependants
                        .iter()
                        .map(|task| task.as_str().into())
                        .chain(["result".into(), (&result).into()])
                        .collect(),
                })
            };
            let told = self.call_with_more(&mut rosters, handle, &names, call).await?;
            match told.word() {
                "ok" => return Ok(told.number(3)),
                "again" => {
                    let named = told.text(1).split(' ').filter(|task| !task.is_empty());
                    dependants = named.filter_map(|task| TaskId::from_store(task).ok()).collect();
                }
                _ => return Err(told.refusal(&claim.swarm, claim.task.as_str(), "completed")),
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// Gives a task up: for good, or to be tried again by whoever comes.
    pub async fn fail_task(&self, claim: &Claim, again: bool) -> Result<Done, OpError> {
        let Inner { agent: handle, keyspace, most, .. } = &*self.0;
        let names = self.names(&claim.swarm)?;
        let (task, agent) =
            (keyspace.task(&claim.swarm, &claim.task), keyspace.agent(&claim.swarm, &claim.agent));
        let call = |rosters: &Rosters| {
            Call::from(scripts::FailTask {
                swarm: &names.swarm,
                task: &task,
                agent: &agent,
                roster: &names.roster,
                task_roster: &names.task_roster,
                ready: &names.ready,
                leases: &names.leases,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                roster_shard: rosters.agents.iter().collect(),
                task_roster_shard: rosters.tasks.iter().collect(),
                id: claim.swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: claim.agent.as_str().into(),
                task_id: claim.task.as_str().into(),
                agent_id: claim.agent.as_str().into(),
                fence: claim.fence.into(),
                again: u64::from(again).into(),
                roster_shards: rosters.agents.len().into(),
                fields: Vec::new(),
            })
        };
        let told = self.call_with_rosters(handle, &names, call).await?;
        match told.word() {
            "ok" => Ok(told.done()),
            _ => Err(told.refusal(&claim.swarm, claim.task.as_str(), "failed")),
        }
    }

    /// Takes back the tasks whose leases have run out, at most so many: which.
    pub async fn take_back(&self, swarm: &SwarmId, most_tasks: u64) -> Result<Vec<TaskId>, OpError> {
        let names = self.names(swarm)?;
        let call = scripts::DueTasks { leases: &names.leases, most: most_tasks.into() };
        let due: Vec<String> = self.0.janitor.call(call).await?;
        let mut back = Vec::new();
        for task in due {
            let Ok(task) = TaskId::from_store(task) else { continue };
            if self.take_back_one(swarm, &task).await? {
                back.push(task);
            }
        }
        Ok(back)
    }

    pub(super) async fn take_back_one(&self, swarm: &SwarmId, task: &TaskId) -> Result<bool, OpError> {
        let Inner { janitor, keyspace, most, .. } = &*self.0;
        let names = self.names(swarm)?;
        let key = keyspace.task(swarm, task);
        let holder: Option<String> = janitor.run(key.hget("assignedAgent").reading()).await?;
        let Some(Ok(agent)) = holder.map(AgentId::from_store) else { return Ok(false) };
        let agent_key = keyspace.agent(swarm, &agent);
        let call = |rosters: &Rosters| {
            Call::from(scripts::RequeueTask {
                swarm: &names.swarm,
                task: &key,
                agent: &agent_key,
                roster: &names.roster,
                task_roster: &names.task_roster,
                ready: &names.ready,
                leases: &names.leases,
                events: &names.events,
                dirty: &names.dirty,
                roster_shard: rosters.agents.iter().collect(),
                task_roster_shard: rosters.tasks.iter().collect(),
                most: (*most).into(),
                by: "janitor".into(),
                task_id: task.as_str().into(),
                agent_id: agent.as_str().into(),
                roster_shards: rosters.agents.len().into(),
            })
        };
        let told = self.call_with_rosters(janitor, &names, call).await?;
        match told.word() {
            "ok" => Ok(true),
            // Renewed, finished, or gone meanwhile.
            "held" | "unknown" | "gone" => Ok(false),
            _ => Err(told.refusal(swarm, task.as_str(), "pending")),
        }
    }
}
