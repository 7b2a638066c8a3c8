//! Agents of a swarm.

use keyplane_key::Call;

use super::error::OpError;
use super::outcome::Done;
use super::rosters::Rosters;
use super::{Inner, Swarms, check, flat};
use crate::keys::{AgentId, Role, SwarmId};
use crate::model::{AgentKind, AgentStatus};
use crate::scripts;

/// An agent to be.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAgent {
    /// Its id.
    pub id: AgentId,
    /// What it can do.
    pub role: Role,
    /// Its part in the loop.
    pub kind: AgentKind,
    /// What it says about itself: the contract's `AgentMetadata`, as JSON.
    pub metadata: Option<String>,
}

/// A change of an agent. Nothing is changed that is not named, and its role never.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentChange {
    /// Only if it is at this version.
    pub expected: Option<u64>,
    /// What it is doing.
    pub status: Option<AgentStatus>,
    /// How sure it is of its work, 0 to 1.
    pub confidence: Option<f64>,
    /// What it says about itself.
    pub metadata: Option<String>,
}

impl Swarms {
    /// Adds an agent. It is idle, and waited for as long as the settings say.
    pub async fn register(&self, swarm: &SwarmId, new: &NewAgent, by: &str) -> Result<Done, OpError> {
        let Inner { coordinator, keyspace, settings, most, most_listed, most_members, agent_fields, .. } =
            &*self.0;
        let names = self.names(swarm)?;
        let agent = keyspace.agent(swarm, &new.id);
        let role_index = names.role_index(&new.role);
        let mut fields = vec![("role", new.role.to_string()), ("type", new.kind.to_string())];
        fields.extend(new.metadata.clone().map(|metadata| ("metadata", metadata)));
        check(agent_fields, &fields)?;
        let call = |rosters: &Rosters| {
            Call::from(scripts::RegisterAgent {
                swarm: &names.swarm,
                agent: &agent,
                roster: &names.roster,
                leases: &names.leases,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                roster_shard: rosters.agents.iter().collect(),
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: by.into(),
                agent_id: new.id.as_str().into(),
                role: new.role.as_str().into(),
                role_index: (&role_index).into(),
                lease: Self::millis(settings.agent_lease),
                most_listed: (*most_listed).into(),
                confidence: "0".into(),
                most_leases: most_members.leases.into(),
                fields: flat(&fields[1..]),
            })
        };
        let told = self.call_with_rosters(coordinator, &names, call).await?;
        match told.word() {
            "ok" => Ok(told.done()),
            _ => Err(told.refusal(swarm, new.id.as_str(), "")),
        }
    }

    /// An agent is alive, and so is its work on its task.
    pub async fn heartbeat(&self, swarm: &SwarmId, agent: &AgentId) -> Result<Done, OpError> {
        let Inner { agent: handle, keyspace, settings, .. } = &*self.0;
        let names = self.names(swarm)?;
        let key = keyspace.agent(swarm, agent);
        let call = |rosters: &Rosters| {
            Call::from(scripts::HeartbeatAgent {
                swarm: &names.swarm,
                agent: &key,
                roster: &names.roster,
                leases: &names.leases,
                swarm_outbox: &names.outbox,
                roster_shard: rosters.agents.iter().collect(),
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                agent_id: agent.as_str().into(),
                lease: Self::millis(settings.agent_lease),
                task_lease: Self::millis(settings.task_lease),
            })
        };
        let told = self.call_with_rosters(handle, &names, call).await?;
        match told.word() {
            "ok" => Ok(told.done()),
            _ => Err(told.refusal(swarm, agent.as_str(), "")),
        }
    }

    /// Changes an agent. A sign of life, too. Its role stays what it was registered with: the index of roles counts on that.
    pub async fn update_agent(
        &self,
        swarm: &SwarmId,
        agent: &AgentId,
        change: &AgentChange,
        by: &str,
    ) -> Result<Done, OpError> {
        let Inner { agent: handle, keyspace, settings, most, agent_fields, .. } = &*self.0;
        let names = self.names(swarm)?;
        let key = keyspace.agent(swarm, agent);
        let confidence = change.confidence.map(|confidence| ("confidence", confidence.to_string()));
        let metadata = change.metadata.clone().map(|metadata| ("metadata", metadata));
        let fields: Vec<_> = confidence.into_iter().chain(metadata).collect();
        check(agent_fields, &fields)?;
        let (confidence, fields) = fields.split_at(usize::from(change.confidence.is_some()));
        let confidence = confidence.first().map_or("", |(_, confidence)| confidence);
        let to = change.status.map_or("", AgentStatus::word);
        let call = |rosters: &Rosters| {
            Call::from(scripts::UpdateAgent {
                swarm: &names.swarm,
                agent: &key,
                roster: &names.roster,
                leases: &names.leases,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                roster_shard: rosters.agents.iter().collect(),
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: by.into(),
                agent_id: agent.as_str().into(),
                lease: Self::millis(settings.agent_lease),
                expected: change.expected.map_or_else(String::new, |version| version.to_string()).into(),
                to: to.into(),
                from: agent_fields.leading_to("status", to).into(),
                confidence: confidence.into(),
                fields: flat(fields),
            })
        };
        let told = self.call_with_rosters(handle, &names, call).await?;
        match told.word() {
            "ok" => Ok(told.done()),
            _ => Err(told.refusal(swarm, agent.as_str(), to)),
        }
    }
}
