//! Checkpoints that are read again. What comes out has the hash that was saved with it; if it has not, the link that is to blame is
//! named.

use std::collections::BTreeMap;

use keyplane_kit::checkpoint::{Broken, Difference, Link, Loading, NoHash, State, difference};

use super::checkpoints::{Checkpoint, FIELDS, listed};
use super::encoded::opened;
use super::error::OpError;
use super::pins::chain_of;
use super::{Inner, Swarms, millis};
use crate::keys::{CheckpointId, SwarmId};

/// Checkpoints that are looked at first: more than a chain has links.
const NEWEST: i64 = 32;

/// Checkpoints that could not be trusted, newest first, with the reason.
pub(super) type PassedOver = Vec<(String, String)>;

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
    pub(super) before: Option<Box<Loaded>>,
}

impl Swarms {
    /// The state that a checkpoint has saved.
    pub async fn load(&self, swarm: &SwarmId, id: &CheckpointId) -> Result<Loaded, OpError> {
        let loaded = self.load_chain(swarm, id).await?;
        loaded.map_err(|stopped| OpError::Damaged { checkpoint: stopped.at, why: stopped.why })
    }

    /// The newest state that can be trusted; `None` if there is none.
    pub async fn load_newest(&self, swarm: &SwarmId) -> Result<Option<Loaded>, OpError> {
        Ok(self.load_trusted(swarm).await?.0)
    }

    /// The same, and what was passed over, whether a state was found or not.
    pub(super) async fn load_trusted(
        &self,
        swarm: &SwarmId,
    ) -> Result<(Option<Loaded>, PassedOver), OpError> {
        if let Some(loaded) = self.load_last_chain(swarm).await? {
            return Ok((Some(loaded), Vec::new()));
        }
        let mut all = self.some_checkpoints(swarm, -NEWEST).await?;
        let mut passed_over = PassedOver::new();
        // Where there are none, they are not looked for once more.
        let mut is_everything = all.is_empty();
        loop {
            let Some(newest) = all.last().cloned() else {
                if is_everything {
                    return Ok((None, passed_over));
                }
                // Further back: everything that was not looked at yet.
                is_everything = true;
                let seen: Vec<String> = passed_over.iter().map(|(id, _)| id.clone()).collect();
                all = self.checkpoints(swarm).await?;
                all.retain(|one| !seen.contains(&one.id));
                continue;
            };
            let (loaded, broken) = match self.load_links(swarm, &all, &newest).await? {
                Ok(loaded) => (Some(loaded), None),
                Err(stopped) => (stopped.before.map(|loaded| *loaded), Some((stopped.at, stopped.why))),
            };
            passed_over.extend(broken.clone());
            if let Some(loaded) = loaded {
                let loaded = Loaded { passed_over: passed_over.clone(), ..loaded };
                return Ok((Some(loaded), passed_over));
            }
            // All that stands on the broken one is of no use, and comes behind it.
            let broken = broken.map_or_else(|| newest.id.clone(), |(id, _)| id);
            all.truncate(all.iter().position(|one| one.id == broken).unwrap_or(all.len() - 1));
        }
    }

    /// The chain that ends with the newest checkpoint, by what that says of itself: nothing else is read. `None` if it does not say
    /// how long the chain is, or if anything is not as it should be. Why, the long way finds out.
    async fn load_last_chain(&self, swarm: &SwarmId) -> Result<Option<Loaded>, OpError> {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        let ids: Vec<String> =
            checkpointer.run(keyspace.checkpoints(swarm).zrange(-NEWEST, -1).reading()).await?;
        let ids: Vec<CheckpointId> =
            ids.into_iter().filter_map(|id| CheckpointId::from_store(id).ok()).collect();
        let Some((newest, before)) = ids.split_last() else { return Ok(None) };
        let newest = self.whole(swarm, std::slice::from_ref(newest)).await?;
        let more = newest.first().and_then(|(one, _)| usize::try_from(one.links).ok()?.checked_sub(1));
        let Some(from) = more.and_then(|more| before.len().checked_sub(more)) else { return Ok(None) };
        let mut links = Vec::new();
        if from < before.len() {
            links = self.whole(swarm, &before[from..]).await?;
        }
        links.extend(newest);
        let (links, stored): (Vec<Checkpoint>, Vec<_>) = links.into_iter().unzip();
        Ok(put_together(&links.iter().collect::<Vec<_>>(), stored).ok())
    }

    /// Checkpoints with what is stored of each.
    async fn whole(
        &self,
        swarm: &SwarmId,
        ids: &[CheckpointId],
    ) -> Result<Vec<(Checkpoint, Option<Vec<u8>>)>, OpError> {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        let asked = ids.iter().map(|id| keyspace.recovery(swarm, id).hmget(FIELDS.iter().chain(&["blob"])));
        let mut whole = Vec::with_capacity(ids.len());
        for (id, mut fields) in ids.iter().zip(checkpointer.run_all(asked).await?) {
            let blob = fields.pop().flatten();
            let text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            let one = listed(id, &fields.into_iter().map(text).collect::<Vec<_>>());
            let stored = if one.chunks > 0 { self.chunks(swarm, id, one.chunks).await? } else { blob };
            whole.push((one, stored));
        }
        Ok(whole)
    }

    /// What is stored in chunks; `None` if one is missing.
    async fn chunks(
        &self,
        swarm: &SwarmId,
        id: &CheckpointId,
        count: u64,
    ) -> Result<Option<Vec<u8>>, OpError> {
        let keys = self.chunk_keys(swarm, id, count);
        let chunks: Vec<Option<Vec<u8>>> =
            self.0.checkpointer.run_all(keys.iter().map(|key| key.get())).await?;
        Ok(chunks.into_iter().collect::<Option<Vec<_>>>().map(|chunks| chunks.concat()))
    }

    /// What differs between two checkpoints, by record and field, with values as they were put in.
    pub async fn diff(
        &self,
        swarm: &SwarmId,
        earlier: &CheckpointId,
        later: &CheckpointId,
    ) -> Result<BTreeMap<String, Difference>, OpError> {
        let (earlier, later) = (self.load(swarm, earlier).await?, self.load(swarm, later).await?);
        let mut found = difference(&earlier.state, &later.state);
        for change in found.values_mut() {
            let Difference::Changed(fields) = change else { continue };
            for (field, before, after) in fields {
                for value in [before, after].into_iter().flatten() {
                    *value = opened(field.as_bytes(), value).into_owned();
                }
            }
        }
        Ok(found)
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
        Ok(put_together(&links, stored))
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
            *stored = self.chunks(swarm, id, link.chunks).await?;
        }
        Ok(stored)
    }
}

/// Links that stand on each other, the full one first, each with what is stored of it.
fn put_together(links: &[&Checkpoint], stored: Vec<Option<Vec<u8>>>) -> Result<Loaded, Stopped> {
    let mut loading = Loading::default();
    let full_at = links.first().and_then(|one| millis(&one.at));
    let loaded = |count: usize, loading: Loading| {
        let last = links[..count].last()?;
        Some(Loaded {
            from: last.id.clone(),
            at: last.at.clone(),
            state: loading.finish(),
            passed_over: Vec::new(),
            links: count as u64,
            full_at,
        })
    };
    if let Some(whole) = whole(links, &stored) {
        loading = whole;
    } else {
        for (at, (link, stored)) in links.iter().zip(stored).enumerate() {
            if let Err(why) = add(&mut loading, link, stored.as_deref()) {
                return Err(Stopped { at: link.id.clone(), why, before: loaded(at, loading).map(Box::new) });
            }
        }
    }
    let nothing = || Stopped { at: String::new(), why: "there is nothing to load".to_owned(), before: None };
    loaded(links.len(), loading).ok_or_else(nothing)
}

/// All of them at once; `None` if one is broken.
fn whole(links: &[&Checkpoint], stored: &[Option<Vec<u8>>]) -> Option<Loading> {
    let stored: Vec<&[u8]> = stored.iter().map(Option::as_deref).collect::<Option<_>>()?;
    let links: Vec<Link> = links.iter().map(|link| link_of(link).ok()).collect::<Option<_>>()?;
    Loading::whole(links.iter().zip(stored)).ok()
}

fn link_of(link: &Checkpoint) -> Result<Link, NoHash> {
    Ok(Link { id: link.id.clone(), parent: link.parent.clone(), hash: link.hash.parse()? })
}

fn add(loading: &mut Loading, link: &Checkpoint, stored: Option<&[u8]>) -> Result<(), String> {
    let missing = if link.stored > 0 { "a part of it is missing" } else { "it holds no state" };
    let stored = stored.ok_or(missing)?;
    let link = link_of(link).map_err(|error| error.to_string())?;
    loading.add(&link, stored).map_err(|error: Broken| error.to_string())
}
