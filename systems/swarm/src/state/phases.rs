//! Phases of the loop.

use std::collections::BTreeMap;

use keyplane_key::{Hash, Key};
use keyplane_store::Reply;

use super::encoded::opened;
use super::error::OpError;
use super::outcome::{Done, Told};
use super::{Inner, MOST_TRIES, Swarms, check, flat};
use crate::keys::{PhaseId, SwarmId, TaskId};
use crate::model::{LoopLevel, PhaseStatus, metrics, unmet};
use crate::scripts;

/// As often as a phase of the levels 2 and 3 may run.
const MOST_RUNS: u64 = 10;

/// What a task tells of how it went.
const TOLD: [&str; 2] = ["status", "confidence"];

/// A phase to be.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPhase {
    /// Its id.
    pub id: PhaseId,
    /// What it is called.
    pub name: String,
    /// Which level of the loop runs in it.
    pub level: LoopLevel,
    /// Its tasks.
    pub tasks: Vec<TaskId>,
    /// What holds before it becomes active, in words.
    pub entry: Vec<String>,
    /// What holds before it is completed, in words.
    pub exit: Vec<String>,
}

/// A change of a phase at that version, 0 for one that is to be.
#[derive(Default)]
struct Change<'c> {
    expected: u64,
    to: Option<PhaseStatus>,
    /// Of one that ends.
    metrics: &'c str,
    fields: &'c [(&'static str, String)],
}

impl Swarms {
    /// Adds a phase. It is pending.
    pub async fn create_phase(&self, swarm: &SwarmId, new: &NewPhase, by: &str) -> Result<Done, OpError> {
        let list = |texts: Vec<&str>| serde_json::Value::from(texts).to_string();
        let fields = [
            ("name", new.name.clone()),
            ("loopLevel", new.level.number().to_string()),
            ("tasks", list(new.tasks.iter().map(TaskId::as_str).collect())),
            ("entryCriteria", list(new.entry.iter().map(String::as_str).collect())),
            ("exitCriteria", list(new.exit.iter().map(String::as_str).collect())),
        ];
        check(&self.0.phase_fields, &fields)?;
        let told =
            self.put_phase(swarm, &new.id, Change { fields: &fields, ..Change::default() }, by).await?;
        match told.word() {
            "ok" => Ok(told.done()),
            "conflict" => Err(OpError::Exists { id: new.id.to_string() }),
            _ => Err(told.refusal(swarm, new.id.as_str(), "")),
        }
    }

    /// Moves a phase on; one that ends keeps how its tasks went. `met` are the criteria that hold; those that the move asks for must be among them.
    pub async fn move_phase(
        &self,
        swarm: &SwarmId,
        phase: &PhaseId,
        to: PhaseStatus,
        met: &[String],
        by: &str,
    ) -> Result<Done, OpError> {
        for _ in 0..MOST_TRIES {
            let seen = self.phase(swarm, phase).await?;
            let Some(version) = seen.get("version").and_then(|text| text.parse().ok()) else {
                return Err(OpError::Unknown { id: phase.to_string() });
            };
            let criteria = |field: &str| -> Vec<String> {
                seen.get(field).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
            };
            let open = unmet(to, &criteria("entryCriteria"), &criteria("exitCriteria"), met);
            if !open.is_empty() {
                return Err(OpError::Unmet { id: phase.to_string(), criteria: open });
            }
            let metrics = match to {
                PhaseStatus::Completed | PhaseStatus::Failed => self.phase_metrics(swarm, &seen).await?,
                _ => String::new(),
            };
            let change = Change { expected: version, to: Some(to), metrics: &metrics, fields: &[] };
            let told = self.put_phase(swarm, phase, change, by).await?;
            match told.word() {
                "ok" => return Ok(told.done()),
                // Its criteria may be others by now.
                "conflict" => {}
                _ => return Err(told.refusal(swarm, phase.as_str(), to.word())),
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// How the tasks of a phase went.
    async fn phase_metrics(
        &self,
        swarm: &SwarmId,
        phase: &BTreeMap<String, String>,
    ) -> Result<String, OpError> {
        let Inner { monitor, keyspace, .. } = &*self.0;
        let tasks: Vec<String> =
            phase.get("tasks").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let tasks = tasks.iter().filter_map(|task| TaskId::from_store(task.as_str()).ok());
        let asked: Vec<_> = tasks.map(|task| keyspace.task(swarm, &task).hmget(TOLD).reading()).collect();
        let found: Vec<Vec<Option<String>>> = monitor.run_all(asked).await?;
        let told = found
            .iter()
            .map(|task| (task[0].as_deref(), task[1].as_deref().and_then(|sure| sure.parse().ok())));
        Ok(metrics(told).to_string())
    }

    async fn put_phase(
        &self,
        swarm: &SwarmId,
        phase: &PhaseId,
        change: Change<'_>,
        by: &str,
    ) -> Result<Told, OpError> {
        let Change { expected, to, metrics, fields } = change;
        let Inner { coordinator, keyspace, most, phase_fields, .. } = &*self.0;
        let names = self.names(swarm)?;
        let key = keyspace.phase(swarm, phase);
        let to = to.map_or("", PhaseStatus::word);
        let call = scripts::UpdatePhase {
            swarm: &names.swarm,
            phase: &key,
            records: &names.records,
            events: &names.events,
            dirty: &names.dirty,
            swarm_outbox: &names.outbox,
            id: swarm.as_str().into(),
            active_index: (&names.active_index).into(),
            most: (*most).into(),
            by: by.into(),
            phase_id: phase.as_str().into(),
            expected: expected.into(),
            to: to.into(),
            from: phase_fields.leading_to("status", to).into(),
            most_runs: MOST_RUNS.into(),
            most_records: self.0.most_members.records.into(),
            metrics: metrics.into(),
            fields: flat(fields),
        };
        let told: Vec<Reply> = coordinator.call(call).await?;
        Ok(self.told(swarm, &told).await)
    }

    /// The fields of a record; none if it is not there.
    pub(super) async fn fields_of(&self, key: &Key<Hash>) -> Result<BTreeMap<String, String>, OpError> {
        Ok(texts(&self.kept_of(key).await?))
    }

    /// The same, as they are kept.
    pub(super) async fn kept_of(&self, key: &Key<Hash>) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, OpError> {
        Ok(self.0.monitor.run(key.hgetall()).await?.into_iter().collect())
    }
}

/// Fields as they were put in.
pub(super) fn texts(kept: &BTreeMap<Vec<u8>, Vec<u8>>) -> BTreeMap<String, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    kept.iter().map(|(field, value)| (text(field), text(&opened(field, value)))).collect()
}
