//! Waiting between attempts: longer each time, never longer than a cap, never in step with others.

use std::time::Duration;

/// Doubles from `first` to `cap`; each wait is a random part between half and all of that, so that a thousand clients do
/// not come back in one instant.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    next: Duration,
    cap: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, cap: Duration) -> Self {
        Self { next: first, cap }
    }

    /// For retries inside one operation: the server asked us to come back in a moment.
    pub(crate) fn within_an_operation() -> Self {
        Self::new(Duration::from_millis(2), Duration::from_millis(100))
    }

    pub(crate) fn wait(&mut self) -> Duration {
        let full = self.next;
        self.next = (full * 2).min(self.cap);
        full.mul_f64(0.5 + 0.5 * fastrand::f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_cap_and_differ() {
        let (first, cap) = (Duration::from_millis(10), Duration::from_secs(1));
        let waits = |seed| {
            fastrand::seed(seed);
            let mut backoff = Backoff::new(first, cap);
            (0..20).map(|_| backoff.wait()).collect::<Vec<_>>()
        };
        let (one, other) = (waits(1), waits(2));
        assert_ne!(one, other);
        for (index, wait) in one.iter().enumerate() {
            let full = (first * 2_u32.pow(index.min(10) as u32)).min(cap);
            assert!(*wait >= full / 2 && *wait <= full, "{index}: {wait:?} of {full:?}");
        }
    }
}
