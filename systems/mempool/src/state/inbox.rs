//! Transactions that are received at the same time go to the store together: what a request costs is paid once for all of
//! them. Who comes alone does not wait for company.
//!
//! A caller that gives up takes nothing back: its transaction is on its way.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyplane_key::Arg;
use tokio::sync::oneshot;
use tokio::task::yield_now;

use super::Inner;
use super::error::ReceiveError;
use super::receive::Received;
use crate::model::{Tx, TxHash, entry_tail};

/// In one step, at most: the store is not held up for long.
const MOST: usize = 64;

/// The same in bytes.
const MOST_BYTES: usize = 256 * 1024;

/// Steps under way at the same time: while the store works on one, the next is sent.
const STEPS: usize = 2;

/// What became of one.
pub(super) type Answer = Result<Received, ReceiveError>;

/// A transaction in the words of the script.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) hash: TxHash,
    text: String,
    payload: Vec<u8>,
    pub(super) size: usize,
    /// What its entry ends with.
    tail: String,
    inputs: Vec<String>,
}

impl Parcel {
    fn new(tx: &Tx) -> Self {
        let inputs: Vec<String> = tx.inputs.iter().map(ToString::to_string).collect();
        let size = tx.size();
        let tail = entry_tail(size as u64, &inputs);
        Self { hash: tx.hash, text: tx.hash.to_string(), payload: tx.payload.to_cbor(), size, tail, inputs }
    }

    pub(super) fn words(&self) -> Vec<Arg<'_>> {
        let mut words = vec![
            Arg::from(&self.text),
            self.hash.bytes().into(),
            self.payload.as_slice().into(),
            Arg::from(&self.tail),
        ];
        words.extend(self.inputs.iter().map(Arg::from));
        words
    }
}

/// Those that wait for the next step.
#[derive(Debug, Default)]
pub(super) struct Inbox(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    parcels: VecDeque<(Parcel, oneshot::Sender<Answer>)>,
    steps: usize,
}

impl Inbox {
    pub(super) async fn send(inner: &Arc<Inner>, tx: &Tx) -> Answer {
        let (tell, told) = oneshot::channel();
        let parcel = (Parcel::new(tx), tell);
        let is_idle = {
            let mut waiting = inner.inbox.waiting();
            waiting.parcels.push_back(parcel);
            let is_idle = waiting.steps < STEPS;
            waiting.steps += usize::from(is_idle);
            is_idle
        };
        if is_idle {
            tokio::spawn(Worker { inner: Arc::clone(inner), is_done: false }.run());
        }
        // Who works on it answers, unless the runtime ends.
        told.await.unwrap_or(Err(ReceiveError::Unanswered))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing in there is left half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// What goes next, in the order of arrival.
    fn next(&mut self) -> (Vec<Parcel>, Vec<oneshot::Sender<Answer>>) {
        let mut bytes = 0;
        let fits = |(parcel, _): &&(Parcel, oneshot::Sender<Answer>)| {
            bytes += parcel.payload.len();
            bytes <= MOST_BYTES
        };
        let count = self.parcels.iter().take(MOST).take_while(fits).count();
        let count = count.max(1).min(self.parcels.len());
        self.parcels.drain(..count).unzip()
    }
}

/// Works until nothing waits.
struct Worker {
    inner: Arc<Inner>,
    is_done: bool,
}

impl Worker {
    async fn run(mut self) {
        loop {
            // Whoever was just answered, and sends the next one, comes along.
            yield_now().await;
            let (parcels, callers) = {
                let mut waiting = self.inner.inbox.waiting();
                let next = waiting.next();
                if next.0.is_empty() {
                    // At the same moment: who comes now begins a step of its own.
                    waiting.steps -= 1;
                    self.is_done = true;
                    return;
                }
                next
            };
            let answers = match self.inner.take_in(&parcels).await {
                Ok(answers) => answers,
                Err(error) => parcels.iter().map(|_| Err(error.clone().into())).collect(),
            };
            for (caller, answer) in callers.into_iter().zip(answers) {
                // A caller that has given up needs no answer.
                drop(caller.send(answer));
            }
        }
    }
}

impl Drop for Worker {
    /// The runtime ends in the middle of a step: nobody is left waiting.
    fn drop(&mut self) {
        if !self.is_done {
            let mut waiting = self.inner.inbox.waiting();
            waiting.steps -= 1;
            if waiting.steps == 0 {
                waiting.parcels.clear();
            }
        }
    }
}
