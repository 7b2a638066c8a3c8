//! Memories: what agents keep for each other, found by their tags.

use std::collections::BTreeSet;

use keyplane_store::Reply;
use serde::{Deserialize, Serialize};

use super::encoded::fit;
use super::error::OpError;
use super::{Inner, MOST_TRIES, Swarms};
use crate::keys::{AgentId, MemoryId, MemoryType, SwarmId, Tag};
use crate::scripts;

/// The most that one memory may take, in bytes.
const MOST_BYTES: usize = 100 * 1024;

/// A memory to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMemory {
    /// What kind it is.
    pub kind: MemoryType,
    /// Its id. One that is there is replaced.
    pub id: MemoryId,
    /// Whose it is.
    pub agent: AgentId,
    /// What it says: any JSON. Over 100 KB it is kept packed, and has to fit into them then.
    pub content: String,
    /// What it is found by.
    pub tags: BTreeSet<Tag>,
}

/// A memory as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// What kind it is.
    pub kind: MemoryType,
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub agent: String,
    /// What it says.
    pub content: String,
    /// When it was kept, by the server's clock.
    pub at: String,
    /// What it is found by.
    pub tags: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Metadata {
    #[serde(default)]
    tags: Vec<String>,
}

impl Swarms {
    /// Keeps a memory. It is found by these tags from now on, and by no others.
    pub async fn put_memory(&self, swarm: &SwarmId, new: &NewMemory) -> Result<(), OpError> {
        let Inner { agent, keyspace, most, most_members, memory_fields, .. } = &*self.0;
        let content = fit(new.id.as_str(), &new.content, MOST_BYTES)?;
        memory_fields.check("content", &content)?;
        let names = self.names(swarm)?;
        let key = keyspace.memory(swarm, new.kind, &new.id);
        let name = format!("{}:{}", new.kind.as_str(), new.id);
        let tags: Vec<String> = new.tags.iter().map(ToString::to_string).collect();
        let metadata = if tags.is_empty() {
            String::new()
        } else {
            serde_json::to_string(&Metadata { tags: tags.clone() }).unwrap_or_default()
        };
        for _ in 0..MOST_TRIES {
            let seen: Option<String> = agent.run(key.hget("metadata").reading()).await?;
            let seen = seen.unwrap_or_default();
            let had: Metadata = serde_json::from_str(&seen).unwrap_or_default();
            let mut all: BTreeSet<Tag> =
                had.tags.iter().filter_map(|tag| Tag::new(tag.as_str()).ok()).collect();
            all.extend(new.tags.iter().cloned());
            let tag_keys: Vec<_> = all.iter().map(|tag| keyspace.memory_tag(swarm, tag)).collect();
            let call = scripts::PutMemory {
                swarm: &names.swarm,
                memory: &key,
                records: &names.records,
                events: &names.events,
                dirty: &names.dirty,
                swarm_outbox: &names.outbox,
                memory_tag: tag_keys.iter().collect(),
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most).into(),
                by: new.agent.as_str().into(),
                name: (&name).into(),
                seen: (&seen).into(),
                agent_id: new.agent.as_str().into(),
                content: (&content).into(),
                metadata: (&metadata).into(),
                most_records: most_members.records.into(),
                most_tagged: most_members.tagged.into(),
                tags: all
                    .iter()
                    .flat_map(|tag| [tag.as_str().into(), u64::from(new.tags.contains(tag)).into()])
                    .collect(),
            };
            let told: Vec<Reply> = agent.call(call).await?;
            let told = self.told(swarm, &told).await;
            match told.word() {
                "ok" => return Ok(()),
                // Another gave it other tags.
                "again" => {}
                _ => return Err(told.refusal(swarm, new.id.as_str(), "")),
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// A memory; `None` if there is none.
    pub async fn memory(
        &self,
        swarm: &SwarmId,
        kind: MemoryType,
        id: &MemoryId,
    ) -> Result<Option<Memory>, OpError> {
        let mut fields = self.fields_of(&self.0.keyspace.memory(swarm, kind, id)).await?;
        if fields.is_empty() {
            return Ok(None);
        }
        let metadata: Metadata =
            fields.get("metadata").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let mut take = |field: &str| fields.remove(field).unwrap_or_default();
        Ok(Some(Memory {
            kind,
            id: id.to_string(),
            agent: take("agentId"),
            content: take("content"),
            at: take("timestamp"),
            tags: metadata.tags,
        }))
    }

    /// The memories that have all of these tags.
    pub async fn search_memory(&self, swarm: &SwarmId, tags: &[Tag]) -> Result<Vec<Memory>, OpError> {
        let Inner { monitor, keyspace, .. } = &*self.0;
        let mut names: Option<BTreeSet<String>> = None;
        for tag in tags {
            let found: Vec<String> =
                monitor.run(keyspace.memory_tag(swarm, tag).smembers().reading()).await?;
            let found: BTreeSet<String> = found.into_iter().collect();
            names = Some(names.map_or(found.clone(), |names| names.intersection(&found).cloned().collect()));
        }
        let mut memories = Vec::new();
        for name in names.unwrap_or_default() {
            let parts = name.split_once(':').and_then(|(kind, id)| {
                Some((kind.parse::<MemoryType>().ok()?, MemoryId::from_store(id).ok()?))
            });
            if let Some((kind, id)) = parts {
                // One that ran out is still named until its tag does.
                memories.extend(self.memory(swarm, kind, &id).await?);
            }
        }
        Ok(memories)
    }
}
