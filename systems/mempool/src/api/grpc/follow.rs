//! What both streams have in common: the log of events, a client that may be gone, a server that may stop.

use std::future::{Future, pending};

use keyplane_http::Stopping;
use keyplane_kit::events::{Batch, Event, Tail};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tonic::Status;

use super::super::tail::{AHEAD, PAUSE, Told, WAIT};
use super::Messages;
use super::errors::unread;
use crate::model::{Stage, TxHash};
use crate::state::{self, ReadError};

/// Where the messages of a stream go.
pub(super) struct Teller<T>(mpsc::Sender<Result<T, Status>>);

impl<T> Teller<T> {
    /// Waits for a slow client; what comes meanwhile waits in the store. Nobody is told when the client is gone: the
    /// stream ends then.
    pub(super) async fn tell(&self, message: T) {
        drop(self.0.send(Ok(message)).await);
    }
}

/// Runs until the work is done, the client is gone or the server stops.
pub(super) fn stream<T, W>(stopping: Option<Stopping>, work: impl FnOnce(Teller<T>) -> W) -> Messages<T>
where
    T: Send + 'static,
    W: Future<Output = Result<(), Status>> + Send + 'static,
{
    let (tell, told) = mpsc::channel(AHEAD);
    let work = work(Teller(tell.clone()));
    tokio::spawn(async move {
        let ended = tokio::select! {
            biased;
            () = tell.closed() => return,
            () = stopped(stopping) => Err(Status::unavailable("this node stops: ask another one")),
            ended = work => ended,
        };
        if let Err(status) = ended {
            drop(tell.send(Err(status)).await);
        }
    });
    Box::pin(Told(told))
}

async fn stopped(stopping: Option<Stopping>) {
    match stopping {
        Some(mut stopping) => stopping.wait().await,
        None => pending().await,
    }
}

/// The next events; none when it was quiet for a while. A store that is away is waited for: the reader keeps its place.
pub(super) async fn next(tail: &mut Tail<'_>) -> Batch {
    loop {
        match tail.next(AHEAD as u64, WAIT).await {
            Ok(batch) => return batch,
            Err(error) => tracing::debug!(%error, "the log of events cannot be read now"),
        }
        sleep(PAUSE).await;
    }
}

/// Asks until the store answers.
pub(super) async fn answered<T, A>(mut ask: impl FnMut() -> A) -> Result<T, Status>
where
    A: Future<Output = Result<T, ReadError>>,
{
    loop {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(ReadError::Store(error)) => tracing::debug!(%error, "the store cannot be asked now"),
            Err(error) => return Err(unread(&error)),
        }
        sleep(PAUSE).await;
    }
}

/// What a stream needs of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) tx: TxHash,
    pub(super) stage: Stage,
    pub(super) version: u64,
    /// The pool did not know it before.
    pub(super) is_new: bool,
}

impl Change {
    /// `None` for an entry that is none, which only a stranger can have written.
    pub(super) fn read(event: &Event) -> Option<Self> {
        let change = state::Change::read(event)?;
        Some(Self {
            tx: change.hash,
            stage: change.stage,
            version: change.version,
            is_new: change.from.is_none(),
        })
    }
}
