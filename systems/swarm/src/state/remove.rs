//! Removing a finished swarm, in batches and under its lock, so that no expiry storm follows.
//!
//! Its checkpoints stay their seven days: a swarm without one is not removed. The rosters go last, so that a removal that was
//! cut off is taken up where it stopped.

use keyplane_key::{Hash, Key, Set, Stream, Zset};
use keyplane_kit::lease::{Held, Lease};
use keyplane_store::Reply;

use super::children::Children;
use super::error::OpError;
use super::names::Names;
use super::{Inner, Swarms};
use crate::keys::{Metric, Status, SwarmId, Window};
use crate::scripts;

/// Keys removed in one step: it must not hold up others.
const AT_ONCE: usize = 200;

/// Who holds the lock meanwhile.
const OWNER: &str = "janitor";

/// A key to be removed, by the part that it plays.
#[derive(Debug, Clone, Copy)]
enum Child<'c> {
    Agent(&'c Key<Hash>),
    Task(&'c Key<Hash>),
    Phase(&'c Key<Hash>),
    Memory(&'c Key<Hash>),
    Tag(&'c Key<Set>),
    Round(&'c Key<Hash>),
    VoteLog(&'c Key<Stream>),
    Series(&'c Key<Zset>),
    Blob(&'c Key<Hash>),
}

impl Swarms {
    /// Removes a finished swarm: how many keys went. `None` when another holds its lock. Refused while it runs, and while there
    /// is no checkpoint of it.
    pub async fn remove(&self, swarm: &SwarmId) -> Result<Option<u64>, OpError> {
        let names = self.names(swarm)?;
        let lease = Lease::new(&self.0.janitor, names.lock.clone())?;
        let Some(held) = lease.try_acquire(OWNER).await? else { return Ok(None) };
        let removed = self.remove_all(swarm, &names, &held).await;
        held.release().await?;
        // Whether it was there or not: once it is gone, nothing is left that the lock keeps.
        self.forget_lock(swarm).await?;
        let removed = removed?;
        self.0.chains.forget(swarm);
        self.feed(swarm).await?;
        Ok(Some(removed))
    }

    async fn remove_all(&self, swarm: &SwarmId, names: &Names, held: &Held) -> Result<u64, OpError> {
        let children = self.children(swarm, names).await?;
        let series: Vec<Key<Zset>> =
            Metric::ALL.iter().map(|metric| self.0.keyspace.performance_zset(swarm, *metric)).collect();
        let all: Vec<Child<'_>> = each(&children).chain(series.iter().map(Child::Series)).collect();
        let mut removed = 0;
        for some in all.chunks(AT_ONCE) {
            removed += self.remove_some(swarm, names, held, some, None).await?;
        }
        Ok(removed + self.remove_some(swarm, names, held, &[], Some(&children)).await?)
    }

    /// One step; with `last`, all that is left.
    async fn remove_some(
        &self,
        swarm: &SwarmId,
        names: &Names,
        held: &Held,
        some: &[Child<'_>],
        last: Option<&Children>,
    ) -> Result<u64, OpError> {
        let Inner { janitor, keyspace, .. } = &*self.0;
        let fence = held.fence().map_err(|_| OpError::Fenced { swarm: swarm.to_string() })?;
        let checkpoints = keyspace.checkpoints(swarm);
        let indexes = last.map_or_else(Vec::new, |children| indexes(names, children));
        macro_rules! those {
            ($part:ident) => {
                some.iter()
                    .filter_map(
                        |child| if let Child::$part(key) = child { Some((*key).into()) } else { None },
                    )
                    .collect()
            };
        }
        let call = scripts::RemoveSwarm {
            lock_fence: fence.key(),
            checkpoints: &checkpoints,
            swarm: &names.swarm,
            roster: &names.roster,
            task_roster: &names.task_roster,
            ready: &names.ready,
            leases: &names.leases,
            performance_current: &names.performance_current,
            records: &names.records,
            dirty: &names.dirty,
            events: &names.events,
            swarm_outbox: &names.outbox,
            agent: those!(Agent),
            task: those!(Task),
            phase: those!(Phase),
            memory: those!(Memory),
            memory_tag: those!(Tag),
            consensus: those!(Round),
            vote_log: those!(VoteLog),
            performance: those!(Series),
            blob: those!(Blob),
            roster_shard: last.map_or_else(Vec::new, |last| last.roster_shards.iter().collect()),
            task_roster_shard: last.map_or_else(Vec::new, |last| last.task_roster_shards.iter().collect()),
            fence: fence.into(),
            id: swarm.as_str().into(),
            is_last: u64::from(last.is_some()).into(),
            indexes: indexes.iter().map(Into::into).collect(),
        };
        let told: Vec<Reply> = janitor.call(call).await?;
        let told = self.told(swarm, &told).await;
        match told.word() {
            "ok" => Ok(told.number(1)),
            _ => Err(told.refusal(swarm, swarm.as_str(), "removed")),
        }
    }
}

fn each(children: &Children) -> impl Iterator<Item = Child<'_>> {
    let Children { agents, tasks, phases, memories, tags, rounds, vote_logs, blobs, .. } = children;
    let work = agents.iter().map(Child::Agent).chain(tasks.iter().map(Child::Task));
    let knowledge = memories.iter().map(Child::Memory).chain(tags.iter().map(Child::Tag));
    let rounds = rounds.iter().map(Child::Round).chain(vote_logs.iter().map(Child::VoteLog));
    let rest = phases.iter().map(Child::Phase).chain(blobs.iter().map(Child::Blob));
    work.chain(knowledge).chain(rounds).chain(rest)
}

/// All that it may be in.
fn indexes(names: &Names, children: &Children) -> Vec<String> {
    let statuses = [Status::Completed, Status::Failed].map(|status| names.status_index(status));
    std::iter::once(names.active_index.clone())
        .chain(statuses)
        .chain(Window::ALL.iter().map(|window| names.performance_index(*window)))
        .chain(children.roles.iter().map(|role| names.role_index(role)))
        .collect()
}
