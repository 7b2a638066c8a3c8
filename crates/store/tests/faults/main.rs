//! Faults on real servers: each gives the documented error within its deadline and heals without a restart; nothing hangs;
//! what is not safe to repeat is never repeated.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cluster;
mod network;
mod rig;
mod sentinel;
mod server;
#[path = "../suite/setup.rs"]
#[allow(dead_code)]
mod setup;
mod tls;
