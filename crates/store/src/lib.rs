//! One handle over the embedded store, Redis, Valkey, Sentinel and Cluster.
//!
//! What it promises:
//!
//! - **Nothing is written without its TTL.** A [`Handle`] knows the contract: writes get the TTL of their key in the same
//!   atomic step, and are refused over a limit, with an id of an old shape, or when the component may not do that. (One
//!   exception: a blocking move, whose TTL follows it in the same packet.)
//! - **Every operation ends** in its answer or in an [`Error`] within its deadline (two of them where it may be repeated
//!   after a timeout), whatever the server and the network do, and the next one works again when they do, without a restart.
//! - **Nothing is repeated silently** but reads and SET, and what the caller calls repeatable. An error says whether the
//!   operation may have been applied and whether it may be tried again. "Redis is down" is never "no such thing".
//! - **A server is looked at first** ([`fitness`]): when the store opens, each master that is too old, or drops keys for want
//!   of memory, is refused by name.
//!
//! What it does not promise: Redis replicates asynchronously, so a failover may lose writes that were answered. WAIT
//! ([`Dedicated::wait_for_replicas`]) makes that rarer, not impossible.
//!
//! ```no_run
//! # mod shop { keyplane_macros::keyspace!("../macros/tests/shop.toml"); }
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use keyplane_store::{Options, Store};
//!
//! let store = Store::open("redis://127.0.0.1:6379", Options::default()).await?;
//! let contract = keyplane_store::contract(shop::Keyspace::SOURCE)?;
//! let shop = store.as_component(&contract, "till", &Default::default())?;
//!
//! let keys = shop::Keyspace::default();
//! let order = keys.order(&shop::OrderId::new("order_ab12")?);
//! shop.run(order.hset([("state", "open")])).await?;      // HSET and the hour that the contract gives it
//! # Ok(()) }
//! ```

mod backoff;
mod cluster;
mod core;
mod dedicated;
mod dial;
#[cfg(feature = "embedded")]
mod embedded;
mod error;
pub mod fitness;
mod handle;
mod metrics;
mod node;
mod options;
mod pipeline;
mod reply;
mod rules;
mod scan;
mod script;
mod sentinel;
mod slot;
mod store;
mod wire;
mod write;

use std::sync::Arc;

pub use dedicated::Dedicated;
pub use dial::{Dialer, Stream};
#[cfg(feature = "embedded")]
pub use embedded::Fsync;
pub use error::{Applied, Cause, Error, Operation};
pub use handle::Handle;
pub use keyplane_url::{Address, Secret, Topology, Url, UrlError};
pub use metrics::{
    HEALTHY_SUCCESS_RATE, Latency, Metrics, OperationSnapshot, RECENT, Snapshot, UNHEALTHY_AFTER,
};
pub use options::{Options, Tls};
pub use pipeline::{Pipeline, read_reply};
pub use reply::{FromReply, Reply, ServerError, UnexpectedReply};
pub use scan::Scan;
pub use slot::Slot;
pub use store::{HandleError, OpenError, Server, Store};
pub use wire::TlsError;

/// Reads a contract for [`Store::as_component`]: a `Keyspace::SOURCE`, which was proven while the program was compiled, and is not
/// proven again. One that comes from elsewhere is proven by [`keyplane_schema::parse`].
pub fn contract(source: &str) -> Result<Arc<keyplane_schema::Contract>, HandleError> {
    keyplane_schema::parse_proven("keys.toml", source).map(Arc::new).map_err(HandleError::Contract)
}
