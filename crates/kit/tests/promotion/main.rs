//! A replica is promoted while its primary still serves: two histories, and what a fence is worth then.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../shared/journal.rs"]
mod journal;
mod orders;
mod pair;
mod replicas;
#[path = "../suite/setup.rs"]
#[allow(dead_code)]
mod setup;
mod trap;
