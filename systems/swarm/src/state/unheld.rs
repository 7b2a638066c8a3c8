//! Tasks that nobody holds: tried again after they failed, or called off.

use keyplane_key::Call;

use super::error::OpError;
use super::rosters::Rosters;
use super::{Inner, Swarms};
use crate::keys::{SwarmId, TaskId};
use crate::scripts;

impl Swarms {
    /// Lets a task that failed be claimed again: tries before the next one.
    pub async fn retry_task(&self, swarm: &SwarmId, task: &TaskId, by: &str) -> Result<u64, OpError> {
        let Inner { coordinator, keyspace, most, .. } = &*self.0;
        let (names, key) = (self.names(swarm)?, keyspace.task(swarm, task));
        let call = |rosters: &Rosters| {
            Call::from(scripts::RetryTask {
                swarm: &names.swarm,
                task: &key,
                task_roster: &names.task_roster,
                ready: &names.ready,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                task_roster_shard: rosters.tasks.iter().collect(),
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: by.into(),
                task_id: task.as_str().into(),
                most_ready: self.0.most_members.ready.into(),
            })
        };
        let told = self.call_with_rosters(coordinator, &names, call).await?;
        match told.word() {
            "ok" => Ok(told.number(3)),
            _ => Err(told.refusal(swarm, task.as_str(), "pending")),
        }
    }

    /// Calls off a task that nobody holds: those that wait for it, which stay blocked.
    pub async fn cancel_task(
        &self,
        swarm: &SwarmId,
        task: &TaskId,
        by: &str,
    ) -> Result<Vec<TaskId>, OpError> {
        let Inner { coordinator, keyspace, most, task_fields, .. } = &*self.0;
        let (names, key) = (self.names(swarm)?, keyspace.task(swarm, task));
        let call = |rosters: &Rosters| {
            Call::from(scripts::CancelTask {
                swarm: &names.swarm,
                task: &key,
                task_roster: &names.task_roster,
                ready: &names.ready,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                task_roster_shard: rosters.tasks.iter().collect(),
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: by.into(),
                task_id: task.as_str().into(),
                from: task_fields.leading_to("status", "cancelled").into(),
            })
        };
        let told = self.call_with_rosters(coordinator, &names, call).await?;
        match told.word() {
            "ok" => {
                let waiting = told.text(3).split(' ').filter(|task| !task.is_empty());
                Ok(waiting.filter_map(|task| TaskId::from_store(task).ok()).collect())
            }
            _ => Err(told.refusal(swarm, task.as_str(), "cancelled")),
        }
    }
}
