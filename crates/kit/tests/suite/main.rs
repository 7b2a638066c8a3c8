//! What each primitive does, on every store: one suite, run against each kind of server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod events;
mod index;
mod lease;
mod record;
mod setup;
