//! State for swarms of agents on plain Redis, Valkey or the embedded store.
//!
//! # What it promises
//! - **No lost update.** Every operation is one atomic script. A change of the header, an agent or a phase may name the version
//!   that it was made for, and is refused when another came first.
//! - **A task is worked on by one agent at a time.** A claim has a lease and a fence number; when the lease runs out the task is
//!   given to somebody else, and what its first holder still reports is refused.
//! - **A task waits for those that it depends on**, and is ready in the same step in which the last of them is completed.
//! - **Costs that do not grow with the swarm.** A heartbeat of one agent costs the same beside ten others and beside a thousand.
//! - **"The store is down" is never "no such swarm".**
//!
//! # What it does not
//! - It runs no agents and asks no models: it keeps what they say.
//! - It is as durable as its store.
//!
//! The rooms: [`model`] (rules, no I/O), [`state`] (every read and write of the keys), [`run`] (what keeps them in order),
//! [`api`] (the same for HTTP, MCP and the command line).

pub mod api;
pub mod model;
pub mod run;
pub mod state;

/// Typed keys of the contract.
pub mod keys {
    #![allow(missing_docs, reason = "generated from keys.toml, which documents them")]
    keyplane_macros::keyspace!("keys.toml");
}

pub(crate) mod scripts {
    #![allow(missing_docs, unreachable_pub, reason = "generated from the scripts, which document themselves")]
    #![allow(dead_code, reason = "operations that nobody calls yet")]
    keyplane_macros::scripts!("keys.toml", "src/scripts");
}

pub use keys::{AgentId, Role, SwarmId, TaskId};
pub use state::{Settings, Swarms};
