//! How well a swarm does, as one number from 0 to 100.
//!
//! | points | for | full | formula |
//! |---|---|---|---|
//! | 40 | success | nothing failed | done ÷ (done + failed) |
//! | 30 | latency | the 95th percentile is within the seed's 50 ms | 50 ÷ that percentile |
//! | 20 | throughput | never quite | rate ÷ (1 + rate), done per minute |
//! | 10 | few errors | none | 1 ÷ (1 + rate), errors per minute |
//!
//! `throughput` samples say how much was done since the last one, `errors` samples how much failed, `latency` samples how long
//! something took in milliseconds. The seed names a target for latency and for nothing else, so throughput and errors are
//! curves without one: one per minute is half of the points, nine are nine tenths, and two swarms compare whatever their size.
//! What nobody has measured counts neither way: the others are scaled up to 100. A swarm without any sample has no score.

use std::time::Duration;

/// The seed's target for a latency, in milliseconds.
pub const LATENCY_TARGET: f64 = 50.0;

/// What was measured in a time window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// How long things took, in milliseconds.
    pub latencies: Vec<f64>,
    /// How much was done, sample by sample.
    pub done: Vec<f64>,
    /// How much failed, sample by sample.
    pub failed: Vec<f64>,
}

impl Measured {
    /// The score of a window of that length, in hundredths; `None` without a sample.
    #[must_use]
    pub fn score(&self, window: Duration) -> Option<f64> {
        let Self { latencies, done, failed } = self;
        if latencies.is_empty() && done.is_empty() && failed.is_empty() {
            return None;
        }
        let minutes = (window.as_secs_f64() / 60.0).max(f64::EPSILON);
        let (done_sum, failed_sum) = (sum(done), sum(failed));
        let (rate, errors) = (done_sum / minutes, failed_sum / minutes);
        let all = done_sum + failed_sum;
        let parts = [
            (40.0, (all > 0.0).then(|| done_sum / all)),
            (30.0, percentile_95(latencies).map(|slow| (LATENCY_TARGET / slow).min(1.0))),
            (20.0, (!done.is_empty()).then(|| rate / (1.0 + rate))),
            // Silence about errors beside other samples is good news.
            (10.0, Some(1.0 / (1.0 + errors))),
        ];
        let measured = parts.iter().filter_map(|(points, part)| part.map(|part| (points, part)));
        let (got, most) =
            measured.fold((0.0, 0.0), |(got, most), (points, part)| (got + points * part, most + points));
        Some((got / most * 10_000.0).round() / 100.0)
    }
}

/// What is negative is no amount.
fn sum(samples: &[f64]) -> f64 {
    samples.iter().map(|sample| sample.max(0.0)).sum()
}

/// One that is not below 95 of 100; a time of nothing counts as a very short one.
fn percentile_95(latencies: &[f64]) -> Option<f64> {
    let mut sorted = latencies.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * 95).div_ceil(100).max(1) - 1;
    sorted.get(rank).map(|slow| slow.max(f64::EPSILON))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn score(latencies: &[f64], done: &[f64], failed: &[f64]) -> Option<f64> {
        let measured =
            Measured { latencies: latencies.to_vec(), done: done.to_vec(), failed: failed.to_vec() };
        measured.score(MINUTE)
    }

    #[test]
    fn without_samples_there_is_no_score() {
        assert_eq!(score(&[], &[], &[]), None);
    }

    #[test]
    fn each_part_has_its_points() {
        // 40 + 30 + 20 × 9/10 + 10.
        assert_eq!(score(&[20.0, 50.0], &[4.0, 5.0], &[]), Some(98.0));
        // 40 × 1/2 + 30 × 50/100 + 20 × 1/2 + 10 × 1/2.
        assert_eq!(score(&[100.0], &[1.0], &[1.0]), Some(50.0));
        assert_eq!(score(&[1e12], &[0.0], &[1e12]), Some(0.0));
    }

    #[test]
    fn what_nobody_measured_counts_neither_way() {
        assert_eq!(score(&[50.0], &[], &[]), Some(100.0));
        assert_eq!(score(&[100.0], &[], &[]), Some(62.5), "15 of 30 and 10 of 10");
        assert_eq!(score(&[], &[0.0], &[]), Some(33.33), "0 of 20 and 10 of 10: it stands still");
    }

    #[test]
    fn one_slow_answer_of_many_is_forgiven() {
        let mut latencies = vec![10.0; 20];
        latencies[0] = 10_000.0;
        assert_eq!(score(&latencies, &[], &[]), Some(100.0));
        latencies[1] = 10_000.0;
        assert!(score(&latencies, &[], &[]).is_some_and(|score| score < 30.0));
    }

    #[test]
    fn it_lies_between_0_and_100_whatever_is_measured() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..10_000 {
            let mut some =
                || (0..rng.usize(..4)).map(|_| (rng.f64() - 0.1) * 10_f64.powi(rng.i32(-9..12))).collect();
            let measured = Measured { latencies: some(), done: some(), failed: some() };
            let score = measured.score(MINUTE);
            assert!(score.is_none_or(|score| (0.0..=100.0).contains(&score)), "{measured:?}: {score:?}");
        }
    }
}
