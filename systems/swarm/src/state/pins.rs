//! Checkpoints that are kept until they are unpinned, and those that nobody needs any more.
//!
//! What is pinned has no end, and all that it stands on has none. By that, and not by what was seen before, the scripts decide:
//! several may pin, unpin and thin out at the same time.

use std::collections::BTreeMap;
use std::time::Duration;

use keyplane_key::{Arg, Key, Str};
use keyplane_kit::checkpoint::{Kept, Retention};
use keyplane_store::Reply;

use super::checkpoints::{Checkpoint, Named};
use super::error::OpError;
use super::outcome::Told;
use super::{Inner, MOST_TRIES, Swarms, millis};
use crate::keys::{CheckpointId, SwarmId};
use crate::scripts;

/// Checkpoints that are removed in one step.
const AT_ONCE: usize = 50;

/// What is said instead of the number of its chunks of one that has run out.
const GONE: &str = "gone";

/// Checkpoints as the scripts take them.
#[derive(Debug, Default)]
struct Links {
    ids: Vec<CheckpointId>,
    /// The number of its chunks, or that it has run out.
    chunks: Vec<String>,
    chunk_keys: Vec<Key<Str>>,
}

impl Links {
    fn words(&self) -> Vec<Arg<'_>> {
        let pairs = self.ids.iter().zip(&self.chunks);
        pairs.flat_map(|(id, chunks)| [Arg::from(id.as_str()), Arg::from(chunks)]).collect()
    }
}

impl Swarms {
    /// Keeps a checkpoint, and what it stands on, until it is unpinned; or lets it run out.
    pub async fn pin(&self, swarm: &SwarmId, id: &CheckpointId, pinned: bool) -> Result<(), OpError> {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        // Where they are not listed they are looked for.
        self.some_checkpoints(swarm, -1).await?;
        for _ in 0..MOST_TRIES {
            let named = self.named_checkpoints(swarm, 0).await?;
            let links = self.links(swarm, &needed(&named, id, pinned)?);
            let recoveries: Vec<_> = links.ids.iter().map(|id| keyspace.recovery(swarm, id)).collect();
            let call = scripts::PinCheckpoint {
                checkpoints: &keyspace.checkpoints(swarm),
                recovery: recoveries.iter().collect(),
                checkpoint_chunk: links.chunk_keys.iter().collect(),
                pinned: if pinned { "true" } else { "false" }.into(),
                checkpoint_id: id.as_str().into(),
                named: named.count.into(),
                newest: named.newest.as_slice().into(),
                typed: named.there.iter().filter(|one| one.pinned && written(one).is_none()).count().into(),
                links: links.words(),
            };
            let told: Vec<Reply> = checkpointer.call(call).await?;
            let told = Told::new(&told);
            match told.word() {
                "ok" => return Ok(()),
                // Another was made or removed meanwhile.
                "changed" => {}
                _ => return Err(OpError::Unknown { id: told.text(1).to_owned() }),
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// Removes the checkpoints that nobody needs by these rules: how many went. Pinned ones stay, and those with a label. Names of those that have run
    /// out leave the list.
    pub async fn prune(&self, swarm: &SwarmId, retention: Retention) -> Result<u64, OpError> {
        let Named { there: all, gone, .. } = self.named_checkpoints(swarm, 0).await?;
        let seqs: BTreeMap<&str, u64> = all.iter().map(|one| (one.id.as_str(), one.seq)).collect();
        let newest = all.iter().filter_map(|one| millis(&one.at)).max().unwrap_or_default();
        let kept = |one: &Checkpoint| Kept {
            seq: one.seq,
            parent: one.parent.as_deref().and_then(|parent| seqs.get(parent).copied()),
            age: Duration::from_millis(newest.saturating_sub(millis(&one.at).unwrap_or(newest))),
            // What somebody has given a name was not made to be thinned out.
            pinned: one.pinned || one.label.as_deref().is_some_and(|label| !label.is_empty()),
        };
        let superfluous = retention.superfluous(&all.iter().map(kept).collect::<Vec<_>>());
        let superfluous: Vec<&Checkpoint> = all.iter().filter(|one| superfluous.contains(&one.seq)).collect();
        let mut removed = 0;
        for some in superfluous.chunks(AT_ONCE) {
            removed += self.remove_checkpoints(swarm, &self.links(swarm, some)).await?;
        }
        let gone: Vec<CheckpointId> = gone.into_iter().filter(|id| !id.is_legacy()).collect();
        for some in gone.chunks(AT_ONCE) {
            let chunks = vec![GONE.to_owned(); some.len()];
            let links = Links { ids: some.to_vec(), chunks, ..Links::default() };
            self.remove_checkpoints(swarm, &links).await?;
        }
        Ok(removed)
    }

    async fn remove_checkpoints(&self, swarm: &SwarmId, links: &Links) -> Result<u64, OpError> {
        let Inner { checkpointer, keyspace, .. } = &*self.0;
        let recoveries: Vec<_> = links.ids.iter().map(|id| keyspace.recovery(swarm, id)).collect();
        let call = scripts::PruneCheckpoints {
            checkpoints: &keyspace.checkpoints(swarm),
            recovery: recoveries.iter().collect(),
            checkpoint_chunk: links.chunk_keys.iter().collect(),
            links: links.words(),
        };
        Ok(checkpointer.call(call).await?)
    }

    fn links(&self, swarm: &SwarmId, some: &[&Checkpoint]) -> Links {
        let mut links = Links::default();
        for one in some {
            let Some(id) = written(one) else { continue };
            links.chunk_keys.extend(self.chunk_keys(swarm, &id, one.chunks));
            links.chunks.push(one.chunks.to_string());
            links.ids.push(id);
        }
        links
    }
}

/// Those that must be looked at: to pin one, what it stands on; to unpin it, all, for others may stand on the same.
fn needed<'n>(named: &'n Named, id: &CheckpointId, pinned: bool) -> Result<Vec<&'n Checkpoint>, OpError> {
    let by_id: BTreeMap<&str, &Checkpoint> = named.there.iter().map(|one| (one.id.as_str(), one)).collect();
    let own = by_id.get(id.as_str()).ok_or_else(|| OpError::Unknown { id: id.to_string() })?;
    Ok(if pinned { chain_of(&by_id, own) } else { named.there.iter().collect() })
}

/// A checkpoint and all that it stands on, itself first. A chain that leads back ends there.
pub(super) fn chain_of<'c>(
    by_id: &BTreeMap<&str, &'c Checkpoint>,
    own: &'c Checkpoint,
) -> Vec<&'c Checkpoint> {
    let mut links = vec![own];
    while let Some(parent) = links.last().and_then(|one| one.parent.as_deref()) {
        match by_id.get(parent) {
            Some(next) if !links.iter().any(|one| one.id == next.id) => links.push(next),
            _ => break,
        }
    }
    links
}

/// Its id, unless that is of an old shape: those are read, and never written.
fn written(one: &Checkpoint) -> Option<CheckpointId> {
    CheckpointId::from_store(one.id.clone()).ok().filter(|id| !id.is_legacy())
}
