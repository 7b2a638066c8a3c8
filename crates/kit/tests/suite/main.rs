//! What each primitive does, on every store: one suite, run against each kind of server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod deadline;
mod events;
mod heartbeat;
mod index;
mod lease;
mod record;
mod setup;
mod timeline;
