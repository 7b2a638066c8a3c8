//! Times that others have written, as microseconds since 1970.

use keyplane_schema::TimeFormat;

use crate::rfc3339::rfc3339;

/// How a heartbeat's time is written. `iso` is not among them: without a zone it is no moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format(TimeFormat);

impl Format {
    pub(super) fn of(format: TimeFormat) -> Option<Self> {
        (format != TimeFormat::Iso).then_some(Self(format))
    }

    pub(super) fn word(self) -> &'static str {
        self.0.word()
    }

    /// Reads a time. RFC 3339 is taken with any offset and any number of digits, because writers differ.
    pub(super) fn read(self, text: &str) -> Option<i64> {
        let unix = |unit: i64| text.parse::<i64>().ok()?.checked_mul(unit);
        match self.0 {
            TimeFormat::UnixS => unix(1_000_000),
            TimeFormat::UnixMs => unix(1_000),
            TimeFormat::UnixUs => unix(1),
            TimeFormat::Rfc3339 | TimeFormat::Rfc3339Ms => rfc3339(text),
            TimeFormat::Iso => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_no_moment() {
        let unix = Format(TimeFormat::UnixS);
        assert_eq!(["", "1.5", "soon", "9223372036854775807"].map(|text| unix.read(text)), [None; 4]);
        assert_eq!((unix.read("7"), Format::of(TimeFormat::Iso)), (Some(7_000_000), None));
    }
}
