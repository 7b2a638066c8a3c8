//! A store of its own, to be broken.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use keyplane_key::Naming;
use keyplane_store::{Cause, Error, FromReply, Handle, Options, Store};
use keyplane_testing::run;

use crate::setup::{Keyspace, bin};

/// Long enough for a busy machine, short enough that a test which waits for it several times is quick.
pub(crate) const DEADLINE: Duration = Duration::from_millis(400);

/// What comes on top of a deadline on a machine where other tests run.
const SLACK: Duration = Duration::from_secs(5);

/// How long healing may take.
const HEALS_WITHIN: Duration = Duration::from_secs(30);

/// Options with a short deadline.
pub(crate) fn options() -> Options {
    let mut options = Options::default();
    options.command_timeout = DEADLINE;
    options.connect_timeout = DEADLINE;
    options.longest_backoff = Duration::from_millis(200);
    options
}

/// A clerk on a store, and the keys.
#[derive(Clone)]
pub(crate) struct Rig {
    pub(crate) store: Store,
    pub(crate) clerk: Handle,
    pub(crate) keys: Keyspace,
}

impl Rig {
    pub(crate) async fn open(url: &str) -> Self {
        Self::open_with(url, options()).await
    }

    pub(crate) async fn open_with(url: &str, options: Options) -> Self {
        let store = Store::open(url, options).await.expect("a store");
        let contract = keyplane_store::contract(Keyspace::SOURCE).unwrap();
        let clerk = store.as_component(&contract, "clerk", &HashMap::new()).unwrap();
        let keys = Keyspace::new(Naming::new("rig", store.is_cluster()).unwrap()).unwrap();
        Self { store, clerk, keys }
    }

    /// Adds to a counter: not safe to repeat.
    pub(crate) async fn add(&self, to: &str, by: i64) -> Result<i64, Error> {
        in_time(self.clerk.run(self.keys.stock(&bin(to)).incrby(by))).await
    }

    /// Sets a label: safe to repeat.
    pub(crate) async fn label(&self, of: &str, text: &str) -> Result<(), Error> {
        in_time(self.clerk.run(self.keys.label(&bin(of)).set(text))).await
    }

    pub(crate) async fn read_label(&self, of: &str) -> Result<Option<Vec<u8>>, Error> {
        in_time(self.clerk.run(self.keys.label(&bin(of)).get())).await
    }

    /// Reads a counter.
    pub(crate) async fn count(&self, of: &str) -> i64 {
        let found = self.clerk.run(self.keys.stock(&bin(of)).get()).await.expect("a count");
        found.map_or(0, |text| i64::from_reply(keyplane_store::Reply::Bytes(text)).unwrap())
    }

    /// Tries until it works again, with the same handle.
    pub(crate) async fn heals(&self, of: &str) {
        let start = tokio::time::Instant::now();
        loop {
            match self.label(of, "healed").await {
                Ok(()) => return,
                Err(error) if start.elapsed() > HEALS_WITHIN => panic!("does not heal: {error}"),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}

/// The operation has ended by its deadline, or two of them where it is safe to repeat.
pub(crate) async fn in_time<T>(operation: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE * 2 + SLACK, operation).await.expect("an operation hangs")
}

/// Nothing reached the server: retryable, not applied.
pub(crate) fn is_unreachable(error: &Error) -> bool {
    matches!(error.cause(), Cause::Unreachable { .. }) && !error.maybe_applied() && error.is_retryable()
}

/// Sent, and the answer is missing.
pub(crate) fn is_open(error: &Error) -> bool {
    matches!(error.cause(), Cause::ConnectionLost(_) | Cause::TimedOut(_))
        && error.maybe_applied()
        && error.is_retryable()
}

/// Runs a test.
pub(crate) fn test(body: impl Future<Output = ()> + Send + 'static) {
    run(body);
}
