//! How far the server is from this machine: in time, and in time of day.

use std::time::Duration;

use serde_json::json;

use super::check::Check;
use super::evidence::Skew;
use super::limits::{BADLY_SKEWED, SKEWED, SLOW};
use crate::members::NoAnswer;
use crate::round_trips::{RoundTrips, micros};
use crate::words::{count, millis};

/// Judged by what is certain of it: a difference within half a round trip may be none.
pub(super) fn clock(skew: &Result<Skew, NoAnswer>) -> Check {
    let skew = match skew {
        Ok(skew) => skew,
        Err(why) => return Check::unknown("clock", "TIME", why),
    };
    let off = Duration::from_micros(skew.micros.unsigned_abs());
    let certain = off.saturating_sub(skew.uncertainty);
    let margin = millis(skew.uncertainty);
    let direction = if skew.micros > 0 { "ahead of" } else { "behind" };
    let fact = format!("{} {direction} this machine, ± {margin}", millis(off));
    let advice = "let NTP set the clock of both machines: timedatectl set-ntp true";
    let check = if certain > BADLY_SKEWED {
        Check::bad("clock", format!("{fact}: locks and windows end at the wrong time"), advice)
    } else if certain > SKEWED {
        Check::warning("clock", fact, advice)
    } else if certain.is_zero() {
        Check::good("clock", format!("the same as here, ± {margin}"))
    } else {
        Check::good("clock", fact)
    };
    check.numbers(json!({ "skew_us": skew.micros, "uncertainty_us": micros(skew.uncertainty) }))
}

pub(super) fn latency(trips: &RoundTrips, patience: Duration) -> Check {
    let pings = count(trips.asked() as u64, "ping");
    let fact = format!(
        "least {}, median {}, 99 % within {}, of {pings}",
        trips.shown(0.0),
        trips.shown(0.5),
        trips.shown(0.99)
    );
    let check = if let Some((why, lost)) = trips.unanswered() {
        let fact = format!("{lost} of {pings} had no answer: {why}");
        let patience = millis(patience);
        Check::bad(
            "latency",
            fact,
            format!("look at the network and the server's load: SLOWLOG GET; command_timeout is {patience}"),
        )
    } else if trips.within(0.5).is_some_and(|median| median > SLOW) {
        Check::warning(
            "latency",
            fact,
            "move closer to the server, or look for what slows it: redis-cli --latency, SLOWLOG GET",
        )
    } else {
        Check::good("latency", fact)
    };
    check.numbers(json!({
        "pings": trips.asked(),
        "answered": trips.answered(),
        "least_us": trips.micros(0.0),
        "median_us": trips.micros(0.5),
        "p99_us": trips.micros(0.99),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    fn judged(micros: i64, uncertainty_micros: u64) -> (State, String) {
        let check = clock(&Ok(Skew { micros, uncertainty: Duration::from_micros(uncertainty_micros) }));
        (check.state, check.fact)
    }

    #[test]
    fn a_clock_is_judged_the_same_in_both_directions() {
        let cases = [(50_000, State::Good), (150_000, State::Warning), (1_500_000, State::Bad)];
        for (micros, expected) in cases {
            assert_eq!(judged(micros, 10).0, expected, "{micros}");
            assert_eq!(judged(-micros, 10).0, expected, "-{micros}");
        }
        assert_eq!(judged(150_000, 50).1, "150 ms ahead of this machine, ± 0.05 ms");
        assert_eq!(judged(-150_000, 50).1, "150 ms behind this machine, ± 0.05 ms");
    }

    #[test]
    fn what_is_not_certain_is_not_held_against_the_clock() {
        assert_eq!(judged(150_000, 60_000).0, State::Good);
        assert_eq!(judged(40, 50), (State::Good, "the same as here, ± 0.05 ms".to_owned()));
        assert_eq!(judged(i64::MIN, 50).0, State::Bad);
    }
}
