//! A lock while it is held.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{Lease, LeaseError};
use crate::fence::Fence;

/// The lock is no longer ours, or may not be: stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the lease is over")]
pub struct Lapsed;

/// A lock that this process holds, renewed in the background until it is released, lost or dropped. Dropping it stops the
/// renewal only: the lock runs out by itself. Prefer [`release`](Self::release), which wakes whoever waits.
pub struct Held {
    lease: Lease,
    owner: Arc<str>,
    fence: Fence,
    /// When this process stops itself; `None` once that has come.
    until: watch::Receiver<Option<Instant>>,
    renewal: JoinHandle<()>,
}

impl Held {
    /// Begins the term that was asked for at `start`.
    pub(super) fn begin(
        lease: &Lease,
        owner: &str,
        fence: Fence,
        start: Instant,
    ) -> Result<Self, LeaseError> {
        let end = start + trusted(lease.ttl());
        if Instant::now() >= end {
            return Err(LeaseError::TooLate);
        }
        let owner: Arc<str> = owner.into();
        let (tell, until) = watch::channel(Some(end));
        let renewal = tokio::spawn(keep(lease.clone(), Arc::clone(&owner), fence.clone(), start, tell));
        Ok(Self { lease: lease.clone(), owner, fence, until, renewal })
    }

    /// What to show with every guarded write; refused once the lock may be over.
    pub fn fence(&self) -> Result<&Fence, Lapsed> {
        self.remaining().map(|_| &self.fence)
    }

    /// How long this process may go on without a renewal.
    pub fn remaining(&self) -> Result<Duration, Lapsed> {
        let end = (*self.until.borrow()).ok_or(Lapsed)?;
        end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()).ok_or(Lapsed)
    }

    /// Ends when the lock is lost: to be awaited beside the work.
    pub async fn lost(&self) {
        let mut until = self.until.clone();
        loop {
            let Some(end) = *until.borrow_and_update() else { return };
            match timeout_at(end, until.changed()).await {
                Ok(Ok(())) => {}
                // The end has come, or nobody renews any longer and so it will.
                Err(_) => return,
                Ok(Err(_)) => return sleep_until(end).await,
            }
        }
    }

    /// Who we are.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Gives the lock back and wakes one who waits. Whether it was still ours.
    pub async fn release(self) -> Result<bool, LeaseError> {
        self.renewal.abort();
        self.lease.release(&self.owner, &self.fence).await
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("owner", &self.owner).field("term", &self.fence.term()).finish()
    }
}

/// A tenth is left to clocks that do not run alike.
fn trusted(ttl: Duration) -> Duration {
    ttl - ttl / 10
}

/// Renews at a third of the TTL; after a failure soon again, until this process must stop itself.
async fn keep(
    lease: Lease,
    owner: Arc<str>,
    fence: Fence,
    mut since: Instant,
    tell: watch::Sender<Option<Instant>>,
) {
    let ttl = lease.ttl();
    let mut next = since + ttl / 3;
    loop {
        let end = since + trusted(ttl);
        if next >= end {
            sleep_until(end).await;
            break;
        }
        sleep_until(next).await;
        let start = Instant::now();
        let Some(left) = end.checked_duration_since(start).filter(|left| !left.is_zero()) else { break };
        // The store gives it a second chance, so it takes a third of the TTL at most: time for another connection is left.
        match lease.renew_within(&owner, &fence, Some(left.min(ttl / 6))).await {
            Ok(true) if Instant::now() < end => {
                lease.counters().renewed.one();
                since = start;
                next = since + ttl / 3;
                tell.send_replace(Some(since + trusted(ttl)));
            }
            // Over; or renewed, but after we have said that it is over: what was lost stays lost.
            Ok(_) => break,
            Err(_) => {
                lease.counters().renewals_failed.one();
                next = Instant::now() + ttl / 20;
            }
        }
    }
    lease.counters().lost.one();
    tell.send_replace(None);
}
