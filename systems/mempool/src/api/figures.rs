//! What is measured, and what is wrong.

use std::time::Duration;

use keyplane_http::Alert;
use keyplane_http::metrics::{Family, Sample};

use crate::run::Node;
use crate::state::{Counts, Pulse, Settings};

/// The first of the queue is offered within seconds; who waits this long waits for somebody who does not come.
const STALLED: Duration = Duration::from_secs(120);

/// Of a hundred places taken: time to look before senders are refused.
const NEARLY: u64 = 80;

pub(super) async fn metrics(node: &Node) -> Vec<Family> {
    let pulse = node.pool().pulse().await;
    let is_watcher = u64::from(node.watch().fence().is_some());
    let answers = u64::from(pulse.is_ok());
    let one = |name: &str, help: &str, value: f64| Family::gauge(name, help, [Sample::number(value)]);
    let mut families = vec![
        one("keyplane_mempool_is_watcher", "Whether this node applies the chain.", is_watcher as f64),
        one("keyplane_mempool_store_answers", "Whether the store answers.", answers as f64),
    ];
    if let Ok(pulse) = pulse {
        let seconds = |time: Option<Duration>| time.map_or(0.0, |time| time.as_secs_f64());
        let counts = pulse.counts;
        families.extend([
            one(
                "keyplane_mempool_pending",
                "Transactions that wait to be propagated.",
                counts.pending as f64,
            ),
            one("keyplane_mempool_inflight", "Transactions on their way.", counts.inflight as f64),
            one(
                "keyplane_mempool_finalized",
                "Finished transactions that are kept.",
                counts.finalized as f64,
            ),
            one(
                "keyplane_mempool_oldest_pending_seconds",
                "How long the first of the queue has waited.",
                seconds(pulse.oldest_pending),
            ),
            one(
                "keyplane_mempool_watcher_lock_seconds",
                "How long the watcher's lock lasts without renewal; 0: no watcher.",
                seconds(pulse.lock_left),
            ),
            one("keyplane_mempool_term", "The watcher's term.", pulse.term.unwrap_or_default() as f64),
            Family::counter(
                "keyplane_mempool_failovers_total",
                "Terms that began, but for the first.",
                [Sample::count(pulse.terms.saturating_sub(1))],
            ),
            Family::counter(
                "keyplane_mempool_transactions_total",
                "What was counted so far.",
                pulse.totals.named().map(|(what, count)| Sample::count(count).label("what", what)),
            ),
        ]);
    }
    families
}

pub(super) async fn alerts(node: &Node) -> Vec<Alert> {
    match node.pool().pulse().await {
        Ok(pulse) => judged(&pulse, node.pool().settings()),
        Err(error) => vec![Alert::page("store_away", true, format!("the store does not answer: {error}"))],
    }
}

/// What is wrong with a pool that answers.
fn judged(pulse: &Pulse, settings: &Settings) -> Vec<Alert> {
    let (max, room) = (settings.max_finalized, settings.limits.count);
    let waited = pulse.oldest_pending.unwrap_or_default();
    let Counts { pending, inflight, finalized } = pulse.counts;
    let unfinished = pending + inflight;
    vec![
        Alert::page("store_away", false, "the store answers"),
        Alert::page(
            "no_leader",
            pulse.watcher.is_none(),
            "no node is the watcher: the chain is not applied. Is any node running?",
        ),
        Alert::warn(
            "pending_growing",
            waited > STALLED,
            format!(
                "{pending} transactions wait, the first for {} s: are peers connected?",
                waited.as_secs()
            ),
        ),
        Alert::warn(
            "nearly_full",
            unfinished.saturating_mul(100) >= room.saturating_mul(NEARLY),
            format!("{unfinished} transactions are not finished, and no more than {room} are taken in"),
        ),
        Alert::warn(
            "finalized_above_max",
            finalized > max,
            format!("{finalized} finished are kept, {max} are allowed"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn firing(change: impl FnOnce(&mut Pulse)) -> Vec<String> {
        let mut pulse = Pulse { watcher: Some("node".to_owned()), ..Pulse::default() };
        change(&mut pulse);
        let mut settings = Settings { max_finalized: 10, ..Settings::default() };
        settings.limits.count = 100;
        let alerts = judged(&pulse, &settings);
        alerts.into_iter().filter(|alert| alert.firing).map(|alert| alert.name).collect()
    }

    #[test]
    fn each_alert_fires_when_it_is_so_and_not_before() {
        assert_eq!(firing(|_| ()), [""; 0]);
        assert_eq!(firing(|pulse| pulse.watcher = None), ["no_leader"]);
        assert_eq!(firing(|pulse| pulse.oldest_pending = Some(STALLED)), [""; 0]);
        let longer = STALLED + Duration::from_secs(1);
        assert_eq!(firing(|pulse| pulse.oldest_pending = Some(longer)), ["pending_growing"]);
        assert_eq!(firing(|pulse| (pulse.counts.pending, pulse.counts.inflight) = (40, 39)), [""; 0]);
        assert_eq!(firing(|pulse| (pulse.counts.pending, pulse.counts.inflight) = (40, 40)), ["nearly_full"]);
        assert_eq!(firing(|pulse| pulse.counts.finalized = 10), [""; 0]);
        assert_eq!(firing(|pulse| pulse.counts.finalized = 11), ["finalized_above_max"]);
    }
}
