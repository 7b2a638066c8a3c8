//! A line on the terminal while something takes its time.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::output::{FAINT, Output};

/// What is over by then needs no progress.
const PATIENCE: Duration = Duration::from_secs(2);
const EVERY: Duration = Duration::from_millis(100);

/// Says what is being done, once that takes longer than two seconds. Gone when dropped; silent where stderr is no
/// terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    shared: Arc<Shared>,
    ticker: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    doing: Mutex<String>,
    drawn: AtomicBool,
}

impl Progress {
    pub(crate) fn start(output: &Output) -> Self {
        let shared = Arc::new(Shared::default());
        let wanted = !output.json && !output.quiet && std::io::stderr().is_terminal();
        let ticker = wanted.then(|| tokio::spawn(tick(Arc::clone(&shared))));
        Self { shared, ticker }
    }

    /// What is being done now.
    pub(crate) fn say(&self, doing: impl FnOnce() -> String) {
        if self.ticker.is_some() {
            *self.shared.doing.lock().unwrap_or_else(PoisonError::into_inner) = doing();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(ticker) = &self.ticker {
            ticker.abort();
        }
        if self.shared.drawn.load(Ordering::Relaxed) {
            draw("");
        }
    }
}

async fn tick(shared: Arc<Shared>) {
    tokio::time::sleep(PATIENCE).await;
    loop {
        let doing = shared.doing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        draw(&doing);
        shared.drawn.store(true, Ordering::Relaxed);
        tokio::time::sleep(EVERY).await;
    }
}

/// Over the line that is there.
fn draw(text: &str) {
    let mut stderr = anstream::stderr();
    // Progress that cannot be shown is no failure.
    let _ = write!(stderr, "\r{FAINT}{text}{FAINT:#}\x1b[K").and_then(|()| stderr.flush());
}
