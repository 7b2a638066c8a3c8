//! `ping`, `doctor` and `config` from the outside, on real servers: what they print and how they exit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod config;
mod doctor;
mod fake;
mod interrupt;
mod ping;
mod run;
