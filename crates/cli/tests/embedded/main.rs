//! The embedded store as processes see it: killed, shared, taken over.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clients;
mod killed;
mod looking_in;
mod owner;
mod shared;
