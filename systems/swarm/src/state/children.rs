//! All that belongs to a swarm, found through its rosters and its list of records, never by a scan.

use std::collections::BTreeSet;

use keyplane_key::{Hash, Key, Set, Str, Stream, Zset};

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
    pub(super) blobs: Vec<Key<Str>>,
    pub(super) roster_shards: Vec<Key<Hash>>,
    pub(super) task_roster_shards: Vec<Key<Hash>>,
    /// Roles of its agents, as the rosters say.
    pub(super) roles: Vec<String>,
}

impl Swarms {
    /// The children of a swarm now. One that is born while they are being found may be missed.
    pub(super) async fn children(&self, swarm: &SwarmId, names: &Names) -> Result<Children, OpError> {
        let Inner { janitor, keyspace, most_listed, .. } = &*self.0;
        let counts: Vec<Option<u64>> =
            janitor.run(names.swarm.hmget(["agentCount", "taskCount"]).reading()).await?;
        let shards = |at: usize| {
            let count = counts.get(at).copied().flatten().unwrap_or_default();
            // One more than is needed: a shard may just have been begun.
            count / most_listed
        };
        let mut found = Children {
            roster_shards: names.roster_shards(shards(0)),
            task_roster_shards: names.task_roster_shards(shards(1)),
            ..Children::default()
        };
        let rosters = std::iter::once(&names.roster).chain(&found.roster_shards);
        let lines = janitor.run_all(rosters.map(|roster| roster.hgetall().reading())).await?;
        let lines: Vec<(String, String)> = lines.into_iter().flat_map(|lines: Vec<_>| lines).collect();
        for (id, line) in lines {
            found.agents.extend(AgentId::from_store(id).ok().map(|id| keyspace.agent(swarm, &id)));
            found.roles.extend(line.rsplit_once('|').map(|(_, role)| role.to_owned()));
        }
        found.roles.sort_unstable();
        found.roles.dedup();
        let rosters = std::iter::once(&names.task_roster).chain(&found.task_roster_shards);
        let lines = janitor.run_all(rosters.map(|roster| roster.hgetall().reading())).await?;
        let lines: Vec<(String, String)> = lines.into_iter().flat_map(|lines: Vec<_>| lines).collect();
        let tasks = lines.into_iter().filter_map(|(id, _)| TaskId::from_store(id).ok());
        found.tasks = tasks.map(|id| keyspace.task(swarm, &id)).collect();
        let records: Vec<String> = janitor.run(names.records.smembers().reading()).await?;
        for record in &records {
            found.add(keyspace, swarm, record);
        }
        Ok(found)
    }

    /// The roles of its agents, of which there are so many.
    pub(super) async fn roles(&self, names: &Names, agents: u64) -> Result<BTreeSet<Role>, OpError> {
        let Inner { janitor, most_listed, .. } = &*self.0;
        let shards = names.roster_shards(agents / most_listed);
        let rosters = std::iter::once(&names.roster).chain(&shards);
        let lines = janitor.run_all(rosters.map(|roster| roster.hgetall().reading())).await?;
        let lines = lines.into_iter().flat_map(|lines: Vec<(String, String)>| lines);
        Ok(lines.filter_map(|(_, line)| Role::new(line.rsplit_once('|')?.1).ok()).collect())
    }
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
