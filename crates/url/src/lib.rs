//! Where a store is, as a URL.
//!
//! | URL | what it is |
//! |---|---|
//! | `redis://host:6379/0` | one server |
//! | `rediss://host:6379/0` | one server, TLS |
//! | `redis+unix:///run/redis.sock?db=0` | one server on a Unix socket |
//! | `redis+sentinel://s1:26379,s2:26379/mymaster/0` | the master that sentinels name |
//! | `redis+cluster://n1:6379,n2:6379` | a cluster, found through any of its nodes |
//! | `embedded:`, `embedded:PATH` | the embedded store, in memory or in a folder |
//!
//! `valkey` may stand for `redis` in each; `rediss+sentinel` and `rediss+cluster` (or `valkeys…`) are the same over TLS.
//! `user:password@` before the hosts is understood, and for sockets `?user=…&pass=…`; a deployment keeps them in the
//! environment or a file instead.
//!
//! What it promises: no message and no `Debug` ever shows a password, also not one that stands where it does not belong.

mod secret;
mod url;

pub use secret::Secret;
pub use url::{Address, Topology, Url, UrlError, is_host};
