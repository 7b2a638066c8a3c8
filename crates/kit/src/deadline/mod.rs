//! Timers that outlive whoever set them, handled by whoever holds a lease.
//!
//! # What it promises
//! - **Nothing is lost.** A timer is in Redis until it is acknowledged: waiting, or *firing* with the term that took it.
//! - **Never before its time**, which is the server's.
//! - **Once per fence.** [`due`](Deadlines::due) gives a timer to a term once. What a term took and did not acknowledge goes
//!   to the next one, before anything else, marked [`again`](Fired::again). A holder whose term is over gets nothing, and
//!   acknowledges nothing.
//! - **Set again while it fires, a timer is another one**: it waits for its own time, and acknowledging the first leaves it.
//!
//! # What it does not
//! - A handler that fails or dies half-way has done half of it when the next term is given the same timer: handle timers so
//!   that twice is as good as once.
//! - An answer that is lost on its way is not given again within the term: after an error of `due` that may have been
//!   applied, [`firing`](Deadlines::firing) tells what this term has.
//! - Nobody is woken: sleep for [`next`](Deadlines::next), and look now and then, because others set timers too. `next` knows
//!   of waiting timers only, so ask `due` until it gives nothing.
//! - What was handed out is not cancelled.
//!
//! ```no_run
//! # mod pool { keyplane_macros::keyspace!("tests/pool.toml"); }
//! # async fn example(handle: keyplane_store::Handle) -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use keyplane_kit::deadline::{Deadlines, Due};
//! use keyplane_kit::lease::Lease;
//!
//! let (keys, east) = (pool::Keyspace::default(), pool::PoolId::new("east")?);
//! let alarms = Deadlines::new(&handle, keys.alarms(&east))?;
//! alarms.schedule("close:7", Due::In(Duration::from_secs(300))).await?;
//!
//! let held = Lease::new(&handle, keys.leader(&east))?.acquire("node-1").await?;
//! while let Ok(fence) = held.fence() {
//!     let fired = alarms.due(fence, 100).await?;
//!     for timer in &fired {
//!         // … handle it, then
//!         alarms.done(fence, [timer]).await?;
//!     }
//!     if fired.is_empty() {
//!         let next = alarms.next().await?.unwrap_or(Duration::MAX);
//!         tokio::time::sleep(next.min(Duration::from_secs(1))).await;
//!     }
//! }
//! # Ok(()) }
//! ```

mod fired;

use std::sync::Arc;
use std::time::Duration;

use keyplane_key::{Key, Zset};
use keyplane_schema::Policy;
use keyplane_store::{Error, Handle};

use crate::counters::counters;
use crate::error::{SetupError, helper, known, score, ttl};
use crate::fence::Fence;
use crate::moment::{Unit, bounded};

pub use fired::Fired;

pub(crate) mod scripts {
    #![allow(missing_docs, unreachable_pub)]
    keyplane_macros::kit_scripts!("deadline", "src/deadline/parts.toml", "src/deadline");
}

const KIT: &str = "deadline";

/// The most that is handed out at once.
pub const MOST_AT_ONCE: usize = 1000;

/// A moment: milliseconds since 1970, as the contract's scores have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMillis(pub u64);

/// When a timer is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// That long from now, by the server's clock.
    In(Duration),
    /// At this moment; one that has passed is due at once.
    At(UnixMillis),
}

/// What setting a timer did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scheduled {
    /// When it is due.
    pub due: UnixMillis,
    /// It was waiting already, for this or another time.
    pub moved: bool,
}

/// Why timers were not set, handed out or acknowledged.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DeadlineError {
    /// Somebody else has the lease. Nothing was changed; stop, they go on.
    #[error("refused: the term of this fence is over")]
    Fenced,
    /// As many timers wait as the contract allows. It was not set; cancel others, or wait until some are due.
    #[error("not set: {most} timers are waiting, which is the most that the contract allows")]
    Full {
        /// The contract's `max.members`.
        most: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
}

counters! {
    /// What deadlines count.
    Counters {
        /// Timers set or moved here.
        scheduled,
        /// Timers cancelled here.
        cancelled,
        /// Timers handed out here.
        fired,
        /// Of these, so many that another term had been given.
        fired_again,
        /// Timers acknowledged here.
        done,
        /// Requests refused because the term was over.
        fenced,
    }
}

/// Timers by id. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Deadlines(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    handle: Handle,
    timers: Key<Zset>,
    firing: Key<Zset>,
    /// 0: as many as there are.
    most: u64,
    counters: Counters,
}

impl Deadlines {
    /// Timers in this key, which its contract gives no TTL, `score = "time:unix_ms"` and `use = { kit = "deadline" }`.
    pub fn new(handle: &Handle, timers: Key<Zset>) -> Result<Self, SetupError> {
        let said = known(handle, timers.info())?;
        let firing = helper(&timers, KIT, "firing")?;
        if said.ttl.policy != Policy::None {
            return Err(ttl(timers.info(), KIT, &said.ttl.policy, "`none`: no timer may vanish"));
        }
        if said.score.as_ref().and_then(Unit::of) != Some(Unit::Millis) {
            return Err(score(timers.info(), KIT, said.score.as_ref(), "`time:unix_ms`"));
        }
        let most = said.limits(handle.contract()).members.unwrap_or(0);
        let (handle, counters) = (handle.clone(), Counters::default());
        Ok(Self(Arc::new(Inner { handle, timers, firing, most, counters })))
    }

    /// Sets a timer, or moves the one of this id that waits.
    ///
    /// After an error that may have been applied it may have fired already: setting it again may fire it again.
    pub async fn schedule(&self, id: &str, due: Due) -> Result<Scheduled, DeadlineError> {
        let Inner { handle, timers, most, counters, .. } = &*self.0;
        let (after, at) = match due {
            Due::In(after) => (bounded(after.as_micros()), String::new()),
            Due::At(UnixMillis(at)) => (0, bounded(at.into()).to_string()),
        };
        let call = scripts::Schedule {
            timers,
            id: id.into(),
            after: after.into(),
            due: at.into(),
            most: (*most).into(),
        };
        let set: Option<(bool, u64)> = handle.call(call).await?;
        let (moved, due) = set.ok_or(DeadlineError::Full { most: *most })?;
        counters.scheduled.one();
        Ok(Scheduled { due: UnixMillis(due), moved })
    }

    /// Takes back a timer that waits. Whether there was one: what was handed out is not taken back.
    pub async fn cancel(&self, id: &str) -> Result<bool, DeadlineError> {
        let waited = self.0.handle.run(self.0.timers.zrem([id])).await? > 0;
        self.0.counters.cancelled.many(waited.into());
        Ok(waited)
    }

    /// Hands out up to `limit` timers that are due, at most [`MOST_AT_ONCE`]: first those that another term was given and did
    /// not acknowledge, then the earliest. Each once per fence.
    pub async fn due(&self, fence: &Fence, limit: usize) -> Result<Vec<Fired>, DeadlineError> {
        let Inner { handle, timers, firing, counters, .. } = &*self.0;
        let call = scripts::Due {
            fence: fence.key(),
            timers,
            timers_firing: firing,
            shown: fence.into(),
            term: fence.term().number().into(),
            limit: limit.clamp(1, MOST_AT_ONCE).into(),
        };
        let given: Option<(usize, Vec<Vec<u8>>)> = handle.call(call).await?;
        let (again, given) = self.unless_fenced(given)?;
        counters.fired.many(given.len() as u64);
        counters.fired_again.many(again as u64);
        Ok(given.into_iter().enumerate().map(|(place, firing)| Fired::read(firing, place < again)).collect())
    }

    /// What this term was given and did not acknowledge, up to `limit`: for when an answer of [`due`](Self::due) was lost. All
    /// are marked [`again`](Fired::again).
    pub async fn firing(&self, fence: &Fence, limit: usize) -> Result<Vec<Fired>, DeadlineError> {
        let call = scripts::Firing {
            fence: fence.key(),
            timers_firing: &self.0.firing,
            shown: fence.into(),
            term: fence.term().number().into(),
            limit: limit.clamp(1, MOST_AT_ONCE).into(),
        };
        let given: Option<Vec<Vec<u8>>> = self.0.handle.call(call).await?;
        Ok(self.unless_fenced(given)?.into_iter().map(|firing| Fired::read(firing, true)).collect())
    }

    /// Acknowledges timers that this term was given. How many it still had; after an error that may have been applied, ask again.
    pub async fn done<'f>(
        &self,
        fence: &Fence,
        fired: impl IntoIterator<Item = &'f Fired>,
    ) -> Result<u64, DeadlineError> {
        let call = scripts::Done {
            fence: fence.key(),
            timers_firing: &self.0.firing,
            shown: fence.into(),
            term: fence.term().number().into(),
            fired: fired.into_iter().map(|fired| fired.firing().into()).collect(),
        };
        let done: Option<u64> = self.0.handle.call(call).await?;
        let done = self.unless_fenced(done)?;
        self.0.counters.done.many(done);
        Ok(done)
    }

    /// How long until the earliest timer that waits, by the server's clock; zero when it is due. `None` when none waits.
    pub async fn next(&self) -> Result<Option<Duration>, DeadlineError> {
        let micros: Option<u64> = self.0.handle.call(scripts::Next { timers: &self.0.timers }).await?;
        Ok(micros.map(Duration::from_micros))
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }

    fn unless_fenced<T>(&self, answer: Option<T>) -> Result<T, DeadlineError> {
        if answer.is_none() {
            self.0.counters.fenced.one();
        }
        answer.ok_or(DeadlineError::Fenced)
    }
}
