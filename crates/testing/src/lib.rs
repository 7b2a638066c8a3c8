//! Real servers, faults and virtual time for tests.
//!
//! What it promises:
//!
//! - [`Server`], [`Cluster`] and [`Sentinel`] are real processes on free loopback ports, each in a temporary directory.
//!   They end when they are dropped, and also when the test process is killed;
//! - [`every_store`] makes one test per kind of store from one function. Each runs at a [`Place`]: a store shared with
//!   other tests, and a namespace that no other test has;
//! - a test that states its contract ([`Place::contract`]) ends with an audit: every key it left behind is held against
//!   the contract, then removed;
//! - [`VirtualServer`] is a stock redis-server whose clock moves only when the test says so, and [`VirtualEngine`] an
//!   embedded store in the same way;
//! - [`Network`] is a simulated network with an embedded store in it: delays, partitions, all from one seed;
//! - [`held_up`] lets something else happen at one exact point of what is under way;
//! - [`Wire`] is a connection to a server on which every byte is seen;
//! - [`Proxy`] stands between a client and a server and makes the faults of a network;
//! - [`curl()`] is the real curl;
//! - [`Fixtures`] are files that are told in exact words;
//! - what cannot run here is a [`skip`] with a name, never silence.
//!
//! What it does not: shared stores are never killed, frozen or reconfigured. A test that needs that starts its own, and
//! runs there with [`run_at`]. Virtual time and simulated networks are for single servers; clusters and sentinels live by the
//! real clock.
//!
//! ```no_run
//! use keyplane_testing::{Place, every_store};
//!
//! # const CONTRACT: &str = "";
//! /// Runs as `orders_are_kept::redis`, `orders_are_kept::cluster` and so on.
//! #[every_store(except(unix))]
//! async fn orders_are_kept(place: Place) {
//!     place.contract(CONTRACT);
//!     let key = place.key("order:a");
//!     // The code under test gets `place.url`, `place.tls`, `place.namespace` and `place.hash_tags`.
//!     place.raw::<()>(&key, &["SET", &key, "open", "EX", "60"]);
//!     assert_eq!(place.raw::<String>(&key, &["GET", &key]), "open");
//! }
//! ```
//!
//! # Environment
//!
//! | variable | meaning |
//! |---|---|
//! | `KEYPLANE_TEST_STORES` | the kinds to test on, such as `redis,cluster`; others report a skip. Unset: all |
//! | `KEYPLANE_TEST_SERVERS` | the list of servers that `keyplane-test-servers` has started for the whole run; tests start their own for what is not in it |
//! | `KEYPLANE_VALKEY_SERVER` | the valkey-server to use; empty: none. Unset: the one on `PATH` |
//! | `KEYPLANE_SKIPS` | a file that gets one line per skip, because runners hide what a passing test prints |
//!
//! Runners with a process per test start servers once with
//! `keyplane-test-servers [--stores redis,cluster] -- cargo nextest run`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "support for tests: a panic with a clear message is how a test fails"
)]

mod ask;
mod audit;
mod clock;
mod cluster;
mod curl;
mod embedded;
mod faults;
mod fixtures;
mod held_up;
mod kind;
mod network;
mod place;
mod ports;
mod process;
mod program;
mod proxy;
mod replication;
mod run;
mod sentinel;
mod server;
mod settings;
mod shared;
mod skip;
mod slot;
mod tls;
mod virtual_engine;
mod wait;
mod wire;

pub use ask::ask;
pub use audit::{Finding, What};
pub use clock::VirtualServer;
pub use cluster::{Cluster, Node};
pub use curl::{Answer, curl};
pub use embedded::Embedded;
pub use faults::{Fault, Judged, chosen, chosen_seed, over_seeds, same_seed_same_trace, seeds, tell_trace};
pub use fixtures::{Fixtures, file_name};
pub use held_up::held_up;
pub use keyplane_testing_macros::every_store;
pub use kind::Kind;
pub use network::{Network, Trace};
pub use place::Place;
pub use program::{Program, redis_server, valkey_server};
pub use proxy::{Mode, Proxy};
pub use run::{Outcome, run, run_at, run_in_turn_on, run_on};
pub use sentinel::Sentinel;
pub use server::Server;
pub use settings::Settings;
pub use shared::{Address, SERVERS_VARIABLE, Servers};
pub use skip::{recording, skip};
pub use slot::Slot;
pub use tls::{ClientCertificates, TlsFiles};
pub use virtual_engine::VirtualEngine;
pub use wait::until;
pub use wire::Wire;
