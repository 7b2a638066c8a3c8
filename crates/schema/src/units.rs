//! Durations, sizes and ranges, as a contract writes them.

use std::fmt;
use std::time::Duration;

/// Parses `500ms`, `30s`, `5m`, `2h`, `7d`. Zero is refused: a TTL of nothing is a mistake.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_number(text)?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" => return Err(format!("`{text}` has no unit; write `{text}s`, `{text}m` or `{text}h`")),
        other => return Err(format!("`{other}` is not a unit of time; use ms, s, m, h or d")),
    };
    match number.checked_mul(millis) {
        Some(0) => Err("a duration of zero keeps nothing".to_owned()),
        Some(total) => Ok(Duration::from_millis(total)),
        None => Err(format!("`{text}` is too long")),
    }
}

/// Parses `512B`, `100KB`, `1MB`, `2GB` with binary multiples.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split_number(text)?;
    let factor = match unit {
        "B" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        "" => return Err(format!("`{text}` has no unit; write `{text}B`, `{text}KB` or `{text}MB`")),
        other => return Err(format!("`{other}` is not a unit of size; use B, KB, MB or GB")),
    };
    number
        .checked_mul(factor)
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| format!("`{text}` is not a usable size"))
}

fn split_number(text: &str) -> Result<(u64, &str), String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = text[..digits].parse().map_err(|_| format!("`{text}` does not start with a number"))?;
    Ok((number, text[digits..].trim_start()))
}

/// The shortest exact way to write a duration: `1h`, `90s`, `1500ms`.
#[must_use]
pub fn show_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    // A single day reads better as 24h.
    let units = [(86_400_000, 2, "d"), (3_600_000, 1, "h"), (60_000, 1, "m"), (1_000, 1, "s")];
    for (unit, from, name) in units {
        if millis >= unit * from && millis.is_multiple_of(unit) {
            return format!("{}{name}", millis / unit);
        }
    }
    format!("{millis}ms")
}

/// The shortest exact way to write a size: `512KB`, `1MB`, `100B`.
#[must_use]
pub fn show_size(bytes: u64) -> String {
    for (unit, name) in [(1_u64 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{}{name}", bytes / unit);
        }
    }
    format!("{bytes}B")
}

/// An inclusive range of whole numbers, `LO..HI`; either end may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntRange {
    /// Smallest value allowed.
    pub low: Option<i64>,
    /// Largest value allowed.
    pub high: Option<i64>,
}

impl IntRange {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (low, high) = ends(text)?;
        let number = |end: &str| end.parse().map_err(|_| format!("`{end}` is not a whole number"));
        let range = Self { low: low.map(number).transpose()?, high: high.map(number).transpose()? };
        match (range.low, range.high) {
            (Some(low), Some(high)) if low > high => {
                Err(format!("`{text}` holds nothing: {low} is above {high}"))
            }
            _ => Ok(range),
        }
    }

    /// Whether `value` lies inside.
    #[must_use]
    pub fn contains(&self, value: i64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }
}

impl fmt::Display for IntRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_ends(f, self.low, self.high)
    }
}

/// An inclusive range of numbers, `LO..HI`; either end may be open.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FloatRange {
    /// Smallest value allowed.
    pub low: Option<f64>,
    /// Largest value allowed.
    pub high: Option<f64>,
}

impl FloatRange {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (low, high) = ends(text)?;
        let number = |end: &str| match end.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(format!("`{end}` is not a number")),
        };
        let range = Self { low: low.map(number).transpose()?, high: high.map(number).transpose()? };
        match (range.low, range.high) {
            (Some(low), Some(high)) if low > high => {
                Err(format!("`{text}` holds nothing: {low} is above {high}"))
            }
            _ => Ok(range),
        }
    }
}

impl FloatRange {
    /// Whether `value` lies inside.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }
}

impl fmt::Display for FloatRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_ends(f, self.low, self.high)
    }
}

fn ends(text: &str) -> Result<(Option<&str>, Option<&str>), String> {
    fn end(text: &str) -> Option<&str> {
        Some(text.trim()).filter(|end| !end.is_empty())
    }
    let (low, high) = text
        .split_once("..")
        .ok_or_else(|| format!("`{text}` is not a range; write `LO..HI`, `LO..` or `..HI`"))?;
    Ok((end(low), end(high)))
}

fn show_ends<T: fmt::Display>(f: &mut fmt::Formatter<'_>, low: Option<T>, high: Option<T>) -> fmt::Result {
    if let Some(low) = low {
        write!(f, "{low}")?;
    }
    f.write_str("..")?;
    if let Some(high) = high {
        write!(f, "{high}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_show_the_same() {
        for text in ["500ms", "30s", "5m", "2h", "7d", "24h", "25h", "90s"] {
            assert_eq!(show_duration(duration(text).unwrap()), text);
        }
        assert_eq!(show_duration(duration("3600s").unwrap()), "1h");
        assert!(duration("30").unwrap_err().contains("no unit"));
        assert!(duration("0s").is_err());
        assert!(duration("99999999999999999999d").is_err());
    }

    #[test]
    fn sizes_are_binary_multiples() {
        assert_eq!(size("512KB").unwrap(), 512 * 1024);
        assert_eq!(show_size(size("1MB").unwrap()), "1MB");
        assert!(size("1mb").is_err());
    }

    #[test]
    fn ranges_may_be_open_at_either_end_but_not_empty() {
        assert!(IntRange::parse("1..").unwrap().contains(7));
        assert!(!IntRange::parse("..3").unwrap().contains(4));
        assert!(IntRange::parse("5..1").is_err());
        assert!(IntRange::parse("5").is_err());
        assert_eq!(FloatRange::parse("0..1").unwrap().to_string(), "0..1");
        assert!(FloatRange::parse("0..inf").is_err());
    }
}
