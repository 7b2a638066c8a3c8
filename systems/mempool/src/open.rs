//! A node by its settings, under the names of the original: `[storage.mempool]`.

use std::time::Duration;

use keyplane_key::Naming;
use keyplane_store::{Options, Store};

use crate::model::Thresholds;
use crate::run::Node;
use crate::state::{Limits, OpenError, Pool, Settings};

/// How to reach a pool and how it behaves. All nodes of one pool have the same.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use keyplane_mempool::{Config, Mempool, MempoolStore as _};
///
/// let config = Config {
///     url: "redis://127.0.0.1:6379".to_owned(),
///     key_prefix: "dolos:prod:mempool".to_owned(),
///     pool_size: 20,
///     max_finalized: 50_000,
///     watcher_lock_ttl: 10,
///     ..Config::default()
/// };
/// let mempool = Mempool::open(&config).await?;
/// println!("{}", mempool.has_pending().await?);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The store; `embedded:` is one in memory, of this process alone.
    pub url: String,
    /// Before every key.
    pub key_prefix: String,
    /// Connections, at most.
    pub pool_size: usize,
    /// Finished transactions kept.
    pub max_finalized: u64,
    /// Seconds that the watcher's lock outlives its holder.
    pub watcher_lock_ttl: u64,
    /// After how many blocks a transaction is finished.
    pub thresholds: Thresholds,
    /// What the pool takes in.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            url: "embedded:".to_owned(),
            key_prefix: "dolos:mempool".to_owned(),
            pool_size: 10,
            max_finalized: 10_000,
            watcher_lock_ttl: 10,
            thresholds: Thresholds::default(),
            limits: Limits::default(),
        }
    }
}

/// A node of a shared mempool, opened by its settings.
#[derive(Debug)]
pub struct Mempool(Node);

impl Mempool {
    /// Connects, and stands for election from now on. Needs a tokio runtime.
    pub async fn open(config: &Config) -> Result<Self, OpenError> {
        let mut options = Options::default();
        options.pool_size = config.pool_size;
        let store = Store::open(&config.url, options).await?;
        let namespace = |error: &dyn std::fmt::Display| OpenError::Namespace(error.to_string());
        let naming =
            Naming::new(config.key_prefix.clone(), store.is_cluster()).map_err(|error| namespace(&error))?;
        let settings = Settings {
            max_finalized: config.max_finalized,
            watcher_lock_ttl: Duration::from_secs(config.watcher_lock_ttl),
            thresholds: config.thresholds,
            limits: config.limits,
        };
        let pool = Pool::new(&store, naming, &uuid::Uuid::new_v4().to_string(), settings)?;
        let lease = pool.lease()?;
        Ok(Self(Node::start(pool, lease)))
    }

    /// Stops: the lock is given back, so that another node goes on at once.
    pub async fn stop(self) {
        self.0.stop().await;
    }
}

impl std::ops::Deref for Mempool {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.0
    }
}
