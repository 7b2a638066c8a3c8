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
//! What the state machine does not: read a clock, open a file or a socket, start a thread. `live`, behind the feature of that
//! name, does all of that.

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
#[cfg(feature = "live")]
pub mod live;
mod loading;
pub mod log;
mod long_double;
mod lua;
mod notify;
mod number;
mod reply;
mod resp;
mod scan;
mod state;
mod stats;
mod time;
mod transaction;
mod value;

pub use clients::ClientId;
pub use commands::{Supported, supported};
pub use effects::Steps;
pub use engine::{Answer, Delivery, Engine, Outcome, Settings};
pub use fault::Fault;
pub use loading::{Loader, Progress};
pub use reply::{Protocol, Reply};
pub use resp::{Args, Broken, Decoder};
pub use time::Time;
