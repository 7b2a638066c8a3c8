//! Pictures of something that runs: drawn over each other on a terminal, a line at a time elsewhere.

use std::io::IsTerminal as _;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::outcome::Failure;
use crate::output::{FAINT, Output};

/// Between pictures on a terminal; elsewhere a line per second is enough.
const FRAME: Duration = Duration::from_millis(200);
const LINE: Duration = Duration::from_secs(1);

/// News that fit under a picture.
const NEWS: usize = 8;

/// A bar of everything, in characters.
const WIDEST: u64 = 60;

/// How a picture is shown.
pub(crate) trait Shown {
    /// Several lines, for a terminal.
    fn board(&self) -> String;
    /// One line, for a log.
    fn summary(&self) -> String;
    /// For machines.
    fn as_json(&self) -> Value;
}

/// Shows pictures for that long.
pub(crate) async fn show<P: Shown>(
    lasts: Duration,
    output: &Output,
    picture: impl AsyncFn() -> Result<P, Failure>,
) -> Result<(), Failure> {
    let drawn = !output.json && std::io::stdout().is_terminal();
    let end = Instant::now() + lasts;
    let mut lines = 0;
    while Instant::now() < end {
        sleep(if drawn { FRAME } else { LINE }).await;
        let picture = picture().await?;
        if output.json {
            output.record(&picture.as_json())?;
        } else if drawn {
            let text = picture.board();
            output.text(&format!("{}{text}", over(lines)))?;
            lines = text.lines().count();
        } else {
            output.line(picture.summary())?;
        }
    }
    Ok(())
}

/// Back to the first line of the picture before, and everything below it gone.
fn over(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\x1b[{lines}A\x1b[J") }
}

/// A share of all. What is not nothing can be seen.
pub(crate) fn bar(count: u64, all: u64) -> String {
    let length = count.saturating_mul(WIDEST).div_ceil(all.max(1)).min(WIDEST);
    "▇".repeat(length as usize)
}

/// The newest news, a line each.
pub(crate) fn news<'n>(all: impl DoubleEndedIterator<Item = (Duration, &'n str)>) -> String {
    let mut newest: Vec<String> = all
        .rev()
        .take(NEWS)
        .map(|(at, what)| format!("  {FAINT}{:>5.1} s{FAINT:#}  {what}\n", at.as_secs_f64()))
        .collect();
    newest.reverse();
    newest.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share() {
        let lengths = [(0, 0), (0, 9), (1, 10_000), (30, 60), (60, 60), (61, 60)];
        let lengths = lengths.map(|(count, all)| bar(count, all).chars().count());
        assert_eq!(lengths, [0, 0, 1, 30, 60, 60]);
    }
}
