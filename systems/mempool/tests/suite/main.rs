//! What the mempool does, on every store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod differences;
mod faults;
mod generic;
mod limits;
mod peers;
mod recorded;
mod setup;
mod timed;
