//! What a swarm promises, on every store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod agents;
mod checkpoints;
mod fleet;
mod healed;
mod held_up;
mod kept;
mod lists;
mod looks;
mod loops;
mod lost;
mod packed;
mod performance;
mod pins;
mod properties;
mod recover;
mod relisted;
mod removal;
mod restored;
mod rosters;
mod seed;
mod setup;
mod swarms;
mod tasks;
mod timed;
