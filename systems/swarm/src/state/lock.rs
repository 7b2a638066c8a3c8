//! The lock of a swarm, for holders that live elsewhere.
//!
//! Whoever takes it is told a fence (`term:token`) and shows that to renew it, to give it back, and with changes that are to be
//! made only while it holds the lock ([`SwarmChange::fence`](super::SwarmChange)). A holder that was paused until its lock ran
//! out is refused, whatever it believes.

use keyplane_kit::lease::{Lease, Status as LockStatus};

use super::Swarms;
use super::error::OpError;
use crate::keys::SwarmId;

/// What one who asks for a lock is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locked {
    /// It holds the lock, for thirty seconds unless it renews it.
    Taken {
        /// What it shows from now on.
        fence: String,
    },
    /// Another holds it.
    Held {
        /// Who.
        by: String,
    },
}

impl Swarms {
    /// Takes the lock of a swarm, if nobody holds it. `owner` is who asks, in its own words.
    pub async fn lock(&self, swarm: &SwarmId, owner: &str) -> Result<Locked, OpError> {
        let lease = self.lease(swarm)?;
        if !self.0.monitor.run(self.names(swarm)?.swarm.exists()).await? {
            return Err(OpError::NoSwarm { swarm: swarm.to_string() });
        }
        match lease.take(owner).await? {
            Some(fence) => Ok(Locked::Taken { fence: fence.as_str().to_owned() }),
            None => Ok(Locked::Held { by: lease.status().await?.holder.unwrap_or_default() }),
        }
    }

    /// Holds the lock for thirty seconds more, from now. Refused when it is no longer this owner's.
    pub async fn renew_lock(&self, swarm: &SwarmId, owner: &str, fence: &str) -> Result<(), OpError> {
        let lease = self.lease(swarm)?;
        let shown = lease.fence(fence).ok_or_else(|| fenced(swarm))?;
        lease.renew(owner, &shown).await?.then_some(()).ok_or_else(|| fenced(swarm))
    }

    /// Gives the lock back. Refused when it is no longer this owner's.
    pub async fn unlock(&self, swarm: &SwarmId, owner: &str, fence: &str) -> Result<(), OpError> {
        let lease = self.lease(swarm)?;
        let shown = lease.fence(fence).ok_or_else(|| fenced(swarm))?;
        lease.release(owner, &shown).await?.then_some(()).ok_or_else(|| fenced(swarm))
    }

    /// Who holds the lock.
    pub async fn lock_status(&self, swarm: &SwarmId) -> Result<LockStatus, OpError> {
        Ok(self.lease(swarm)?.status().await?)
    }

    pub(super) fn lease(&self, swarm: &SwarmId) -> Result<Lease, OpError> {
        Ok(Lease::new(&self.0.coordinator, self.names(swarm)?.lock)?)
    }
}

fn fenced(swarm: &SwarmId) -> OpError {
    OpError::Fenced { swarm: swarm.to_string() }
}
