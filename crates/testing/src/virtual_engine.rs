//! The embedded engine in virtual time.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyplane_engine::live::{Clock, Fsync, Live, Options};

use crate::clock::BEGINNING;

/// An engine in memory whose time is tokio's. On a runtime that was started with `start_paused` it stands still until
/// [`advance`](Self::advance), or until everything waits.
#[derive(Debug)]
pub struct VirtualEngine {
    live: Live,
    clock: Clock,
}

impl VirtualEngine {
    /// Starts one, on the runtime of the caller. All its randomness comes from the seed.
    #[must_use]
    pub fn start(seed: u64) -> Self {
        let clock = clock_at(BEGINNING);
        Self { live: start(seed, clock, None), clock }
    }

    /// The engine: for `Store::on_engine`, or for connections past the store.
    #[must_use]
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// The engine's time.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_micros(self.clock.now().micros())
    }

    /// Moves the clock; what is due by then has happened afterwards.
    pub async fn advance(&self, by: Duration) {
        tokio::time::advance(by).await;
        // Ticks are a task of their own, and one has an end: whoever it wakes is woken too.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
}

/// Tokio's clock, which shows this moment now.
pub(crate) fn clock_at(moment: Duration) -> Clock {
    let micros = u64::try_from(moment.as_micros()).expect("a time in this age");
    Clock::tokio(keyplane_engine::Time::from_micros(micros))
}

/// An engine with this clock, in memory or with a log that is on the disk before anybody is told.
pub(crate) fn start(seed: u64, clock: Clock, folder: Option<&Path>) -> Live {
    let folder = folder.map(Path::to_owned);
    let options = Options { seed: Some(seed), clock, folder, fsync: Fsync::Always, ..Options::default() };
    Live::start(options).expect("a log that was only cut").0
}
