//! One operation, from routing to its answer.
//!
//! An operation ends in its answer or in an error within its deadline. What was not applied (no connection yet, a redirect,
//! a server that loads or fails over) is tried again until then. What may have been applied is repeated only when it is safe
//! to repeat; otherwise the caller is told.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use crate::backoff::Backoff;
use crate::cluster::Cluster;
use crate::error::{Cause, Error, Operation};
use crate::node::{Context, Finder, Node, Up};
use crate::reply::{Reply, ServerError};
use crate::sentinel::Sentinels;
use crate::slot::Slot;
use crate::wire::{Batch, Request, WireError};
use keyplane_url::{Address, Topology};

/// On Cluster another node may have the slot by now, so a missing connection is not waited for longer than this before the
/// map is asked for again.
const BEFORE_ASKING_AGAIN: Duration = Duration::from_millis(50);

/// The servers of a store.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) context: Arc<Context>,
    pub(crate) route: Route,
}

#[derive(Debug)]
pub(crate) enum Route {
    One(Arc<Node>),
    Cluster(Arc<Cluster>),
}

/// What is to be sent, and what is known about it.
pub(crate) struct Job<'a> {
    pub(crate) operation: &'a Operation,
    pub(crate) request: &'a Request,
    pub(crate) slot: Slot,
    /// Doing it twice leaves what doing it once leaves.
    pub(crate) repeatable: bool,
    pub(crate) is_script: bool,
}

/// What to do after an attempt.
enum Next {
    Done(Reply),
    Fail(Error),
    /// Nothing was applied: elsewhere.
    Redirect(Option<Arc<Node>>, ServerError),
    /// Nothing was applied: in a moment.
    Later(Error),
    /// It may have been applied, and is safe to repeat.
    Repeat(Error),
    /// No answer in time.
    TimedOut(Error),
}

/// When something has to have happened.
pub(crate) fn deadline(patience: Duration) -> Instant {
    /// Tokio's clock has an end; this is far enough.
    const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    Instant::now() + patience.min(FAR)
}

impl Core {
    /// `None` where this store has no way to reach it.
    pub(crate) fn new(context: Context, topology: Topology) -> Option<Self> {
        let context = Arc::new(context);
        let route = match topology {
            Topology::Single(address) => Route::One(Node::start(&context, Finder::Fixed(address))),
            Topology::Sentinel { sentinels, master } => {
                let sentinels = Sentinels::new(sentinels, master);
                Route::One(Node::start(&context, Finder::Sentinels(sentinels)))
            }
            Topology::Cluster(seeds) => Route::Cluster(Cluster::new(&context, seeds)),
            #[cfg(feature = "embedded")]
            Topology::Embedded(folder) => {
                Route::One(Node::start(&context, Finder::Fixed(Address::Embedded(folder))))
            }
            _ => return None,
        };
        Some(Self { context, route })
    }

    /// All servers that take writes.
    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        match &self.route {
            Route::One(node) => vec![Arc::clone(node)],
            Route::Cluster(cluster) => cluster.map().nodes().cloned().collect(),
        }
    }

    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self.route, Route::Cluster(_))
    }

    /// The node that has a slot, if it is connected.
    pub(crate) fn connected_node(&self, slot: Slot) -> Option<Arc<Node>> {
        let node = match &self.route {
            Route::One(node) => Arc::clone(node),
            Route::Cluster(cluster) => Arc::clone(cluster.map().node(slot)?),
        };
        node.up_now().is_some().then_some(node)
    }

    /// The slot of a key; where there is one server they are all the same, and finding it would be work for nothing.
    pub(crate) fn slot(&self, key: &[u8]) -> Slot {
        if self.is_cluster() { Slot::of(key) } else { Slot::default() }
    }

    /// Sends it until it is answered or the deadline has come. A script that the server does not know is an answer.
    pub(crate) async fn execute(&self, job: &Job<'_>, patience: Duration) -> Result<Reply, Error> {
        let start = Instant::now();
        let mut attempts = Attempts {
            deadline: deadline(patience),
            second_chance: job.repeatable && self.context.options.retry_on_timeout,
            backoff: Backoff::within_an_operation(),
            redirects: 0,
            may_have_run: false,
        };
        let (mut elsewhere, mut repeated) = (None, 0);
        let outcome = loop {
            let next = self.attempt(job, elsewhere.take(), attempts.deadline, patience).await;
            match attempts.go_on(job, next, patience).await {
                Ok(Some(reply)) => break Ok(reply),
                Ok(None) => {}
                Err(Ended::Elsewhere(node)) => elsewhere = node,
                // An earlier attempt may have been applied, whatever became of the last.
                Err(Ended::Failed(error)) if attempts.may_have_run => break Err(error.open_too()),
                Err(Ended::Failed(error)) => break Err(error),
            }
            repeated += 1;
        };
        let took = start.elapsed();
        let operation = &job.operation;
        self.context.metrics.count(operation.name, operation.pattern, operation.writes, |counters| {
            if repeated > 0 {
                counters.repeated(repeated);
            }
            match &outcome {
                // A script that the server does not know: it comes again with its source, and is counted then.
                Ok(Reply::Error(_)) => {}
                Ok(_) => counters.answered(took),
                Err(_) => counters.failed(took),
            }
        });
        self.context.metrics.reached(!matches!(&outcome, Err(error) if error.is_unanswered()));
        outcome
    }

    /// A script by its SHA, and with its source when the server does not know it: then nothing was run, so this is no
    /// repetition.
    pub(crate) async fn evaluate(
        &self,
        job: &Job<'_>,
        source: &str,
        patience: Duration,
    ) -> Result<Reply, Error> {
        let start = Instant::now();
        match self.execute(job, patience).await? {
            Reply::Error(_) => {
                let request = job.request.with_source(source);
                // The server answers, so what is left after a second chance is enough.
                let rest = patience.saturating_sub(start.elapsed()).max(patience / 4);
                self.execute(&Job { request: &request, ..*job }, rest).await
            }
            reply => Ok(reply),
        }
    }

    async fn attempt(
        &self,
        job: &Job<'_>,
        elsewhere: Option<Arc<Node>>,
        deadline: Instant,
        patience: Duration,
    ) -> Next {
        let asking = elsewhere.is_some();
        let (node, up) = match self.connection(job.operation, elsewhere, job.slot, deadline).await {
            Ok(found) => found,
            Err(error) => return Next::Fail(error),
        };
        let sent = async {
            if asking {
                let batch = Batch::new([Request::new("ASKING"), job.request.clone()]);
                Ok(up.wire.send_all(&batch).await?.pop().unwrap_or(Reply::Nil))
            } else {
                up.wire.send(job.request).await
            }
        };
        match timeout_at(deadline, sent).await {
            Ok(Ok(Reply::Error(error))) => self.answered_with(job, &node, &up, error).await,
            Ok(Ok(reply)) => Next::Done(reply),
            Ok(Err(error)) => {
                node.lost(&up, &error.to_string());
                let error = Error::open(job.operation.clone(), Cause::ConnectionLost(error.to_string()));
                if job.repeatable { Next::Repeat(error) } else { Next::Fail(error) }
            }
            Err(_) => {
                node.suspect(&up);
                Next::TimedOut(Error::open(job.operation.clone(), Cause::TimedOut(patience)))
            }
        }
    }

    /// The node that has the slot, with its connection, waited for until the deadline.
    pub(crate) async fn connection(
        &self,
        operation: &Operation,
        elsewhere: Option<Arc<Node>>,
        slot: Slot,
        deadline: Instant,
    ) -> Result<(Arc<Node>, Arc<Up>), Error> {
        if let Some(node) = elsewhere {
            return with_connection(operation, node, deadline).await;
        }
        let cluster = match &self.route {
            Route::One(node) => return with_connection(operation, Arc::clone(node), deadline).await,
            Route::Cluster(cluster) => cluster,
        };
        loop {
            let map = cluster.map();
            let mut why =
                Cause::Unreachable { address: format!("slot {slot}"), why: "no node has it".into() };
            if let Some(node) = map.node(slot) {
                match node.up(deadline.min(Instant::now() + BEFORE_ASKING_AGAIN)).await {
                    Ok(up) => return Ok((Arc::clone(node), up)),
                    Err(down) if down.is_final() => {
                        return Err(Error::refused(operation.clone(), down.cause()));
                    }
                    Err(down) => why = down.cause(),
                }
            }
            match timeout_at(deadline, cluster.refresh(&map, None)).await {
                Ok(Ok(())) if Instant::now() < deadline => {}
                Ok(Err(problem)) if map.nodes().next().is_none() => {
                    why = Cause::Unreachable { address: "the cluster".into(), why: problem };
                    sleep_until((Instant::now() + BEFORE_ASKING_AGAIN).min(deadline)).await;
                }
                _ => {}
            }
            if Instant::now() >= deadline {
                return Err(Error::refused(operation.clone(), why));
            }
            // The map may be the same as before while the cluster votes.
            sleep_until((Instant::now() + BEFORE_ASKING_AGAIN / 5).min(deadline)).await;
        }
    }

    async fn answered_with(&self, job: &Job<'_>, node: &Arc<Node>, up: &Arc<Up>, error: ServerError) -> Next {
        let passing = error.is_passing(job.is_script);
        match (error.code.as_str(), &self.route) {
            ("NOSCRIPT", _) => Next::Done(Reply::Error(error)),
            ("MOVED", Route::Cluster(cluster)) if passing => {
                self.look_again(cluster, None).await;
                match cluster.map().node(job.slot) {
                    Some(now) if !Arc::ptr_eq(now, node) => Next::Redirect(None, error),
                    _ => Next::Redirect(redirect_target(cluster, up, &error), error),
                }
            }
            ("ASK", Route::Cluster(cluster)) if passing => {
                Next::Redirect(redirect_target(cluster, up, &error), error)
            }
            ("READONLY", _) => {
                let replaced = self.demoted(node, up).await;
                let error = Error::answered(job.operation.clone(), error, job.is_script);
                // A single server that is a replica stays one; a sentinel's or a cluster's is replaced.
                if replaced { Next::Later(error) } else { Next::Fail(error) }
            }
            ("CLUSTERDOWN", Route::Cluster(cluster)) if passing => {
                self.look_again(cluster, Some(node)).await;
                Next::Later(Error::answered(job.operation.clone(), error, job.is_script))
            }
            _ if passing => Next::Later(Error::answered(job.operation.clone(), error, job.is_script)),
            _ => Next::Fail(Error::answered(job.operation.clone(), error, job.is_script)),
        }
    }

    /// Waits a moment for a new map; it is asked for to the end in any case.
    async fn look_again(&self, cluster: &Arc<Cluster>, except: Option<&Arc<Node>>) {
        let seen = cluster.map();
        let _ = timeout_at(Instant::now() + BEFORE_ASKING_AGAIN, cluster.refresh(&seen, except)).await;
    }

    /// The server turned out to be a replica. Whether another will take its place here.
    pub(crate) async fn demoted(&self, node: &Arc<Node>, up: &Arc<Up>) -> bool {
        match &self.route {
            Route::One(_) if node.is_found_by_sentinels() => {
                node.lost(up, "the server is a replica now");
                true
            }
            Route::One(_) => false,
            Route::Cluster(cluster) => {
                self.look_again(cluster, Some(node)).await;
                true
            }
        }
    }

    /// What a dedicated connection met that says its server is no longer the right one.
    pub(crate) async fn misdirected(&self, node: &Arc<Node>, error: &ServerError) {
        match (&self.route, error.code.as_str()) {
            (Route::Cluster(cluster), "MOVED" | "ASK" | "READONLY" | "CLUSTERDOWN") => {
                self.look_again(cluster, Some(node)).await;
            }
            (Route::One(_), "READONLY") => {
                if let Some(up) = node.up_now() {
                    self.demoted(node, &up).await;
                }
            }
            _ => {}
        }
    }
}

/// Where the attempts of one operation are.
struct Attempts {
    deadline: Instant,
    second_chance: bool,
    backoff: Backoff,
    redirects: u32,
    may_have_run: bool,
}

/// An attempt that gave no answer.
enum Ended {
    Elsewhere(Option<Arc<Node>>),
    Failed(Error),
}

impl Attempts {
    /// The answer, or nothing when it is to be tried again.
    async fn go_on(&mut self, job: &Job<'_>, next: Next, patience: Duration) -> Result<Option<Reply>, Ended> {
        match next {
            Next::Done(reply) => Ok(Some(reply)),
            Next::Fail(error) => Err(Ended::Failed(error)),
            Next::Redirect(node, told) => {
                self.redirects += 1;
                // One is usual; nodes that send us to and fro are waited for.
                if self.redirects > 1 {
                    self.wait(Error::answered(job.operation.clone(), told, job.is_script)).await?;
                }
                Err(Ended::Elsewhere(node))
            }
            Next::Later(error) => self.wait(error).await.map(|()| None),
            Next::Repeat(error) => {
                self.may_have_run = true;
                self.wait(error).await.map(|()| None)
            }
            Next::TimedOut(error) if !self.second_chance => Err(Ended::Failed(error)),
            Next::TimedOut(_) => {
                self.may_have_run = true;
                self.second_chance = false;
                self.deadline = deadline(patience);
                Ok(None)
            }
        }
    }

    /// Waits before the next attempt, if there is one. It must have as long for its answer as it was waited for: sent in the
    /// last moment it would make an open question of what is known not to have been applied.
    async fn wait(&mut self, error: Error) -> Result<(), Ended> {
        let wait = self.backoff.wait();
        let wake = Instant::now() + wait;
        if wake + wait > self.deadline {
            return Err(Ended::Failed(error));
        }
        sleep_until(wake).await;
        Ok(())
    }
}

async fn with_connection(
    operation: &Operation,
    node: Arc<Node>,
    deadline: Instant,
) -> Result<(Arc<Node>, Arc<Up>), Error> {
    match node.up(deadline).await {
        Ok(up) => Ok((node, up)),
        Err(down) => Err(Error::refused(operation.clone(), down.cause())),
    }
}

/// `MOVED 3999 127.0.0.1:6381`; without a host it is the answering node's.
fn redirect_target(cluster: &Cluster, up: &Up, error: &ServerError) -> Option<Arc<Node>> {
    let target = error.message.split_whitespace().nth(1)?;
    // IPv6 addresses come without brackets here: the last colon is the port's.
    let (host, port) = target.rsplit_once(':')?;
    let host = match (host, &up.address) {
        ("" | "?", Address::Tcp(own, _)) => own,
        (host, _) => host,
    };
    Some(cluster.node_at(&Address::Tcp(host.to_owned(), port.parse().ok()?)))
}

/// An error of the connection, not of the server.
pub(crate) fn lost(operation: &Operation, error: &WireError) -> Error {
    Error::open(operation.clone(), Cause::ConnectionLost(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_last_attempt_has_time_for_its_answer() {
        let operation = Operation { name: "GET", pattern: "bin:<id>", writes: false };
        for seed in 0..1_000 {
            fastrand::seed(seed);
            let deadline = deadline(Duration::from_millis(400));
            let mut attempts = Attempts {
                deadline,
                second_chance: false,
                backoff: Backoff::within_an_operation(),
                redirects: 0,
                may_have_run: false,
            };
            let (mut times, mut from) = (0, Instant::now());
            while attempts.wait(Error::refused(operation.clone(), Cause::Blocking)).await.is_ok() {
                let (waited, left) = (from.elapsed(), deadline.duration_since(Instant::now()));
                // Timers count whole milliseconds.
                assert!(left + Duration::from_millis(1) >= waited, "seed {seed}: {left:?} after {waited:?}");
                (times, from) = (times + 1, Instant::now());
            }
            assert!(times > 6, "seed {seed}: {times} attempts");
        }
    }
}
