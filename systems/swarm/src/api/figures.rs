//! What is measured, and what is wrong: the seed's alerts, and the one that pages.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyplane_http::Alert;
use keyplane_http::metrics::{Family, Sample};
use keyplane_store::{Latency, Reply};
use tokio::time::Instant;

use super::Desk;
use crate::run::Counters;
use crate::state::Lost;

/// The seed's thresholds.
const MOST_MEMORY: f64 = 0.8;
const MOST_LATENCY: Duration = Duration::from_millis(50);
const MOST_EXPIRATIONS: f64 = 100.0;

/// How long an alert about something that happened goes on.
const TOLD_FOR: Duration = Duration::from_secs(15 * 60);

/// How long it is told that a swarm ran out.
const PAGED_FOR: Duration = Duration::from_secs(3600);

/// What is told of lately goes back so far, and at most twice as far while somebody looks.
const LATELY: Duration = Duration::from_secs(60);

/// How long the operations took that change something, by what they change and their name.
type Writes = BTreeMap<(&'static str, &'static str), Latency>;

/// What the servers say of themselves, summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Servers {
    /// The highest share of its memory that a server uses; 0 where none has a limit.
    memory: f64,
    expired: u64,
}

/// What was seen before, for what is told as a rate or for a while.
#[derive(Debug, Default)]
pub(super) struct Before {
    expirations: Option<(Instant, u64)>,
    /// Pools that were exhausted: how many when, so far.
    exhausted: (u64, Option<Instant>),
    /// Swarms that were found large.
    large: (u64, Option<Instant>),
    writes: Lately<Writes>,
}

/// Counts of a minute ago, to be taken from those of now.
#[derive(Debug, Default)]
struct Lately<T> {
    before: T,
    next: Option<(Instant, T)>,
}

impl<T: Clone> Lately<T> {
    /// What had been counted at a look a minute ago or earlier; at the first looks nothing.
    fn before(&mut self, now: Instant, counted: &T) -> &T {
        if self.next.as_ref().is_none_or(|(at, _)| now.duration_since(*at) >= LATELY) {
            let passed = self.next.replace((now, counted.clone()));
            self.before = passed.map_or_else(|| self.before.clone(), |(_, passed)| passed);
        }
        &self.before
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    kept: Option<Arc<Counters>>,
    before: Arc<Mutex<Before>>,
}

impl Figures {
    pub(super) fn of(kept: Arc<Counters>) -> Self {
        Self { kept: Some(kept), before: Arc::default() }
    }

    /// The p99 of the slowest operation that changes something, lately.
    fn slowest(&self, desk: &Desk) -> Duration {
        let operations = desk.swarms.store().metrics().snapshot().operations;
        let writes = operations.into_iter().filter(|operation| operation.writes);
        let writes: Writes =
            writes.map(|operation| ((operation.of, operation.name), operation.latency)).collect();
        let mut seen = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let before = seen.writes.before(Instant::now(), &writes);
        let lately = |(operation, latency): (_, &Latency)| match before.get(operation) {
            Some(before) => latency.since(before).quantile(0.99),
            None => latency.quantile(0.99),
        };
        writes.iter().map(lately).max().unwrap_or_default()
    }

    fn large(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.large.get())
    }

    pub(super) async fn metrics(&self, desk: &Desk) -> Vec<Family> {
        let one = |name: &str, help: &str, value: f64| Family::gauge(name, help, [Sample::number(value)]);
        let servers = servers(desk).await;
        let mut families = vec![one(
            "keyplane_swarm_store_answers",
            "Whether the store answers.",
            f64::from(u8::from(servers.is_some())),
        )];
        if let Some(servers) = servers {
            let memory = "The highest share of its memory that a server uses; 0 where none has a limit.";
            families.push(one("keyplane_swarm_memory_share", memory, servers.memory));
            let expired = "Keys that ran out, of all kinds.";
            families.push(Family::counter(
                "keyplane_swarm_expired_keys_total",
                expired,
                [Sample::count(servers.expired)],
            ));
        }
        if let Ok(counts) = desk.swarms.counts().await {
            let samples = counts
                .into_iter()
                .map(|(status, count)| Sample::number(count as f64).label("status", status));
            families.push(Family::gauge("keyplane_swarm_swarms", "Swarms by status.", samples));
        }
        let slowest = self.slowest(desk);
        families.push(one(
            "keyplane_swarm_write_p99_seconds",
            "The p99 of the slowest operation that changes something, over the last minute or two.",
            slowest.as_secs_f64(),
        ));
        if let Ok(lost) = desk.swarms.lost().await {
            let about = "Swarms that ran out without having ended, as all keepers counted them.";
            families.push(Family::counter("keyplane_swarm_lost_total", about, [Sample::count(lost.count)]));
        }
        if let Some(kept) = &self.kept {
            let samples = kept.all().map(|(what, _, count)| Sample::count(count).label("what", what));
            let about = "What the keeper did, and swarms that ran out without having ended.";
            families.push(Family::counter("keyplane_swarm_kept_total", about, samples));
        }
        families
    }

    pub(super) async fn alerts(&self, desk: &Desk) -> Vec<Alert> {
        let (Some(servers), Ok(lost)) = (servers(desk).await, desk.swarms.lost().await) else {
            return vec![Alert::page("store_away", true, "the store does not answer")];
        };
        let now = Instant::now();
        let exhausted = desk.swarms.store().metrics().snapshot().pool_exhausted;
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = rate(before.expirations.replace((now, servers.expired)), now, servers.expired);
        let is_exhausted = is_news(&mut before.exhausted, exhausted, now);
        let is_large = is_news(&mut before.large, self.large(), now);
        drop(before);
        let slowest = self.slowest(desk);
        vec![
            Alert::page("store_away", false, "the store answers"),
            Alert::page("swarm_expired", lost.ago.is_some_and(|ago| ago < PAGED_FOR), lost_in_words(lost)),
            Alert::warn(
                "memory_high",
                servers.memory > MOST_MEMORY,
                format!(
                    "a server uses {:.0} % of its memory; writes fail when it is full",
                    servers.memory * 100.0
                ),
            ),
            Alert::warn(
                "writes_slow",
                slowest > MOST_LATENCY,
                format!(
                    "the slowest change takes {:.1} ms at p99 lately; 50 ms are the bound",
                    slowest.as_secs_f64() * 1000.0
                ),
            ),
            Alert::warn(
                "expirations_high",
                rate > MOST_EXPIRATIONS,
                format!("{rate:.0} keys a second run out"),
            ),
            Alert::warn(
                "pool_exhausted",
                is_exhausted,
                format!("{exhausted} times no connection was free: raise the pool, or look for what waits"),
            ),
            Alert::warn(
                "state_large",
                is_large,
                format!(
                    "{} checkpoints took more than 80 % of the 1 MB that a swarm may amount to; the log names the swarms",
                    self.large()
                ),
            ),
        ]
    }
}

async fn servers(desk: &Desk) -> Option<Servers> {
    let mut sum = Servers::default();
    for (_, told) in desk.swarms.store().ask_all(&["INFO"]).await {
        let Ok(Reply::Bytes(text)) = told else { return None };
        let text = String::from_utf8_lossy(&text).into_owned();
        let (used, most) = (number(&text, "used_memory"), number(&text, "maxmemory"));
        if most > 0 {
            sum.memory = sum.memory.max(used as f64 / most as f64);
        }
        sum.expired += number(&text, "expired_keys");
    }
    Some(sum)
}

fn number(info: &str, name: &str) -> u64 {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
    info.lines().find_map(value).unwrap_or_default()
}

fn lost_in_words(lost: Lost) -> String {
    let Some(ago) = lost.ago else { return "no swarm ran out without having ended".to_owned() };
    format!(
        "{} swarms ran out without having ended, the last one{} {} min ago: are their agents alive? swarm_recover brings them \
         back",
        lost.count,
        lost.last.map(|last| format!(", {last},")).unwrap_or_default(),
        ago.as_secs() / 60
    )
}

fn rate(before: Option<(Instant, u64)>, now: Instant, count: u64) -> f64 {
    let Some((then, had)) = before else { return 0.0 };
    // Two looks may be close together: three keys within a hundredth of a second are no three hundred in a second.
    let seconds = now.duration_since(then).as_secs_f64().max(1.0);
    count.saturating_sub(had) as f64 / seconds
}

/// Whether a count has grown, now or not long ago.
fn is_news((seen, at): &mut (u64, Option<Instant>), count: u64, now: Instant) -> bool {
    if count > *seen {
        *at = Some(now);
    }
    *seen = count;
    at.is_some_and(|at| now.duration_since(at) < TOLD_FOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_told_for_a_while() {
        let (begin, mut seen) = (Instant::now(), (0, None));
        assert!(!is_news(&mut seen, 0, begin));
        assert!(is_news(&mut seen, 2, begin));
        assert!(is_news(&mut seen, 2, begin + TOLD_FOR / 2));
        assert!(!is_news(&mut seen, 2, begin + TOLD_FOR));
        assert!(is_news(&mut seen, 3, begin + TOLD_FOR));
    }

    #[test]
    fn what_is_told_of_lately_is_forgotten_after_two_minutes() {
        let (begin, mut seen) = (Instant::now(), Lately::<u64>::default());
        let mut since = |seconds: u64, counted: u64| {
            counted - *seen.before(begin + Duration::from_secs(seconds), &counted)
        };
        assert_eq!(since(0, 0), 0);
        assert_eq!(since(5, 7), 7, "since the beginning");
        assert_eq!(since(59, 7), 7);
        assert_eq!(since(60, 7), 7, "since the first look");
        assert_eq!(since(120, 7), 0, "since the look a minute ago");
        assert_eq!(since(121, 9), 2);
        assert_eq!(since(3600, 9), 2, "since the last look");
        assert_eq!(since(3660, 9), 0);
    }

    #[test]
    fn rates_are_by_second_and_need_two_looks() {
        let begin = Instant::now();
        assert_eq!(rate(None, begin, 1000), 0.0);
        assert_eq!(rate(Some((begin, 1000)), begin + Duration::from_secs(4), 1400), 100.0);
        assert_eq!(
            rate(Some((begin, 1000)), begin + Duration::from_secs(4), 10),
            0.0,
            "a server that was restarted"
        );
        assert_eq!(rate(Some((begin, 7)), begin + Duration::from_millis(10), 10), 3.0, "close together");
    }

    #[test]
    fn numbers_of_info_are_found_by_their_whole_name() {
        let info = "# Memory\r\nused_memory:1024\r\nused_memory_human:1K\r\nmaxmemory:4096\r\n";
        assert_eq!(
            (number(info, "used_memory"), number(info, "maxmemory"), number(info, "memory")),
            (1024, 4096, 0)
        );
    }
}
