//! Children that live as long as their swarm, at a cost that a renewal does not pay.
//!
//! A swarm has a horizon: until then all its children live for certain, and no renewal takes the swarm beyond it. It is moved
//! now and then, long before it is reached: by the [keeper](crate::run::Keeper) of every swarm in which something happens, and
//! where there is none by the change itself that is told that it [is near](super::Done::horizon_is_near). If nothing happens,
//! the swarm ends with its children and not after them.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyplane_kit::record::Children as Kept;

use super::children::Children;
use super::error::OpError;
use super::names::Names;
use super::{Inner, Swarms};
use crate::keys::SwarmId;
use crate::scripts;

/// A horizon that was drawn within this time is far enough.
const OFTEN: Duration = Duration::from_secs(300);

/// Swarms whose horizons are being drawn by changes of this process.
#[derive(Debug, Default)]
pub(super) struct Drawing(Mutex<HashSet<SwarmId>>);

/// Until this is dropped nobody else here draws that horizon.
#[derive(Debug)]
struct Drawn<'d>(&'d Drawing, &'d SwarmId);

impl Drawing {
    /// `None` while another is at it.
    fn begin<'d>(&'d self, swarm: &'d SwarmId) -> Option<Drawn<'d>> {
        self.drawn().insert(swarm.clone()).then(|| Drawn(self, swarm))
    }

    fn drawn(&self) -> MutexGuard<'_, HashSet<SwarmId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Drawn<'_> {
    fn drop(&mut self) {
        self.0.drawn().remove(self.1);
    }
}

impl Swarms {
    /// Draws the horizon of a swarm in which something has just happened, and lets the swarm live on as after anything else.
    /// Of many changes at once one in a process does that, and as a script says once in a second that it is near, hardly
    /// more in all. What fails is no failure of the change, and is done by the next one.
    pub(super) async fn go_on(&self, swarm: &SwarmId) {
        let Some(_drawn) = self.0.drawing.begin(swarm) else { return };
        let gone_on = async {
            self.stretch(swarm).await?;
            let names = self.names(swarm)?;
            self.0.janitor.call::<u64>(scripts::LiveOn { swarm: &names.swarm }).await?;
            Ok::<(), OpError>(())
        };
        if let Err(error) = gone_on.await {
            tracing::warn!(%swarm, %error, "a horizon could not be drawn, and is by the next change");
        }
    }

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
    let Children {
        agents, tasks, phases, memories, rounds, blobs, roster_shards, task_roster_shards, ..
    } = children;
    kept.hashes =
        [agents, tasks, phases, memories, rounds, blobs, roster_shards, task_roster_shards].concat();
    kept.zsets = names.sorted_sets().map(Clone::clone).to_vec();
    kept.hashes.extend([names.roster, names.task_roster]);
    kept.sets = children.tags;
    kept.sets.push(names.records);
    kept.streams = children.vote_logs;
    kept.streams.push(names.events);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_at_once_one_draws_a_horizon() {
        let (drawing, one, other) = (Drawing::default(), swarm(1), swarm(2));
        let first = drawing.begin(&one);
        assert!(first.is_some() && drawing.begin(&one).is_none() && drawing.begin(&other).is_some());
        drop(first);
        assert!(drawing.begin(&one).is_some());
    }

    fn swarm(number: u64) -> SwarmId {
        SwarmId::new(format!("swarm_{number:08}")).unwrap()
    }
}
