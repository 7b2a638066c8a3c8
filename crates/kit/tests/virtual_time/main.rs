//! The kit in virtual time, on the embedded store: what happens in the millisecond of an end, and after days.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alarms;
mod hearts;
mod lives;
mod pages;
#[path = "../suite/setup.rs"]
#[allow(dead_code)]
mod setup;
mod terms;
mod windows;
mod world;
