//! Lock and leader election with a fence.
//!
//! # What it promises
//! - **One holder can write per term.** Whoever takes the lock gets a [`Fence`]; scripts that compare it refuse everyone
//!   else, whatever clocks, pauses and failovers do ([`fence`](crate::fence)).
//! - **A holder that stalls stops itself.** It renews at a third of the TTL; when that fails, [`Held::fence`] refuses at a
//!   local deadline, a tenth of the TTL before the lock can run out, counted from before the renewal was sent.
//! - **Whoever waits is woken by the release**, without polling; when the holder dies, by the end of its lock.
//! - **Where replicas are configured**, a term begins only once that many have it ([`Options::replicas`]); otherwise the lock
//!   is given back and the term is burnt.
//! - The lock's value is what the contract says, such as the bare id of a node.
//!
//! # What it does not
//! - The lock itself is not exclusive across a failover: Redis replicates asynchronously, so a promoted replica may not know
//!   the last holder, and two processes may both *believe* they lead, for up to the TTL. Only one can write to a
//!   guarded key of any one server. A write that an old primary took after its replica was promoted is lost with it.
//! - A holder that is paused between asking [`Held::fence`] and an effect *outside* Redis is not stopped: hand the
//!   [`Term`](crate::Term) to that resource and let it refuse lower ones.
//! - Nobody is first in line: who asks at the right moment gets it.
//! - A machine that is suspended as a whole may not count that time; the fence still does.
//! - One who waits keeps a connection of the pool.
//!
//! ```no_run
//! # mod pool { keyplane_macros::keyspace!("tests/pool.toml"); }
//! # async fn example(handle: keyplane_store::Handle) -> Result<(), Box<dyn std::error::Error>> {
//! use keyplane_kit::lease::Lease;
//!
//! let keys = pool::Keyspace::default();
//! let lease = Lease::new(&handle, keys.leader(&pool::PoolId::new("east")?))?;
//! let held = lease.acquire("node-1").await?;          // waits until it is free
//! while let Ok(fence) = held.fence() {
//!     // … run scripts with `fence`: they are refused once somebody else leads
//! #   let _ = fence; break;
//! }
//! held.release().await?;
//! # Ok(()) }
//! ```

mod held;

use std::sync::Arc;
use std::time::Duration;

use keyplane_key::{Key, List, Str};
use keyplane_store::{Cause, Dedicated, Error, Handle};
use tokio::time::Instant;

use crate::counters::counters;
use crate::error::{SetupError, helper};
use crate::fence::Fence;
use crate::tokens::Tokens;

pub use held::{Held, Lapsed};

pub(crate) mod scripts {
    #![allow(missing_docs, unreachable_pub)]
    keyplane_macros::kit_scripts!("lease", "src/lease/parts.toml", "src/lease");
}

const KIT: &str = "lease";

/// How a lease behaves.
#[derive(Debug)]
#[non_exhaustive]
pub struct Options {
    /// Replicas that must have a term before it begins. 0: none.
    pub replicas: u32,
    /// How long to wait for them.
    pub replicas_within: Duration,
    /// Where tokens come from.
    pub tokens: Tokens,
}

impl Default for Options {
    fn default() -> Self {
        Self { replicas: 0, replicas_within: Duration::from_secs(1), tokens: Tokens::default() }
    }
}

/// Why a lock was not taken.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// Fewer replicas than configured have it, so a failover could lose it. It was given back; try again later.
    #[error("the lock was taken, but only {got} of {wanted} replicas have it; it was given back")]
    TooFewReplicas {
        /// As configured.
        wanted: u32,
        /// So many have it.
        got: u32,
    },
    /// It was taken, but so late that it may be over by now. Try again.
    #[error("the answer came too late: the lock may be over by now")]
    TooLate,
    /// The store failed. The lock may be taken until it runs out; asking again is safe.
    #[error(transparent)]
    Store(#[from] Error),
}

counters! {
    /// What a lease counts.
    Counters {
        /// Terms begun here.
        acquired,
        /// Attempts that found it held.
        contended,
        /// Renewals.
        renewed,
        /// Renewals that failed and were tried again.
        renewals_failed,
        /// Terms that ended before they were given back.
        lost,
        /// Terms given back.
        released,
        /// Terms burnt for want of replicas.
        burnt,
    }
}

/// A lock that one process at a time holds. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Lease(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    handle: Handle,
    lock: Key<Str>,
    fence: Key<Str>,
    transitions: Key<Str>,
    wake: Key<List>,
    ttl: Duration,
    options: Options,
    counters: Counters,
}

/// What an attempt found.
enum Attempt {
    Taken { fence: Fence, start: Instant },
    Busy { left: Duration },
}

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Its value, while it is held.
    pub holder: Option<String>,
    /// The fence of the last term, or what it was burnt to.
    pub fence: Option<String>,
    /// Terms so far.
    pub transitions: u64,
}

impl Lease {
    /// A lease on this lock, which its contract gives a TTL and `use = { kit = "lease" }`.
    pub fn new(handle: &Handle, lock: Key<Str>) -> Result<Self, SetupError> {
        Self::with(handle, lock, Options::default())
    }

    /// The same with options.
    pub fn with(handle: &Handle, lock: Key<Str>, options: Options) -> Result<Self, SetupError> {
        let ttl = handle.lifetime(lock.info().name).ok_or_else(|| SetupError::Ttl {
            key: lock.info().name,
            kit: KIT,
            policy: format!("{:?}", lock.ttl().policy),
            needs: "an end, such as `sliding`",
        })?;
        Ok(Self(Arc::new(Inner {
            fence: helper(&lock, KIT, "fence")?,
            transitions: helper(&lock, KIT, "transitions")?,
            wake: helper(&lock, KIT, "wake")?,
            handle: handle.clone(),
            counters: Counters::default(),
            lock,
            ttl,
            options,
        })))
    }

    /// Takes the lock if it is free. `owner` becomes its value.
    pub async fn try_acquire(&self, owner: &str) -> Result<Option<Held>, LeaseError> {
        match self.attempt(owner).await? {
            Attempt::Taken { fence, start } => self.hold(owner, fence, start).map(Some),
            Attempt::Busy { .. } => Ok(None),
        }
    }

    /// Takes the lock if it is free, for an owner that lives elsewhere: nobody renews it but [`renew`](Self::renew). What
    /// the owner shows with every guarded write, and here.
    pub async fn take(&self, owner: &str) -> Result<Option<Fence>, LeaseError> {
        match self.attempt(owner).await? {
            Attempt::Taken { fence, .. } => {
                self.0.counters.acquired.one();
                Ok(Some(fence))
            }
            Attempt::Busy { .. } => Ok(None),
        }
    }

    /// What an owner was told when it took the lock (`term:token`). `None` for any other text.
    #[must_use]
    pub fn fence(&self, told: &str) -> Option<Fence> {
        Fence::read(&self.0.fence, told)
    }

    /// Makes the lock last as long again, from now. Whether it is still this owner's.
    pub async fn renew(&self, owner: &str, fence: &Fence) -> Result<bool, LeaseError> {
        let ours = self.renew_within(owner, fence, None).await?;
        if ours {
            self.0.counters.renewed.one();
        }
        Ok(ours)
    }

    /// Gives the lock back and wakes one who waits. Whether it was still this owner's.
    pub async fn release(&self, owner: &str, fence: &Fence) -> Result<bool, LeaseError> {
        let ours = self.give_back(owner, fence).await?;
        if ours {
            self.0.counters.released.one();
        }
        Ok(ours)
    }

    /// Takes the lock, waiting until it is free.
    pub async fn acquire(&self, owner: &str) -> Result<Held, LeaseError> {
        let mut waiting = None;
        loop {
            match self.attempt(owner).await? {
                Attempt::Taken { fence, start } => return self.hold(owner, fence, start),
                Attempt::Busy { left } => self.wait(&mut waiting, left).await?,
            }
        }
    }

    /// Who holds it. Three reads in one round trip, not one step.
    pub async fn status(&self) -> Result<Status, Error> {
        let Inner { handle, lock, fence, transitions, .. } = &*self.0;
        let holder = handle.run(lock.get().reading::<Option<String>>()).await?;
        let fence = handle.run(fence.get().reading::<Option<String>>()).await?;
        let transitions = handle.run(transitions.get().reading::<Option<u64>>()).await?;
        Ok(Status { holder, fence, transitions: transitions.unwrap_or(0) })
    }

    /// The key that guarded scripts compare with.
    #[must_use]
    pub fn fence_key(&self) -> &Key<Str> {
        &self.0.fence
    }

    /// How long the lock lasts without renewal.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.0.ttl
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }

    async fn attempt(&self, owner: &str) -> Result<Attempt, LeaseError> {
        let inner = &*self.0;
        let token = inner.options.tokens.draw();
        // Before it is sent: the server's clock starts later than this one.
        let start = Instant::now();
        let call = scripts::Acquire {
            lock: &inner.lock,
            lock_fence: &inner.fence,
            lock_transitions: &inner.transitions,
            lock_wake: &inner.wake,
            owner: owner.into(),
            token: token.as_str().into(),
        };
        let mut replicated = None;
        let (taken, told, left): (bool, String, i64) = match inner.options.replicas {
            0 => inner.handle.call(call).await?,
            _ => replicated.insert(inner.handle.dedicated(&inner.lock).await?).call(call).await?,
        };
        if !taken {
            inner.counters.contended.one();
            // A lock without an end is a stranger's; look again when ours would be over.
            let left = u64::try_from(left).map_or(inner.ttl, Duration::from_millis);
            return Ok(Attempt::Busy { left });
        }
        let Some(fence) = Fence::read(&inner.fence, &told) else { return Err(LeaseError::TooLate) };
        if let Some(connection) = replicated {
            self.confirm(connection, owner, &fence).await?;
        }
        Ok(Attempt::Taken { fence, start })
    }

    /// Begins the term that was asked for at `start`, unless that was too long ago.
    fn hold(&self, owner: &str, fence: Fence, start: Instant) -> Result<Held, LeaseError> {
        let held = Held::begin(self, owner, fence, start)?;
        self.0.counters.acquired.one();
        Ok(held)
    }

    /// Waits until enough replicas have the term; else gives it back.
    async fn confirm(&self, mut connection: Dedicated, owner: &str, fence: &Fence) -> Result<(), LeaseError> {
        let Options { replicas: wanted, replicas_within, .. } = self.0.options;
        let got = connection.wait_for_replicas(wanted, replicas_within).await;
        if matches!(got, Ok(got) if got >= wanted) {
            return Ok(());
        }
        self.0.counters.burnt.one();
        self.give_back(owner, fence).await?;
        Err(got.map_or_else(LeaseError::from, |got| LeaseError::TooFewReplicas { wanted, got }))
    }

    async fn renew_within(
        &self,
        owner: &str,
        fence: &Fence,
        within: Option<Duration>,
    ) -> Result<bool, Error> {
        let call = scripts::Renew {
            lock: &self.0.lock,
            lock_fence: &self.0.fence,
            owner: owner.into(),
            fence: fence.into(),
        };
        match within {
            Some(within) => self.0.handle.with_timeout(within).call(call).await,
            None => self.0.handle.call(call).await,
        }
    }

    async fn give_back(&self, owner: &str, fence: &Fence) -> Result<bool, Error> {
        let Inner { handle, lock, fence: key, wake, .. } = &*self.0;
        let call = scripts::Release {
            lock,
            lock_fence: key,
            lock_wake: wake,
            owner: owner.into(),
            fence: fence.into(),
            burnt: fence.burnt().into(),
        };
        handle.call(call).await
    }

    /// Until the lock is released, or was to end. The connection is kept for the next time.
    async fn wait(&self, connection: &mut Option<Dedicated>, left: Duration) -> Result<(), Error> {
        let Inner { handle, lock, wake, .. } = &*self.0;
        // The key is there for the whole of its last millisecond.
        let left = left + Duration::from_millis(1);
        let mut dedicated = match connection.take() {
            Some(dedicated) => dedicated,
            None => match handle.dedicated(lock).await {
                Ok(dedicated) => dedicated,
                // Without a connection to be woken on, the end of the lock is what there is to wait for.
                Err(error) if matches!(error.cause(), Cause::PoolExhausted { .. }) => {
                    tokio::time::sleep(left).await;
                    return Ok(());
                }
                Err(error) => return Err(error),
            },
        };
        dedicated.run(wake.blpop(left)).await?;
        *connection = Some(dedicated);
        Ok(())
    }
}
