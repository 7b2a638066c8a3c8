//! A connection for one user: blocking pops and WAIT, which would hold up everyone else on a shared one.

use std::sync::Arc;
use std::time::Duration;

use keyplane_key::{Call, Command};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use crate::core::{self, deadline};
use crate::error::{Cause, Error, Operation};
use crate::handle::{Handle, call_operation, operation, read};
use crate::node::{Lent, Node};
use crate::reply::{FromReply, Reply};
use crate::script;
use crate::slot::Slot;
use crate::wire::{Batch, Request};
use crate::write::{self, Plan};

/// What is under way while there is no command yet.
const OPENING: Operation = Operation { name: "dedicated", pattern: "", writes: false };

/// A connection of its own to the server that has one slot. Goes back to the pool when dropped. When it is lost, or the slot
/// moves, the command under way fails and the next one finds the right server.
#[derive(Debug)]
pub struct Dedicated {
    handle: Handle,
    slot: Slot,
    /// `None` while a command is under way, so that one whose caller went away is not lent again; and when it was lost.
    seat: Option<Seat>,
}

/// A connection and its place in the pool of its server.
#[derive(Debug)]
struct Seat {
    node: Arc<Node>,
    lent: Lent,
    _permit: OwnedSemaphorePermit,
}

impl Dedicated {
    pub(crate) async fn open(handle: &Handle, slot: Slot) -> Result<Self, Error> {
        let seat = take_seat(handle, slot, &OPENING, deadline(handle.patience)).await?;
        Ok(Self::on(handle, slot, seat))
    }

    pub(crate) async fn open_spare(handle: &Handle, slot: Slot) -> Result<Option<Self>, Error> {
        let deadline = deadline(handle.patience);
        let (node, _) = handle.core.connection(&OPENING, None, slot, deadline).await?;
        let Some(permit) = spare_permit(handle, &node) else { return Ok(None) };
        let lent = node.another(deadline).await;
        let lent = lent.map_err(|down| Error::refused(OPENING, down.cause()))?;
        Ok(Some(Self::on(handle, slot, Seat { node, lent, _permit: permit })))
    }

    fn on(handle: &Handle, slot: Slot, seat: Seat) -> Self {
        handle.metrics().dedicated_opened();
        Self { handle: handle.clone(), slot, seat: Some(seat) }
    }

    /// Runs a command here. Its deadline is the time it may block and that of any operation on top; a command that blocks
    /// for ever has none, but ends when the connection does. Never repeated.
    ///
    /// A command that blocks cannot be inside a script: the TTL of what it moves follows it in the same packet.
    pub async fn run<R: FromReply>(&mut self, command: Command<R>) -> Result<R, Error> {
        let operation = operation(&command);
        let refuse = |cause| Error::refused(operation.clone(), cause);
        let slot = self.handle.core.slot(command.key());
        if slot != self.slot {
            return Err(refuse(Cause::CrossSlot(self.slot.number(), slot.number())));
        }
        self.handle.check_slots(&command).map_err(refuse)?;
        let (batch, guard) = match write::plan(&self.handle.rules, &command).map_err(refuse)? {
            Plan::Plain(request) => (Batch::new([request]), None),
            Plan::Guarded(guard) if command.blocks().is_some() => {
                (Batch::new(guard.command_then_expiry(&command)), None)
            }
            Plan::Guarded(guard) => {
                let request = guard.by_sha(&command).with_source(write::SOURCE);
                (Batch::new([request]), Some(guard))
            }
        };
        let patience = match command.blocks() {
            None => Some(self.handle.patience),
            Some(Duration::ZERO) => None,
            Some(block) => Some(block.saturating_add(self.handle.patience)),
        };
        let reply = match (self.send(&operation, batch, patience, false).await, guard) {
            (Err(error), Some(guard)) => return Err(guard.explain(error)),
            (outcome, _) => outcome?,
        };
        read(&operation, reply)
    }

    /// Runs a script here, so that a `WAIT` after it waits for what it wrote. Never repeated.
    pub async fn call<R: FromReply>(&mut self, call: impl Into<Call<R>>) -> Result<R, Error> {
        let call = call.into();
        let operation = call_operation(&call);
        let refuse = |cause| Error::refused(operation.clone(), cause);
        let handle = &self.handle;
        handle.rules.check_call(&call).map_err(refuse)?;
        let slot = script::slot(&call, &handle.core).map_err(refuse)?;
        if slot != self.slot {
            return Err(refuse(Cause::CrossSlot(self.slot.number(), slot.number())));
        }
        let request = script::by_sha(&handle.rules, &call).with_source(call.script().source);
        let patience = Some(handle.patience);
        let reply = self.send(&operation, Batch::new([request]), patience, true).await?;
        read(&operation, reply)
    }

    /// `WAIT`: how many replicas have everything that this connection has written so far.
    pub async fn wait_for_replicas(&mut self, replicas: u32, longest: Duration) -> Result<u32, Error> {
        let operation = Operation { name: "WAIT", pattern: "", writes: false };
        let request =
            Request::new("WAIT").arg(replicas.to_string()).arg(longest.as_millis().max(1).to_string());
        let patience = longest.saturating_add(self.handle.patience);
        let reply = self.send(&operation, Batch::new([request]), Some(patience), false).await?;
        read(&operation, reply)
    }

    async fn send(
        &mut self,
        operation: &Operation,
        batch: Batch,
        patience: Option<Duration>,
        is_script: bool,
    ) -> Result<Reply, Error> {
        let seat = match self.seat.take() {
            Some(seat) => seat,
            // The one before was lost, or its server is no longer the right one.
            None => take_seat(&self.handle, self.slot, operation, deadline(self.handle.patience)).await?,
        };
        let start = Instant::now();
        let sent = seat.lent.wire.send_all(&batch);
        let replies = match patience {
            Some(patience) => timeout_at(deadline(patience), sent).await,
            None => Ok(sent.await),
        };
        let outcome = match replies {
            Ok(Ok(replies)) => self.answered(operation, seat, replies, is_script).await,
            Ok(Err(error)) => Err(core::lost(operation, &error)),
            Err(_) => Err(Error::open(operation.clone(), Cause::TimedOut(patience.unwrap_or_default()))),
        };
        let (metrics, took) = (self.handle.metrics(), start.elapsed());
        // Its time is that of whom it waits for.
        metrics.count(operation.name, operation.pattern, false, |counters| match &outcome {
            Ok(_) => counters.answered(took),
            Err(_) => counters.failed(took),
        });
        metrics.reached(!matches!(&outcome, Err(error) if error.is_unanswered()));
        outcome
    }

    /// The answer to the command, unless it, or the TTL that follows it, is an error.
    async fn answered(
        &mut self,
        operation: &Operation,
        seat: Seat,
        replies: Vec<Reply>,
        is_script: bool,
    ) -> Result<Reply, Error> {
        let mut replies = replies.into_iter();
        let first = replies.next().unwrap_or(Reply::Nil);
        let error = match &first {
            Reply::Error(error) => error.clone(),
            _ => match replies.next() {
                Some(Reply::Error(error)) => {
                    self.seat = Some(seat);
                    return Err(Error::open(operation.clone(), Cause::Script(error)));
                }
                _ => {
                    self.seat = Some(seat);
                    return Ok(first);
                }
            },
        };
        if matches!(error.code.as_str(), "MOVED" | "ASK" | "READONLY" | "CLUSTERDOWN") {
            self.handle.core.misdirected(&seat.node, &error).await;
        } else {
            self.seat = Some(seat);
        }
        Err(Error::answered(operation.clone(), error, is_script))
    }
}

impl Drop for Dedicated {
    fn drop(&mut self) {
        self.handle.metrics().dedicated_closed();
        if let Some(Seat { node, lent, _permit }) = self.seat.take() {
            node.give_back(lent);
        }
    }
}

/// A connection to the server that has the slot, and its place in the pool there.
async fn take_seat(
    handle: &Handle,
    slot: Slot,
    operation: &Operation,
    deadline: Instant,
) -> Result<Seat, Error> {
    let (node, _) = handle.core.connection(operation, None, slot, deadline).await?;
    let permit = permit(handle, &node, operation, deadline).await?;
    let lent = node.another(deadline).await;
    let lent = lent.map_err(|down| Error::refused(operation.clone(), down.cause()))?;
    Ok(Seat { node, lent, _permit: permit })
}

/// A place in the pool while more than half of them are free.
fn spare_permit(handle: &Handle, node: &Node) -> Option<OwnedSemaphorePermit> {
    let places = handle.core.context.options.pool_size.saturating_sub(1);
    let is_plenty = node.permits.available_permits() * 2 > places;
    is_plenty.then(|| Arc::clone(&node.permits).try_acquire_owned().ok()).flatten()
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
    let size = handle.core.context.options.pool_size;
    handle.metrics().pool_waits();
    let start = Instant::now();
    // A pool of one has its shared connection and never another.
    let waited = if size > 1 {
        timeout_at(deadline, Arc::clone(&node.permits).acquire_owned()).await.ok()
    } else {
        None
    };
    match waited {
        Some(Ok(permit)) => Ok(permit),
        _ => {
            handle.metrics().pool_exhausted();
            let cause = Cause::PoolExhausted { size, waited: start.elapsed() };
            Err(Error::refused(operation.clone(), cause))
        }
    }
}
