//! Children that live as long as their swarm, at a cost that a renewal does not pay.
//!
//! A swarm has a horizon: until then all its children live for certain, and no renewal takes the swarm beyond it. It is moved
//! now and then, long before it is reached: by whoever is told that it [is near](super::Done::horizon_is_near), and by the
//! [keeper](crate::run::Keeper) of every swarm in which something happens. If nobody does, the swarm ends with its children and
//! not after them.

use std::time::Duration;

use keyplane_kit::record::Children as Kept;

use super::children::Children;
use super::error::OpError;
use super::names::Names;
use super::{Inner, Swarms};
use crate::keys::SwarmId;

/// A horizon that was drawn within this time is far enough.
const OFTEN: Duration = Duration::from_secs(300);

impl Swarms {
    /// Lets all children of a swarm live until the next horizon, and draws it. Whether it did: not when there is no such swarm,
    /// or the last one was drawn within five minutes.
    pub async fn stretch(&self, swarm: &SwarmId) -> Result<bool, OpError> {
        let Inner { headers, janitor, .. } = &*self.0;
        let names = self.names(swarm)?;
        let Some(stretch) = headers.stretch(&names.swarm).await? else { return Ok(false) };
        let drawn: Option<u64> = janitor.run(names.swarm.hget("horizon").reading()).await?;
        let Some(drawn) = drawn else { return Ok(false) };
        if Duration::from_millis(stretch.horizon().saturating_sub(drawn)) < OFTEN {
            return Ok(false);
        }
        let children = self.children(swarm, &names).await?;
        Ok(stretch.finish(&kept(names, children)).await?)
    }

    /// The same, whatever was drawn before: a header that came back says nothing of how long those live that were there.
    pub(super) async fn stretch_now(&self, swarm: &SwarmId) -> Result<(), OpError> {
        let names = self.names(swarm)?;
        let Some(stretch) = self.0.headers.stretch(&names.swarm).await? else { return Ok(()) };
        let children = self.children(swarm, &names).await?;
        stretch.finish(&kept(names, children)).await?;
        Ok(())
    }
}

/// By their types, as the kit takes them.
fn kept(names: Names, children: Children) -> Kept {
    let mut kept = Kept::default();
    let Children { agents, tasks, phases, memories, rounds, roster_shards, task_roster_shards, .. } =
        children;
    kept.hashes = [agents, tasks, phases, memories, rounds, roster_shards, task_roster_shards].concat();
    kept.zsets = names.sorted_sets().map(Clone::clone).to_vec();
    kept.hashes.extend([names.roster, names.task_roster]);
    kept.strings = children.blobs;
    kept.sets = children.tags;
    kept.sets.push(names.records);
    kept.streams = children.vote_logs;
    kept.streams.push(names.events);
    kept
}
