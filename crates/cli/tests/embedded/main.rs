//! The embedded store as processes see it: killed, shared, taken over.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod killed;
mod owner;
mod shared;
