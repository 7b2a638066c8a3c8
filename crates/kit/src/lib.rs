//! Coordination primitives over a contract: what services need from Redis beyond single commands.
//!
//! | primitive | promise |
//! |---|---|
//! | [`lease`] | one holder per term; a write of anyone else is refused by the fence |
//! | [`record`] | no lost update; a change is made whole or not at all; nobody outlives its children |
//! | [`index`] | at rest it is what a rebuild would give; absent is not empty |
//! | [`events`] | in order, none twice, none silently lost |
//! | [`timeline`] | events by their time, pruned by every write; exact counts, pages without gaps |
//! | [`deadline`] | timers that are never lost, handed out once per fence |
//! | [`heartbeat`] | who is alive, by the record's own time and the server's clock |
//! | `blob` (feature) | values that say how they are encoded; nothing is misread |
//! | `checkpoint` (feature) | a chain of snapshots, verified by a hash over the state |
//!
//! Each primitive works on keys of *your* contract (`use = { kit = "lease" }` on the lock brings its helper keys), as the
//! component that a [`Handle`](keyplane_store::Handle) was opened as. Each atomic step is one Lua file beside its module,
//! checked against the contract language when this crate is compiled, and runs the same on the embedded store, Redis,
//! Valkey and Cluster.
//!
//! Time that decides anything is the server's. Time that a process waits or stops itself by is tokio's, so that tests run
//! in virtual time.

#[cfg(feature = "blob")]
pub mod blob;
#[cfg(feature = "checkpoint")]
pub mod checkpoint;
mod counters;
pub mod deadline;
mod error;
pub mod events;
pub mod fence;
pub mod heartbeat;
pub mod index;
pub mod lease;
mod life;
mod moment;
pub mod record;
mod rfc3339;
pub mod timeline;
mod tokens;

pub use counters::Counter;
pub use error::SetupError;
pub use fence::{Fence, Term};
pub use moment::Unit;
pub use rfc3339::rfc3339;
pub use tokens::Tokens;
