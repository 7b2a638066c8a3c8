//! Where one test works: a store, and a namespace of its own in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyplane_schema::{Contract, Naming};
use redis::{Client, Cmd, Connection, FromRedisValue, RedisResult, ToRedisArgs};

use crate::audit::{self, Finding, Rules, What};
use crate::cluster::ask;
use crate::embedded::{self, Embedded};
use crate::kind::Kind;
use crate::sentinel::master_addr;
use crate::shared::Address;
use crate::slot::Slot;
use crate::tls::TlsFiles;

/// Where one test works. Clones are the same place.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Place {
    /// What kind of store it is.
    pub kind: Kind,
    /// Where the store is.
    pub url: String,
    /// What a client needs for TLS.
    pub tls: Option<TlsFiles>,
    /// The namespace of this test: no other test has it, and what is in it goes when the test ends.
    pub namespace: String,
    /// Whether keys carry hash tags: they must on a cluster.
    pub hash_tags: bool,
    rules: Arc<Mutex<Rules>>,
    /// Keeps the store of this place alive.
    _embedded: Option<Embedded>,
}

impl Place {
    /// A place on a store that the test has started for itself.
    #[must_use]
    pub fn new(kind: Kind, url: impl Into<String>, tls: Option<TlsFiles>) -> Self {
        // Tests of many processes share a store, so the name is drawn and not counted.
        let namespace = format!("t{:012x}", fastrand::u64(..1 << 48));
        Self {
            kind,
            url: url.into(),
            tls,
            namespace,
            hash_tags: kind == Kind::Cluster,
            rules: Arc::default(),
            _embedded: None,
        }
    }

    /// A place in an embedded store of its own.
    #[must_use]
    pub fn embedded() -> Self {
        let embedded = Embedded::start();
        Self { _embedded: Some(embedded.clone()), ..Self::new(Kind::Embedded, embedded.url(), None) }
    }

    pub(crate) fn at(kind: Kind, address: Address) -> Self {
        Self::new(kind, address.url, address.tls)
    }

    /// A key in this test's namespace.
    #[must_use]
    pub fn key(&self, rest: &str) -> String {
        format!("{}:{rest}", self.namespace)
    }

    /// How this place spells the keys of a contract.
    #[must_use]
    pub fn naming(&self, contract: &Contract) -> Naming {
        let naming = if self.hash_tags { Naming::tagged(contract) } else { Naming::plain(contract) };
        naming.in_namespace(self.namespace.as_str())
    }

    /// States the contract that the test works by: when the test has passed, all keys of its namespace are held
    /// against it. May be called for several contracts. Panics when the contract is broken.
    pub fn contract(&self, source: &str) -> Arc<Contract> {
        let contract = keyplane_schema::parse("keys.toml", source)
            .unwrap_or_else(|broken| panic!("the contract is broken:\n{broken}"));
        let contract = Arc::new(contract);
        self.rules().contracts.push((contract.clone(), self.naming(&contract)));
        contract
    }

    /// States a finding that the test causes on purpose. `key` is the key without namespace and without the braces of
    /// a hash tag. A stated finding that does not come fails the test too.
    pub fn expect_finding(&self, what: What, key: &str) {
        self.rules().expected.push((what, key.to_owned()));
    }

    fn rules(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection with all rights: to the server, to the master behind the sentinels, to some master of a cluster.
    #[must_use]
    pub fn admin(&self) -> Connection {
        self.masters().swap_remove(0)
    }

    /// A connection to every master.
    #[must_use]
    pub fn masters(&self) -> Vec<Connection> {
        let masters = self.try_masters();
        masters.unwrap_or_else(|error| panic!("no connection to {}: {error}", self.url))
    }

    fn try_masters(&self) -> RedisResult<Vec<Connection>> {
        if let Some(seeds) = self.url.strip_prefix("redis+cluster://") {
            let ranges = slots(&mut any_of(seeds)?)?;
            let mut masters: Vec<String> = ranges.into_iter().map(|range| range.master).collect();
            masters.sort();
            masters.dedup();
            return masters.iter().map(|master| connect(master)).collect();
        }
        if let Some(rest) = self.url.strip_prefix("redis+sentinel://") {
            let (sentinels, name) = rest.split_once('/').expect("the name of the master in the URL");
            return Ok(vec![connect(&master_addr(&mut any_of(sentinels)?, name))?]);
        }
        let client = match (&self.tls, embedded::socket_url(&self.url)) {
            (Some(files), _) => files.client(&self.url)?,
            (None, Some(socket)) => Client::open(socket)?,
            (None, None) => Client::open(self.url.as_str())?,
        };
        Ok(vec![client.get_connection()?])
    }

    /// A connection to the node that serves a key.
    #[must_use]
    pub fn admin_for(&self, key: &str) -> Connection {
        let Some(seeds) = self.url.strip_prefix("redis+cluster://") else { return self.admin() };
        let slot = Slot::of(key).number();
        let serving = |seeds| {
            let ranges = slots(&mut any_of(seeds)?)?;
            let range = ranges.into_iter().find(|range| (range.first..=range.last).contains(&slot));
            connect(&range.expect("a node for every slot").master)
        };
        serving(seeds).unwrap_or_else(|error: redis::RedisError| panic!("no connection for {key}: {error}"))
    }

    /// Sends a command to the node that serves `key`: `place.raw(&key, &["GET", &key])`. Panics when it fails.
    pub fn raw<T: FromRedisValue>(&self, key: &str, words: &[impl ToRedisArgs]) -> T {
        self.try_raw(key, words).unwrap_or_else(|error| panic!("a command on {key}: {error}"))
    }

    /// Sends a command to the node that serves `key`.
    pub fn try_raw<T: FromRedisValue>(&self, key: &str, words: &[impl ToRedisArgs]) -> RedisResult<T> {
        let mut command = Cmd::new();
        command.arg(words);
        command.query(&mut self.admin_for(key))
    }

    /// Holds everything in the namespace against the contracts. Empty when no contract was stated.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let rules = self.rules();
        if rules.contracts.is_empty() {
            return Vec::new();
        }
        let facts = audit::read(&mut self.masters(), &self.namespace);
        audit::judge(&rules.contracts, &facts)
    }

    /// Ends a test by hand, as `#[every_store]` does it: audit, then removal of all keys. Panics with the findings.
    pub fn finish(&self) {
        let problems = audit::settle(&self.findings(), &self.rules().expected, &self.namespace);
        self.clear().unwrap_or_else(|error| panic!("the keys of a test cannot be removed: {error}"));
        assert!(problems.is_empty(), "the store does not keep the contract:\n{}", problems.join("\n"));
    }

    /// Removes all keys of the namespace.
    pub fn clear(&self) -> RedisResult<()> {
        self.try_masters()?.iter_mut().try_for_each(|master| audit::remove(master, &self.namespace))
    }
}

struct Range {
    first: u16,
    last: u16,
    master: String,
}

/// CLUSTER SLOTS: ranges with their nodes, the master first.
fn slots(node: &mut Connection) -> RedisResult<Vec<Range>> {
    type Served = (u16, u16, (String, u16));
    let ranges: Vec<Vec<redis::Value>> = redis::cmd("CLUSTER").arg("SLOTS").query(node)?;
    let read = |mut range: Vec<redis::Value>| {
        range.truncate(3);
        if let Some(redis::Value::Array(master)) = range.get_mut(2) {
            master.truncate(2);
        }
        let (first, last, (host, port)): Served = redis::from_redis_value(redis::Value::Array(range))?;
        Ok(Range { first, last, master: format!("{host}:{port}") })
    };
    ranges.into_iter().map(read).collect()
}

/// A connection to the first address of a list that answers.
fn any_of(list: &str) -> RedisResult<Connection> {
    let mut last = None;
    for addr in list.split(',') {
        match connect(addr) {
            Ok(mut connection) => {
                ask::<()>(&mut connection, &["PING"]);
                return Ok(connection);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.expect("an address in the list"))
}

fn connect(addr: &str) -> RedisResult<Connection> {
    Client::open(format!("redis://{addr}"))?.get_connection()
}
