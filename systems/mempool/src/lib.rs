//! A Cardano mempool that several nodes share: a transaction is accepted once on any node, propagated, and confirmed by one
//! elected watcher.
//!
//! # What it promises
//! - **Accepted once.** The same transaction sent to two nodes at the same instant is accepted by one of them; two that spend the
//!   same input are not both accepted.
//! - **Exactly-once effects.** Every change of a stage is one atomic script. A block is applied once, however often and by
//!   however many nodes it is brought; an undone block is undone exactly.
//! - **One watcher.** Whoever applies the chain shows the fence of its lease; a node that was paused is refused when it wakes.
//! - **Costs that do not grow with the pool.** Receiving, asking and applying a block cost the same with fifty thousand
//!   transactions as with one.
//! - **Nothing is evicted.** A full pool refuses, and says which limit.
//! - **"The store is down" is never "no such transaction".**
//!
//! # What it does not
//! - It has no ledger: a transaction that no block can hold is accepted, and dropped after some blocks.
//! - The pool is as durable as its store.
//!
//! The rooms: [`model`] (rules, no I/O), [`state`] (every read and write of the keys), [`ports`] (the outside), [`run`] (election, the chain), [`api`] (HTTP).

pub mod api;
pub mod blocking;
pub mod model;
mod open;
pub mod ports;
pub mod run;
pub mod state;
mod store;
pub mod told;

/// Typed keys of the contract.
pub mod keys {
    #![allow(missing_docs, reason = "generated from keys.toml, which documents them")]
    keyplane_macros::keyspace!("keys.toml");
}

pub(crate) mod scripts {
    #![allow(missing_docs, unreachable_pub, reason = "generated from the scripts, which document themselves")]
    keyplane_macros::scripts!("keys.toml", "src/scripts");
}

pub use model::{Block, BlockHash, ChainEvent, Point, Stage, Status, Tx, TxHash};
pub use open::{Config, Mempool};
pub use run::Node;
pub use state::{Limits, Pool, Settings};
pub use store::MempoolStore;
