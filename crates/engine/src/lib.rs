//! Redis semantics as a deterministic state machine.
//!
//! What it promises:
//!
//! - [`Engine::execute`] answers a command as Redis 7.0 does, or with Redis's own error for a command that it does not
//!   know. What differs is listed in `docs/engine.md`, and nothing else does;
//! - time and randomness are handed in: the same seed and the same calls give the same answers, deliveries and effects;
//! - a command, a transaction and a script are each one step: nobody sees half of one, and [`Engine::take_effects`]
//!   holds all of it or nothing.
//!
//! What it does not: read a clock, open a file or a socket, start a thread. Whoever runs it does that.

mod args;
mod blocking;
mod clients;
mod commands;
mod config;
mod context;
mod db;
mod effects;
mod engine;
mod expiry;
mod fault;
mod glob;
mod lua;
mod notify;
mod number;
mod reply;
mod scan;
mod state;
mod stats;
mod time;
mod transaction;
mod value;

pub use clients::ClientId;
pub use engine::{Answer, Delivery, Engine, Outcome, Settings};
pub use fault::Fault;
pub use reply::{Protocol, Reply};
pub use time::Time;
