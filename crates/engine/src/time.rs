//! Moments, as the engine is told them.

use std::time::Duration;

/// Microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Time(u64);

impl Time {
    /// From microseconds since 1970.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// From milliseconds since 1970.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1000))
    }

    /// Microseconds since 1970.
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0 / 1000
    }

    /// Seconds since 1970.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        self.0 / 1_000_000
    }
}

impl From<Duration> for Time {
    /// Since 1970.
    fn from(since: Duration) -> Self {
        Self(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}
