//! `keyplane mempool tail`: every change of a stage, as it happens.

use std::time::Duration;

use keyplane_kit::events::{Event, EventId, Gap, Position};
use keyplane_mempool::state::Change;
use keyplane_mempool::told;

use super::{Site, unread};
use crate::args::Given;
use crate::outcome::{Failure, Outcome};
use crate::output::{FAINT, KEY, NAME, Output, WARN};

/// Read at once.
const BATCH: u64 = 100;

/// How long one question waits for something new.
const WAIT: Duration = Duration::from_secs(10);

pub(super) async fn run(
    from: Option<&str>,
    count: Option<u64>,
    given: &Given,
    output: &Output,
) -> Result<Outcome, Failure> {
    let position = from.map(position).transpose()?;
    let pool = Site::open(given).await?.pool()?;
    let events = pool.events();
    let position = match position {
        Some(position) => position,
        None => events.end().await.map_err(unread)?,
    };
    let mut tail = events.tail(position);
    let mut left = count.unwrap_or(u64::MAX);
    while left > 0 {
        let batch = tail.next(BATCH.min(left), WAIT).await.map_err(unread)?;
        // One entry may hold several.
        for (place, event) in batch.events.iter().enumerate().take(left.try_into().unwrap_or(usize::MAX)) {
            for (_, gap) in batch.gaps.iter().filter(|(before, _)| *before == place) {
                tell_gap(*gap, output)?;
            }
            tell(event, output)?;
            left -= 1;
        }
    }
    Ok(Outcome::Fine)
}

fn position(text: &str) -> Result<Position, Failure> {
    if text == "0-0" || text == "0" {
        return Ok(Position::Beginning);
    }
    text.parse::<EventId>().map(Position::After).map_err(|error| Failure::new(error.to_string()))
}

fn tell(event: &Event, output: &Output) -> Result<(), Failure> {
    // What a stranger has written is none of ours.
    let Some(change) = Change::read(event) else { return Ok(()) };
    if output.json {
        return output.record(&told::change(&change));
    }
    let mut behind = match change.from {
        None => change.reason.clone(),
        Some(from) => format!("was {from}, {}", change.reason),
    };
    if let Some(height) = change.height {
        behind.push_str(&format!(" at {height}"));
    }
    output.line(format!(
        "{FAINT}{:>6}{FAINT:#}  {KEY}{}{KEY:#}  {NAME}{:<12}{NAME:#} {FAINT}{behind}, by {}{FAINT:#}",
        change.id, change.hash, change.stage, change.by,
    ))
}

fn tell_gap(gap: Gap, output: &Output) -> Result<(), Failure> {
    if output.json {
        return output.record(&told::gap(gap));
    }
    let what = match gap {
        Gap::Missed(count) => format!("{count} events are gone"),
        Gap::Restarted => "the log began anew".to_owned(),
    };
    output.line(format!("{WARN}gap{WARN:#}  {what}"))
}
