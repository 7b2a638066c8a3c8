//! A client of the same process: no socket, no copies, no other task to wait for.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Due, Inner, Sink};
use crate::clients::ClientId;
use crate::engine::{Answer, Engine};
use crate::fault::Fault;
use crate::reply::Reply;

/// One client. Commands of several tasks may share it, as long as none of them waits for a key.
#[derive(Debug)]
pub struct Connection {
    inner: Arc<Inner>,
    client: ClientId,
}

/// The engine has closed the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection was closed")]
pub struct Closed;

/// What there is to do after the engine was let go.
enum Then {
    Tell(Reply),
    Wait(oneshot::Receiver<Due>),
    End,
}

impl Connection {
    pub(super) fn open(inner: &Arc<Inner>, address: &str) -> Self {
        let mut engine = inner.lock();
        let client = engine.connect(inner.clock.now(), address.to_owned());
        inner.sinks().insert(client, Sink::default());
        drop(engine);
        Self { inner: Arc::clone(inner), client }
    }

    /// One command. Its answer comes when what it changed is kept.
    pub async fn execute(&self, args: &[&[u8]]) -> Result<Reply, Closed> {
        let (then, position) = {
            let mut engine = self.inner.lock();
            self.run(&mut engine, args)
        };
        self.finish(then, position).await
    }

    /// Several commands, with no command of another client between them and one wait for all that they changed.
    pub async fn execute_all(&self, batch: &[Vec<&[u8]>]) -> Result<Vec<Reply>, Closed> {
        let mut all = Vec::with_capacity(batch.len());
        let mut last = 0;
        {
            let mut engine = self.inner.lock();
            for args in batch {
                let (then, position) = self.run(&mut engine, args);
                last = last.max(position);
                all.push(then);
            }
        }
        let mut replies = Vec::with_capacity(all.len());
        for then in all {
            replies.push(match then {
                Then::Tell(reply) => reply,
                then => self.finish(then, last).await?,
            });
        }
        // Whatever the others said: nothing counts before it is kept.
        match self.finish(Then::Tell(Reply::Nil), last).await? {
            Reply::Error(fault) => Ok(vec![Reply::Error(fault); replies.len()]),
            _ => Ok(replies),
        }
    }

    fn run(&self, engine: &mut Engine, args: &[&[u8]]) -> (Then, u64) {
        let outcome = engine.execute(self.inner.clock.now(), self.client, args);
        let then = match outcome.answer {
            Answer::Reply(reply) => Then::Tell(reply),
            Answer::Silent => Then::Tell(Reply::Nil),
            Answer::Last(_) => Then::End,
            Answer::Blocked => {
                // Before the engine is let go: the answer may come at once.
                let (sender, receiver) = oneshot::channel();
                if let Some(sink) = self.inner.sinks().get_mut(&self.client) {
                    sink.answer = Some(sender);
                }
                Then::Wait(receiver)
            }
        };
        let position = self.inner.settle(engine, outcome.deliveries);
        (then, position)
    }

    async fn finish(&self, then: Then, position: u64) -> Result<Reply, Closed> {
        let (reply, position) = match then {
            Then::Tell(reply) => (reply, position),
            Then::Wait(receiver) => {
                let waits = Waits(self);
                let due = receiver.await.map_err(|_| Closed)?;
                std::mem::forget(waits);
                (due.reply, due.position)
            }
            Then::End => return Err(Closed),
        };
        // Nothing else here has to wait: without this, a caller in a loop would keep its thread from all others.
        tokio::task::coop::consume_budget().await;
        match self.inner.kept(position).await {
            Ok(()) => Ok(reply),
            Err(why) => Ok(Reply::Error(Fault::new(format!("MISCONF the log cannot be written: {why}")))),
        }
    }
}

/// A caller that stops waiting must not be handed anything.
struct Waits<'c>(&'c Connection);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.inner.lock().stop_waiting(self.0.client);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut engine = self.inner.lock();
        engine.disconnect(self.client);
        self.inner.sinks().remove(&self.client);
    }
}
