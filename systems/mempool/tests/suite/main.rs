//! What the mempool does, on every store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod behind;
mod blocking;
mod differences;
mod faults;
mod generic;
mod limits;
mod opened;
mod original;
mod peers;
mod recorded;
mod relay;
mod setup;
mod timed;
mod trimmed;
