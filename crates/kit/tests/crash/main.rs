//! Literal crashes: machines are processes that are killed with -9 or stopped, and so is the server.
//!
//! Locks are short here and nothing is asserted about how long anything takes: a slow machine only makes the tests slow.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod history;
#[path = "../shared/journal.rs"]
mod journal;
mod killed;
mod machine;
mod records;
mod restarted;
#[path = "../suite/setup.rs"]
#[allow(dead_code)]
mod setup;
mod stopped;
mod told;
mod work;
