//! Chains of snapshots that can be trusted.
//!
//! A [`State`] is a set of named records. A [`Snapshot`] holds all of them (a full one), or what changed since the snapshot
//! before it (an increment). Whoever takes one keeps the [`StateHash`] of the whole state beside it: SHA-256 over the hashes of
//! the records in the order of their names. An increment therefore costs what changed, and still says what the whole was.
//!
//! # What it promises
//! - **Verified on load.** [`Loading`] puts a chain together link by link and compares the hash after each: a link that is cut,
//!   changed, missing or out of place is named, and what came before it can still be used.
//! - **Canonical.** The same records give the same bytes and the same hash, on every machine, in whatever order they came.
//! - **No bytes make a reader panic**, and none unfold beyond [`MOST_BYTES`].
//! - **Old chains are closed in time** ([`Cadence`]): a full one comes after so many increments, and before the oldest part of
//!   a chain runs out.
//! - **What is thinned out is needed by nobody** ([`Retention`]): a kept increment keeps all that it stands on.
//!
//! # What it does not
//! - It reads and writes no keys: which records there are, and where snapshots are kept, is for the caller's scripts.

mod chain;
mod record;
mod retention;
mod snapshot;
mod state;

pub use chain::{Broken, Cadence, Link, Loading, Next};
pub use record::Body;
pub use retention::{Kept, Retention};
pub use snapshot::{Damaged, Snapshot};
pub use state::{Difference, FieldDifference, NoHash, RecordHash, State, StateHash, difference, sha256};

/// The most that a snapshot may hold, before it is compressed: as far as its numbers reach. Whoever stores one that is
/// [larger](Snapshot::size) stores what nobody can load.
pub const MOST_BYTES: usize = 256 << 20;
