//! One record of a swarm, and its log of events. Reads, none of which is activity.

use std::collections::BTreeMap;

use keyplane_key::{Hash, Key};
use keyplane_kit::events::Events;
use keyplane_schema::Contract;

use super::Swarms;
use super::error::OpError;
use super::phases::texts;
use crate::keys::{AgentId, PhaseId, Round, SwarmId, TaskId};

/// The fields of a record, as the contract names them.
pub type Record = BTreeMap<String, String>;

impl Swarms {
    /// An agent.
    pub async fn agent(&self, swarm: &SwarmId, agent: &AgentId) -> Result<Record, OpError> {
        Ok(texts(&self.found(swarm, &self.0.keyspace.agent(swarm, agent), agent).await?))
    }

    /// A task.
    pub async fn task(&self, swarm: &SwarmId, task: &TaskId) -> Result<Record, OpError> {
        let kept = self.found(swarm, &self.0.keyspace.task(swarm, task), task).await?;
        let mut record = texts(&kept);
        if let Some(result) = kept.get(&b"result"[..])
            && let Some(whole) = self.referred(swarm, result).await?
        {
            record.insert("result".to_owned(), whole);
        }
        Ok(record)
    }

    /// A phase.
    pub async fn phase(&self, swarm: &SwarmId, phase: &PhaseId) -> Result<Record, OpError> {
        Ok(texts(&self.found(swarm, &self.0.keyspace.phase(swarm, phase), phase).await?))
    }

    /// A consensus round.
    pub async fn round(&self, swarm: &SwarmId, round: Round) -> Result<Record, OpError> {
        let name = format!("round {}", round.get());
        Ok(texts(&self.found(swarm, &self.0.keyspace.consensus(swarm, round), &name).await?))
    }

    /// What happens in a swarm. An unknown one has an empty log.
    #[must_use]
    pub fn events(&self, swarm: &SwarmId) -> Events {
        Events::new(&self.0.monitor, self.0.keyspace.events(swarm))
    }

    /// The contract that the keys are held to.
    #[must_use]
    pub fn contract(&self) -> &Contract {
        self.0.monitor.contract()
    }

    /// Whether there is such a swarm.
    pub async fn is_there(&self, swarm: &SwarmId) -> Result<bool, OpError> {
        let status: Option<String> =
            self.0.monitor.run(self.0.keyspace.swarm(swarm).hget("status").reading()).await?;
        Ok(status.is_some())
    }

    /// A record that is not there is missing for one of two reasons, and the caller is told which.
    async fn found(
        &self,
        swarm: &SwarmId,
        key: &Key<Hash>,
        id: &(dyn std::fmt::Display + Sync),
    ) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, OpError> {
        let kept = self.kept_of(key).await?;
        if !kept.is_empty() {
            return Ok(kept);
        }
        match self.is_there(swarm).await? {
            true => Err(OpError::Unknown { id: id.to_string() }),
            false => Err(OpError::NoSwarm { swarm: swarm.to_string() }),
        }
    }
}
