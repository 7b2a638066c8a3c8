//! Waiting for something that another process does.

use std::thread;
use std::time::{Duration, Instant};

/// A loaded machine may take its time; what has not come by then does not come.
const LIMIT: Duration = Duration::from_secs(30);

/// Often enough that waiting adds little to what is waited for.
const PAUSE: Duration = Duration::from_millis(5);

/// Asks until there is an answer. Panics with the last reason when there is none in half a minute.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(reason) if Instant::now() > deadline => {
                panic!("{what}: not within {} s; last: {reason}", LIMIT.as_secs())
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}
