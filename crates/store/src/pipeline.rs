//! Several commands and scripts in one round trip per server.
//!
//! Not a transaction: each entry succeeds or fails by itself, and on Cluster the parts for different servers run side by
//! side. Entries for one key keep their order. Nothing that may have been applied is sent twice.

use std::sync::Arc;

use keyplane_key::{Call, Command};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::core::{self, Core, Job};
use crate::error::{Cause, Error, Operation};
use crate::handle::{Handle, call_operation, operation};
use crate::node::{Node, Up};
use crate::reply::Reply;
use crate::slot::Slot;
use crate::wire::Request;
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
    operation: Operation,
    request: Request,
    slot: Slot,
    repeatable: bool,
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
        Ok(Entry { operation, request, slot, repeatable, script, is_call: false, guard })
    }

    fn prepare_call<R>(&self, call: &Call<R>) -> Result<Entry, Error> {
        let operation = call_operation(call);
        let refuse = |cause| Error::refused(operation.clone(), cause);
        self.handle.rules.check_call(call).map_err(refuse)?;
        let slot = script::slot(call, self.handle.core.is_cluster()).map_err(refuse)?;
        let found = call.script();
        Ok(Entry {
            request: script::by_sha(&self.handle.rules, call),
            operation,
            slot,
            repeatable: found.repeatable || found.read_only,
            script: Some((found.sha, found.source)),
            is_call: true,
            guard: None,
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
        let missing = || Reply::Error(crate::ServerError::new("ERR", "no answer"));
        results.into_iter().map(|result| result.unwrap_or_else(|| Ok(missing()))).collect()
    }

    /// Sends all entries and fails with the first error, for callers that treat them as one.
    pub async fn send_all(self) -> Result<Vec<Reply>, Error> {
        self.send().await.into_iter().collect()
    }
}

type Indexed = Vec<(usize, Entry)>;
type Results = Vec<(usize, Result<Reply, Error>)>;

async fn deliver(core: &Arc<Core>, entries: Indexed, deadline: Instant, handle: &Handle) -> Results {
    let mut groups: Vec<(Arc<Node>, Arc<Up>, Indexed)> = Vec::new();
    let mut results = Results::new();
    for (index, entry) in entries {
        match core.connection(&entry.operation, None, entry.slot, deadline).await {
            Err(error) => results.push((index, Err(error))),
            Ok((node, up)) => match groups.iter_mut().find(|(_, known, _)| Arc::ptr_eq(known, &up)) {
                Some((_, _, group)) => group.push((index, entry)),
                None => groups.push((node, up, vec![(index, entry)])),
            },
        }
    }
    if let [_] = groups.as_slice() {
        // The usual case needs no task of its own.
        for (node, up, group) in groups {
            results.extend(deliver_group(Arc::clone(core), node, up, group, deadline, handle.patience).await);
        }
        return results;
    }
    let mut parts = JoinSet::new();
    for (node, up, group) in groups {
        parts.spawn(deliver_group(Arc::clone(core), node, up, group, deadline, handle.patience));
    }
    while let Some(part) = parts.join_next().await {
        results.extend(part.into_iter().flatten());
    }
    results
}

/// Sends what goes to one server, scripts that it does not have first.
async fn deliver_group(
    core: Arc<Core>,
    node: Arc<Node>,
    up: Arc<Up>,
    group: Indexed,
    deadline: Instant,
    patience: std::time::Duration,
) -> Results {
    let scripts: Vec<_> = group.iter().filter_map(|(_, entry)| entry.script).collect();
    let mut requests: Vec<Request> = up
        .not_loaded(&scripts)
        .into_iter()
        .map(|source| Request::new("SCRIPT").arg("LOAD").arg(source))
        .collect();
    let ahead = requests.len();
    requests.extend(group.iter().map(|(_, entry)| entry.request.clone()));
    let replies = match timeout_at(deadline, up.wire.send_all(&requests)).await {
        Ok(Ok(replies)) => replies,
        Ok(Err(error)) => {
            node.lost(&up, &error.to_string());
            return failed(&core, group, |operation| core::lost(operation, &error));
        }
        Err(_) => {
            node.suspect(&up);
            let cause = Cause::TimedOut(patience);
            return failed(&core, group, |operation| Error::open(operation.clone(), cause.clone()));
        }
    };
    let mut results = Results::with_capacity(group.len());
    for ((index, entry), reply) in group.into_iter().zip(replies.into_iter().skip(ahead)) {
        results.push((index, settle(&core, &up, &entry, reply, deadline).await));
    }
    results
}

fn failed(core: &Core, group: Indexed, error: impl Fn(&Operation) -> Error) -> Results {
    let results = group.into_iter().map(|(index, entry)| (index, Err(error(&entry.operation))));
    let results: Results = results.collect();
    results.iter().for_each(|_| core.context.metrics.reached(false));
    results
}

/// An answer of one entry. What the server did not run because it is elsewhere or not ready is run by itself.
async fn settle(
    core: &Core,
    up: &Up,
    entry: &Entry,
    reply: Reply,
    deadline: Instant,
) -> Result<Reply, Error> {
    let counters = core.context.metrics.operation(entry.operation.name, entry.operation.pattern);
    let Reply::Error(error) = reply else {
        counters.pipelined(true);
        return Ok(reply);
    };
    counters.pipelined(false);
    let error = match error.code.as_str() {
        "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" => {
            let job = Job {
                operation: &entry.operation,
                request: &entry.request,
                slot: entry.slot,
                repeatable: entry.repeatable,
                is_script: entry.is_call,
            };
            match core.execute(&job, deadline.saturating_duration_since(Instant::now())).await {
                Ok(Reply::Error(error)) => Error::answered(entry.operation.clone(), error, entry.is_call),
                other => return other,
            }
        }
        _ => Error::answered(entry.operation.clone(), error, entry.is_call),
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
