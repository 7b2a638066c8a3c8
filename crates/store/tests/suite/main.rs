//! What a store does, on every store: one suite, run against each kind of server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod component;
mod dedicated;
mod pipeline;
mod scripts;
mod setup;
mod typed;
