//! Checkpoints that are read again: verified, link by link.

use std::collections::BTreeMap;

use keyplane_kit::checkpoint::{Broken, Difference, Link, Loading, State, difference};

use super::checkpoints::{Checkpoint, chain_of};
use super::error::OpError;
use super::{Inner, Swarms, millis};
use crate::keys::{CheckpointId, SwarmId};

/// Checkpoints that are looked at first: more than a chain has links.
const NEWEST: i64 = 32;

/// A state that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loaded {
    /// The checkpoint, or the file, that it is from.
    pub from: String,
    /// When that was made.
    pub at: String,
    /// All records.
    pub state: State,
    /// Checkpoints that are newer and could not be trusted, with the reason.
    pub passed_over: Vec<(String, String)>,
    pub(super) links: u64,
    pub(super) full_at: Option<u64>,
}

/// A checkpoint that cannot be trusted, and what could be loaded before it.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) at: String,
    pub(super) why: String,
    /// Up to the link before it; none if it is the first.
    pub(super) before: Option<Loaded>,
}

impl Swarms {
    /// The state that a checkpoint has saved.
    pub async fn load(&self, swarm: &SwarmId, id: &CheckpointId) -> Result<Loaded, OpError> {
        let loaded = self.load_chain(swarm, id).await?;
        loaded.map_err(|stopped| OpError::Damaged { checkpoint: stopped.at, why: stopped.why })
    }

    /// The newest state that can be trusted; `None` if there is none.
    pub async fn load_newest(&self, swarm: &SwarmId) -> Result<Option<Loaded>, OpError> {
        let mut all = self.some_checkpoints(swarm, -NEWEST).await?;
        let mut passed_over = Vec::new();
        let mut is_everything = false;
        loop {
            let Some(newest) = all.last().cloned() else {
                if is_everything {
                    return Ok(None);
                }
                // Further back: everything that was not looked at yet.
                is_everything = true;
                let seen: Vec<String> =
                    passed_over.iter().map(|(id, _): &(String, String)| id.clone()).collect();
                all = self.checkpoints(swarm).await?;
                all.retain(|one| !seen.contains(&one.id));
                continue;
            };
            match self.load_links(swarm, &all, &newest).await? {
                Ok(loaded) => return Ok(Some(Loaded { passed_over, ..loaded })),
                Err(stopped) => {
                    passed_over.push((stopped.at.clone(), stopped.why));
                    if let Some(loaded) = stopped.before {
                        return Ok(Some(Loaded { passed_over, ..loaded }));
                    }
                    // All that stands on the broken one is of no use.
                    let broken =
                        all.iter().find(|one| one.id == stopped.at).map_or(newest.seq, |one| one.seq);
                    all.retain(|one| one.seq < broken);
                }
            }
        }
    }

    /// What differs between two checkpoints, by record and field.
    pub async fn diff(
        &self,
        swarm: &SwarmId,
        earlier: &CheckpointId,
        later: &CheckpointId,
    ) -> Result<BTreeMap<String, Difference>, OpError> {
        let (earlier, later) = (self.load(swarm, earlier).await?, self.load(swarm, later).await?);
        Ok(difference(&earlier.state, &later.state))
    }

    pub(super) async fn load_chain(
        &self,
        swarm: &SwarmId,
        id: &CheckpointId,
    ) -> Result<Result<Loaded, Stopped>, OpError> {
        let mut all = self.some_checkpoints(swarm, -NEWEST).await?;
        let is_whole = |all: &[Checkpoint]| {
            let by_id: BTreeMap<&str, &Checkpoint> = all.iter().map(|one| (one.id.as_str(), one)).collect();
            by_id
                .get(id.as_str())
                .is_some_and(|own| chain_of(&by_id, own).last().is_some_and(|one| one.parent.is_none()))
        };
        if !is_whole(&all) {
            all = self.checkpoints(swarm).await?;
        }
        let own = all.iter().find(|one| one.id == id.as_str()).cloned();
        let own = own.ok_or_else(|| OpError::Unknown { id: id.to_string() })?;
        self.load_links(swarm, &all, &own).await
    }

    async fn load_links(
        &self,
        swarm: &SwarmId,
        all: &[Checkpoint],
        own: &Checkpoint,
    ) -> Result<Result<Loaded, Stopped>, OpError> {
        let by_id: BTreeMap<&str, &Checkpoint> = all.iter().map(|one| (one.id.as_str(), one)).collect();
        let mut links = chain_of(&by_id, own);
        links.reverse();
        let stored = self.stored(swarm, &links).await?;
        let mut loading = Loading::default();
        let mut good: Option<&Checkpoint> = None;
        let full_at = links.first().and_then(|one| millis(&one.at));
        let loaded = |last: &Checkpoint, loading: Loading| Loaded {
            from: last.id.clone(),
            at: last.at.clone(),
            state: loading.finish(),
            passed_over: Vec::new(),
            links: links.iter().position(|one| one.id == last.id).map_or(0, |at| at as u64 + 1),
            full_at,
        };
        for (link, stored) in links.iter().zip(stored) {
            if let Err(why) = add(&mut loading, link, stored.as_deref()) {
                let before = good.map(|good| loaded(good, loading));
                return Ok(Err(Stopped { at: link.id.clone(), why, before }));
            }
            good = Some(link);
        }
        Ok(Ok(loaded(own, loading)))
    }

    /// What is stored of each; `None` where a part is missing.
    async fn stored(&self, swarm: &SwarmId, links: &[&Checkpoint]) -> Result<Vec<Option<Vec<u8>>>, OpError> {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        let ids: Vec<CheckpointId> =
            links.iter().filter_map(|one| CheckpointId::from_store(one.id.clone()).ok()).collect();
        let asked = ids.iter().map(|id| keyspace.recovery(swarm, id).hget("blob"));
        let mut stored: Vec<Option<Vec<u8>>> = checkpointer.run_all(asked).await?;
        for ((link, id), stored) in
            links.iter().zip(&ids).zip(&mut stored).filter(|((link, _), _)| link.chunks > 0)
        {
            let keys = self.chunk_keys(swarm, id, link.chunks);
            let chunks: Vec<Option<Vec<u8>>> = checkpointer.run_all(keys.iter().map(|key| key.get())).await?;
            *stored = chunks.into_iter().collect::<Option<Vec<_>>>().map(|chunks| chunks.concat());
        }
        Ok(stored)
    }
}

fn add(loading: &mut Loading, link: &Checkpoint, stored: Option<&[u8]>) -> Result<(), String> {
    let stored = stored.ok_or("a part of it is missing")?;
    let hash = link.hash.parse().map_err(|error: keyplane_kit::checkpoint::NoHash| error.to_string())?;
    let link = Link { id: link.id.clone(), parent: link.parent.clone(), hash };
    loading.add(&link, stored).map_err(|error: Broken| error.to_string())
}
