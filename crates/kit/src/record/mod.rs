//! Hashes that lose no update.
//!
//! A record is a hash of the contract with a field `version`. A [`Change`] says what is to hold and what is to become; one
//! script does all of it or nothing, in one round trip, whatever else the record takes with it: indexes and rosters on its
//! slot, an event, a note in the outbox, the life of its parent.
//!
//! # What it promises
//! - **No lost update.** A change that [expects](Change::expecting) a version is refused when another came first. Versions
//!   are contiguous: each change adds one.
//! - **Only what the contract allows**: fields that it names, with values of their type, within its limits, owned by this
//!   component, moving from a state to one that it may move to. What is wrong is refused by name before anything is sent;
//!   what depends on the stored state is refused by the script, with nothing written.
//! - **A guarded change** ([`guarded_by`](Change::guarded_by)) passes only for the current holder of a lease.
//! - **Nobody outlives its children.** A record that others are linked to has a field `horizon`: every child lives at least
//!   until then, and a renewal never takes the record beyond it. Children get their life when they are written; renewing a
//!   parent of ten thousand costs what renewing one of none costs. [`stretch`](Records::stretch) moves the horizon, long
//!   before it is reached ([`Committed::horizon_is_near`]); if nobody does, the record dies with its children and not after.
//!
//! # What it does not
//! - A change whose answer was lost may have been applied ([`Error::maybe_applied`]); it is not repeated. Read the record:
//!   its version tells.
//! - A type other than the contract's, written by a stranger, can stop a script in the middle.
//! - What a reader collects with [`read_all`](Records::read_all) is many moments, not one.
//!
//! ```no_run
//! # mod pool { keyplane_macros::keyspace!("tests/pool.toml"); }
//! # async fn example(handle: keyplane_store::Handle) -> Result<(), Box<dyn std::error::Error>> {
//! use keyplane_kit::record::{Change, Records};
//!
//! let keys = pool::Keyspace::default();
//! let pools = Records::of(&handle, &pool::info::POOL)?;
//! let east = keys.pool(&pool::PoolId::new("east")?);
//! pools.commit(&east, Change::create().set("state", "open")).await?;
//! let seen = pools.read(&east).await?.ok_or("somebody removed it")?;
//! pools.commit(&east, Change::update().expecting(seen.version).set("state", "draining")).await?;
//! # Ok(()) }
//! ```
//!
//! [`Error::maybe_applied`]: keyplane_store::Error::maybe_applied

mod change;
mod error;
mod fields;
mod horizon;
mod read;
mod rules;

use keyplane_key::{AnyKey, Hash, Key, KeyInfo};
use keyplane_store::Handle;

use crate::counters::counters;
use crate::error::SetupError;
use crate::index::outbox_of;
use rules::Rules;

pub use change::Change;
pub use error::{CommitError, FieldProblem};
pub use fields::Fields;
pub use horizon::{Children, Stretch};
pub use read::Snapshot;

pub(crate) mod scripts {
    #![allow(missing_docs, unreachable_pub)]
    keyplane_macros::kit_scripts!("record", "src/record/parts.toml", "src/record");
}

const KIT: &str = "record";

counters! {
    /// What a family of records counts.
    Counters {
        /// Changes made.
        committed,
        /// Changes refused because another came first.
        conflicts,
        /// Changes refused by a fence.
        fenced,
        /// Changes refused for any other reason.
        refused,
        /// Records read.
        read,
        /// Children made to live longer.
        stretched,
    }
}

/// The records of one family.
#[derive(Debug)]
pub struct Records {
    handle: Handle,
    rules: Rules,
    counters: Counters,
}

/// A change that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// The version that the record has now; of a removed one, the last.
    pub version: u64,
    /// Half a lifetime is left until the record, or the parent that it renewed, stops living longer: time to
    /// [`stretch`](Records::stretch).
    pub horizon_is_near: bool,
}

impl Records {
    /// The records of that family.
    pub fn of(handle: &Handle, family: &'static KeyInfo) -> Result<Self, SetupError> {
        let rules = Rules::new(handle, family)?.must_count()?;
        Ok(Self { handle: handle.clone(), rules, counters: Counters::default() })
    }

    /// Makes a change, whole or not at all. One round trip.
    pub async fn commit(&self, key: &Key<Hash>, change: Change) -> Result<Committed, CommitError> {
        let outcome = self.try_commit(key, &change).await;
        let counter = match &outcome {
            Ok(_) => &self.counters.committed,
            Err(CommitError::Conflict { .. }) => &self.counters.conflicts,
            Err(CommitError::Fenced) => &self.counters.fenced,
            Err(_) => &self.counters.refused,
        };
        counter.one();
        outcome
    }

    async fn try_commit(&self, key: &Key<Hash>, change: &Change) -> Result<Committed, CommitError> {
        self.rules.check(change)?;
        let outbox = if change.notes() { Some(outbox_of(key)?) } else { None };
        let (sets, zsets, rosters, streams) = change.followers(outbox.as_ref());
        let life = self.rules.life(change)?;
        let fence = change.fence.as_ref().map_or(AnyKey::from(key), |fence| AnyKey::from(fence.key()));
        let call = scripts::Commit {
            record: key,
            parent: change.parent.as_ref().unwrap_or(key),
            fence,
            kind: change.kind.word().into(),
            expected: change.expected.map_or_else(String::new, |version| version.to_string()).into(),
            most: self.rules.most_fields().into(),
            life: life.word.into(),
            millis: life.millis.into(),
            moving: self.rules.moving(change).into(),
            steps: change.steps(&self.handle, &self.rules, outbox.as_ref()),
            sets,
            zsets,
            rosters,
            streams,
        };
        let told: Vec<String> = self.handle.call(call).await?;
        error::outcome(change, &told)
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The family.
    #[must_use]
    pub fn family(&self) -> &'static KeyInfo {
        self.rules.family
    }
}
