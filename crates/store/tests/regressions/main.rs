//! What once went wrong and must not again: each test is a sentence that the store did not keep.
//!
//! Where a real server does it on demand, a real server does it; what they do once in a blue moon is said by a [`fake`].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clusters;
mod dedicated;
mod fake;
mod guarded;
mod metrics;
mod opening;
mod pipelines;
mod repeated;
#[path = "../faults/rig.rs"]
#[allow(dead_code)]
mod rig;
mod sentinels;
#[path = "../suite/setup.rs"]
#[allow(dead_code)]
mod setup;
mod shelf;
mod wait;
