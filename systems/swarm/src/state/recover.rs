//! A swarm that goes on after something was lost.
//!
//! First a plan, then the lock: what is missing is restored from the newest checkpoint that can be trusted, tasks whose holders
//! are gone are given to others, votes that were cast stay, agents without work are idle, and the swarm runs. Each step is
//! refused once somebody else holds the lock, and repeating one changes nothing, so a recovery that dies is begun anew.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keyplane_kit::Fence;
use keyplane_kit::checkpoint::Body;
use serde_json::{Value, json};

use super::error::OpError;
use super::load::Loaded;
use super::names::Names;
use super::records::{HEADER, Record, body};
use super::swarm::SwarmChange;
use super::{Swarms, millis};
use crate::keys::{AgentId, CheckpointId, Status, SwarmId, TaskId};
use crate::model::recovery::{Found, Plan, confidence, family};

/// What a swarm is recovered from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum From {
    /// The newest checkpoint that can be trusted; what is there, if there is none.
    #[default]
    Newest,
    /// This checkpoint.
    Checkpoint(CheckpointId),
    /// A state from elsewhere, such as an exported file.
    State(Box<Loaded>),
}

/// What a recovery did, or would do.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Recovered {
    /// The checkpoint that was used, and its age.
    pub checkpoint: Option<(String, Duration)>,
    /// Newer ones that could not be trusted, with the reason.
    pub passed_over: Vec<(String, String)>,
    /// Records that were missing, by kind.
    pub restored: BTreeMap<String, u64>,
    /// Tasks that were begun and wait for somebody again.
    pub requeued: Vec<String>,
    /// Votes that came back.
    pub votes: u64,
    /// Agents that are idle now and were not.
    pub idle: u64,
    /// Records that are known of: there, or saved.
    pub known: u64,
    /// Those that are as the contract and the other records demand.
    pub verified: u64,
    /// How far the swarm can be trusted now, 0 to 1.
    pub confidence: f64,
    /// Whether anything was done.
    pub is_dry_run: bool,
}

/// A swarm as it was found.
struct Finding {
    live: BTreeMap<String, Body>,
    held: BTreeSet<String>,
    now: u64,
    plan: Plan,
    loaded: Option<Loaded>,
}

impl Swarms {
    /// Recovers a swarm; or only says what would be done.
    pub async fn recover(
        &self,
        swarm: &SwarmId,
        from: From,
        is_dry_run: bool,
        by: &str,
    ) -> Result<Recovered, OpError> {
        let names = self.names(swarm)?;
        let loaded = match from {
            From::Newest => self.load_newest(swarm).await?,
            From::Checkpoint(id) => Some(self.load(swarm, &id).await?),
            From::State(loaded) => Some(*loaded),
        };
        if is_dry_run {
            let finding = self.find(swarm, &names, loaded).await?;
            return Ok(self.report(&finding, true));
        }
        let lease = self.lease(swarm)?;
        let held = lease.try_acquire(by).await?;
        let held = held.ok_or_else(|| OpError::Locked { swarm: swarm.to_string() })?;
        // What is found is found under the lock.
        let recovered = async {
            let finding = self.find(swarm, &names, loaded).await?;
            let fence = held.fence().map_err(|_| OpError::Fenced { swarm: swarm.to_string() })?;
            self.carry_out_plan(swarm, &names, fence, &finding, by).await
        }
        .await;
        held.release().await?;
        recovered
    }

    /// A new swarm that begins as another was when a checkpoint was made.
    pub async fn fork(
        &self,
        swarm: &SwarmId,
        checkpoint: &CheckpointId,
        new: &SwarmId,
        by: &str,
    ) -> Result<Recovered, OpError> {
        if self.read(new).await?.is_some() {
            return Err(OpError::Exists { id: new.to_string() });
        }
        let loaded = self.load(swarm, checkpoint).await?;
        self.recover(new, From::State(Box::new(loaded)), false, by).await
    }

    async fn find(&self, swarm: &SwarmId, names: &Names, loaded: Option<Loaded>) -> Result<Finding, OpError> {
        let now = self.now(names).await?;
        let mut live = BTreeMap::new();
        let mut known: BTreeSet<String> = BTreeSet::new();
        if let Some(view) = self.read(swarm).await? {
            if view.status() == Status::Completed.as_str() {
                return Err(OpError::Over { swarm: swarm.to_string(), status: view.status().to_owned() });
            }
            known = self.all_names(swarm, names).await?;
            let header: Vec<(Vec<u8>, Vec<u8>)> = view
                .header
                .into_iter()
                .map(|(field, value)| (field.into_bytes(), value.into_bytes()))
                .collect();
            live.extend(body(&header).map(|body| (HEADER.to_owned(), body)));
        } else if loaded.is_none() {
            return Err(OpError::NoSwarm { swarm: swarm.to_string() });
        }
        let saved = loaded.as_ref().map(|loaded| loaded.state.clone()).unwrap_or_default();
        known.extend(saved.iter().map(|(name, _)| name.to_owned()).filter(|name| name != HEADER));
        let read = self.read_each(swarm, &known).await?;
        live.extend(read.into_iter().filter_map(|(name, body)| Some((name, body?))));
        let leases = self.0.coordinator.run(names.leases.zrange_with_scores(0, -1)).await?;
        let held = leases
            .into_iter()
            .filter(|(_, until)| *until > now as f64)
            .map(|(member, _)| String::from_utf8_lossy(&member).into_owned())
            .collect();
        let plan = Found::new(&live, &saved, &held, now).plan();
        Ok(Finding { live, held, now, plan, loaded })
    }

    async fn carry_out_plan(
        &self,
        swarm: &SwarmId,
        names: &Names,
        fence: &Fence,
        finding: &Finding,
        by: &str,
    ) -> Result<Recovered, OpError> {
        let Finding { live, plan, .. } = finding;
        let move_to = |status, recovery| SwarmChange {
            status: Some(status),
            recovery,
            fence: Some(fence.as_str().to_owned()),
            ..SwarmChange::default()
        };
        if live
            .get(HEADER)
            .and_then(|header| header.text("status"))
            .is_some_and(|status| status != "recovering")
        {
            self.update(swarm, &move_to(Status::Recovering, None), by).await?;
        }
        self.restore(swarm, fence, &plan.restore, by).await?;
        for task in plan.requeue.iter().filter_map(|task| TaskId::from_store(task.clone()).ok()) {
            self.take_back_one(swarm, &task).await?;
        }
        self.make_ready(swarm, fence, &plan.ready, by).await?;
        let all = live.iter().chain(&plan.restore).filter(|(name, _)| family(name) == "agents");
        let agents: Vec<(AgentId, usize)> = all.filter_map(|(name, body)| agent(name, body)).collect();
        let idle = self.make_idle(swarm, fence, &agents, by).await?;
        let recovery = self.recoveries(names).await?;
        self.update(swarm, &move_to(Status::Running, Some(recovery)), by).await?;
        Ok(Recovered { idle, ..self.report(finding, false) })
    }

    /// The header's `recovery`, with one more.
    async fn recoveries(&self, names: &Names) -> Result<String, OpError> {
        let found: Vec<Option<String>> =
            self.0.coordinator.run(names.swarm.hmget(["recovery", "updatedAt"]).reading()).await?;
        let text = |at: usize| found.get(at).cloned().flatten();
        let mut state: Value =
            text(0).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_else(|| json!({}));
        state["enabled"] = json!(true);
        state["recoveryAttempts"] = json!(state["recoveryAttempts"].as_u64().unwrap_or_default() + 1);
        state["lastRecovery"] = json!(text(1));
        Ok(state.to_string())
    }

    fn report(&self, finding: &Finding, is_dry_run: bool) -> Recovered {
        let Finding { live, held, now, plan, loaded } = finding;
        let age = loaded.as_ref().and_then(|loaded| millis(&loaded.at));
        let age = Duration::from_millis(age.map_or(0, |at| now.saturating_sub(at)));
        let mut restored: BTreeMap<String, u64> = BTreeMap::new();
        for name in plan.restore.keys() {
            *restored.entry(family(name).to_owned()).or_default() += 1;
        }
        let merged = |name: &str| live.contains_key(name) || plan.restore.contains_key(name);
        let verified = |records: &BTreeMap<String, Body>| {
            records.iter().filter(|(name, body)| self.is_sound(name, body, merged)).count() as u64
        };
        let (of_live, of_restored) = (verified(live), verified(&plan.restore));
        let known = (live.len() + plan.restore.len()) as u64;
        let begun = |task: &&String| {
            let saved = loaded.as_ref().and_then(|loaded| loaded.state.get(&format!("tasks:{task}")));
            plan.requeue.contains(*task)
                || !live.contains_key(&format!("tasks:{task}"))
                    && saved.and_then(|task| task.text("status")) == Some("in_progress")
        };
        let busy = |(name, body): &(&String, &Body)| {
            family(name) == "agents" && body.text("currentTask").is_none_or(|task| !held.contains(task))
        };
        let idle = live
            .iter()
            .filter(busy)
            .filter(|(_, body)| !matches!(body.text("status"), Some("idle" | "completed" | "paused")));
        Recovered {
            checkpoint: loaded.as_ref().map(|loaded| (loaded.from.clone(), age)),
            passed_over: loaded.as_ref().map(|loaded| loaded.passed_over.clone()).unwrap_or_default(),
            requeued: plan.requeue.iter().chain(plan.ready.keys()).filter(begun).cloned().collect(),
            votes: plan.votes,
            idle: idle.count() as u64,
            confidence: confidence(known, of_live, of_restored, age),
            verified: of_live + of_restored,
            restored,
            known,
            is_dry_run,
        }
    }

    /// Whether a record is as the contract wants it, and what it names is there.
    fn is_sound(&self, name: &str, body: &Body, is_there: impl Fn(&str) -> bool) -> bool {
        let inner = &*self.0;
        let rules = match family(name) {
            HEADER => &inner.swarm_fields,
            "agents" => &inner.agent_fields,
            "tasks" => &inner.task_fields,
            "phases" => &inner.phase_fields,
            "memory" => &inner.memory_fields,
            _ => &inner.round_fields,
        };
        let is_allowed = |(field, value): (&[u8], &[u8])| {
            // The version is nobody's to give, and so has no rule here.
            field == b"version"
                || std::str::from_utf8(field).is_ok_and(|field| rules.check(field, value).is_ok())
        };
        let named: Vec<String> = match family(name) {
            "agents" => body.text("currentTask").map(str::to_owned).into_iter().collect(),
            "tasks" => {
                body.text("dependencies").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        body.fields().all(is_allowed) && named.iter().all(|task| is_there(&format!("tasks:{task}")))
    }
}

/// An agent and the roster that lists it.
fn agent(name: &str, body: &Body) -> Option<(AgentId, usize)> {
    match Record::named(name)? {
        Record::Agent(id) => Some((id, body.text("shard").and_then(|shard| shard.parse().ok()).unwrap_or(0))),
        _ => None,
    }
}
