//! One server: a connection that all operations share, made again when it is lost, and a few more for blocking ones.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use rustc_hash::FxHashSet;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use crate::backoff::Backoff;
use crate::metrics::{FailuresInARow, Metrics};
use crate::sentinel::Sentinels;
use crate::wire::{Request, Session, Wire, WireError};
use crate::{Cause, Options};
use keyplane_url::Address;

/// How long an idle connection may take to show that it is alive.
const IDLE_PATIENCE: Duration = Duration::from_millis(100);

/// What all servers of a store have in common.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) session: Session,
    pub(crate) options: Options,
    pub(crate) metrics: Arc<Metrics>,
}

/// Where the server is: fixed, or to be asked for before each attempt.
#[derive(Debug)]
pub(crate) enum Finder {
    Fixed(Address),
    Sentinels(Sentinels),
}

/// One server.
#[derive(Debug)]
pub(crate) struct Node {
    context: Arc<Context>,
    finder: Finder,
    link: RwLock<Link>,
    /// Of a change of the link. Wakes in the order of waiting; a watch wakes in a drawn one, and then no simulation would
    /// be the same twice.
    changed: Notify,
    generations: AtomicU64,
    probing: AtomicBool,
    failures: Arc<FailuresInARow>,
    /// Permits for connections of their own; the shared one is not counted here.
    pub(crate) permits: Arc<Semaphore>,
    /// Connections of their own that nobody uses at the moment.
    idle: Mutex<Vec<Lent>>,
}

/// A connection beside the shared one, and the one that was shared when it was made: after a failover it may lead to a
/// server that is no longer the right one.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) wire: Wire,
    generation: u64,
}

#[derive(Debug, Clone)]
enum Link {
    Up(Arc<Up>),
    Down(Down),
}

/// A connection that works, as far as anyone knows.
#[derive(Debug)]
pub(crate) struct Up {
    pub(crate) wire: Wire,
    pub(crate) address: Address,
    generation: u64,
    /// Scripts that this server was given through this connection.
    loaded: Mutex<FxHashSet<&'static str>>,
}

impl Up {
    /// The scripts among these that the server was not given yet, each once.
    pub(crate) fn not_loaded(
        &self,
        scripts: &[(&'static str, &'static str)],
    ) -> Vec<(&'static str, &'static str)> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let mut missing: Vec<_> = scripts.iter().filter(|(sha, _)| !loaded.contains(sha)).copied().collect();
        missing.sort_unstable_by_key(|(sha, _)| *sha);
        missing.dedup_by_key(|(sha, _)| *sha);
        missing
    }

    /// The server has said that it has this script.
    pub(crate) fn has_loaded(&self, sha: &'static str) {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).insert(sha);
    }

    /// The server has lost its scripts.
    pub(crate) fn forget_scripts(&self) {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Why there is no connection.
#[derive(Debug, Clone)]
pub(crate) struct Down {
    why: Arc<str>,
    address: String,
    /// The server does not want us: waiting for the next attempt is of no use to an operation.
    refused: bool,
}

impl Down {
    pub(crate) fn cause(self) -> Cause {
        let (address, why) = (self.address, self.why.to_string());
        if self.refused { Cause::Refused { address, why } } else { Cause::Unreachable { address, why } }
    }

    pub(crate) fn is_final(&self) -> bool {
        self.refused
    }
}

impl Node {
    /// Starts to connect, in the background.
    pub(crate) fn start(context: &Arc<Context>, finder: Finder) -> Arc<Self> {
        let down = Down { why: "not connected yet".into(), address: finder.to_string(), refused: false };
        let node = Arc::new(Self {
            permits: Arc::new(Semaphore::new(context.options.pool_size.saturating_sub(1))),
            failures: context.metrics.server(),
            context: Arc::clone(context),
            finder,
            link: RwLock::new(Link::Down(down)),
            changed: Notify::new(),
            generations: AtomicU64::new(0),
            probing: AtomicBool::new(false),
            idle: Mutex::default(),
        });
        node.connect_in_background();
        node
    }

    /// Whether the server may be another one after a reconnect.
    pub(crate) fn is_found_by_sentinels(&self) -> bool {
        matches!(self.finder, Finder::Sentinels(_))
    }

    fn link(&self) -> Link {
        self.link.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it was set: not if it had to be this generation's and is another's by now.
    fn set_link(&self, generation: Option<u64>, link: Link) -> bool {
        let mut now = self.link.write().unwrap_or_else(PoisonError::into_inner);
        let is_it = |generation| matches!(&*now, Link::Up(up) if up.generation == generation);
        if !generation.is_none_or(is_it) {
            return false;
        }
        *now = link;
        drop(now);
        self.changed.notify_waiters();
        true
    }

    /// The shared connection, when it is there.
    pub(crate) fn up_now(&self) -> Option<Arc<Up>> {
        match &*self.link.read().unwrap_or_else(PoisonError::into_inner) {
            Link::Up(up) => Some(Arc::clone(up)),
            Link::Down(_) => None,
        }
    }

    /// The shared connection, waited for until then.
    pub(crate) async fn up(&self, until: Instant) -> Result<Arc<Up>, Down> {
        if let Some(up) = self.up_now() {
            return Ok(up);
        }
        loop {
            // Before the look, so that no change after it is missed.
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let down = match self.link() {
                Link::Up(up) => return Ok(up),
                Link::Down(down) => down,
            };
            if down.refused || timeout_at(until, changed).await.is_err() {
                return Err(down);
            }
        }
    }

    /// A connection was lost or is of no use. Only the first report about it counts.
    pub(crate) fn lost(self: &Arc<Self>, up: &Up, why: &str) {
        self.lost_generation(up.generation, why);
    }

    fn lost_generation(self: &Arc<Self>, generation: u64, why: &str) {
        let address = self.up_now().filter(|up| up.generation == generation).map(|up| up.address.to_string());
        if let Some(address) = address
            && self.set_link(Some(generation), Link::Down(Down { why: why.into(), address, refused: false }))
        {
            self.context.metrics.connection_lost();
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
            self.connect_in_background();
        }
    }

    /// An answer did not come. A connection that does not even answer PING is dead, although the network has not said so.
    pub(crate) fn suspect(self: &Arc<Self>, up: &Arc<Up>) {
        if self.probing.swap(true, Ordering::Relaxed) {
            return;
        }
        let (node, up) = (Arc::clone(self), Arc::clone(up));
        let patience = self.context.options.command_timeout.max(Duration::from_millis(100));
        tokio::spawn(async move {
            let alive = matches!(timeout(patience, up.wire.send(&Request::new("PING"))).await, Ok(Ok(_)));
            node.probing.store(false, Ordering::Relaxed);
            node.context.metrics.reached(alive);
            if !alive {
                node.lost(&up, "it no longer answers");
            }
        });
    }

    /// The check that runs when nothing else does.
    pub(crate) async fn check(self: &Arc<Self>) {
        let Some(up) = self.up_now() else { return };
        if let Finder::Sentinels(sentinels) = &self.finder
            && let Ok(master) = sentinels.master(&self.context).await
            && master != up.address
        {
            self.lost(&up, "sentinels name another master");
            return;
        }
        self.suspect(&up);
    }

    fn connect_in_background(self: &Arc<Self>) {
        let node = Arc::downgrade(self);
        let longest = self.context.options.longest_backoff;
        tokio::spawn(async move {
            let mut backoff = Backoff::new(Duration::from_millis(20).min(longest), longest);
            // Weak, so that a store nobody holds any more stops trying.
            while attempt(&node).await {
                tokio::time::sleep(backoff.wait()).await;
            }
        });
    }

    async fn connect(self: &Arc<Self>) -> Result<(Up, Arc<AtomicBool>), Down> {
        let metrics = &self.context.metrics;
        metrics.connecting();
        let address = match &self.finder {
            Finder::Fixed(address) => Ok(address.clone()),
            Finder::Sentinels(sentinels) => sentinels.master(&self.context).await,
        };
        let generation = self.generations.fetch_add(1, Ordering::Relaxed);
        let lost = Arc::new(AtomicBool::new(false));
        let connected = match &address {
            Ok(address) => self.open(address, Some((generation, Arc::clone(&lost)))).await,
            Err(why) => Err(why.clone()),
        };
        let shown = address.map_or_else(|_| self.finder.to_string(), |address| address.to_string());
        match connected {
            Ok((wire, address)) => {
                metrics.connected(&self.failures);
                Ok((Up { wire, address, generation, loaded: Mutex::default() }, lost))
            }
            Err(error) => {
                metrics.connect_failed(&self.failures);
                let refused = matches!(error, WireError::Refused(_));
                Err(Down { why: error.to_string().into(), address: shown, refused })
            }
        }
    }

    /// Connects, logs in and sees that it is the right server, all within the time for connecting.
    async fn open(
        self: &Arc<Self>,
        address: &Address,
        watched: Option<(u64, Arc<AtomicBool>)>,
    ) -> Result<(Wire, Address), WireError> {
        let longest = self.context.options.connect_timeout;
        match timeout(longest, self.open_unbounded(address, watched)).await {
            Ok(opened) => opened,
            Err(_) => Err(WireError::Broken(format!("no answer within {longest:?}"))),
        }
    }

    async fn open_unbounded(
        self: &Arc<Self>,
        address: &Address,
        watched: Option<(u64, Arc<AtomicBool>)>,
    ) -> Result<(Wire, Address), WireError> {
        let node: Weak<Self> = Arc::downgrade(self);
        let wire = Wire::connect(address, &self.context.session, move || {
            if let Some((generation, lost)) = &watched {
                lost.store(true, Ordering::Release);
                if let Some(node) = node.upgrade() {
                    node.lost_generation(*generation, "the server closed the connection");
                }
            }
        })
        .await?;
        if matches!(self.finder, Finder::Sentinels(_)) {
            crate::sentinel::must_be_master(&wire, address).await?;
        }
        Ok((wire, address.clone()))
    }

    /// A connection beside the shared one: one that lies idle and still answers, or a new one.
    pub(crate) async fn another(self: &Arc<Self>, until: Instant) -> Result<Lent, Down> {
        let up = self.up(until).await?;
        while let Some(lent) = self.take_idle(up.generation) {
            // It may have been cut while nobody looked; a silent one must not eat the whole deadline.
            let short = until.min(Instant::now() + IDLE_PATIENCE);
            if matches!(timeout_at(short, lent.wire.send(&Request::new("PING"))).await, Ok(Ok(_))) {
                return Ok(lent);
            }
        }
        let metrics = &self.context.metrics;
        metrics.connecting();
        let opened = match timeout_at(until, self.open(&up.address, None)).await {
            Ok(opened) => opened,
            Err(_) => Err(WireError::Broken("no answer in time".to_owned())),
        };
        match opened {
            Ok((wire, _)) => {
                metrics.connected(&self.failures);
                Ok(Lent { wire, generation: up.generation })
            }
            Err(error) => {
                metrics.connect_failed(&self.failures);
                let refused = matches!(error, WireError::Refused(_));
                Err(Down { why: error.to_string().into(), address: up.address.to_string(), refused })
            }
        }
    }

    fn take_idle(&self, generation: u64) -> Option<Lent> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|lent| lent.generation == generation);
        idle.pop()
    }

    /// Takes a connection back, unless the server may be another one by now.
    pub(crate) fn give_back(&self, lent: Lent) {
        if self.up_now().is_some_and(|up| up.generation == lent.generation) {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(lent);
        }
    }

    /// Where it is, as far as anyone knows.
    pub(crate) fn shown(&self) -> String {
        match self.link() {
            Link::Up(up) => up.address.to_string(),
            Link::Down(down) => down.address,
        }
    }
}

/// One attempt; whether another is due. The node is held during the attempt only.
fn attempt(node: &Weak<Node>) -> impl Future<Output = bool> + Send + use<> {
    let node = node.upgrade();
    async move {
        let Some(node) = node else { return false };
        match node.connect().await {
            Ok((up, lost)) => {
                let generation = up.generation;
                node.set_link(None, Link::Up(Arc::new(up)));
                // It may have ended before anyone could be told.
                if lost.load(Ordering::Acquire) {
                    node.lost_generation(generation, "the server closed the connection");
                }
                false
            }
            Err(down) => {
                node.set_link(None, Link::Down(down));
                true
            }
        }
    }
}

impl std::fmt::Display for Finder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(address) => address.fmt(f),
            Self::Sentinels(sentinels) => sentinels.fmt(f),
        }
    }
}
