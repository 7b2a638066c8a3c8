//! Coordination primitives over a contract: what services need from Redis beyond single commands.
//!
//! | primitive | promise |
//! |---|---|
//! | [`lease`] | one holder per term; a write of anyone else is refused by the fence |
//!
//! Each primitive works on keys of *your* contract (`use = { kit = "lease" }` on the lock brings its helper keys), as the
//! component that a [`Handle`](keyplane_store::Handle) was opened as. Each atomic step is one Lua file beside its module,
//! checked against the contract language when this crate is compiled, and runs the same on the embedded store, Redis,
//! Valkey and Cluster.
//!
//! Time that decides anything is the server's. Time that a process waits or stops itself by is tokio's, so that tests run
//! in virtual time.

mod counters;
mod error;
pub mod events;
pub mod fence;
pub mod index;
pub mod lease;
mod life;
pub mod record;
mod tokens;

pub use counters::Counter;
pub use error::SetupError;
pub use fence::{Fence, Term};
pub use tokens::Tokens;
