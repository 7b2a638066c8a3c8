//! How long a server takes to answer.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::members::Reached;
use crate::words::millis;

/// Times from question to answer, in the order in which they were taken.
#[derive(Debug, Default)]
pub(crate) struct RoundTrips {
    took: Vec<Duration>,
    /// Why the last ping without an answer had none, and how many there were.
    unanswered: Option<(String, usize)>,
}

impl RoundTrips {
    /// One ping. An error that the server answers with is an answer: a user without PING still has a round trip.
    pub(crate) async fn ping(&mut self, server: &Reached) {
        let start = Instant::now();
        match server.ask(&["PING"]).await {
            Err(no_answer) if !no_answer.is_answer() => {
                let before = self.unanswered.as_ref().map_or(0, |(_, count)| *count);
                self.unanswered = Some((no_answer.to_string(), before + 1));
            }
            _ => self.took.push(start.elapsed()),
        }
    }

    pub(crate) fn answered(&self) -> usize {
        self.took.len()
    }

    pub(crate) fn asked(&self) -> usize {
        self.answered() + self.unanswered().map_or(0, |(_, count)| count)
    }

    /// Why the last ping without an answer had none, and how many there were.
    pub(crate) fn unanswered(&self) -> Option<(&str, usize)> {
        self.unanswered.as_ref().map(|(why, count)| (why.as_str(), *count))
    }

    /// The time that `share` of the pings stayed within; 0 is the least, 1 the worst. `None` before the first.
    pub(crate) fn within(&self, share: f64) -> Option<Duration> {
        let mut sorted = self.took.clone();
        sorted.sort_unstable();
        // The nearest rank: the smallest time that so many stayed within.
        let rank = (sorted.len() as f64 * share).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied()
    }

    /// A time as a cell of a table; empty where there is none.
    pub(crate) fn shown(&self, share: f64) -> String {
        self.within(share).map(millis).unwrap_or_default()
    }

    /// In microseconds, for machines.
    pub(crate) fn micros(&self, share: f64) -> Value {
        json!(self.within(share).map(micros))
    }
}

/// Whole microseconds, for machines.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_sorted_times() {
        let trips = |millis: &[u64]| RoundTrips {
            took: millis.iter().map(|millis| Duration::from_millis(*millis)).collect(),
            unanswered: None,
        };
        let five = trips(&[5, 1, 4, 2, 3]);
        let shares = [0.0, 0.5, 0.99, 1.0].map(|share| five.within(share).map(|time| time.as_millis()));
        assert_eq!(shares, [Some(1), Some(3), Some(5), Some(5)]);
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(trips(&hundred).within(0.99), Some(Duration::from_millis(99)));
        assert_eq!(trips(&[]).within(0.5), None);
    }
}
