//! Sets and sorted sets that follow their records.
//!
//! An index **on the record's slot** changes in the same script as the record ([`Change::add_to`], [`Change::place_in`]) and
//! needs nothing of this module. An index **on another slot** cannot. There the record's change leaves a note in an outbox on
//! its own slot, in the same step ([`Change::entering`], [`Change::leaving`]); [`drain`] applies the notes, right after the
//! change or whenever somebody comes by.
//!
//! # What it promises
//! - **At rest the index is what a rebuild would give**: every note is applied, in its record's order, once. A process that
//!   dies between the change and the drain leaves the note; one that wakes up late applies nothing twice, and nothing that is
//!   older than what was applied.
//! - **Absent is not empty.** An index that has run out (`refreshed`) or was never built answers `None`, never an empty list;
//!   notes wait until it is [rebuilt](Index::rebuild). Readers never see one half-built.
//! - **[`reconcile`](Index::reconcile) removes the dead**: members whose records ran out without anybody's doing, and what is
//!   kept about them. A record that comes back at that very moment is not removed. It also keeps an index alive in which
//!   nothing changes.
//! - It behaves the same on one server as on a cluster.
//!
//! # What it does not
//! - It lags behind the record by the time to the next drain.
//! - Which records there are is for the caller to know: a rebuild is given them one by one.
//! - A drain that slept through a rebuild *and* the removal of its record may bring a dead member back, until the next
//!   reconcile.
//!
//! ```no_run
//! # mod pool { keyplane_macros::keyspace!("tests/pool.toml"); }
//! # async fn example(handle: keyplane_store::Handle) -> Result<(), Box<dyn std::error::Error>> {
//! use keyplane_kit::index::{Index, drain};
//! use keyplane_kit::record::{Change, Records};
//!
//! let keys = pool::Keyspace::default();
//! let pools = Records::of(&handle, &pool::info::POOL)?;
//! let open = Index::sorted(&handle, keys.open_pools())?;
//! let east = keys.pool(&pool::PoolId::new("east")?);
//! pools.commit(&east, Change::create().set("state", "open").entering(&open, "east", 1.0)).await?;
//! drain(&handle, &east, &[&open]).await?;
//! # Ok(()) }
//! ```
//!
//! [`Change::add_to`]: crate::record::Change::add_to
//! [`Change::place_in`]: crate::record::Change::place_in
//! [`Change::entering`]: crate::record::Change::entering
//! [`Change::leaving`]: crate::record::Change::leaving

mod outbox;
mod rebuild;
mod reconcile;

use keyplane_key::{Hash, Key, Set, Zset};
use keyplane_store::{Error, Handle};

use crate::counters::counters;
use crate::error::{SetupError, helper};
use crate::life::millis;
use crate::tokens::Tokens;

pub(crate) use outbox::outbox_of;
pub use outbox::{DrainError, Drained, drain, drain_to};
pub use rebuild::{Mark, Rebuild};
pub use reconcile::Reconciled;

pub(crate) mod scripts {
    #![allow(missing_docs, unreachable_pub)]
    keyplane_macros::kit_scripts!("index", "src/index/parts.toml", "src/index");
}

const KIT: &str = "index";

counters! {
    /// What an index counts.
    Counters {
        /// Changes applied.
        applied,
        /// Changes that had been applied before.
        repeated,
        /// Drains that found the index in need of a rebuild.
        absent,
        /// Rebuilds finished.
        rebuilt,
        /// Dead members removed.
        removed,
    }
}

/// An index on a slot of its own.
#[derive(Debug)]
pub struct Index {
    handle: Handle,
    target: Target,
    feed: Key<Hash>,
    millis: u64,
    tokens: Tokens,
    counters: Counters,
}

#[derive(Debug)]
enum Target {
    Sorted(Key<Zset>),
    Plain(Key<Set>),
}

impl Target {
    fn word(&self) -> &'static str {
        match self {
            Self::Sorted(_) => "zset",
            Self::Plain(_) => "set",
        }
    }

    fn zsets(&self) -> Vec<&Key<Zset>> {
        match self {
            Self::Sorted(key) => vec![key],
            Self::Plain(_) => Vec::new(),
        }
    }

    fn sets(&self) -> Vec<&Key<Set>> {
        match self {
            Self::Sorted(_) => Vec::new(),
            Self::Plain(key) => vec![key],
        }
    }
}

impl Index {
    /// An index with scores.
    pub fn sorted(handle: &Handle, key: Key<Zset>) -> Result<Self, SetupError> {
        let (feed, lasts) = (helper(&key, KIT, "feed")?, millis(handle, key.info()));
        Ok(Self::new(handle, Target::Sorted(key), feed, lasts))
    }

    /// An index without.
    pub fn plain(handle: &Handle, key: Key<Set>) -> Result<Self, SetupError> {
        let (feed, lasts) = (helper(&key, KIT, "feed")?, millis(handle, key.info()));
        Ok(Self::new(handle, Target::Plain(key), feed, lasts))
    }

    fn new(handle: &Handle, target: Target, feed: Key<Hash>, millis: u64) -> Self {
        let (tokens, counters) = (Tokens::default(), Counters::default());
        Self { handle: handle.clone(), target, feed, millis, tokens, counters }
    }

    /// The same, with tokens from elsewhere: for tests that are to be repeated.
    #[must_use]
    pub fn with_tokens(self, tokens: Tokens) -> Self {
        Self { tokens, ..self }
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> &str {
        match &self.target {
            Target::Sorted(key) => key.as_str(),
            Target::Plain(key) => key.as_str(),
        }
    }

    /// Members by rank with their scores (`0, -1` are all); a plain index has neither ranks nor scores and answers all. `None`:
    /// it must be rebuilt.
    pub async fn members(&self, first: i64, last: i64) -> Result<Option<Vec<(Vec<u8>, f64)>>, Error> {
        let call = scripts::Members {
            feed: &self.feed,
            zsets: self.target.zsets(),
            sets: self.target.sets(),
            kind: self.target.word().into(),
            first: first.into(),
            last: last.into(),
        };
        match &self.target {
            Target::Sorted(_) => self.handle.call(call).await,
            Target::Plain(_) => {
                let members: Option<Vec<Vec<u8>>> = self.handle.call(call).await?;
                Ok(members.map(|members| members.into_iter().map(|member| (member, 0.0)).collect()))
            }
        }
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}
