//! Quantities as people read them.

use std::time::Duration;

/// A round trip or another short time: `0.08 ms`, `12.3 ms`, `340 ms`; longer ones as [`span`] has them.
pub(crate) fn millis(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    match millis {
        ..10.0 => format!("{millis:.2} ms"),
        ..100.0 => format!("{millis:.1} ms"),
        ..1000.0 => format!("{millis:.0} ms"),
        _ => span(time),
    }
}

/// A time of a second or more in its largest unit: `1.5 s`, `3 min`, `26 h`, `12 days`.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => {
            let text = format!("{:.1}", time.as_secs_f64());
            format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
        }
        60..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A size with one digit behind the point: `1.1 MB`. In powers of 1024, as Redis and contracts count.
pub(crate) fn size(bytes: u64) -> String {
    let mut rest = bytes as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if rest < 1024.0 {
            let text = format!("{rest:.1}");
            return format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text));
        }
        rest /= 1024.0;
    }
    format!("{rest:.1} TB")
}

/// `1 warning`, `2 warnings`.
pub(crate) fn count(number: u64, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_they_should() {
        let micros = [80, 9_999, 12_340, 340_000, 1_500_000, 60_000_000, 7_200_000_000, 172_800_000_000];
        let shown = micros.map(|micros| millis(Duration::from_micros(micros)));
        assert_eq!(shown, ["0.08 ms", "10.00 ms", "12.3 ms", "340 ms", "1.5 s", "1 min", "2 h", "2 days"]);
        assert_eq!(span(Duration::from_secs(3)), "3 s");
        let sizes = [0, 1023, 1024, 1_150_000, 8 << 20, 3 << 30].map(size);
        assert_eq!(sizes, ["0 B", "1023 B", "1 KB", "1.1 MB", "8 MB", "3 GB"]);
        assert_eq!((count(1, "warning"), count(0, "warning")), ("1 warning".into(), "0 warnings".into()));
    }
}
