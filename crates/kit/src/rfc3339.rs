//! Moments in RFC 3339, as others have written them.

/// Microseconds since 1970 of a moment such as `2026-11-16T08:53:45.123Z`, with any offset and any number of digits, because
/// writers differ; `None` for what is no moment.
#[must_use]
pub fn rfc3339(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let zone = rest.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = rest.split_at(zone);
    let (time, fraction) = match time.split_once('.') {
        Some((time, digits)) => (time, fraction(digits)?),
        None => (time, 0),
    };
    let seconds = day(date)? * 86_400 + clock(time, true)? - offset(zone)?;
    Some(seconds * 1_000_000 + fraction)
}

/// Days since 1970.
fn day(date: &str) -> Option<i64> {
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let longest = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => 31,
    };
    if !(1..=12).contains(&month) || !(1..=longest).contains(&day) {
        return None;
    }
    // Howard Hinnant's days_from_civil: years begin in March, so that the leap day is their last. Never negative here.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

/// Seconds of a day.
fn clock(time: &str, leap_second: bool) -> Option<i64> {
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    (hour < 24 && minute < 60 && second < 60 + i64::from(leap_second))
        .then_some(hour * 3600 + minute * 60 + second)
}

/// Seconds that the clock of a zone is ahead.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let (sign, hours) = (zone.get(..1)?, zone.get(1..)?);
    let ahead = clock(&format!("{hours}:00"), false)?;
    Some(if sign == "-" { -ahead } else { ahead })
}

/// Microseconds; finer digits are left out.
fn fraction(digits: &str) -> Option<i64> {
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    format!("{digits:0<6}").get(..6)?.parse().ok()
}

/// Numbers of so many digits each.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(between);
    let mut found = [0; N];
    for (number, digits) in found.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits)?;
        *number = part.bytes().all(|digit| digit.is_ascii_digit()).then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_is_read_as_others_write_it() {
        for (text, micros) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.5Z", 500_000),
            ("1969-12-31T23:59:59.999999999z", -1),
            ("2000-02-29T12:00:00Z", 951_825_600_000_000),
            ("2030-01-01T00:00:00.000Z", 1_893_456_000_000_000),
            ("2030-01-01T02:30:00+02:30", 1_893_456_000_000_000),
            ("2029-12-31 22:00:00-02:00", 1_893_456_000_000_000),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),
        ] {
            assert_eq!(rfc3339(text), Some(micros), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "T",
            "now",
            "1893456000",
            "2030-01-01",
            "2030-01-01T00:00:00",
            "2030-13-01T00:00:00Z",
            "2030-02-29T00:00:00Z",
            "2030-00-01T00:00:00Z",
            "2030-01-00T00:00:00Z",
            "2030-01-01T24:00:00Z",
            "2030-01-01T00:60:00Z",
            "2030-01-01T00:00:00.Z",
            "2030-01-01T00:00:00.-1Z",
            "2030-01-01T00:00:00Zz",
            "2030-01-01T00:00:00+2:00",
            "2030-1-01T00:00:00Z",
            "2030-01-01T00:00:0éZ",
            "2030-01-01T00:00:00+é",
        ] {
            assert_eq!(rfc3339(text), None, "{text}");
        }
    }
}
