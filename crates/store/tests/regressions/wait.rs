//! Waiting for what must come, and options for a busy machine.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use keyplane_store::Options;
use tokio::time::{Instant, sleep};

use crate::rig;

/// What has not come by then does not come.
const LIMIT: Duration = Duration::from_secs(20);

/// Asks until it is so. Panics with the last reason when it is not in a while.
pub(crate) async fn until<T, E, F>(what: &str, mut ask: impl FnMut() -> F) -> T
where
    E: Display,
    F: Future<Output = Result<T, E>>,
{
    let start = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(reason) if start.elapsed() > LIMIT => panic!("{what}: not in {LIMIT:?}; last: {reason}"),
            Err(_) => sleep(Duration::from_millis(5)).await,
        }
    }
}

/// The same for a condition.
pub(crate) async fn until_so(what: &str, mut so: impl FnMut() -> bool) {
    until(what, || std::future::ready(if so() { Ok(()) } else { Err("not so") })).await;
}

/// Deadlines that no test is meant to reach, for what must work however busy the machine is.
pub(crate) fn patient() -> Options {
    let mut options = rig::options();
    options.command_timeout = Duration::from_secs(5);
    options.connect_timeout = Duration::from_secs(5);
    options
}
