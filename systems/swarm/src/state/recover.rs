//! A swarm that goes on after something was lost.
//!
//! First a plan, then the lock: what is missing is restored from the newest checkpoint that can be trusted, tasks whose holders
//! are gone are given to others, votes that were cast stay, agents without work are idle, and the swarm runs. Each step is
//! refused once somebody else holds the lock, and repeating one changes nothing, so a recovery that dies is begun anew.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keyplane_kit::Fence;
use keyplane_kit::checkpoint::{Body, State};
use serde_json::{Value, json};

use super::error::OpError;
use super::load::{Loaded, PassedOver};
use super::names::Names;
use super::pieces::Reference;
use super::records::{HEADER, Record, body, is_lasting};
use super::swarm::SwarmChange;
use super::{Inner, Swarms, millis};
use crate::keys::{AgentId, CheckpointId, Status, SwarmId, TaskId};
use crate::model::recovery::{Found, Plan, confidence, family, is_final, shard};

/// Checkpoints in which that is looked for which the newest does not have: two chains of them.
const LOOKED_BACK: usize = 40;

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
    /// Records that were listed and are nowhere, neither there nor saved: nobody waits for them any more.
    pub lost: BTreeSet<String>,
    /// Records that are known of: there, saved, or lost.
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
    /// What is listed, and neither there nor saved.
    gone: BTreeSet<String>,
    loaded: Option<Loaded>,
    passed_over: PassedOver,
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
        let mut newest = None;
        if !self.is_there(swarm).await? {
            // How it ended is what its newest checkpoint says, whatever else it is to be recovered from. Loading it makes the
            // list of checkpoints anew, if that is lost.
            let loaded = self.load_trusted(swarm).await?;
            refuse_ended(swarm, &loaded.0)?;
            if let Some(status) =
                self.newest_says(swarm).await?.and_then(|said| said.ended).filter(|end| is_final(end))
            {
                return Err(OpError::Over { swarm: swarm.to_string(), status });
            }
            newest = Some(loaded);
        }
        let (loaded, passed_over) = match from {
            From::Newest => {
                let trusted = match newest {
                    Some(newest) => newest,
                    None => self.load_trusted(swarm).await?,
                };
                match (trusted.0, self.unfinished_fork(swarm).await?) {
                    // It has none of its own yet.
                    (None, Some(source)) => (Some(self.load_fork(&source).await?), trusted.1),
                    (loaded, _) => (loaded, trusted.1),
                }
            }
            From::Checkpoint(id) => (Some(self.load(swarm, &id).await?), Vec::new()),
            From::State(loaded) => (Some(*loaded), Vec::new()),
        };
        self.recover_from(swarm, loaded, passed_over, is_dry_run, by).await
    }

    async fn recover_from(
        &self,
        swarm: &SwarmId,
        loaded: Option<Loaded>,
        passed_over: PassedOver,
        is_dry_run: bool,
        by: &str,
    ) -> Result<Recovered, OpError> {
        let names = self.names(swarm)?;
        if is_dry_run {
            let finding = self.find(swarm, &names, loaded, passed_over).await?;
            return Ok(self.report(&finding, true));
        }
        let lease = self.lease(swarm)?;
        let held = lease.try_acquire(by).await?;
        let held = held.ok_or_else(|| OpError::Locked { swarm: swarm.to_string() })?;
        // What is found is found under the lock.
        let recovered = async {
            let finding = self.find(swarm, &names, loaded, passed_over).await?;
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
        let source = (swarm.clone(), checkpoint.clone());
        // One that was begun and not finished, by whoever died meanwhile, is taken up again.
        if self.unfinished_fork(new).await?.as_ref() != Some(&source) {
            self.check_free(new).await?;
        }
        let loaded = self.load_fork(&source).await?;
        self.recover_from(new, Some(loaded), Vec::new(), false, by).await
    }

    /// What a swarm begins with that begins as another was.
    async fn load_fork(&self, (swarm, checkpoint): &(SwarmId, CheckpointId)) -> Result<Loaded, OpError> {
        let mut loaded = self.load(swarm, checkpoint).await?;
        if let Some(header) = loaded.state.get(HEADER) {
            // The new one has not ended, whatever has become of the old one.
            let source = format!("{swarm}/{checkpoint}").into_bytes();
            let header =
                header.with([("status", Some(b"initializing".to_vec())), ("forkedFrom", Some(source))]);
            loaded.state.insert(HEADER, header);
        }
        Ok(loaded)
    }

    /// What a swarm is being forked from; `None` once it runs.
    async fn unfinished_fork(&self, swarm: &SwarmId) -> Result<Option<(SwarmId, CheckpointId)>, OpError> {
        let read = self.0.keyspace.swarm(swarm).hmget(["status", "forkedFrom"]).reading();
        let found: Vec<Option<String>> = self.0.monitor.run(read).await?;
        let [Some(status), Some(source)] = <[_; 2]>::try_from(found).unwrap_or_default() else {
            return Ok(None);
        };
        let parts = source.split_once('/').filter(|_| status == Status::Recovering.as_str());
        let ids = parts.and_then(|(swarm, checkpoint)| {
            Some((SwarmId::from_store(swarm).ok()?, CheckpointId::from_store(checkpoint).ok()?))
        });
        Ok(ids)
    }

    /// Nothing is there, and nothing is left of an earlier one: that would be met in a new one with this id.
    async fn check_free(&self, swarm: &SwarmId) -> Result<(), OpError> {
        let (Inner { coordinator, keyspace, .. }, names) = (&*self.0, self.names(swarm)?);
        if self.is_there(swarm).await? {
            return Err(OpError::Exists { id: swarm.to_string() });
        }
        let lists = [
            names.roster.exists(),
            names.task_roster.exists(),
            names.records.exists(),
            keyspace.checkpoints(swarm).exists(),
        ];
        let remains: Vec<bool> = coordinator.run_all(lists).await?;
        if remains.contains(&true) {
            return Err(OpError::Remains { swarm: swarm.to_string() });
        }
        Ok(())
    }

    async fn find(
        &self,
        swarm: &SwarmId,
        names: &Names,
        loaded: Option<Loaded>,
        passed_over: PassedOver,
    ) -> Result<Finding, OpError> {
        let mut saved = loaded.as_ref().map(|loaded| loaded.state.clone()).unwrap_or_default();
        // Children outlive their header for a while, and are newer than what was saved of them.
        let view = self.remains(names, self.shards_of(&saved)).await?;
        let mut known = self.names_in(names, &view).await?;
        let (now, status) = (view.at, view.status().to_owned());
        let header: Vec<(Vec<u8>, Vec<u8>)> =
            view.header.into_iter().map(|(field, value)| (field.into_bytes(), value.into_bytes())).collect();
        let header = body(&header);
        match (&header, &loaded) {
            (Some(_), _) if is_final(&status) => {
                return Err(OpError::Over { swarm: swarm.to_string(), status });
            }
            (Some(_), _) => {}
            (None, Some(_)) => refuse_ended(swarm, &loaded)?,
            (None, None) => return Err(nothing_left(swarm, passed_over)),
        }
        known.extend(saved.iter().map(|(name, _)| name.to_owned()).filter(|name| name != HEADER));
        let mut live = BTreeMap::new();
        let mut gone = BTreeSet::new();
        for (name, body) in self.read_each(swarm, &known).await? {
            match body {
                Some(body) => drop(live.insert(name, body)),
                None if saved.get(&name).is_none() => drop(gone.insert(name)),
                None => {}
            }
        }
        self.look_back(swarm, &mut gone, &mut saved).await?;
        live.extend(header.map(|header| (HEADER.to_owned(), header)));
        let leases = self.0.coordinator.run(names.leases.zrange_with_scores(0, -1)).await?;
        let held = leases
            .into_iter()
            .filter(|(_, until)| *until > now as f64)
            .map(|(member, _)| String::from_utf8_lossy(&member).into_owned())
            .collect();
        let plan = Found::new(&live, &saved, &held, now).plan();
        Ok(Finding { live, held, now, plan, gone, loaded, passed_over })
    }

    /// What is listed and not in the newest checkpoint may be in one before it: no operation removes a record that is listed, so this one
    /// was saved when some were lost already.
    async fn look_back(
        &self,
        swarm: &SwarmId,
        gone: &mut BTreeSet<String>,
        saved: &mut State,
    ) -> Result<(), OpError> {
        if gone.is_empty() {
            return Ok(());
        }
        for earlier in self.checkpoints(swarm).await?.into_iter().rev().take(LOOKED_BACK) {
            let Ok(id) = CheckpointId::from_store(earlier.id) else { continue };
            let loaded = match self.load(swarm, &id).await {
                Err(error) if error.is_of_store() => return Err(error),
                // The one before it may be sound.
                Err(_) => continue,
                Ok(loaded) => loaded,
            };
            gone.retain(|name| match loaded.state.get(name) {
                Some(body) => {
                    saved.insert(name.as_str(), body.clone());
                    false
                }
                None => true,
            });
            if gone.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Shards that the rosters of a saved state fill.
    fn shards_of(&self, saved: &State) -> (u64, u64) {
        let count = |of: &str| saved.iter().filter(|(name, _)| family(name) == of).count() as u64;
        let shards = |of: &str| count(of).saturating_sub(1) / self.0.most_listed;
        (shards("agents"), shards("tasks"))
    }

    async fn carry_out_plan(
        &self,
        swarm: &SwarmId,
        names: &Names,
        fence: &Fence,
        finding: &Finding,
        by: &str,
    ) -> Result<Recovered, OpError> {
        let Finding { live, plan, gone, .. } = finding;
        let move_to = |status, recovery| SwarmChange {
            status: Some(status),
            recovery,
            fence: Some(fence.as_str().to_owned()),
            ..SwarmChange::default()
        };
        let status = live.get(HEADER).and_then(|header| header.text("status"));
        // Not there, or not since the beginning of a recovery that went no further.
        let comes_back = status.is_none_or(|status| status == Status::Recovering.as_str());
        if !comes_back {
            self.update(swarm, &move_to(Status::Recovering, None), by).await?;
        }
        let all = || live.iter().chain(&plan.restore);
        let roles = all().filter_map(|(_, body)| body.text("role")).collect();
        self.restore(swarm, fence, &plan.restore, &roles, by).await?;
        if comes_back {
            // What was there may be near its end, and lives as long as its swarm from here on.
            self.stretch_now(swarm).await?;
        }
        let mut requeued = self.free(swarm, fence, &plan.unheld, by).await?;
        let held = plan.requeue.iter().filter(|task| !plan.unheld.contains_key(*task));
        for task in held.filter_map(|task| TaskId::from_store(task.clone()).ok()) {
            if self.take_back_one(swarm, &task).await? {
                requeued.push(task.to_string());
            }
        }
        self.settle(swarm, fence, &plan.waiting, by).await?;
        self.make_ready(swarm, fence, &plan.ready, by).await?;
        let agents: Vec<(AgentId, usize)> = all().filter_map(|(name, body)| agent(name, body)).collect();
        let idle = self.make_idle(swarm, fence, &agents, by).await?;
        let shards =
            |of: &str| all().filter(|(name, _)| family(name) == of).map(|(_, body)| shard(body)).max();
        let shards = (shards("agents").unwrap_or(0), shards("tasks").unwrap_or(0));
        // What is gone may have been listed last, and alone.
        self.forget(swarm, fence, gone, (shards.0 + 1, shards.1 + 1), by).await?;
        self.count(swarm, fence, shards, by).await?;
        let recovery = self.recoveries(names).await?;
        self.update(swarm, &move_to(Status::Running, Some(recovery)), by).await?;
        let mut done = Recovered { idle, ..self.report(finding, false) };
        // Some that were to be taken back were renewed, or finished, meanwhile.
        done.requeued.retain(|task| !plan.requeue.contains(task) || requeued.contains(task));
        Ok(done)
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
        let Finding { live, held, now, plan, gone, loaded, passed_over } = finding;
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
        let known = (live.len() + plan.restore.len() + gone.len()) as u64;
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
            passed_over: passed_over.clone(),
            requeued: plan.requeue.iter().chain(plan.ready.keys()).filter(begun).cloned().collect(),
            votes: plan.votes,
            idle: idle.count() as u64,
            confidence: confidence(known, of_live, of_restored, age),
            verified: of_live + of_restored,
            restored,
            lost: gone.clone(),
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
            "blob" => &inner.blob_fields,
            _ => &inner.round_fields,
        };
        // What is of the moment only was left out when the record was read.
        let is_whole =
            rules.required().filter(|field| is_lasting(field)).all(|field| body.get(field).is_some());
        let is_allowed = |(field, value): (&[u8], &[u8])| {
            // The version is nobody's to give, and so has no rule here.
            field == b"version"
                || std::str::from_utf8(field).is_ok_and(|field| rules.check(field, value).is_ok())
        };
        let named: Vec<String> = match family(name) {
            "agents" => body.text("currentTask").map(|task| format!("tasks:{task}")).into_iter().collect(),
            "tasks" => {
                let waits_for: Vec<String> = body
                    .text("dependencies")
                    .and_then(|text| serde_json::from_str(text).ok())
                    .unwrap_or_default();
                let pieces = body.get("result").and_then(Reference::read);
                let pieces = pieces.iter().flat_map(Reference::names);
                waits_for.into_iter().map(|task| format!("tasks:{task}")).chain(pieces).collect()
            }
            _ => Vec::new(),
        };
        is_whole && body.fields().all(is_allowed) && named.iter().all(|name| is_there(name))
    }
}

/// A swarm whose header is gone has ended as the one that was saved.
fn refuse_ended(swarm: &SwarmId, loaded: &Option<Loaded>) -> Result<(), OpError> {
    let header = loaded.as_ref().and_then(|loaded| loaded.state.get(HEADER));
    match header.and_then(|header| header.text("status")) {
        Some(status) if is_final(status) => {
            Err(OpError::Over { swarm: swarm.to_string(), status: status.to_owned() })
        }
        _ => Ok(()),
    }
}

/// There is nothing to recover; where checkpoints are left none of which can be trusted, the newest says why.
fn nothing_left(swarm: &SwarmId, passed_over: PassedOver) -> OpError {
    match passed_over.into_iter().next() {
        Some((checkpoint, why)) => OpError::Damaged { checkpoint, why },
        None => OpError::NoSwarm { swarm: swarm.to_string() },
    }
}

/// An agent and the roster that lists it.
fn agent(name: &str, body: &Body) -> Option<(AgentId, usize)> {
    match Record::named(name)? {
        Record::Agent(id) => Some((id, shard(body))),
        _ => None,
    }
}
