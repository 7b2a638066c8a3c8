//! What a store counts about itself.
//!
//! Counting must not cost what it measures: a counter is an atomic, a histogram an array of atomics, and an operation is
//! found by the addresses of its two static names.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use rustc_hash::FxHashMap;

/// From that many failed attempts to connect to one server in a row on, a store is not healthy.
pub const UNHEALTHY_AFTER: u64 = 3;

/// Below this share of answered operations among the last [`RECENT`], a store is not healthy.
pub const HEALTHY_SUCCESS_RATE: f64 = 0.9;

/// How many operations `is_healthy` looks back on.
pub const RECENT: u32 = 100;

/// The counters of a store, shared by its handles.
#[derive(Debug, Default)]
pub struct Metrics {
    connections: Connections,
    pool: Pool,
    recent: Recent,
    operations: RwLock<FxHashMap<OperationId, Operation>>,
}

/// A command or script and the family it is for, by the addresses of their static names. Two addresses may hold one name:
/// a snapshot adds them up.
type OperationId = (usize, usize);

#[derive(Debug, Default)]
struct Connections {
    attempts: AtomicU64,
    failures: AtomicU64,
    lost: AtomicU64,
    /// One counter per server, as long as the store has to do with it.
    in_a_row: RwLock<Vec<Weak<FailuresInARow>>>,
}

/// Failed attempts to connect to one server since the last that did not fail.
#[derive(Debug, Default)]
pub(crate) struct FailuresInARow(AtomicU64);

#[derive(Debug, Default)]
struct Pool {
    waits: AtomicU64,
    exhausted: AtomicU64,
    open: AtomicU64,
}

/// Counters of one operation. How many were answered is what was measured less what failed.
#[derive(Debug)]
pub(crate) struct Operation {
    name: &'static str,
    of: &'static str,
    writes: bool,
    failed: AtomicU64,
    /// In pipelines, whose time is that of the whole and says nothing about one entry.
    unmeasured: AtomicU64,
    repeated: AtomicU64,
    latency: Histogram,
}

impl Operation {
    fn new(name: &'static str, of: &'static str, writes: bool) -> Self {
        Self {
            name,
            of,
            writes,
            failed: AtomicU64::new(0),
            unmeasured: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
            latency: Histogram::default(),
        }
    }

    pub(crate) fn answered(&self, took: Duration) {
        self.latency.record(took);
    }

    pub(crate) fn failed(&self, took: Duration) {
        self.failed.fetch_add(1, Relaxed);
        self.latency.record(took);
    }

    /// Entries of a pipeline.
    pub(crate) fn pipelined(&self, entries: u64, failed: u64) {
        self.unmeasured.fetch_add(entries, Relaxed);
        if failed > 0 {
            self.failed.fetch_add(failed, Relaxed);
        }
    }

    pub(crate) fn repeated(&self, times: u64) {
        self.repeated.fetch_add(times, Relaxed);
    }
}

impl Metrics {
    pub(crate) fn connecting(&self) {
        self.connections.attempts.fetch_add(1, Relaxed);
    }

    /// A counter for one more server; it counts until it is dropped.
    pub(crate) fn server(&self) -> Arc<FailuresInARow> {
        let own = Arc::new(FailuresInARow::default());
        let mut all = self.connections.in_a_row.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&own));
        own
    }

    pub(crate) fn connected(&self, server: &FailuresInARow) {
        server.0.store(0, Relaxed);
    }

    pub(crate) fn connect_failed(&self, server: &FailuresInARow) {
        self.connections.failures.fetch_add(1, Relaxed);
        server.0.fetch_add(1, Relaxed);
    }

    /// Of the server with the most.
    fn failures_in_a_row(&self) -> u64 {
        let all = self.connections.in_a_row.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).map(|server| server.0.load(Relaxed)).max().unwrap_or_default()
    }

    pub(crate) fn connection_lost(&self) {
        self.connections.lost.fetch_add(1, Relaxed);
    }

    pub(crate) fn pool_waits(&self) {
        self.pool.waits.fetch_add(1, Relaxed);
    }

    pub(crate) fn pool_exhausted(&self) {
        self.pool.exhausted.fetch_add(1, Relaxed);
    }

    pub(crate) fn dedicated_opened(&self) {
        self.pool.open.fetch_add(1, Relaxed);
    }

    pub(crate) fn dedicated_closed(&self) {
        self.pool.open.fetch_sub(1, Relaxed);
    }

    /// Whether the server answered at all; an error it answers with is an answer.
    pub(crate) fn reached(&self, answered: bool) {
        self.recent.push(answered);
    }

    /// Counts something about an operation. `writes`: it changes something, and nobody waits in it for others.
    pub(crate) fn count(
        &self,
        name: &'static str,
        of: &'static str,
        writes: bool,
        count: impl FnOnce(&Operation),
    ) {
        let id = (name.as_ptr() as usize, of.as_ptr() as usize);
        let read = self.operations.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.get(&id) {
            return count(known);
        }
        drop(read);
        let mut write = self.operations.write().unwrap_or_else(PoisonError::into_inner);
        count(write.entry(id).or_insert_with(|| Operation::new(name, of, writes)));
    }

    /// Whether the store can be relied on: fewer than [`UNHEALTHY_AFTER`] failed attempts to connect in a row, and of the
    /// last [`RECENT`] operations at least [`HEALTHY_SUCCESS_RATE`] were answered.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.failures_in_a_row() < UNHEALTHY_AFTER && self.recent.share() >= HEALTHY_SUCCESS_RATE
    }

    /// All counters at this moment.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        let (attempts, failures) = (load(&self.connections.attempts), load(&self.connections.failures));
        let mut operations: BTreeMap<(&'static str, &'static str), OperationSnapshot> = BTreeMap::new();
        for operation in self.operations.read().unwrap_or_else(PoisonError::into_inner).values() {
            operations.entry((operation.of, operation.name)).or_default().add(operation);
        }
        Snapshot {
            connection_attempts: attempts,
            connection_failures: failures,
            consecutive_failures: self.failures_in_a_row(),
            connections_lost: load(&self.connections.lost),
            connection_success_rate: rate(attempts.saturating_sub(failures), attempts),
            dedicated_open: load(&self.pool.open),
            pool_waits: load(&self.pool.waits),
            pool_exhausted: load(&self.pool.exhausted),
            healthy: self.is_healthy(),
            operations: operations.into_iter().map(|((of, name), found)| found.named(of, name)).collect(),
        }
    }
}

fn rate(good: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { good as f64 / all as f64 }
}

/// Counters at one moment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Attempts to connect.
    pub connection_attempts: u64,
    /// Those that failed.
    pub connection_failures: u64,
    /// Those that failed since the last that did not, of the server with the most.
    pub consecutive_failures: u64,
    /// Connections that ended without being asked to.
    pub connections_lost: u64,
    /// Share of attempts that succeeded; 1 before the first.
    pub connection_success_rate: f64,
    /// Connections for blocking operations that are lent.
    pub dedicated_open: u64,
    /// How often an operation had to wait for one of them.
    pub pool_waits: u64,
    /// How often it waited in vain.
    pub pool_exhausted: u64,
    /// What `is_healthy` says.
    pub healthy: bool,
    /// By operation.
    pub operations: Vec<OperationSnapshot>,
}

/// Counters of one operation at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct OperationSnapshot {
    /// The command, or the script.
    pub name: &'static str,
    /// The key family, or the contract of the script.
    pub of: &'static str,
    /// Whether it changes something, without waiting for others to do something first.
    pub writes: bool,
    /// Answered as asked.
    pub answered: u64,
    /// Ended in an error.
    pub failed: u64,
    /// Attempts beyond the first.
    pub repeated: u64,
    /// How long they took.
    pub latency: Latency,
}

impl OperationSnapshot {
    fn add(&mut self, operation: &Operation) {
        let failed = operation.failed.load(Relaxed);
        self.writes |= operation.writes;
        let measured = operation.latency.add_to(&mut self.latency);
        self.answered += (measured + operation.unmeasured.load(Relaxed)).saturating_sub(failed);
        self.failed += failed;
        self.repeated += operation.repeated.load(Relaxed);
    }

    fn named(self, of: &'static str, name: &'static str) -> Self {
        Self { name, of, ..self }
    }

    /// Share of operations that were answered; 1 before the first.
    #[must_use]
    pub fn success_rate(&self) -> f64 {
        rate(self.answered, self.answered + self.failed)
    }
}

/// Two buckets per power of two of microseconds, up to about an hour: a quantile is right to within half.
const BUCKETS: usize = 64;

#[derive(Debug)]
struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    total_micros: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [const { AtomicU64::new(0) }; BUCKETS], total_micros: AtomicU64::new(0) }
    }
}

impl Histogram {
    fn record(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.buckets[bucket(micros)].fetch_add(1, Relaxed);
        self.total_micros.fetch_add(micros, Relaxed);
    }

    /// Adds itself up; how many were measured here.
    fn add_to(&self, latency: &mut Latency) -> u64 {
        latency.buckets.resize(BUCKETS, 0);
        let mut measured = 0;
        for (sum, bucket) in latency.buckets.iter_mut().zip(&self.buckets) {
            let count = bucket.load(Relaxed);
            *sum += count;
            measured += count;
        }
        latency.total += Duration::from_micros(self.total_micros.load(Relaxed));
        measured
    }
}

fn bucket(micros: u64) -> usize {
    let value = micros.max(1);
    let power = value.ilog2() as usize;
    let upper_half = power > 0 && value >> (power - 1) & 1 == 1;
    (power * 2 + usize::from(upper_half)).min(BUCKETS - 1)
}

/// The largest value that a bucket holds, in microseconds.
fn upper_end(bucket: usize) -> u64 {
    let power = bucket / 2;
    let base = 1_u64 << power;
    if bucket.is_multiple_of(2) { base + (base / 2).max(1) - 1 } else { base * 2 - 1 }
}

/// How long operations took.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latency {
    buckets: Vec<u64>,
    total: Duration,
}

impl Latency {
    /// How many were measured.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The average; zero before the first.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let micros = self.total.as_micros() / u128::from(self.count()).max(1);
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// Those that were measured since then: `earlier` is what this was at another moment.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.buckets.iter().chain(std::iter::repeat(&0));
        Self {
            buckets: self
                .buckets
                .iter()
                .zip(before)
                .map(|(now, before)| now.saturating_sub(*before))
                .collect(),
            total: self.total.saturating_sub(earlier.total),
        }
    }

    /// The time that this share of operations stayed within, to within half; zero before the first.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        let rank = (self.count() as f64 * share.clamp(0.0, 1.0)).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank && seen > 0 {
                return Duration::from_micros(upper_end(index));
            }
        }
        Duration::ZERO
    }

    /// Cumulative counts by upper end, as Prometheus wants them.
    pub fn cumulative(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.buckets.iter().enumerate().scan(0, |seen, (index, count)| {
            *seen += count;
            Some((Duration::from_micros(upper_end(index)), *seen))
        })
    }

    /// All of them together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.total
    }
}

/// The last outcomes as bits: one is a failure. While there is none, a success leaves no mark, so that the usual case writes
/// to no memory that others share. A race between two writers may lose one of them.
#[derive(Debug, Default)]
struct Recent {
    failures: [AtomicU64; 2],
    place: AtomicU64,
}

impl Recent {
    fn push(&self, answered: bool) {
        if answered && self.failed() == 0 {
            return;
        }
        let place = self.place.fetch_add(1, Relaxed) % u64::from(RECENT);
        let (word, bit) = ((place / 64) as usize, 1_u64 << (place % 64));
        if answered {
            self.failures[word].fetch_and(!bit, Relaxed);
        } else {
            self.failures[word].fetch_or(bit, Relaxed);
        }
    }

    fn failed(&self) -> u32 {
        self.failures.iter().map(|word| word.load(Relaxed).count_ones()).sum()
    }

    fn share(&self) -> f64 {
        1.0 - f64::from(self.failed()) / f64::from(RECENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_in_its_bucket() {
        for micros in (0..5_000).chain([u64::from(u32::MAX), u64::MAX]) {
            let index = bucket(micros);
            assert!(index == BUCKETS - 1 || micros <= upper_end(index), "{micros}");
            assert!(index == 0 || micros > upper_end(index - 1), "{micros}");
        }
    }

    #[test]
    fn quantiles_come_from_the_buckets() {
        let metrics = Metrics::default();
        for micros in 1..=1000 {
            metrics.count("GET", "book", false, |counters| counters.answered(Duration::from_micros(micros)));
        }
        metrics.count("GET", "book", false, |counters| counters.failed(Duration::from_secs(1)));
        let snapshot = metrics.snapshot();
        let found = &snapshot.operations[0];
        assert_eq!((found.name, found.of, found.answered, found.failed), ("GET", "book", 1000, 1));
        let median = found.latency.quantile(0.5).as_micros();
        assert!((500..=767).contains(&median), "{median}");
        assert!(found.latency.quantile(1.0) >= Duration::from_secs(1));
        assert_eq!(found.latency.count(), 1001);
        assert_eq!(found.latency.cumulative().last().map(|(_, count)| count), Some(1001));
    }

    #[test]
    fn what_was_measured_since_forgets_what_came_before() {
        let metrics = Metrics::default();
        let took = |millis| {
            metrics.count("SET", "book", true, |counters| counters.answered(Duration::from_millis(millis)));
            metrics.snapshot().operations[0].clone()
        };
        let (slow, then) = (took(1000), took(1));
        assert!(then.writes && then.latency.quantile(0.99) >= Duration::from_secs(1));
        let since = then.latency.since(&slow.latency);
        assert_eq!((since.count(), since.total()), (1, Duration::from_millis(1)));
        assert!(since.quantile(0.99) < Duration::from_millis(2));
        assert_eq!(slow.latency.since(&Latency::default()), slow.latency);
    }

    #[test]
    fn three_failures_to_connect_are_unhealthy_until_one_succeeds() {
        let metrics = Metrics::default();
        let (server, other) = (metrics.server(), metrics.server());
        assert!(metrics.is_healthy());
        for _ in 0..UNHEALTHY_AFTER {
            assert!(metrics.is_healthy());
            metrics.connecting();
            metrics.connect_failed(&server);
            metrics.connected(&other);
        }
        assert!(!metrics.is_healthy());
        metrics.connecting();
        metrics.connected(&server);
        assert!(metrics.is_healthy());
        let snapshot = metrics.snapshot();
        assert_eq!((snapshot.connection_attempts, snapshot.connection_failures), (4, 3));
        assert!((snapshot.connection_success_rate - 0.25).abs() < 1e-9);
        // A server that is no longer there does not count.
        for _ in 0..UNHEALTHY_AFTER {
            metrics.connect_failed(&server);
        }
        drop(server);
        assert!(metrics.is_healthy());
    }

    #[test]
    fn more_than_a_tenth_unanswered_is_unhealthy_and_is_forgotten() {
        let metrics = Metrics::default();
        for _ in 0..10 {
            metrics.reached(false);
        }
        assert!(metrics.is_healthy());
        metrics.reached(false);
        assert!(!metrics.is_healthy());
        for _ in 0..RECENT {
            metrics.reached(true);
        }
        assert!(metrics.is_healthy());
    }
}
