//! Events by their time, as far back as the contract says.
//!
//! # What it promises
//! - **Nothing grows for want of a job.** Every [`record`](Timeline::record) drops what is older than the contract's `for`, then
//!   the oldest over `max.members`, and renews the key's TTL, in one step by the server's clock.
//! - **A count is exact**, pruned or not: [`count`](Timeline::count) looks at moments, and reaches no further back than `for`.
//!   A member is of the last hour through the whole unit in which it is an hour old.
//! - **Pages neither repeat nor lose a member** that stays where it is, whatever comes and goes between them: a [`Cursor`] is a
//!   place, also among members of one score, and also when its own member is gone.
//! - Who may only read can count and page.
//!
//! # What it does not
//! - A member is there once: recorded again, it moves to its new moment, and a reader may meet it there again. Give each
//!   event an id of its own.
//! - A moment is as exact as the contract's unit. Members of one moment are in the order of their bytes.
//! - Members of the future, by the server's clock, are shown in pages and not yet counted.
//! - `record` is not repeated by itself: after an error that may have been applied, recording again does no harm but move it.
//!
//! ```no_run
//! # mod pool { keyplane_macros::keyspace!("tests/pool.toml"); }
//! # async fn example(handle: keyplane_store::Handle) -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use keyplane_kit::timeline::{Order, Timeline};
//!
//! let keys = pool::Keyspace::default();
//! let seen = Timeline::new(&handle, keys.sightings(&pool::PoolId::new("east")?))?;
//! seen.record("m1").await?;
//! println!("{} in the last minute", seen.count(Duration::from_secs(60)).await?);
//! let page = seen.page(None, 50, Order::NewestFirst).await?;
//! if let Some(next) = &page.next {
//!     println!("more at ?after={next}");
//! }
//! # Ok(()) }
//! ```

mod cursor;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use keyplane_key::{Arg, Key, Zset};
use keyplane_store::{Error, Handle};

use crate::counters::counters;
use crate::error::{SetupError, known, score, ttl};
use crate::moment::Unit;

pub use cursor::{Cursor, NoCursor};

pub(crate) mod scripts {
    #![allow(missing_docs, unreachable_pub)]
    keyplane_macros::kit_scripts!("timeline", "src/timeline/parts.toml", "src/timeline");
}

const KIT: &str = "timeline";

/// The most that one page holds.
pub const LONGEST_PAGE: usize = 1000;

counters! {
    /// What a timeline counts.
    Counters {
        /// Members recorded here.
        recorded,
        /// Members that went because they were too old or too many.
        pruned,
        /// Pages read.
        pages,
    }
}

/// What recording did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// It was not there before.
    pub new: bool,
    /// So many went; the one recorded too, if its moment is that old.
    pub pruned: u64,
}

/// From which end to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Order {
    OldestFirst,
    NewestFirst,
}

/// A part of a timeline.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Page {
    /// Members and their scores, in the unit of the contract.
    pub items: Vec<(Vec<u8>, f64)>,
    /// Where the next page starts; `None` when this is the last one for now.
    pub next: Option<Cursor>,
}

/// Members by the moment they were last recorded at. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Timeline(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    handle: Handle,
    key: Key<Zset>,
    unit: Unit,
    lasts: Duration,
    /// 0: as many as there are.
    most: u64,
    counters: Counters,
}

impl Timeline {
    /// A timeline in this key, which its contract gives `ttl = { policy = "pruned", … }` and a score of unix time.
    pub fn new(handle: &Handle, key: Key<Zset>) -> Result<Self, SetupError> {
        let said = known(handle, key.info())?;
        let Some(lasts) = handle.member_lifetime(key.info().name) else {
            return Err(ttl(key.info(), KIT, &said.ttl.policy, "an age at which members go: `pruned`"));
        };
        let unit = said.score.as_ref().and_then(Unit::of).ok_or_else(|| {
            score(key.info(), KIT, said.score.as_ref(), "`time:unix_s`, `time:unix_ms` or `time:unix_us`")
        })?;
        let most = said.limits(handle.contract()).members.unwrap_or(0);
        let (handle, counters) = (handle.clone(), Counters::default());
        Ok(Self(Arc::new(Inner { handle, key, unit, lasts, most, counters })))
    }

    /// Records a member now, by the server's clock.
    pub async fn record(&self, member: impl AsRef<[u8]>) -> Result<Recorded, Error> {
        self.add(member.as_ref(), "".into()).await
    }

    /// Records a member at a moment. One that is older than all that is kept is not kept either.
    pub async fn record_at(&self, member: impl AsRef<[u8]>, moment: SystemTime) -> Result<Recorded, Error> {
        self.add(member.as_ref(), self.0.unit.moment(moment).into()).await
    }

    /// How many members are of the last `window`, by the server's clock.
    pub async fn count(&self, window: Duration) -> Result<u64, Error> {
        let Inner { handle, key, unit, lasts, .. } = &*self.0;
        // Of what is older than `lasts`, some may be left: that must not show.
        let window = unit.duration(window.min(*lasts));
        let call = scripts::Count { timeline: key, unit: unit.micros().into(), window: window.into() };
        handle.call(call).await
    }

    /// Drops what is too old: for timelines that nobody writes to. Does not make the key last longer. How many went.
    pub async fn prune(&self) -> Result<u64, Error> {
        let Inner { handle, key, unit, lasts, most, counters } = &*self.0;
        let call = scripts::Prune {
            timeline: key,
            unit: unit.micros().into(),
            lasts: unit.duration(*lasts).into(),
            most: (*most).into(),
        };
        let pruned = handle.call(call).await?;
        counters.pruned.many(pruned);
        Ok(pruned)
    }

    /// Up to `limit` members behind a cursor, or from the end that `order` starts at. At most [`LONGEST_PAGE`], at least one.
    pub async fn page(&self, after: Option<&Cursor>, limit: usize, order: Order) -> Result<Page, Error> {
        let Inner { handle, key, unit, lasts, counters, .. } = &*self.0;
        let call = scripts::Page {
            timeline: key,
            unit: unit.micros().into(),
            lasts: unit.duration(*lasts).into(),
            newest_first: u8::from(order == Order::NewestFirst).into(),
            limit: limit.clamp(1, LONGEST_PAGE).into(),
            score: after.map(Cursor::score).unwrap_or_default().into(),
            member: after.map(Cursor::member).unwrap_or_default().into(),
        };
        let (more, mut items): (bool, Vec<(Vec<u8>, f64)>) = handle.call(call).await?;
        if order == Order::NewestFirst {
            items.reverse();
        }
        counters.pages.one();
        let last = items.last().filter(|_| more);
        let next = last.map(|(member, score)| Cursor::behind(member.as_slice(), *score));
        Ok(Page { items, next })
    }

    /// What scores count.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.0.unit
    }

    /// The age at which members go.
    #[must_use]
    pub fn lasts(&self) -> Duration {
        self.0.lasts
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }

    async fn add(&self, member: &[u8], moment: Arg<'_>) -> Result<Recorded, Error> {
        let Inner { handle, key, unit, lasts, most, counters } = &*self.0;
        let call = scripts::Record {
            timeline: key,
            member: member.into(),
            moment,
            unit: unit.micros().into(),
            lasts: unit.duration(*lasts).into(),
            most: (*most).into(),
        };
        let (new, pruned) = handle.call(call).await?;
        counters.recorded.one();
        counters.pruned.many(pruned);
        Ok(Recorded { new, pruned })
    }
}
