//! How long keys live, as constants.

use std::time::Duration;

/// How long a key lives. The contract's own durations: a deployment may have others by its settings, which a store knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ttl {
    /// The rule.
    pub policy: Policy,
    /// The duration the rule names, if it names one.
    pub lasts: Option<Duration>,
}

impl Ttl {
    /// Until it is deleted.
    pub const NONE: Self = Self { policy: Policy::None, lasts: None };

    /// A rule with a duration in milliseconds.
    #[must_use]
    pub const fn millis(policy: Policy, millis: u64) -> Self {
        Self { policy, lasts: Some(Duration::from_millis(millis)) }
    }
}

/// The rule of a TTL; see the contract language for what each one means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// Until it is deleted.
    None,
    /// That long after creation.
    Fixed,
    /// That long after the last write.
    Sliding,
    /// Never before another key.
    Linked {
        /// The name of that key.
        to: &'static str,
    },
    /// Renewed by every write and by a job; absence means rebuild.
    Refreshed,
    /// Members of that age go; the key lives that long after the last write, if at all.
    Pruned {
        /// How long the key lives after the last write.
        key: Option<Duration>,
    },
    /// That long after an event.
    After {
        /// The event.
        event: &'static str,
        /// The limit until the event.
        before: Option<Duration>,
    },
    /// Some TTL, at most that long.
    Max,
}
