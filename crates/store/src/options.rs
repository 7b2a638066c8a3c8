//! How a store behaves.

use std::path::PathBuf;
use std::time::Duration;

use crate::fitness::Concern;
use keyplane_url::Secret;

/// Settings of a store. Start from `default()` and change what differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The ACL user; without one the server's default user.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<Secret>,
    /// Files for TLS.
    pub tls: Tls,
    /// Connections to each server at most: one that all operations share, the rest for blocking ones.
    pub pool_size: usize,
    /// How long an operation may take, the wait for a connection included.
    pub command_timeout: Duration,
    /// How long it may take to connect and log in.
    pub connect_timeout: Duration,
    /// After how long a silent connection is probed by the kernel; `None` never.
    pub keepalive: Option<Duration>,
    /// How often the connection is tried when nothing else happens.
    pub health_check_interval: Duration,
    /// Whether an operation that is safe to repeat is tried once more after a timeout, with a new deadline.
    pub retry_on_timeout: bool,
    /// The longest wait between two attempts to connect.
    pub longest_backoff: Duration,
    /// Findings about the server that are known and accepted.
    pub accept: Vec<Concern>,
    /// When a change of the embedded store counts as kept. What counts is the word of whoever came to its folder first.
    #[cfg(feature = "embedded")]
    pub fsync: crate::Fsync,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            user: None,
            password: None,
            tls: Tls::default(),
            pool_size: 10,
            command_timeout: Duration::from_secs(1),
            connect_timeout: Duration::from_secs(1),
            keepalive: Some(Duration::from_secs(30)),
            health_check_interval: Duration::from_secs(30),
            retry_on_timeout: true,
            longest_backoff: Duration::from_secs(2),
            accept: Vec::new(),
            #[cfg(feature = "embedded")]
            fsync: crate::Fsync::default(),
        }
    }
}

/// Files for TLS, in PEM.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Tls {
    /// The authority that signed the server's certificate; without one, those the system trusts.
    pub ca: Option<PathBuf>,
    /// Our own certificate and its key, where the server asks for one.
    pub identity: Option<(PathBuf, PathBuf)>,
}
