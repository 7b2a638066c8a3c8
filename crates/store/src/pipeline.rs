//! Several commands and scripts in one round trip per server.
//!
//! Not a transaction: each entry succeeds or fails by itself, and on Cluster the parts for different servers run side by
//! side. Entries for one key keep their order: one that its server put off is not run after a later one of its slot has run,
//! but answered as not applied. Nothing that may have been applied is sent twice.

use std::sync::Arc;
use std::time::Duration;

use keyplane_key::{Call, Command};
use rustc_hash::FxHashMap;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::core::{self, Core, Job, deadline};
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
    group: Group,
    /// What the contract refuses, by place.
    refused: Vec<(usize, Error)>,
    count: usize,
}

/// What goes to one server; the requests apart from what is known about them, because they are handed over as they are.
#[derive(Default)]
struct Group {
    requests: Vec<Request>,
    entries: Vec<Entry>,
}

/// What is known about an entry.
struct Entry {
    /// Its place in the pipeline.
    place: usize,
    operation: Operation,
    slot: Slot,
    repeatable: bool,
    /// SHA and source.
    script: Option<(&'static str, &'static str)>,
    is_call: bool,
    guard: Option<Box<Guard>>,
}

impl<'h> Pipeline<'h> {
    pub(crate) fn new(handle: &'h Handle) -> Self {
        Self { handle, group: Group::default(), refused: Vec::new(), count: 0 }
    }

    /// Adds a command. What the contract refuses is an error of this entry; the others are sent.
    #[allow(clippy::needless_pass_by_value, reason = "as Handle::run: a command is spent when it is sent")]
    pub fn run<R>(mut self, command: Command<R>) -> Self {
        let prepared = self.prepare(&command);
        self.add(prepared);
        self
    }

    /// Adds a script.
    pub fn call<R>(mut self, call: impl Into<Call<R>>) -> Self {
        let prepared = self.prepare_call(&call.into());
        self.add(prepared);
        self
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn add(&mut self, prepared: Result<(Request, Entry), Error>) {
        match prepared {
            Ok((request, entry)) => {
                self.group.requests.push(request);
                self.group.entries.push(entry);
            }
            Err(error) => self.refused.push((self.count, error)),
        }
        self.count += 1;
    }

    fn prepare<R>(&self, command: &Command<R>) -> Result<(Request, Entry), Error> {
        let operation = operation(command);
        let refuse = |cause| Error::refused(operation.clone(), cause);
        if command.blocks().is_some() {
            return Err(refuse(Cause::Blocking));
        }
        self.handle.check_slots(command).map_err(refuse)?;
        let plan = write::plan(&self.handle.rules, command).map_err(refuse)?;
        let (request, script, guard) = match plan {
            Plan::Plain(request) => (request, None, None),
            Plan::Guarded(guard) => {
                (guard.by_sha(command), Some((write::sha(), write::SOURCE)), Some(Box::new(guard)))
            }
        };
        let (slot, repeatable) = (self.handle.core.slot(command.key()), command.is_repeatable());
        Ok((request, Entry { place: self.count, operation, slot, repeatable, script, is_call: false, guard }))
    }

    fn prepare_call<R>(&self, call: &Call<R>) -> Result<(Request, Entry), Error> {
        let operation = call_operation(call);
        let refuse = |cause| Error::refused(operation.clone(), cause);
        self.handle.rules.check_call(call).map_err(refuse)?;
        let slot = script::slot(call, &self.handle.core).map_err(refuse)?;
        let found = call.script();
        let repeatable = found.repeatable || found.read_only;
        let script = Some((found.sha, found.source));
        let request = script::by_sha(&self.handle.rules, call);
        Ok((
            request,
            Entry { place: self.count, operation, slot, repeatable, script, is_call: true, guard: None },
        ))
    }

    /// Sends all entries; one answer or error for each, in order. The whole has the deadline of one operation.
    pub async fn send(self) -> Vec<Result<Reply, Error>> {
        let (core, patience) = (&self.handle.core, self.handle.patience);
        let mut results: Results = deliver(core, self.group, deadline(patience), patience).await;
        results.extend(self.refused.into_iter().map(|(place, error)| (place, Err(error))));
        // In order already, unless something was refused or several servers answered.
        if !results.is_sorted_by_key(|(place, _)| *place) {
            results.sort_unstable_by_key(|(place, _)| *place);
        }
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Sends all entries and fails with the first error, for callers that treat them as one.
    pub async fn send_all(self) -> Result<Vec<Reply>, Error> {
        self.send().await.into_iter().collect()
    }
}

/// Answers by place.
type Results = Vec<(usize, Result<Reply, Error>)>;

async fn deliver(core: &Arc<Core>, all: Group, deadline: Instant, patience: Duration) -> Results {
    if !core.is_cluster() {
        return connect_and_deliver(core, all, deadline, patience).await;
    }
    let mut parts = JoinSet::new();
    for group in by_server(core, all) {
        let core = Arc::clone(core);
        // What is known about the entries stays here too: were a part to panic, its entries would still be answered.
        let told: Vec<_> = group.entries.iter().map(|entry| (entry.place, entry.operation.clone())).collect();
        let part = tokio::spawn(async move { connect_and_deliver(&core, group, deadline, patience).await });
        parts.spawn(async move {
            let open = |(place, operation)| (place, Err(Error::open(operation, Cause::TimedOut(patience))));
            part.await.unwrap_or_else(|_| told.into_iter().map(open).collect())
        });
    }
    let mut results = Results::new();
    while let Some(part) = parts.join_next().await {
        results.extend(part.into_iter().flatten());
    }
    results
}

/// By the server that has the slot now. A slot is looked up once, so that its entries stay together; one whose server is not
/// connected is a group of its own, so that others do not wait for it.
fn by_server(core: &Core, all: Group) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut servers: Vec<(*const Node, usize)> = Vec::new();
    let mut slots: FxHashMap<Slot, usize> = FxHashMap::default();
    for (request, entry) in all.requests.into_iter().zip(all.entries) {
        let place = *slots.entry(entry.slot).or_insert_with(|| {
            let server = core.connected_node(entry.slot).map(|node| Arc::as_ptr(&node));
            let known = server.and_then(|server| servers.iter().find(|(known, _)| *known == server).copied());
            known.map_or_else(
                || {
                    groups.push(Group::default());
                    servers.extend(server.map(|server| (server, groups.len() - 1)));
                    groups.len() - 1
                },
                |(_, place)| place,
            )
        });
        groups[place].requests.push(request);
        groups[place].entries.push(entry);
    }
    groups
}

async fn connect_and_deliver(core: &Core, group: Group, deadline: Instant, patience: Duration) -> Results {
    let Some(first) = group.entries.first() else { return Results::new() };
    match core.connection(&first.operation, None, first.slot, deadline).await {
        Ok((node, up)) => deliver_group(core, &node, &up, group, deadline, patience).await,
        Err(error) => failed(core, group.entries, |operation| error.clone().about(operation.clone())),
    }
}

/// Sends a group, scripts that its server does not have first.
async fn deliver_group(
    core: &Core,
    node: &Arc<Node>,
    up: &Arc<Up>,
    group: Group,
    deadline: Instant,
    patience: Duration,
) -> Results {
    let Group { requests, entries } = group;
    let scripts: Vec<_> = entries.iter().filter_map(|entry| entry.script).collect();
    let missing = up.not_loaded(&scripts);
    let loads = missing.iter().map(|(_, source)| Request::new("SCRIPT").arg("LOAD").arg(source));
    let ahead = missing.len();
    let batch = Batch::new(loads.chain(requests));
    let mut replies = match timeout_at(deadline, up.wire.send_all(&batch)).await {
        Ok(Ok(replies)) => replies,
        Ok(Err(error)) => {
            node.lost(up, &error.to_string());
            return failed(core, entries, |operation| core::lost(operation, &error));
        }
        Err(_) => {
            node.suspect(up);
            let cause = Cause::TimedOut(patience);
            return failed(core, entries, |operation| Error::open(operation.clone(), cause.clone()));
        }
    };
    for ((sha, _), reply) in missing.iter().zip(replies.drain(..ahead.min(replies.len()))) {
        if !matches!(reply, Reply::Error(_)) {
            up.has_loaded(sha);
        }
    }
    let ran = last_run(&entries, &replies);
    let mut results = Results::with_capacity(entries.len());
    let mut tally = Tally::new(core);
    for (number, (entry, reply)) in entries.into_iter().zip(replies).enumerate() {
        let (result, counted) = match reply {
            Reply::Error(error) => {
                let overtaken = ran.get(&entry.slot).is_some_and(|last| *last > number);
                let again = || (!overtaken).then(|| batch.request(ahead + number)).flatten();
                settle(core, (node, up), &entry, error, again, deadline).await
            }
            reply => (Ok(reply), Counted::No),
        };
        if counted == Counted::No {
            tally.count(&entry.operation, result.is_err());
        }
        results.push((entry.place, result));
    }
    core.context.metrics.reached(true);
    results
}

/// The last entry of each slot that was run, where anything was put off; nothing in the usual case.
fn last_run(entries: &[Entry], replies: &[Reply]) -> FxHashMap<Slot, usize> {
    let put_off = |entry: &Entry, reply: &Reply| matches!(reply, Reply::Error(error) if is_put_off(error, entry.is_call));
    let mut last = FxHashMap::default();
    if entries.iter().zip(replies).any(|(entry, reply)| put_off(entry, reply)) {
        for (number, (entry, reply)) in entries.iter().zip(replies).enumerate() {
            if !put_off(entry, reply) {
                last.insert(entry.slot, number);
            }
        }
    }
    last
}

/// Not run, and may be run by itself.
fn is_put_off(error: &ServerError, is_call: bool) -> bool {
    error.is_passing(is_call) || matches!(error.code.as_str(), "NOSCRIPT" | "READONLY")
}

fn failed(core: &Core, entries: Vec<Entry>, error: impl Fn(&Operation) -> Error) -> Results {
    let mut tally = Tally::new(core);
    core.context.metrics.reached(false);
    let fail = |entry: Entry| {
        tally.count(&entry.operation, true);
        (entry.place, Err(error(&entry.operation)))
    };
    entries.into_iter().map(fail).collect()
}

/// Counts entries of one kind in one go: most pipelines hold many of few kinds.
struct Tally<'c> {
    core: &'c Core,
    current: Option<(Operation, u64, u64)>,
}

impl<'c> Tally<'c> {
    fn new(core: &'c Core) -> Self {
        Self { core, current: None }
    }

    fn count(&mut self, operation: &Operation, failed: bool) {
        let known = self.current.as_ref().is_some_and(|(known, ..)| {
            std::ptr::eq(known.name, operation.name) && std::ptr::eq(known.pattern, operation.pattern)
        });
        if !known {
            self.write();
            self.current = Some((operation.clone(), 0, 0));
        }
        if let Some((_, entries, failures)) = &mut self.current {
            *entries += 1;
            *failures += u64::from(failed);
        }
    }

    fn write(&mut self) {
        if let Some((operation, entries, failed)) = self.current.take() {
            let metrics = &self.core.context.metrics;
            metrics.count(operation.name, operation.pattern, operation.writes, |counters| {
                counters.pipelined(entries, failed);
            });
        }
    }
}

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        self.write();
    }
}

/// An error of one entry. What the server did not run because it is elsewhere or not ready is run by itself, and counted
/// there: then nothing is left to count.
async fn settle(
    core: &Core,
    (node, up): (&Arc<Node>, &Arc<Up>),
    entry: &Entry,
    error: ServerError,
    again: impl FnOnce() -> Option<Request>,
    deadline: Instant,
) -> (Result<Reply, Error>, Counted) {
    match error.code.as_str() {
        "NOSCRIPT" => up.forget_scripts(),
        // Leaves a master that was demoted, also when nothing but pipelines is sent.
        "READONLY" if !core.demoted(node, up).await => {
            return (Err(Error::answered(entry.operation.clone(), error, entry.is_call)), Counted::No);
        }
        _ => {}
    }
    let Some(request) = is_put_off(&error, entry.is_call).then(again).flatten() else {
        let error = Error::answered(entry.operation.clone(), error, entry.is_call);
        return (Err(entry.explain(error)), Counted::No);
    };
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
    (core.evaluate(&job, source, rest).await.map_err(|error| entry.explain(error)), Counted::Yes)
}

/// Whether an entry was counted where it was run.
#[derive(PartialEq)]
enum Counted {
    Yes,
    No,
}

impl Entry {
    fn explain(&self, error: Error) -> Error {
        match &self.guard {
            Some(guard) => guard.explain(error),
            None => error,
        }
    }
}

impl std::fmt::Debug for Pipeline<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pipeline of {}", self.count)
    }
}

/// Reads one answer of a pipeline.
pub fn read_reply<R: crate::FromReply>(reply: Reply) -> Result<R, UnexpectedReply> {
    R::from_reply(reply)
}
