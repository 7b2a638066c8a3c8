//! Several commands and scripts in one round trip per server.
//!
//! Not a transaction: each entry succeeds or fails by itself, and on Cluster the parts for different servers run side by
//! side. Entries for one key keep their order. Nothing that may have been applied is sent twice.

use std::sync::Arc;
use std::time::Duration;

use keyplane_key::{Call, Command};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::core::{self, Core, Job};
use crate::error::{Cause, Error, Operation};
use crate::handle::{Handle, call_operation, operation};
use crate::node::{Node, Up};
use crate::reply::{Reply, ServerError};
use crate::slot::Slot;
use crate::wire::{Batch, Request};
use crate::write::{self, Guard, Plan};
use crate::{UnexpectedReply, script};

/// Collects entries; `send` runs them.
#[must_use = "a pipeline does nothing until it is sent"]
pub struct Pipeline<'h> {
    handle: &'h Handle,
    entries: Vec<Result<Entry, Error>>,
}

/// One entry, ready to be sent.
struct Entry {
    request: Request,
    sent: Sent,
}

/// What is known about an entry once it is sent.
struct Sent {
    operation: Operation,
    slot: Slot,
    repeatable: bool,
    /// SHA and source.
    script: Option<(&'static str, &'static str)>,
    is_call: bool,
    guard: Option<Guard>,
}

impl<'h> Pipeline<'h> {
    pub(crate) fn new(handle: &'h Handle) -> Self {
        Self { handle, entries: Vec::new() }
    }

    /// Adds a command. What the contract refuses is an error of this entry; the others are sent.
    #[allow(clippy::needless_pass_by_value, reason = "as Handle::run: a command is spent when it is sent")]
    pub fn run<R>(mut self, command: Command<R>) -> Self {
        let prepared = self.prepare(&command);
        self.entries.push(prepared);
        self
    }

    /// Adds a script.
    pub fn call<R>(mut self, call: impl Into<Call<R>>) -> Self {
        let prepared = self.prepare_call(&call.into());
        self.entries.push(prepared);
        self
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn prepare<R>(&self, command: &Command<R>) -> Result<Entry, Error> {
        let operation = operation(command);
        let refuse = |cause| Error::refused(operation.clone(), cause);
        if command.blocks().is_some() {
            return Err(refuse(Cause::Blocking));
        }
        self.handle.check_slots(command).map_err(refuse)?;
        let plan = write::plan(&self.handle.rules, command).map_err(refuse)?;
        let (slot, repeatable) = (Slot::of(command.key()), command.effect().repeatable());
        let (request, script, guard) = match plan {
            Plan::Plain(request) => (request, None, None),
            Plan::Guarded(guard) => (guard.by_sha(command), Some((write::sha(), write::SOURCE)), Some(guard)),
        };
        Ok(Entry { request, sent: Sent { operation, slot, repeatable, script, is_call: false, guard } })
    }

    fn prepare_call<R>(&self, call: &Call<R>) -> Result<Entry, Error> {
        let operation = call_operation(call);
        let refuse = |cause| Error::refused(operation.clone(), cause);
        self.handle.rules.check_call(call).map_err(refuse)?;
        let slot = script::slot(call, self.handle.core.is_cluster()).map_err(refuse)?;
        let found = call.script();
        let repeatable = found.repeatable || found.read_only;
        Ok(Entry {
            request: script::by_sha(&self.handle.rules, call),
            sent: Sent {
                operation,
                slot,
                repeatable,
                script: Some((found.sha, found.source)),
                is_call: true,
                guard: None,
            },
        })
    }

    /// Sends all entries; one answer or error for each, in order. The whole has the deadline of one operation.
    pub async fn send(self) -> Vec<Result<Reply, Error>> {
        let core = &self.handle.core;
        let deadline = Instant::now() + self.handle.patience;
        let mut results: Vec<Option<Result<Reply, Error>>> = Vec::with_capacity(self.entries.len());
        let mut entries = Vec::with_capacity(self.entries.len());
        for (index, entry) in self.entries.into_iter().enumerate() {
            match entry {
                Ok(entry) => {
                    results.push(None);
                    entries.push((index, entry));
                }
                Err(error) => results.push(Some(Err(error))),
            }
        }
        for (index, result) in deliver(core, entries, deadline, self.handle).await {
            results[index] = Some(result);
        }
        let missing = || Reply::Error(ServerError::new("ERR", "no answer"));
        results.into_iter().map(|result| result.unwrap_or_else(|| Ok(missing()))).collect()
    }

    /// Sends all entries and fails with the first error, for callers that treat them as one.
    pub async fn send_all(self) -> Result<Vec<Reply>, Error> {
        self.send().await.into_iter().collect()
    }
}

type Indexed = Vec<(usize, Entry)>;
type Results = Vec<(usize, Result<Reply, Error>)>;

/// What goes to one server.
struct Group {
    node: Arc<Node>,
    up: Arc<Up>,
    entries: Indexed,
}

async fn deliver(core: &Arc<Core>, entries: Indexed, deadline: Instant, handle: &Handle) -> Results {
    let (groups, mut results) = group(core, entries, deadline).await;
    if let [_] = groups.as_slice() {
        // The usual case needs no task of its own.
        for group in groups {
            results.extend(deliver_group(Arc::clone(core), group, deadline, handle.patience).await);
        }
        return results;
    }
    let mut parts = JoinSet::new();
    for group in groups {
        parts.spawn(deliver_group(Arc::clone(core), group, deadline, handle.patience));
    }
    while let Some(part) = parts.join_next().await {
        results.extend(part.into_iter().flatten());
    }
    results
}

/// By server; entries whose server cannot be reached are answered already.
async fn group(core: &Core, entries: Indexed, deadline: Instant) -> (Vec<Group>, Results) {
    let mut groups: Vec<Group> = Vec::new();
    let mut results = Results::new();
    let mut entries = entries.into_iter();
    while let Some((index, entry)) = entries.next() {
        match core.connection(&entry.sent.operation, None, entry.sent.slot, deadline).await {
            Err(error) => results.push((index, Err(error))),
            Ok((node, up)) => match groups.iter_mut().find(|group| Arc::ptr_eq(&group.up, &up)) {
                Some(group) => group.entries.push((index, entry)),
                None => groups.push(Group { node, up, entries: vec![(index, entry)] }),
            },
        }
        if let (false, Some(only)) = (core.is_cluster(), groups.first_mut()) {
            only.entries.extend(&mut entries);
        }
    }
    (groups, results)
}

/// Sends a group, scripts that its server does not have first.
async fn deliver_group(core: Arc<Core>, group: Group, deadline: Instant, patience: Duration) -> Results {
    let Group { node, up, entries } = group;
    let scripts: Vec<_> = entries.iter().filter_map(|(_, entry)| entry.sent.script).collect();
    let load = |source| Request::new("SCRIPT").arg("LOAD").arg(source);
    let mut requests: Vec<Request> = up.not_loaded(&scripts).into_iter().map(load).collect();
    let ahead = requests.len();
    let mut sent = Vec::with_capacity(entries.len());
    for (index, entry) in entries {
        requests.push(entry.request);
        sent.push((index, entry.sent));
    }
    let batch = Batch::new(requests);
    let replies = match timeout_at(deadline, up.wire.send_all(&batch)).await {
        Ok(Ok(replies)) => replies,
        Ok(Err(error)) => {
            node.lost(&up, &error.to_string());
            return failed(&core, sent, |operation| core::lost(operation, &error));
        }
        Err(_) => {
            node.suspect(&up);
            let cause = Cause::TimedOut(patience);
            return failed(&core, sent, |operation| Error::open(operation.clone(), cause.clone()));
        }
    };
    let mut results = Results::with_capacity(sent.len());
    let mut tally = Tally::new(&core);
    for (number, ((index, entry), reply)) in sent.into_iter().zip(replies.into_iter().skip(ahead)).enumerate()
    {
        tally.count(&entry.operation, matches!(reply, Reply::Error(_)));
        let result = match reply {
            Reply::Error(error) => {
                let again = || batch.request(ahead + number);
                settle(&core, &up, &entry, error, again, deadline).await
            }
            reply => Ok(reply),
        };
        results.push((index, result));
    }
    results
}

fn failed(core: &Core, sent: Vec<(usize, Sent)>, error: impl Fn(&Operation) -> Error) -> Results {
    let mut tally = Tally::new(core);
    core.context.metrics.reached(false);
    let fail = |(index, entry): (usize, Sent)| {
        tally.count(&entry.operation, true);
        (index, Err(error(&entry.operation)))
    };
    sent.into_iter().map(fail).collect()
}

/// Counts entries of one kind in one go: most pipelines hold many of few kinds.
struct Tally<'c> {
    core: &'c Core,
    current: Option<(Arc<crate::metrics::Operation>, u64, u64)>,
}

impl<'c> Tally<'c> {
    fn new(core: &'c Core) -> Self {
        Self { core, current: None }
    }

    fn count(&mut self, operation: &Operation, failed: bool) {
        let known =
            self.current.as_ref().is_some_and(|(known, ..)| known.is(operation.name, operation.pattern));
        if !known {
            self.write();
            let counters = self.core.context.metrics.operation(operation.name, operation.pattern);
            self.current = Some((counters, 0, 0));
        }
        if let Some((_, entries, failures)) = &mut self.current {
            *entries += 1;
            *failures += u64::from(failed);
        }
    }

    fn write(&mut self) {
        if let Some((counters, entries, failed)) = self.current.take() {
            counters.pipelined(entries, failed);
        }
    }
}

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        self.write();
    }
}

/// An error of one entry. What the server did not run because it is elsewhere or not ready is run by itself.
async fn settle(
    core: &Core,
    up: &Up,
    entry: &Sent,
    error: ServerError,
    again: impl FnOnce() -> Option<Request>,
    deadline: Instant,
) -> Result<Reply, Error> {
    let passing = matches!(
        error.code.as_str(),
        "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN"
    );
    let error = match passing.then(again).flatten() {
        Some(request) => {
            let job = Job {
                operation: &entry.operation,
                request: &request,
                slot: entry.slot,
                repeatable: entry.repeatable,
                is_script: entry.is_call,
            };
            let rest = deadline.saturating_duration_since(Instant::now());
            // The server that has the key now may not have the script.
            let source = entry.script.map_or("", |(_, source)| source);
            match core.evaluate(&job, source, rest).await {
                Err(error) => error,
                reply => return reply,
            }
        }
        None => Error::answered(entry.operation.clone(), error, entry.is_call),
    };
    if matches!(error.cause(), Cause::ScriptForgotten) {
        up.forget_scripts();
    }
    Err(match &entry.guard {
        Some(guard) => guard.explain(error),
        None => error,
    })
}

impl std::fmt::Debug for Pipeline<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pipeline of {}", self.entries.len())
    }
}

/// Reads one answer of a pipeline.
pub fn read_reply<R: crate::FromReply>(reply: Reply) -> Result<R, UnexpectedReply> {
    R::from_reply(reply)
}
