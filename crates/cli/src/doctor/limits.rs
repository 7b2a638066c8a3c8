//! From where on a measurement is a finding. One place, each with its reason.

use std::time::Duration;

/// Pings to measure the latency with: enough for a 99th percentile.
pub(super) const PINGS: usize = 100;

/// A far server gets fewer pings, not more of the user's time.
pub(super) const PINGS_TIME: Duration = Duration::from_secs(1);

/// Half of the pings take longer: at home in one data centre they take less than 1 ms, between two of a region less
/// than 5. Every operation pays it at least once.
pub(super) const SLOW: Duration = Duration::from_millis(5);

/// Questions for the time; the one with the shortest round trip knows best.
pub(super) const CLOCK_QUESTIONS: usize = 5;

/// NTP keeps machines within a few milliseconds. What leases and windows compare is in seconds, and a tenth is felt.
pub(super) const SKEWED: Duration = Duration::from_millis(100);

/// The shortest lease and lock that may be set: a clock off by more makes one that has ended look alive.
pub(super) const BADLY_SKEWED: Duration = Duration::from_secs(1);

/// Of clients or memory: what is left is a burst or a night.
pub(super) const NEARLY_FULL_PERCENT: u64 = 80;

/// Below this the allocator's own overhead is most of the ratio.
pub(super) const FRAGMENTATION_COUNTS_FROM: u64 = 64 << 20;

/// Memory of the process for what it stores, in percent: Redis itself begins to defragment near here.
pub(super) const FRAGMENTED_PERCENT: u64 = 150;

/// With less memory than it stores, the rest is swapped out, and each touch of it stops the server.
pub(super) const SWAPPED_PERCENT: u64 = 90;
