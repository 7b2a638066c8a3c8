//! The swarm as its users meet it: the commands, a process that serves, curl, and a client that models use.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod life;
mod lists;
#[cfg(feature = "mcp")]
mod models;
mod refusals;
mod rounds;
mod saved;
mod serving;
