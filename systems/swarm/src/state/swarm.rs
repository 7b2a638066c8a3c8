//! A swarm as a whole.

use keyplane_key::Call;
use keyplane_store::Reply;

use super::error::OpError;
use super::outcome::Done;
use super::rosters::Rosters;
use super::{Inner, MOST_TRIES, SCHEMA_VERSION, Swarms, check, flat, layouts};
use crate::keys::{Status, SwarmId};
use crate::model::{Mode, Strategy};
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
        let told = self.told(&new.id, &told).await;
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
            let told = self.told(swarm, &told).await;
            match (told.word(), told.text(1).parse::<Status>()) {
                ("ok", _) => {
                    if change.status.is_some() {
                        self.note_end(swarm).await;
                    }
                    return Ok(told.done());
                }
                // It leaves the index of another status than was guessed.
                ("index", Ok(status)) => seen = status,
                _ => return Err(told.refusal(swarm, swarm.as_str(), to)),
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// Ends a running swarm, when none of its tasks waits, is blocked or is under way.
    pub async fn complete(&self, swarm: &SwarmId, by: &str) -> Result<Done, OpError> {
        let Inner { coordinator, most, .. } = &*self.0;
        let names = self.names(swarm)?;
        let (left, entered) = (names.status_index(Status::Running), names.status_index(Status::Completed));
        let call = |rosters: &Rosters| {
            Call::from(scripts::CompleteSwarm {
                swarm: &names.swarm,
                ready: &names.ready,
                leases: &names.leases,
                task_roster: &names.task_roster,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                task_roster_shard: rosters.tasks.iter().collect(),
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: by.into(),
                left_index: (&left).into(),
                status_index: (&entered).into(),
            })
        };
        let mut rosters = Rosters { tasks: names.task_roster_shards(1), ..Rosters::default() };
        let told = self.call_with_more(&mut rosters, coordinator, &names, call).await?;
        let is_ended = told.text(1) == Status::Completed.as_str();
        if told.word() == "ok" || (told.word() == "moved" && is_ended) {
            // Also when it was ended before: whoever did that may not have come to say so.
            self.note_end(swarm).await;
        }
        match told.word() {
            "ok" => Ok(told.done()),
            _ => Err(told.refusal(swarm, swarm.as_str(), "completed")),
        }
    }
}
