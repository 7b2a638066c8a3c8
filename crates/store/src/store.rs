//! Opening a store.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use keyplane_schema::{Broken, Contract};
use tokio::time::timeout_at;

use crate::Options;
use crate::core::{Core, Route, deadline};
use crate::dial::Dialer;
use crate::error::{Cause, Error, Operation};
use crate::fitness::{Facts, Finding, Severity, judge};
use crate::handle::Handle;
use crate::metrics::Metrics;
use crate::node::{Context, Node};
use crate::reply::Reply;
use crate::rules::Rules;
use crate::slot::Slot;
use crate::wire::{Request, Session, TlsError};
use keyplane_url::{Url, UrlError};

/// One or more servers, connected and found fit. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    core: Arc<Core>,
    url: Arc<Url>,
    servers: Arc<[Server]>,
}

/// A server as it was when the store was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// Where it is.
    pub address: String,
    /// What it says of itself.
    pub facts: Facts,
    /// What is to be said about that, accepted findings left out.
    pub findings: Vec<Finding>,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The files for TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The embedded store, which this build does not have.
    #[error(
        "the embedded store is not part of this build; name a server, for example redis://127.0.0.1:6379"
    )]
    NoEngine,
    /// The folder of the embedded store, or its log.
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Embedded(keyplane_engine::live::HouseError),
    /// `pool_size` is 0.
    #[error("pool_size is 0; at least one connection is needed")]
    EmptyPool,
    /// No server, or it refuses us.
    #[error("{0}")]
    Unreachable(Error),
    /// The server answers, and cannot be used as it is.
    #[error("{address} is not fit: {}", show(findings))]
    Unfit {
        /// The server.
        address: String,
        /// Why not.
        findings: Vec<Finding>,
    },
}

fn show(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Why there is no handle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// The contract is not sound.
    #[error("{0}")]
    Contract(Box<Broken>),
    /// A setting that the contract does not have, or a duration that no TTL can have.
    #[error("the setting `{name}` of {contract} {why}")]
    Setting {
        /// The contract.
        contract: String,
        /// The setting.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The contract has no such component.
    #[error("{contract} has no component `{name}`; there are {known}")]
    Component {
        /// The contract.
        contract: String,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
}

impl Store {
    /// Connects, looks at every server, and refuses those that are not fit.
    pub async fn open(url: &str, options: Options) -> Result<Self, OpenError> {
        let url: Url = url.parse()?;
        let store = Self::connect(url, options).await?;
        for server in store.servers.iter() {
            let findings: Vec<Finding> =
                server.findings.iter().filter(|found| found.severity == Severity::Refusal).cloned().collect();
            if !findings.is_empty() {
                return Err(OpenError::Unfit { address: server.address.clone(), findings });
            }
        }
        Ok(store)
    }

    /// Connects without judging: for tools that look at servers.
    pub async fn connect(url: Url, options: Options) -> Result<Self, OpenError> {
        Self::connect_with(url, options, None).await
    }

    /// The same by way of a dialer: through a tunnel, or in a simulated network. TLS is the dialer's business.
    pub async fn connect_through(url: Url, options: Options, dialer: Dialer) -> Result<Self, OpenError> {
        Self::connect_with(url, options, Some(dialer)).await
    }

    async fn connect_with(url: Url, mut options: Options, dialer: Option<Dialer>) -> Result<Self, OpenError> {
        if options.pool_size == 0 {
            return Err(OpenError::EmptyPool);
        }
        options.user = options.user.or_else(|| url.user.clone());
        options.password = options.password.or_else(|| url.password.clone());
        let session = Session::new(&options, url.tls, url.db)?.through(dialer);
        Self::start(url, session, options).await
    }

    /// On an engine of this process: one in virtual time, for example.
    #[cfg(feature = "embedded")]
    pub async fn on_engine(live: keyplane_engine::live::Live, options: Options) -> Result<Self, OpenError> {
        let url: Url = "embedded:".parse()?;
        let session = Session::new(&options, url.tls, url.db)?.on_engine(live);
        Self::start(url, session, options).await
    }

    async fn start(url: Url, session: Session, options: Options) -> Result<Self, OpenError> {
        #[cfg(feature = "embedded")]
        if let keyplane_url::Topology::Embedded(Some(folder)) = &url.topology {
            session.embedded().settle_in(folder).await.map_err(OpenError::Embedded)?;
        }
        let patience = options.connect_timeout;
        let context = Context { session, options, metrics: Arc::new(Metrics::default()) };
        let core = Core::new(context, url.topology.clone()).map(Arc::new).ok_or(OpenError::NoEngine)?;
        let servers = survey(&core, patience).await.map_err(OpenError::Unreachable)?;
        watch_health(&core);
        Ok(Self { core, url: Arc::new(url), servers: servers.into() })
    }

    /// A contract on this store, all of it: for tools. A service opens its own component.
    pub fn handle(&self, contract: &Arc<Contract>) -> Handle {
        self.bind(Rules::new(Arc::clone(contract), None, &HashMap::new()))
    }

    /// A contract on this store, as one of its components: what the contract does not grant is refused.
    pub fn as_component(
        &self,
        contract: &Arc<Contract>,
        component: &str,
        settings: &HashMap<String, Duration>,
    ) -> Result<Handle, HandleError> {
        if contract.component(component).is_none() {
            let known = contract.components.iter().map(|one| one.name.as_str()).collect::<Vec<_>>();
            return Err(HandleError::Component {
                contract: contract.name.clone(),
                name: component.to_owned(),
                known: known.join(", "),
            });
        }
        check_settings(contract, settings)?;
        Ok(self.bind(Rules::new(Arc::clone(contract), Some(component), settings)))
    }

    /// A contract on this store, for reading.
    pub fn read_only(&self, contract: &Arc<Contract>) -> Handle {
        self.bind(Rules::new(Arc::clone(contract), None, &HashMap::new()).read_only())
    }

    fn bind(&self, rules: Rules) -> Handle {
        let patience = self.core.context.options.command_timeout;
        Handle { core: Arc::clone(&self.core), rules: Arc::new(rules), patience }
    }

    /// Whether keys must carry hash tags here.
    #[must_use]
    pub fn is_cluster(&self) -> bool {
        self.core.is_cluster()
    }

    /// Where it is, without user and password.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The servers as they were when the store was opened, with findings that are not accepted.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The counters.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.core.context.metrics
    }

    /// Whether the store can be relied on; see [`Metrics::is_healthy`].
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.metrics().is_healthy()
    }

    /// A command without a key, sent to every server that takes writes: for tools. Answers by address.
    pub async fn ask_all(&self, command: &[&str]) -> Vec<(String, Result<Reply, Error>)> {
        let mut answers = Vec::new();
        for node in self.core.nodes() {
            // Who knows what the command does.
            let operation = Operation { name: "ask", pattern: "", writes: true };
            answers.push(ask(&node, &operation, command, self.core.context.options.command_timeout).await);
        }
        answers
    }
}

fn check_settings(contract: &Contract, settings: &HashMap<String, Duration>) -> Result<(), HandleError> {
    /// A century: Redis counts in milliseconds, and nobody means more.
    const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    for (name, lasts) in settings {
        let known = contract.keys.iter().any(|key| key.ttl.setting.as_ref() == Some(name));
        let why = match (known, lasts) {
            (false, _) => "is not one of its durations",
            (true, lasts) if lasts.as_millis() == 0 => "is zero: nothing would live",
            (true, lasts) if *lasts > LONGEST => "is longer than a century",
            (true, _) => continue,
        };
        return Err(HandleError::Setting { contract: contract.name.clone(), name: name.clone(), why });
    }
    Ok(())
}

pub(crate) async fn ask(
    node: &Arc<Node>,
    operation: &Operation,
    command: &[&str],
    patience: Duration,
) -> (String, Result<Reply, Error>) {
    let deadline = deadline(patience);
    let up = match node.up(deadline).await {
        Ok(up) => up,
        Err(down) => return (node.shown(), Err(Error::refused(operation.clone(), down.cause()))),
    };
    let mut words = command.iter();
    let mut request = Request::new(words.next().copied().unwrap_or("PING"));
    words.for_each(|word| request.push(word.as_bytes()));
    let address = up.address.to_string();
    let answer = match timeout_at(deadline, up.wire.send(&request)).await {
        Ok(Ok(Reply::Error(error))) => Err(Error::answered(operation.clone(), error, false)),
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(error)) => Err(Error::open(operation.clone(), Cause::ConnectionLost(error.to_string()))),
        Err(_) => Err(Error::open(operation.clone(), Cause::TimedOut(patience))),
    };
    (address, answer)
}

/// Asks every server for INFO.
async fn survey(core: &Core, patience: Duration) -> Result<Vec<Server>, Error> {
    let operation = Operation { name: "INFO", pattern: "", writes: false };
    // Longer than an attempt to connect takes, and that of looking for whom to connect to, so that their own reason is told
    // and not that they have not ended.
    let patience = patience.saturating_mul(2).saturating_add(Duration::from_millis(250));
    // On Cluster the nodes are not known before the first of them was asked.
    core.connection(&operation, None, Slot::of(b""), deadline(patience)).await?;
    let mut servers = Vec::new();
    for node in core.nodes() {
        let (address, answer) = ask(&node, &operation, &["INFO"], patience).await;
        let facts = match answer? {
            Reply::Bytes(info) => Facts::read(&String::from_utf8_lossy(&info)),
            _ => Facts::default(),
        };
        let accepted = &core.context.options.accept;
        let findings = judge(&facts).into_iter().filter(|found| !accepted.contains(&found.concern)).collect();
        servers.push(Server { address, facts, findings });
    }
    Ok(servers)
}

/// Tries the connections now and then, as long as anyone holds the store.
fn watch_health(core: &Arc<Core>) {
    let interval = core.context.options.health_check_interval;
    if interval.is_zero() {
        return;
    }
    let core = Arc::downgrade(core);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(interval).await;
            let Some(core) = core.upgrade() else { return };
            if let Route::Cluster(cluster) = &core.route {
                // What does not answer now is found again by the operations that need it.
                let _ = cluster.refresh(&cluster.map(), None).await;
            }
            for node in core.nodes() {
                node.check().await;
            }
        }
    });
}
