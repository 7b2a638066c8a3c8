//! All that belongs to a swarm, found through its rosters and its list of records, never by a scan.

use std::collections::BTreeSet;

use keyplane_key::{Hash, Key, Set, Stream, Zset};

use super::error::OpError;
use super::names::Names;
use super::{Inner, Swarms};
use crate::keys::{
    AgentId, BlobId, Chunk, Keyspace, MemoryId, MemoryType, PhaseId, Role, Round, SwarmId, Tag, TaskId,
};

/// Keys of a swarm that are named by what they hold.
#[derive(Debug, Default)]
pub(super) struct Children {
    pub(super) agents: Vec<Key<Hash>>,
    pub(super) tasks: Vec<Key<Hash>>,
    pub(super) phases: Vec<Key<Hash>>,
    pub(super) memories: Vec<Key<Hash>>,
    pub(super) tags: Vec<Key<Set>>,
    pub(super) rounds: Vec<Key<Hash>>,
    pub(super) vote_logs: Vec<Key<Stream>>,
    pub(super) blobs: Vec<Key<Hash>>,
    pub(super) roster_shards: Vec<Key<Hash>>,
    pub(super) task_roster_shards: Vec<Key<Hash>>,
    /// Roles of its agents, as the rosters say.
    pub(super) roles: BTreeSet<Role>,
}

impl Swarms {
    /// The children of a swarm now. One that is born while they are being found may be missed.
    pub(super) async fn children(&self, swarm: &SwarmId, names: &Names) -> Result<Children, OpError> {
        let Inner { janitor, keyspace, .. } = &*self.0;
        let agents = self.lines(&names.roster, |count| names.roster_shards(count)).await?;
        let tasks = self.lines(&names.task_roster, |count| names.task_roster_shards(count)).await?;
        let ids = agents.lines.iter().filter_map(|(id, _)| AgentId::from_store(id.clone()).ok());
        let mut found = Children {
            agents: ids.map(|id| keyspace.agent(swarm, &id)).collect(),
            roles: agents.lines.iter().filter_map(|(_, line)| role(line)).collect(),
            roster_shards: agents.shards,
            task_roster_shards: tasks.shards,
            ..Children::default()
        };
        let ids = tasks.lines.into_iter().filter_map(|(id, _)| TaskId::from_store(id).ok());
        found.tasks = ids.map(|id| keyspace.task(swarm, &id)).collect();
        let records: Vec<String> = janitor.run(names.records.smembers().reading()).await?;
        for record in &records {
            found.add(keyspace, swarm, record);
        }
        Ok(found)
    }

    /// The roles of its agents.
    pub(super) async fn roles(&self, names: &Names) -> Result<BTreeSet<Role>, OpError> {
        let read = self.lines(&names.roster, |count| names.roster_shards(count)).await?;
        Ok(read.lines.iter().filter_map(|(_, line)| role(line)).collect())
    }

    /// What a roster and its shards list, read until one is empty: neither what is counted nor how full the first is says for
    /// certain how many there are, for lines may have been taken out.
    async fn lines(
        &self,
        plain: &Key<Hash>,
        shards: impl Fn(u64) -> Vec<Key<Hash>>,
    ) -> Result<Listed, OpError> {
        let janitor = &self.0.janitor;
        let lines = janitor.run(plain.hgetall().reading()).await?;
        let mut listed = Listed { lines, shards: Vec::new() };
        loop {
            let next = shards(listed.shards.len() as u64 + 1);
            let Some(shard) = next.last().filter(|_| next.len() > listed.shards.len()) else { break };
            let lines: Vec<(String, String)> = janitor.run(shard.hgetall().reading()).await?;
            if lines.is_empty() {
                break;
            }
            listed.lines.extend(lines);
            listed.shards = next;
        }
        Ok(listed)
    }
}

/// The lines of a roster and its shards.
#[derive(Debug, Default)]
struct Listed {
    lines: Vec<(String, String)>,
    shards: Vec<Key<Hash>>,
}

fn role(line: &str) -> Option<Role> {
    Role::new(line.rsplit_once('|')?.1).ok()
}

impl Children {
    /// One that `records` lists; what nobody here has written there is passed over.
    fn add(&mut self, keyspace: &Keyspace, swarm: &SwarmId, record: &str) -> Option<()> {
        if let Some(tag) = record.strip_prefix("tag#") {
            self.tags.push(keyspace.memory_tag(swarm, &Tag::new(tag).ok()?));
            return Some(());
        }
        let (family, rest) = record.split_once(':')?;
        match family {
            "phases" => self.phases.push(keyspace.phase(swarm, &PhaseId::from_store(rest).ok()?)),
            "memory" => {
                let (kind, id) = rest.split_once(':')?;
                let (kind, id) = (kind.parse::<MemoryType>().ok()?, MemoryId::from_store(id).ok()?);
                self.memories.push(keyspace.memory(swarm, kind, &id));
            }
            "consensus" => {
                let round = rest.parse::<Round>().ok()?;
                self.rounds.push(keyspace.consensus(swarm, round));
                self.vote_logs.push(keyspace.vote_log(swarm, round));
            }
            "blob" => {
                let (id, chunk) = rest.split_once(':')?;
                self.blobs.push(keyspace.blob(
                    swarm,
                    &id.parse::<BlobId>().ok()?,
                    chunk.parse::<Chunk>().ok()?,
                ));
            }
            _ => {}
        }
        Some(())
    }
}

impl Names {
    /// Those that a swarm has once.
    pub(super) fn sorted_sets(&self) -> [&Key<Zset>; 3] {
        [&self.ready, &self.leases, &self.dirty]
    }
}
