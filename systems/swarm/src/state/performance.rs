//! Performance: samples of a day, their newest values, and the scores that the performance indexes rank by.

use std::collections::BTreeMap;
use std::time::Duration;

use keyplane_key::Arg;
use keyplane_store::Reply;

use super::error::OpError;
use super::{Inner, Swarms};
use crate::keys::{Metric, SwarmId, Window};
use crate::model::Measured;
use crate::scripts;

/// Samples in one step.
const AT_ONCE: usize = 1000;

/// A value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When it was taken, in Unix milliseconds; the server's time when it is not said. What is ahead of that counts as now.
    pub at: Option<u64>,
    /// The value: milliseconds of a latency, an amount of throughput or errors.
    pub value: f64,
}

impl Sample {
    /// A value of now.
    #[must_use]
    pub fn now(value: f64) -> Self {
        Self { at: None, value }
    }
}

/// How far back a window looks.
#[must_use]
pub fn length(window: Window) -> Duration {
    Duration::from_secs(match window {
        Window::V1m => 60,
        Window::V5m => 300,
        Window::V1h => 3600,
        Window::V24h => 86_400,
    })
}

impl Swarms {
    /// Adds samples of a metric. Those that are older than a day by now go, and beyond 10,000 the oldest: how many there are. A
    /// sample that is older as it comes is refused, with the thousand that it is in.
    /// Activity: the swarm lives on.
    pub async fn record_metric(
        &self,
        swarm: &SwarmId,
        metric: Metric,
        samples: &[Sample],
    ) -> Result<u64, OpError> {
        let Inner { metrics, keyspace, most_samples, .. } = &*self.0;
        let names = self.names(swarm)?;
        let series = keyspace.performance_zset(swarm, metric);
        if let Some(bad) = samples.iter().find(|sample| !sample.value.is_finite()) {
            return Err(OpError::NoNumber { metric: metric.as_str(), value: bad.value });
        }
        let mut kept = 0;
        for some in samples.chunks(AT_ONCE) {
            let call = scripts::RecordMetric {
                swarm: &names.swarm,
                performance: (&series).into(),
                performance_current: &names.performance_current,
                swarm_outbox: &names.outbox,
                id: swarm.as_str().into(),
                active_index: (&names.active_index).into(),
                most: (*most_samples).into(),
                metric: metric.as_str().into(),
                samples: some.iter().flat_map(pair).collect(),
            };
            let told: Vec<Reply> = metrics.call(call).await?;
            let told = self.told(swarm, &told).await;
            match told.word() {
                "ok" => kept = told.number(1),
                "single" => {
                    let (metric, swarm) = (metric.to_string(), swarm.to_string());
                    return Err(OpError::NoSeries { metric, swarm });
                }
                "old" => return Err(OpError::TooOld { at: told.number(1), oldest: told.number(2) }),
                _ => return Err(told.refusal(swarm, swarm.as_str(), "")),
            }
        }
        Ok(kept)
    }

    /// The samples of a metric that are no older than that, by the server's clock; the oldest first.
    pub async fn samples(
        &self,
        swarm: &SwarmId,
        metric: Metric,
        within: Duration,
    ) -> Result<Vec<Sample>, OpError> {
        let (_, mut series) = self.read_samples(swarm, &[metric], within).await?;
        Ok(series.pop().unwrap_or_default())
    }

    /// The newest value of each metric, and the score of each window (`score:5m`).
    pub async fn current_values(&self, swarm: &SwarmId) -> Result<BTreeMap<String, f64>, OpError> {
        let fields = self.fields_of(&self.names(swarm)?.performance_current).await?;
        Ok(fields.into_iter().filter_map(|(field, text)| Some((field, text.parse().ok()?))).collect())
    }

    /// Computes the scores of a swarm in some windows, and sends those that have changed to the performance indexes: all of
    /// them. A window without samples has none. Not activity.
    pub async fn roll_up(
        &self,
        swarm: &SwarmId,
        windows: &[Window],
    ) -> Result<BTreeMap<Window, f64>, OpError> {
        let Inner { metrics, .. } = &*self.0;
        let names = self.names(swarm)?;
        let longest = windows.iter().copied().map(length).max().unwrap_or_default();
        let read = [Metric::Latency, Metric::Throughput, Metric::Errors];
        let (now, series) = self.read_samples(swarm, &read, longest).await?;
        let scores: BTreeMap<Window, f64> = windows
            .iter()
            .filter_map(|window| {
                Some((*window, measured(&series, now, length(*window)).score(length(*window))?))
            })
            .collect();
        let triples = windows.iter().flat_map(|window| -> [Arg<'_>; 3] {
            let score = scores.get(window).map_or_else(String::new, ToString::to_string);
            [window.as_str().into(), names.performance_index(*window).into(), score.into()]
        });
        let call = scripts::RollUp {
            swarm: &names.swarm,
            performance_current: &names.performance_current,
            swarm_outbox: &names.outbox,
            id: swarm.as_str().into(),
            scores: triples.collect(),
        };
        let told: Vec<Reply> = metrics.call(call).await?;
        let told = self.told(swarm, &told).await;
        match told.word() {
            "ok" => Ok(scores),
            _ => Err(told.refusal(swarm, swarm.as_str(), "")),
        }
    }

    /// The server's time, and the samples of each metric.
    async fn read_samples(
        &self,
        swarm: &SwarmId,
        metrics: &[Metric],
        within: Duration,
    ) -> Result<(u64, Vec<Vec<Sample>>), OpError> {
        let keys: Vec<_> =
            metrics.iter().map(|metric| self.0.keyspace.performance_zset(swarm, *metric)).collect();
        let call = scripts::ReadSamples {
            performance: keys.iter().map(Into::into).collect(),
            within: Self::millis(within),
        };
        let told: (String, Vec<Vec<String>>) = {
            let mut parts: Vec<Reply> = self.0.metrics.call(call).await?;
            let series = parts.split_off(1.min(parts.len()));
            let texts = |part| keyplane_store::read_reply::<Vec<String>>(part).unwrap_or_default();
            let now = parts.pop().and_then(|now| keyplane_store::read_reply::<String>(now).ok());
            (now.unwrap_or_default(), series.into_iter().map(texts).collect())
        };
        let now = told.0.parse().map_err(|_| OpError::Unreadable(told.0.clone()))?;
        // A member that somebody wrote in another way is no sample.
        let series = told.1.iter().map(|series| series.iter().filter_map(|text| sample(text)).collect());
        Ok((now, series.collect()))
    }
}

/// As the script takes it.
fn pair(sample: &Sample) -> [Arg<'static>; 2] {
    let at = sample.at.map_or_else(String::new, |at| format!("{at:013}"));
    [at.into(), sample.value.to_string().into()]
}

/// `1736332200000:41.5`, with a number behind it if there was such a value in that millisecond before.
fn sample(text: &str) -> Option<Sample> {
    let (at, value) = text.split_once(':')?;
    let value = value.split_once(':').map_or(value, |(value, _)| value);
    Some(Sample { at: Some(at.parse().ok()?), value: value.parse().ok()? })
}

/// What of a swarm's latency, throughput and errors lies in a window that ends now.
fn measured(series: &[Vec<Sample>], now: u64, window: Duration) -> Measured {
    let oldest = now.saturating_sub(u64::try_from(window.as_millis()).unwrap_or(u64::MAX));
    let values = |at: usize| {
        let all = series.get(at).into_iter().flatten();
        all.filter(|sample| sample.at >= Some(oldest)).map(|sample| sample.value).collect()
    };
    Measured { latencies: values(0), done: values(1), failed: values(2) }
}
