//! Moments as numbers, in the units that contracts have.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyplane_schema::{TimeFormat, ValueType};

/// A unit of time that scores and fields count in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// `unix_s`.
    Seconds,
    /// `unix_ms`.
    Millis,
    /// `unix_us`.
    Micros,
}

impl Unit {
    /// That of a contract's type; `None` where it is no number of a unit.
    pub(crate) fn of(kind: &ValueType) -> Option<Self> {
        match kind {
            ValueType::Time(TimeFormat::UnixS) => Some(Self::Seconds),
            ValueType::Time(TimeFormat::UnixMs) => Some(Self::Millis),
            ValueType::Time(TimeFormat::UnixUs) => Some(Self::Micros),
            _ => None,
        }
    }

    /// So many microseconds.
    pub(crate) fn micros(self) -> u32 {
        match self {
            Self::Seconds => 1_000_000,
            Self::Millis => 1_000,
            Self::Micros => 1,
        }
    }

    /// A duration in this unit. A part of one counts as a whole, so that nothing is over too early.
    pub(crate) fn duration(self, lasts: Duration) -> i64 {
        bounded(lasts.as_micros().div_ceil(self.micros().into()))
    }

    /// A moment in this unit: the one that it is in.
    pub(crate) fn moment(self, at: SystemTime) -> i64 {
        let unit = u128::from(self.micros());
        match at.duration_since(UNIX_EPOCH) {
            Ok(since) => bounded(since.as_micros() / unit),
            Err(before) => -bounded(before.duration().as_micros().div_ceil(unit)),
        }
    }
}

/// The most that a double holds exactly: scores and Lua have no other numbers.
const MOST: i64 = 1 << 53;

/// A number that scores and Lua can hold.
pub(crate) fn bounded(number: u128) -> i64 {
    i64::try_from(number).map_or(MOST, |number| number.min(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_in_its_unit_and_a_duration_never_too_short() {
        let at = UNIX_EPOCH + Duration::from_micros(1_999_999);
        assert_eq!(
            [Unit::Seconds, Unit::Millis, Unit::Micros].map(|unit| unit.moment(at)),
            [1, 1999, 1_999_999]
        );
        assert_eq!(Unit::Seconds.moment(UNIX_EPOCH - Duration::from_millis(1)), -1);
        assert_eq!(Unit::Seconds.duration(Duration::from_millis(1001)), 2);
        assert_eq!(Unit::Millis.duration(Duration::from_millis(1001)), 1001);
        assert_eq!(Unit::Micros.duration(Duration::MAX), MOST);
    }
}
