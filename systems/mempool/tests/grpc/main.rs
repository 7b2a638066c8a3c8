//! The gRPC door, from outside: a client that others wrote, a node, a store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod away;
mod door;
mod garbage;
mod made;
mod rig;
mod submit;
mod wait;
mod watch;
