//! The same for callers that do not know async: every call waits for its answer. It may be called from any thread, also from one
//! that runs async code, which it then holds up.

use std::future::Future;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use keyplane_kit::events::{Batch, Position};
use keyplane_store::Error;
use tokio::runtime::{Builder, Runtime};

use crate::model::{ChainEvent, Point, Status, Tx, TxHash};
use crate::open::Config;
use crate::run::Verdict;
use crate::state::{
    ConfirmError, Inflight, Marked, OpenError, Page, Pending, ReadError, ReceiveError, Received,
};

/// A node of a shared mempool and the runtime that it lives on.
#[derive(Debug)]
pub struct Mempool {
    node: Arc<crate::Mempool>,
    runtime: Background,
}

/// A runtime that is left to itself when it is dropped: one that is dropped on an async thread panics.
#[derive(Debug)]
struct Background(Option<Runtime>);

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Why a node cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unopened {
    /// The pool.
    #[error(transparent)]
    Pool(#[from] OpenError),
    /// There is no thread for it.
    #[error("no thread for the node: {0}")]
    Runtime(#[from] std::io::Error),
}

impl Mempool {
    /// Connects, and stands for election from now on.
    pub fn open(config: &Config) -> Result<Self, Unopened> {
        let runtime = Background(Some(Builder::new_multi_thread().worker_threads(1).enable_all().build()?));
        let config = config.clone();
        let node = wait(&runtime, async move { crate::Mempool::open(&config).await })?;
        Ok(Self { node: Arc::new(node), runtime })
    }

    /// Takes a transaction in, once across all nodes.
    pub fn receive(&self, tx: &Tx) -> Result<Received, ReceiveError> {
        let tx = tx.clone();
        let node = self.node();
        self.wait(async move { node.pool().receive(&tx).await })
    }

    /// Whether anything waits.
    pub fn has_pending(&self) -> Result<bool, Error> {
        let node = self.node();
        self.wait(async move { node.pool().has_pending().await })
    }

    /// The oldest pending transactions, in the order of the queue. They stay there.
    pub fn peek_pending(&self, limit: u64) -> Result<Vec<Pending>, ReadError> {
        let node = self.node();
        self.wait(async move { node.pool().peek_pending(limit).await })
    }

    /// Pending becomes propagated. Those that are not pending are left alone.
    pub fn mark_inflight(&self, txs: &[TxHash]) -> Result<Marked, Error> {
        let txs = txs.to_vec();
        let node = self.node();
        self.wait(async move { node.pool().mark_inflight(&txs).await })
    }

    /// Propagated becomes acknowledged. Those that are not propagated are left alone.
    pub fn mark_acknowledged(&self, txs: &[TxHash]) -> Result<Marked, Error> {
        let txs = txs.to_vec();
        let node = self.node();
        self.wait(async move { node.pool().mark_acknowledged(&txs).await })
    }

    /// A transaction that is propagated, acknowledged or confirmed.
    pub fn find_inflight(&self, tx: &TxHash) -> Result<Option<Inflight>, ReadError> {
        let tx = *tx;
        let node = self.node();
        self.wait(async move { node.pool().find_inflight(&tx).await })
    }

    /// Transactions on their way, in no order.
    pub fn peek_inflight(&self, limit: usize) -> Result<Vec<Inflight>, ReadError> {
        let node = self.node();
        self.wait(async move { node.pool().peek_inflight(limit).await })
    }

    /// Applies a chain event, if this node is the watcher; else keeps it.
    pub fn confirm(&self, event: &ChainEvent) -> Result<Verdict, ConfirmError> {
        let event = event.clone();
        let node = self.node();
        self.wait(async move { node.confirm(&event).await })
    }

    /// The same in the original's words; see [`Node::confirm_seen`](crate::Node::confirm_seen).
    pub fn confirm_seen(&self, point: Point, seen: &[TxHash], unseen: &[TxHash]) -> Result<(), ConfirmError> {
        let (seen, unseen) = (seen.to_vec(), unseen.to_vec());
        let node = self.node();
        self.wait(async move { node.confirm_seen(point, &seen, &unseen).await })
    }

    /// Where a transaction is; `None`: the pool does not know it.
    pub fn check_status(&self, tx: &TxHash) -> Result<Option<Status>, ReadError> {
        let tx = *tx;
        let node = self.node();
        self.wait(async move { node.pool().check_status(&tx).await })
    }

    /// Finished transactions from a number on.
    pub fn dump_finalized(&self, cursor: u64, limit: u32) -> Result<Page, ReadError> {
        let node = self.node();
        self.wait(async move { node.pool().dump_finalized(cursor, limit).await })
    }

    /// The next changes of stages behind a position; waits up to that long for the first.
    pub fn events(&self, from: Position, most: u64, longest: Duration) -> Result<Batch, Error> {
        let node = self.node();
        self.wait(async move { node.pool().events().tail(from).next(most, longest).await })
    }

    /// Stops: the lock is given back, so that another node goes on at once. One that is dropped is as one that dies: its lock
    /// runs out by itself.
    pub fn stop(self) {
        let Self { node, runtime } = self;
        wait(&runtime, async move {
            // Nobody else has it: every call has ended.
            if let Some(node) = Arc::into_inner(node) {
                node.stop().await;
            }
        });
    }

    fn node(&self) -> Arc<crate::Mempool> {
        Arc::clone(&self.node)
    }

    fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        wait(&self.runtime, work)
    }
}

/// Runs it over there, and waits here.
#[allow(clippy::panic, reason = "a panic of the node is one of its caller")]
fn wait<T: Send + 'static>(runtime: &Background, work: impl Future<Output = T> + Send + 'static) -> T {
    let (tell, told) = mpsc::sync_channel(1);
    if let Some(runtime) = &runtime.0 {
        runtime.spawn(async move { drop(tell.send(work.await)) });
    }
    told.recv().unwrap_or_else(|_| panic!("the node has panicked"))
}
