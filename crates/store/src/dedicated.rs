//! A connection for one user: blocking pops and WAIT, which would hold up everyone else on a shared one.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use keyplane_key::Command;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout, timeout_at};

use crate::core;
use crate::error::{Cause, Error, Operation};
use crate::handle::{Handle, operation, read};
use crate::node::Node;
use crate::reply::{FromReply, Reply};
use crate::slot::Slot;
use crate::wire::{Batch, Request, Wire};
use crate::write::{self, Plan};

/// A connection of its own to the server that has one slot. Goes back to the pool when dropped.
#[derive(Debug)]
pub struct Dedicated {
    handle: Handle,
    slot: Slot,
    node: Arc<Node>,
    /// `None` while a command is under way, so that one whose caller went away is not lent again.
    wire: Option<Wire>,
    _permit: OwnedSemaphorePermit,
}

impl Dedicated {
    pub(crate) async fn open(handle: &Handle, slot: Slot) -> Result<Self, Error> {
        let operation = Operation { name: "dedicated", pattern: "", writes: false };
        let deadline = Instant::now() + handle.patience;
        let (node, _) = handle.core.connection(&operation, None, slot, deadline).await?;
        let permit = permit(handle, &node, &operation, deadline).await?;
        let wire = open_wire(&node, &operation, deadline).await?;
        handle.metrics().dedicated_opened();
        Ok(Self { handle: handle.clone(), slot, node, wire: Some(wire), _permit: permit })
    }

    /// Runs a command here. Its deadline is the time it may block and that of any operation on top; a command that blocks
    /// for ever has none, but ends when the connection does. Never repeated.
    pub async fn run<R: FromReply>(&mut self, command: Command<R>) -> Result<R, Error> {
        let operation = operation(&command);
        let refuse = |cause| Error::refused(operation.clone(), cause);
        let slot = Slot::of(command.key());
        if self.handle.core.is_cluster() && slot != self.slot {
            return Err(refuse(Cause::CrossSlot(self.slot.number(), slot.number())));
        }
        self.handle.check_slots(&command).map_err(refuse)?;
        let requests = match write::plan(&self.handle.rules, &command).map_err(refuse)? {
            Plan::Plain(request) => vec![request],
            // A command that waits cannot be inside a script: the TTL follows it.
            Plan::Guarded(guard) if command.blocks().is_some() => guard.command_then_expiry(&command),
            Plan::Guarded(guard) => vec![guard.by_sha(&command).with_source(write::SOURCE)],
        };
        let patience = match command.blocks() {
            None => Some(self.handle.patience),
            Some(Duration::ZERO) => None,
            Some(block) => Some(block + self.handle.patience),
        };
        let reply = self.send(&operation, Batch::new(requests), patience).await?;
        read(&operation, reply)
    }

    /// `WAIT`: how many replicas have everything that this connection has written so far.
    pub async fn wait_for_replicas(&mut self, replicas: u32, longest: Duration) -> Result<u32, Error> {
        let operation = Operation { name: "WAIT", pattern: "", writes: false };
        let request =
            Request::new("WAIT").arg(replicas.to_string()).arg(longest.as_millis().max(1).to_string());
        let patience = longest + self.handle.patience;
        let reply = self.send(&operation, Batch::new([request]), Some(patience)).await?;
        read(&operation, reply)
    }

    async fn send(
        &mut self,
        operation: &Operation,
        batch: Batch,
        patience: Option<Duration>,
    ) -> Result<Reply, Error> {
        let wire = match self.wire.take() {
            Some(wire) => wire,
            // The one before was lost.
            None => open_wire(&self.node, operation, Instant::now() + self.handle.patience).await?,
        };
        let counters = self.handle.metrics().operation(operation.name, operation.pattern);
        let start = Instant::now();
        let sent = wire.send_all(&batch);
        let replies = match patience {
            Some(patience) => timeout(patience, sent).await,
            None => Ok(sent.await),
        };
        let outcome = match replies {
            Ok(Ok(replies)) => {
                self.wire = Some(wire);
                match replies.into_iter().next().unwrap_or(Reply::Nil) {
                    Reply::Error(error) => Err(Error::answered(operation.clone(), error, false)),
                    reply => Ok(reply),
                }
            }
            Ok(Err(error)) => Err(core::lost(operation, &error)),
            Err(_) => Err(Error::open(operation.clone(), Cause::TimedOut(patience.unwrap_or_default()))),
        };
        match &outcome {
            Ok(_) => counters.answered(start.elapsed()),
            Err(_) => counters.failed(start.elapsed()),
        }
        outcome
    }
}

impl Drop for Dedicated {
    fn drop(&mut self) {
        self.handle.metrics().dedicated_closed();
        if let Some(wire) = self.wire.take() {
            self.node.idle.lock().unwrap_or_else(PoisonError::into_inner).push(wire);
        }
    }
}

/// A place in the pool, waited for until the deadline.
async fn permit(
    handle: &Handle,
    node: &Arc<Node>,
    operation: &Operation,
    deadline: Instant,
) -> Result<OwnedSemaphorePermit, Error> {
    if let Ok(permit) = Arc::clone(&node.permits).try_acquire_owned() {
        return Ok(permit);
    }
    handle.metrics().pool_waits();
    let start = Instant::now();
    match timeout_at(deadline, Arc::clone(&node.permits).acquire_owned()).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => {
            handle.metrics().pool_exhausted();
            let size = handle.core.context.options.pool_size;
            let cause = Cause::PoolExhausted { size, waited: start.elapsed() };
            Err(Error::refused(operation.clone(), cause))
        }
    }
}

/// One that lies idle and still answers, or a new one.
async fn open_wire(node: &Arc<Node>, operation: &Operation, deadline: Instant) -> Result<Wire, Error> {
    let idle = || node.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
    while let Some(wire) = idle() {
        // It may have been cut while nobody looked.
        if matches!(timeout_at(deadline, wire.send(&Request::new("PING"))).await, Ok(Ok(_))) {
            return Ok(wire);
        }
    }
    node.another(deadline).await.map_err(|down| Error::refused(operation.clone(), down.cause()))
}
