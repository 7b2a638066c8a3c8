//! The keys of one swarm, named once.

use keyplane_key::{Hash, Key, Set, Str, Stream, Zset};

use super::error::OpError;
use crate::keys::{Keyspace, Role, Shard, Status, SwarmId, Window};

#[derive(Debug)]
pub(super) struct Names {
    pub(super) swarm: Key<Hash>,
    pub(super) roster: Key<Hash>,
    pub(super) task_roster: Key<Hash>,
    pub(super) ready: Key<Zset>,
    pub(super) leases: Key<Zset>,
    pub(super) events: Key<Stream>,
    pub(super) dirty: Key<Zset>,
    pub(super) records: Key<Set>,
    pub(super) outbox: Key<Stream>,
    pub(super) performance_current: Key<Hash>,
    pub(super) lock: Key<Str>,
    pub(super) lock_fence: Key<Str>,
    pub(super) active_index: String,
    keyspace: Keyspace,
    id: SwarmId,
}

impl Names {
    pub(super) fn new(keyspace: &Keyspace, id: &SwarmId) -> Result<Self, OpError> {
        let swarm = keyspace.swarm(id);
        let outbox = swarm.helper("outbox", "outbox").ok_or(OpError::NoOutbox)?;
        let lock = keyspace.lock(id);
        let lock_fence = lock.helper("lease", "fence").ok_or(OpError::NoLock)?;
        Ok(Self {
            swarm,
            outbox,
            lock,
            lock_fence,
            performance_current: keyspace.performance_current(id),
            roster: keyspace.roster(id),
            task_roster: keyspace.task_roster(id),
            ready: keyspace.ready(id),
            leases: keyspace.leases(id),
            events: keyspace.events(id),
            dirty: keyspace.dirty(id),
            records: keyspace.records(id),
            active_index: keyspace.index_active().as_str().to_owned(),
            keyspace: keyspace.clone(),
            id: id.clone(),
        })
    }

    /// Of which swarm they are.
    pub(super) fn id(&self) -> &SwarmId {
        &self.id
    }

    pub(super) fn status_index(&self, status: Status) -> String {
        self.keyspace.index_status(status).as_str().to_owned()
    }

    pub(super) fn role_index(&self, role: &Role) -> String {
        self.keyspace.index_agents(role).as_str().to_owned()
    }

    pub(super) fn performance_index(&self, window: Window) -> String {
        self.keyspace.index_performance(window).as_str().to_owned()
    }

    pub(super) fn roster_shards(&self, count: u64) -> Vec<Key<Hash>> {
        shards(count).map(|shard| self.keyspace.roster_shard(&self.id, shard)).collect()
    }

    pub(super) fn task_roster_shards(&self, count: u64) -> Vec<Key<Hash>> {
        shards(count).map(|shard| self.keyspace.task_roster_shard(&self.id, shard)).collect()
    }
}

fn shards(count: u64) -> impl Iterator<Item = Shard> {
    (1..=count).filter_map(|shard| Shard::new(shard).ok())
}
