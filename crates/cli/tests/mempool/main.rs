//! The mempool as its users meet it: node processes, a real Redis, curl and redis-cli.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod commands;
mod doors;
mod failover;
#[cfg(feature = "grpc")]
mod grpc;
mod node;
mod peers;
mod rounds;
