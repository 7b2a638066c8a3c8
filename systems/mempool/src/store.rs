//! The store trait, under the names of the original. There, reads cannot fail, so a store that is down looks like an empty one;
//! here every method can.

use std::future::Future;

use keyplane_kit::events::{Events, Position};
use keyplane_store::Error;

use crate::model::{ChainEvent, Point, Status, Tx, TxHash};
use crate::run::{Node, Verdict};
use crate::state::{ConfirmError, Inflight, Marked, Page, Pending, ReadError, ReceiveError, Received};

/// A mempool that a node takes transactions into and applies the chain to.
pub trait MempoolStore: Send + Sync + 'static {
    /// Takes a transaction in, once across all nodes.
    fn receive(&self, tx: &Tx) -> impl Future<Output = Result<Received, ReceiveError>> + Send;

    /// Whether anything waits.
    fn has_pending(&self) -> impl Future<Output = Result<bool, Error>> + Send;

    /// The oldest pending transactions, in the order of the queue. They stay there.
    fn peek_pending(&self, limit: u64) -> impl Future<Output = Result<Vec<Pending>, ReadError>> + Send;

    /// Pending becomes propagated. Those that are not pending are left alone.
    fn mark_inflight(&self, txs: &[TxHash]) -> impl Future<Output = Result<Marked, Error>> + Send;

    /// Propagated becomes acknowledged. Those that are not propagated are left alone.
    fn mark_acknowledged(&self, txs: &[TxHash]) -> impl Future<Output = Result<Marked, Error>> + Send;

    /// A transaction that is propagated, acknowledged or confirmed.
    fn find_inflight(&self, tx: &TxHash) -> impl Future<Output = Result<Option<Inflight>, ReadError>> + Send;

    /// Transactions on their way, in no order.
    fn peek_inflight(&self, limit: usize) -> impl Future<Output = Result<Vec<Inflight>, ReadError>> + Send;

    /// Applies a chain event, if this node is the watcher; else keeps it.
    fn confirm(&self, event: &ChainEvent) -> impl Future<Output = Result<Verdict, ConfirmError>> + Send;

    /// The same in the original's words, if this node is the watcher: a block with `seen`, or the undoing of what holds `unseen`.
    /// They cannot tell undoing an empty block from applying one; nothing is kept for a takeover.
    fn confirm_seen(
        &self,
        point: Point,
        seen: &[TxHash],
        unseen: &[TxHash],
    ) -> impl Future<Output = Result<(), ConfirmError>> + Send;

    /// Where a transaction is; `None`: the pool does not know it.
    fn check_status(&self, tx: &TxHash) -> impl Future<Output = Result<Option<Status>, ReadError>> + Send;

    /// Finished transactions from a number on.
    fn dump_finalized(&self, cursor: u64, limit: u32)
    -> impl Future<Output = Result<Page, ReadError>> + Send;

    /// Every change of a stage, on every node, from now on. A reader that falls behind is told what it missed.
    fn subscribe(&self) -> impl Future<Output = Result<(Events, Position), Error>> + Send;
}

impl MempoolStore for Node {
    async fn receive(&self, tx: &Tx) -> Result<Received, ReceiveError> {
        self.pool().receive(tx).await
    }

    async fn has_pending(&self) -> Result<bool, Error> {
        self.pool().has_pending().await
    }

    async fn peek_pending(&self, limit: u64) -> Result<Vec<Pending>, ReadError> {
        self.pool().peek_pending(limit).await
    }

    async fn mark_inflight(&self, txs: &[TxHash]) -> Result<Marked, Error> {
        self.pool().mark_inflight(txs).await
    }

    async fn mark_acknowledged(&self, txs: &[TxHash]) -> Result<Marked, Error> {
        self.pool().mark_acknowledged(txs).await
    }

    async fn find_inflight(&self, tx: &TxHash) -> Result<Option<Inflight>, ReadError> {
        self.pool().find_inflight(tx).await
    }

    async fn peek_inflight(&self, limit: usize) -> Result<Vec<Inflight>, ReadError> {
        self.pool().peek_inflight(limit).await
    }

    async fn confirm(&self, event: &ChainEvent) -> Result<Verdict, ConfirmError> {
        Self::confirm(self, event).await
    }

    async fn confirm_seen(
        &self,
        point: Point,
        seen: &[TxHash],
        unseen: &[TxHash],
    ) -> Result<(), ConfirmError> {
        Self::confirm_seen(self, point, seen, unseen).await
    }

    async fn check_status(&self, tx: &TxHash) -> Result<Option<Status>, ReadError> {
        self.pool().check_status(tx).await
    }

    async fn dump_finalized(&self, cursor: u64, limit: u32) -> Result<Page, ReadError> {
        self.pool().dump_finalized(cursor, limit).await
    }

    async fn subscribe(&self) -> Result<(Events, Position), Error> {
        let events = self.pool().events();
        let position = events.end().await?;
        Ok((events, position))
    }
}
