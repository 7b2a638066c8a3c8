//! Wakes the engine when the next key or wait ends.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::Inner;
use crate::time::Time;

/// When the next tick is due, and a way to say that it is due earlier.
#[derive(Debug)]
pub(super) struct Wake {
    due: AtomicU64,
    earlier: Arc<Notify>,
}

/// No tick is due.
const NEVER: u64 = u64::MAX;

impl Default for Wake {
    fn default() -> Self {
        Self { due: AtomicU64::new(NEVER), earlier: Arc::default() }
    }
}

impl Wake {
    /// The engine wants to be woken then.
    pub(super) fn at(&self, deadline: Option<Time>) {
        let at = deadline.map_or(NEVER, Time::micros);
        if at < self.due.load(Ordering::Relaxed) {
            self.due.store(at, Ordering::Relaxed);
            self.earlier.notify_one();
        }
    }
}

pub(super) fn start(inner: &Arc<Inner>) {
    let earlier = Arc::clone(&inner.ticker.earlier);
    let inner = Arc::downgrade(inner);
    tokio::spawn(async move {
        while let Some(wait) = tick(&inner) {
            // A tick that is due earlier than thought, or the end of the wait.
            let _ = tokio::time::timeout(wait, earlier.notified()).await;
        }
    });
}

/// How long until the next is due; `None` when the engine is gone.
fn tick(inner: &Weak<Inner>) -> Option<Duration> {
    /// Long enough to cost nothing, short enough to notice that the engine is gone or the clock was set.
    const LONGEST: Duration = Duration::from_secs(1);
    let inner = inner.upgrade()?;
    let now = inner.clock.now();
    let due = inner.ticker.due.load(Ordering::Relaxed);
    if now.micros() < due {
        return Some(Duration::from_micros(due - now.micros()).min(LONGEST));
    }
    let mut engine = inner.lock();
    let deliveries = engine.tick(now);
    inner.ticker.due.store(NEVER, Ordering::Relaxed);
    inner.settle(&mut engine, deliveries);
    let due = inner.ticker.due.load(Ordering::Relaxed);
    Some(Duration::from_micros(due.saturating_sub(now.micros())).min(LONGEST))
}
