//! One node: it follows the chain, and applies it while it is the watcher.
//!
//! # What it promises
//! - Every node keeps the newest blocks that it has seen. Whoever becomes the watcher begins behind the last block that was
//!   applied, by whomever, so a failover loses no block and applies none twice.
//! - A node that hears of the chain late, or once more, undoes nothing that it has not heard of: it waits until it has.
//! - A block that cannot be applied now, because the store is away, is kept; it is applied when the store is back.
//!
//! # What it does not
//! - A gap that is longer than the window of blocks is told ([`ConfirmError::NotNext`]), with the tip from which blocks are
//!   needed; it is not made up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use keyplane_kit::Fence;
use keyplane_kit::lease::Lease;
use tokio::sync::{Mutex, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use super::propagate::propagate;
use super::watch::Watch;
use crate::model::{Catch, ChainEvent, Point, TxHash, Window};
use crate::ports::Peer;
use crate::state::{ConfirmError, Confirmed, Pool, Tip};

/// Blocks that a node keeps: about three hours of the chain.
const WINDOW: usize = 540;

/// As far back as a pool's own blocks are looked for in the window.
const DEEPEST: usize = 2160;

/// How long offers that were begun may take when the node stops.
const PEERS: Duration = Duration::from_secs(2);

/// How often what was left undone is looked for.
const UPKEEP: Duration = Duration::from_secs(1);

/// How often payloads without a transaction are looked for.
const SWEEP: Duration = Duration::from_secs(3600);

/// What became of a chain event on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It was applied, here and now.
    Done(Confirmed),
    /// This node had missed some before it; it has caught up with so many events.
    CaughtUp(usize),
    /// The pool has blocks above it that this node has not heard of. The event is kept.
    Behind,
    /// Another node is the watcher. The event is kept.
    Skipped,
}

/// A node of a pool.
#[derive(Debug)]
pub struct Node {
    inner: Arc<Inner>,
    upkeep: Upkeep,
    /// Tells those that offer to peers to stop.
    stopping: watch::Sender<bool>,
    peers: std::sync::Mutex<JoinSet<()>>,
}

/// Ends with the node.
#[derive(Debug)]
struct Upkeep(JoinHandle<()>);

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Debug)]
struct Inner {
    pool: Pool,
    watch: Watch,
    /// The chain as this node has seen it. Who holds it works on the chain; nobody else of this node does.
    chain: Mutex<Window>,
    /// The term in which all that the original wrote was made known.
    adopted: AtomicU64,
}

impl Node {
    /// Starts a node: it stands for election from now on. Needs a tokio runtime.
    #[must_use]
    pub fn start(pool: Pool, lease: Lease) -> Self {
        for server in pool.evicting() {
            let node_id = pool.node_id();
            tracing::warn!(node_id, policy = server.policy, "the store may drop keys: {server}");
        }
        let watch = Watch::start(lease, pool.node_id());
        let inner = Arc::new(Inner {
            pool,
            watch,
            chain: Mutex::new(Window::new(WINDOW)),
            adopted: AtomicU64::new(0),
        });
        let upkeep = Upkeep(tokio::spawn(keep_up(Arc::clone(&inner))));
        Self { inner, upkeep, stopping: watch::Sender::new(false), peers: std::sync::Mutex::default() }
    }

    /// Offers what waits to this peer too, from now on.
    pub fn propagate_to(&self, peer: impl Peer) {
        let offering = propagate(self.inner.pool.clone(), peer, self.stopping.subscribe());
        self.peers.lock().unwrap_or_else(PoisonError::into_inner).spawn(offering);
    }

    /// The pool.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.inner.pool
    }

    /// The election.
    #[must_use]
    pub fn watch(&self) -> &Watch {
        &self.inner.watch
    }

    /// Takes part in what the chain does. Every node is told of every event; the watcher applies it.
    pub async fn confirm(&self, event: &ChainEvent) -> Result<Verdict, ConfirmError> {
        self.inner.confirm(event).await
    }

    /// Takes part in the original's words: see [`Pool::confirm_seen`]. They do not say what follows what, so nothing is kept for a
    /// takeover: whoever becomes the watcher applies what it is told from then on.
    pub async fn confirm_seen(
        &self,
        point: Point,
        seen: &[TxHash],
        unseen: &[TxHash],
    ) -> Result<(), ConfirmError> {
        self.inner.confirm_seen(point, seen, unseen).await
    }

    /// Stops: the lock is given back, so that another node goes on at once.
    pub async fn stop(mut self) {
        self.stopping.send_replace(true);
        let mut peers = std::mem::take(&mut *self.peers.lock().unwrap_or_else(PoisonError::into_inner));
        // What a peer does not answer within this runs out by itself.
        let all = async { while peers.join_next().await.is_some() {} };
        drop(timeout(PEERS, all).await);
        self.upkeep.0.abort();
        drop((&mut self.upkeep.0).await);
        if let Some(inner) = Arc::into_inner(self.inner) {
            inner.watch.stop().await;
        }
    }
}

impl Inner {
    async fn confirm(&self, event: &ChainEvent) -> Result<Verdict, ConfirmError> {
        event.countable()?;
        let mut window = self.chain.lock().await;
        if let ChainEvent::Back { to } = event {
            self.reachable(&window, *to).await?;
        }
        window.follow(event);
        let Some(fence) = self.fence() else { return Ok(Verdict::Skipped) };
        let done = self.apply(&window, &fence, event).await;
        Ok(self.unless_fenced(done)?.unwrap_or(Verdict::Skipped))
    }

    async fn confirm_seen(
        &self,
        point: Point,
        seen: &[TxHash],
        unseen: &[TxHash],
    ) -> Result<(), ConfirmError> {
        let _window = self.chain.lock().await;
        let Some(fence) = self.fence() else { return Ok(()) };
        let applied = async {
            self.adopt(&fence).await?;
            self.pool.confirm_seen(&fence, point, seen, unseen).await
        };
        self.unless_fenced(applied.await).map(Option::unwrap_or_default)
    }

    /// Nothing if another node is the watcher.
    fn fence(&self) -> Option<Fence> {
        let fence = self.watch.fence();
        if fence.is_none() {
            tracing::debug!(node_id = self.pool.node_id(), "not watcher, skipping confirm");
        }
        fence
    }

    /// Nothing if another node has become the watcher.
    fn unless_fenced<T>(&self, done: Result<T, ConfirmError>) -> Result<Option<T>, ConfirmError> {
        match done {
            Err(ConfirmError::Fenced) => {
                tracing::debug!(node_id = self.pool.node_id(), "lost watcher lock, skipping confirm");
                Ok(None)
            }
            done => done.map(Some),
        }
    }

    /// Refuses to go back to what nobody has seen, and forgets nothing for it. While the store is away it may be there.
    async fn reachable(&self, window: &Window, to: Point) -> Result<(), ConfirmError> {
        if window.knows(to) {
            return Ok(());
        }
        match self.pool.stands_on(to).await {
            Ok(false) => Err(ConfirmError::TooFarBack { to }),
            Ok(true) | Err(_) => Ok(()),
        }
    }

    async fn apply(
        &self,
        window: &Window,
        fence: &Fence,
        event: &ChainEvent,
    ) -> Result<Verdict, ConfirmError> {
        self.adopt(fence).await?;
        if let ChainEvent::Back { to } = event
            && let Some(tip) = self.pool.tip().await?
            && tip.point != *to
            && !window.has_gone_back(*to, tip.point)
        {
            return self.catch_up(window, fence).await;
        }
        match self.pool.confirm(fence, event).await {
            Ok(confirmed) => Ok(Verdict::Done(confirmed)),
            // Something before it is missing.
            Err(error @ (ConfirmError::NotNext { .. } | ConfirmError::TooFarBack { .. })) => {
                match self.catch_up(window, fence).await? {
                    Verdict::CaughtUp(0) if !window.knows(event.point()) => Err(error),
                    done => Ok(done),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Before the first step of a term: a block may hold what only the original knows.
    async fn adopt(&self, fence: &Fence) -> Result<(), ConfirmError> {
        let term = fence.term().number();
        if self.adopted.load(Ordering::Relaxed) == term {
            return Ok(());
        }
        let adopted = self.pool.adopt(fence).await?;
        if adopted.txs > 0 {
            tracing::info!(
                node_id = self.pool.node_id(),
                txs = adopted.txs,
                "adopted what the original wrote"
            );
        }
        if adopted.weeds > 0 {
            tracing::warn!(
                node_id = self.pool.node_id(),
                entries = adopted.weeds,
                "took out of the queue what was listed twice, not pending, or no hash"
            );
        }
        if adopted.waiting == 0 {
            self.adopted.store(term, Ordering::Relaxed);
        }
        Ok(())
    }

    /// What the watcher does when nothing happens: how many things.
    async fn tidy(&self, window: &Window, fence: &Fence) -> Result<usize, ConfirmError> {
        self.adopt(fence).await?;
        // What waits grows old also while blocks are missing.
        let (caught, expired) = (self.catch_up(window, fence).await, self.pool.expire(fence).await?);
        Ok(match caught? {
            Verdict::CaughtUp(events) => events + expired,
            _ => expired,
        })
    }

    /// Brings the pool to where the chain is, as this node has seen it.
    async fn catch_up(&self, window: &Window, fence: &Fence) -> Result<Verdict, ConfirmError> {
        let tip = self.pool.tip().await?;
        let height = tip.map_or(0, |tip| tip.height);
        let mut catch = window.catch_up(tip.map(|tip| tip.point).as_slice(), height);
        if catch == Catch::TooFar {
            catch = window.catch_up(&self.pool.applied(DEEPEST).await?, height);
        }
        let (back, forward) = match catch {
            Catch::Level => (None, Vec::new()),
            Catch::Up { back, forward } => (back, forward),
            Catch::Behind => return Ok(Verdict::Behind),
            Catch::TooFar => return Err(gap(window, tip)),
        };
        let mut events = 0;
        let back = back.map(|to| ChainEvent::Back { to });
        for event in back.into_iter().chain(forward.into_iter().map(ChainEvent::Forward)) {
            self.pool.confirm(fence, &event).await?;
            events += 1;
        }
        self.pool.settle(fence).await?;
        Ok(Verdict::CaughtUp(events))
    }
}

/// Nothing of the window stands on anything that the pool has applied.
fn gap(window: &Window, tip: Option<Tip>) -> ConfirmError {
    match (window.first(), tip) {
        (Some(block), Some(tip)) => {
            ConfirmError::NotNext { block: Box::new(block.clone()), tip: tip.point, height: tip.height }
        }
        _ => ConfirmError::TooFarBack { to: window.tip().unwrap_or(Point::ORIGIN) },
    }
}

/// Catches up when a term begins, and when an event could not be applied; gives up what is too old; sweeps.
async fn keep_up(inner: Arc<Inner>) {
    let (mut terms, mut swept, mut last) = (inner.watch.terms(), Instant::now(), String::new());
    loop {
        tokio::select! {
            biased;
            changed = terms.changed() => if changed.is_err() { return },
            () = sleep(UPKEEP) => {}
        }
        let window = inner.chain.lock().await;
        let Some(fence) = inner.watch.fence() else { continue };
        let kept = inner.tidy(&window, &fence).await;
        // It looks at every key, and nothing of the chain waits for it.
        drop(window);
        if kept.is_ok() && swept.elapsed() > SWEEP {
            swept = Instant::now();
            match inner.pool.sweep(&fence).await {
                Ok(0) | Err(ConfirmError::Fenced) => {}
                Ok(payloads) => tracing::info!(
                    node_id = inner.pool.node_id(),
                    payloads,
                    "swept payloads without a transaction"
                ),
                Err(error) => tracing::warn!(node_id = inner.pool.node_id(), %error, "cannot sweep"),
            }
        }
        let trouble = match kept {
            Ok(0) | Err(ConfirmError::Fenced) => String::new(),
            Ok(events) => {
                tracing::info!(node_id = inner.pool.node_id(), events, "caught up");
                String::new()
            }
            Err(error) => error.to_string(),
        };
        // The same trouble is told once.
        if !trouble.is_empty() && trouble != last {
            tracing::warn!(node_id = inner.pool.node_id(), error = trouble, "cannot catch up");
        }
        last = trouble;
    }
}
