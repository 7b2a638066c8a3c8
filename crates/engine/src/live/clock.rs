//! What time it is.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::time::Time;

/// Where a live engine gets its time from.
#[derive(Debug, Clone, Copy, Default)]
pub enum Clock {
    /// The system.
    #[default]
    System,
    /// Tokio's clock, counted from this moment. A test that pauses it moves time as it likes. A log is written by a task of
    /// the same runtime then, which ends a moment after the engine, or with the runtime: what was neither flushed nor acknowledged
    /// may be lost, and the folder is another engine's only when the runtime is gone.
    Tokio {
        /// What tokio's clock showed.
        start: tokio::time::Instant,
        /// What time it was then.
        time: Time,
    },
}

impl Clock {
    /// Tokio's clock, which shows this moment now.
    #[must_use]
    pub fn tokio(time: Time) -> Self {
        Self::Tokio { start: tokio::time::Instant::now(), time }
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Time {
        match self {
            Self::System => Time::from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
            Self::Tokio { start, time } => {
                let passed = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
                Time::from_micros(time.micros().saturating_add(passed))
            }
        }
    }

    /// Measures how long a command takes. Where time is made up, none does: what it took would differ from run to run.
    pub(super) fn stopwatch(&self) -> Option<fn() -> u64> {
        (!self.is_made_up()).then_some(stopwatch)
    }

    /// Whether it is not the time of the machine that passes.
    pub(super) fn is_made_up(&self) -> bool {
        matches!(self, Self::Tokio { .. })
    }
}

/// Microseconds since some moment: for measuring only.
fn stopwatch() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_micros()).unwrap_or(u64::MAX)
}
