//! The lease in virtual time, to the millisecond: who holds it when, and when a holder stops itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod holding;
#[path = "../shared/journal.rs"]
mod journal;
mod line;
#[path = "../suite/setup.rs"]
#[allow(dead_code)]
mod setup;
mod strangers;
mod terms;
mod waiting;
mod world;
