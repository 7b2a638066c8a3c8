//! What a system needs to reach its store, and the settings that are its own.

use std::path::PathBuf;
use std::time::Duration;

use keyplane_url::Secret;

use crate::config::{Config, Settings};
use crate::credentials::{credential, password};
use crate::error::Error;
use crate::section::Section;
use crate::url::StoreUrl;

/// How one system reaches its store. Prints without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreSettings {
    /// The server; `None` is the embedded store.
    pub url: Option<StoreUrl>,
    /// The ACL user.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<Secret>,
    /// Put before every key; empty for none. Of a system; the store has none.
    pub namespace: String,
    /// Connections kept open, 1 or more.
    pub pool_size: u64,
    /// How long one command may take.
    pub command_timeout: Duration,
    /// How long a new connection may take.
    pub connect_timeout: Duration,
    /// Idle time before TCP asks whether the server is there; `None` is off.
    pub keepalive: Option<Duration>,
    /// Idle time before a connection is tried with PING; `None` is off.
    pub health_check_interval: Option<Duration>,
    /// Whether to repeat a command that timed out and is safe to repeat.
    pub retry_on_timeout: bool,
    /// Whether key names carry hash tags.
    pub hash_tags: HashTags,
    /// When a change of the embedded store counts as kept: `always`, `everysec` or `no`.
    pub fsync: String,
    /// Certificates to trust.
    pub tls_ca: Option<PathBuf>,
    /// Our own certificate; there is a `tls_key` when there is one.
    pub tls_cert: Option<PathBuf>,
    /// The key of our own certificate.
    pub tls_key: Option<PathBuf>,
    /// Start-up findings to live with.
    pub accept: Vec<String>,
}

/// Whether key names carry hash tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashTags {
    /// On a Cluster and nowhere else.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The mempool's own settings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MempoolSettings {
    /// Finalized transactions kept.
    pub max_finalized: u64,
    /// How long the watcher's lock outlives its holder.
    pub watcher_lock_ttl: Duration,
    /// Blocks after which a transaction is finalized.
    pub finalize_threshold: u64,
    /// Blocks without it after which a transaction is dropped.
    pub drop_threshold: u64,
    /// Unfinished transactions in the pool.
    pub max_transactions: u64,
    /// Bytes of all of them.
    pub max_bytes: u64,
    /// Bytes of one.
    pub max_tx_bytes: u64,
    /// How long one may wait; `None`: for ever.
    pub max_age: Option<Duration>,
    /// Where a node serves its API.
    pub listen: String,
    /// Where it serves gRPC.
    pub grpc: Option<String>,
    /// Who is offered transactions, each as `NAME=URL`.
    pub peers: Vec<String>,
    /// What they are shown.
    pub peer_token: Option<Secret>,
    /// What callers of it must bring.
    pub token: Option<Secret>,
}

/// The docket's own settings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocketSettings {
    /// How long the counters of calls live.
    pub counter_ttl: Duration,
    /// How long the state of a run lives.
    pub state_ttl: Duration,
    /// Calls of the hourly limit that are never spent; below the limit.
    pub safety_buffer: u64,
    /// Calls that the API allows in an hour.
    pub call_limit_per_hour: u64,
}

/// The swarm's own settings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwarmSettings {
    /// Where the API is served.
    pub listen: String,
    /// What callers of it must bring.
    pub token: Option<Secret>,
    /// How long an agent is waited for.
    pub agent_lease: Duration,
    /// How long the holder of a task is waited for.
    pub task_lease: Duration,
    /// Between two checkpoints.
    pub checkpoint_interval: Duration,
    /// How long a swarm stays after its end.
    pub keep_finished: Duration,
}

impl Config {
    /// The swarm's own settings.
    #[must_use]
    pub fn swarm(&self) -> SwarmSettings {
        let own = self.section(Section::Swarm);
        SwarmSettings {
            listen: own.text("listen").unwrap_or_default().to_owned(),
            token: own.secret("token"),
            agent_lease: own.set_duration("agent_lease"),
            task_lease: own.set_duration("task_lease"),
            checkpoint_interval: own.set_duration("checkpoint_interval"),
            keep_finished: own.set_duration("keep_finished"),
        }
    }

    /// The mempool's own settings.
    #[must_use]
    pub fn mempool(&self) -> MempoolSettings {
        let own = self.section(Section::Mempool);
        MempoolSettings {
            max_finalized: own.set_count("max_finalized"),
            watcher_lock_ttl: own.set_duration("watcher_lock_ttl"),
            finalize_threshold: own.set_count("finalize_threshold"),
            drop_threshold: own.set_count("drop_threshold"),
            max_transactions: own.set_count("max_transactions"),
            max_bytes: own.set_count("max_bytes"),
            max_tx_bytes: own.set_count("max_tx_bytes"),
            max_age: own.duration("max_age"),
            listen: own.text("listen").unwrap_or_default().to_owned(),
            grpc: own.text("grpc").map(str::to_owned),
            peers: own.text("peers").map_or_else(Vec::new, listed),
            peer_token: own.secret("peer_token"),
            token: own.secret("token"),
        }
    }

    /// The docket's own settings.
    #[must_use]
    pub fn docket(&self) -> DocketSettings {
        let own = self.section(Section::Docket);
        DocketSettings {
            counter_ttl: own.set_duration("counter_ttl"),
            state_ttl: own.set_duration("state_ttl"),
            safety_buffer: own.set_count("safety_buffer"),
            call_limit_per_hour: own.set_count("call_limit_per_hour"),
        }
    }
}

impl Settings<'_> {
    /// How to reach the store. Reads the file that holds the password, if there is one: nothing else here does I/O.
    pub fn store(&self) -> Result<StoreSettings, Error> {
        let path = |name: &str| self.path(name).map(PathBuf::from);
        Ok(StoreSettings {
            url: self.url("url").cloned(),
            user: credential(*self, "user").map(|found| found.shown()),
            password: password(*self)?,
            namespace: self.text("namespace").unwrap_or_default().to_owned(),
            pool_size: self.set_count("pool_size"),
            command_timeout: self.set_duration("command_timeout"),
            connect_timeout: self.set_duration("connect_timeout"),
            keepalive: self.duration("keepalive"),
            health_check_interval: self.duration("health_check_interval"),
            retry_on_timeout: self.flag("retry_on_timeout").unwrap_or_default(),
            hash_tags: match self.text("hash_tags") {
                Some("on") => HashTags::On,
                Some("off") => HashTags::Off,
                _ => HashTags::Auto,
            },
            fsync: self.text("fsync").unwrap_or_default().to_owned(),
            tls_ca: path("tls_ca"),
            tls_cert: path("tls_cert"),
            tls_key: path("tls_key"),
            accept: self.words("accept").unwrap_or_default().to_vec(),
        })
    }

    /// Of a setting that has a default, and so always a value; a test holds the table to that.
    fn set_count(&self, name: &str) -> u64 {
        self.count(name).unwrap_or_default()
    }

    /// Likewise.
    fn set_duration(&self, name: &str) -> Duration {
        self.duration(name).unwrap_or_default()
    }
}

/// Several with commas.
fn listed(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
}
