//! Numbers as Redis reads and writes them.

use crate::long_double;

/// An integer in the one form that Redis takes: no plus, no leading zeros, no blanks.
pub(crate) fn parse_int(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut value: u64 = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    if negative { 0_i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// A floating-point number as C's strtod reads it, all of the text and never "not a number".
pub(crate) fn parse_float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    if text.starts_with(|first: char| first.is_ascii_whitespace()) {
        return None;
    }
    let Ok(value) = text.parse::<f64>() else {
        return long_double::double_from_hexadecimal(text.as_bytes());
    };
    let digits = text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E'));
    let is_zero = digits.clone().all(|byte| !matches!(byte, b'1'..=b'9'));
    let names_infinity = text.bytes().any(|byte| matches!(byte, b'n' | b'N'));
    match value {
        _ if value.is_nan() => None,
        // Out of range, in either direction.
        _ if value.is_infinite() && !names_infinity => None,
        0.0 if !is_zero => None,
        _ => Some(value),
    }
}

/// Appends the digits.
pub(crate) fn write_int(out: &mut Vec<u8>, value: i64) {
    let mut digits = [0_u8; 20];
    let (mut at, mut rest) = (digits.len(), value.unsigned_abs());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// The digits.
pub(crate) fn int_bytes(value: i64) -> Vec<u8> {
    let mut out = Vec::with_capacity(20);
    write_int(&mut out, value);
    out
}

/// `%.17g`, as Redis 7.0 shows a double.
pub(crate) fn shown(value: f64) -> String {
    general(value, 17)
}

/// C's `%.{digits}g`.
pub(crate) fn general(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let precision = i32::try_from(digits).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= precision {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs());
    }
    let decimals = usize::try_from(precision - 1 - exponent).unwrap_or(0);
    without_zeros(&format!("{value:.decimals$}")).to_owned()
}

/// Without zeros at the end of a fraction, and without a point that nothing follows.
fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_one_form() {
        for (text, value) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("18446744073709551616", None),
            ("-0", None),
            ("+1", None),
            ("01", None),
            ("", None),
            ("-", None),
            (" 1", None),
            ("1 ", None),
            ("1.0", None),
        ] {
            assert_eq!(parse_int(text.as_bytes()), value, "{text}");
        }
        for value in [0, 7, -7, i64::MAX, i64::MIN] {
            assert_eq!(int_bytes(value), value.to_string().into_bytes());
        }
    }

    #[test]
    fn floats_are_shown_as_c_shows_them() {
        for (value, text) in [
            (0.1, "0.10000000000000001"),
            (3.0, "3"),
            (1e17, "1e+17"),
            (1e16, "10000000000000000"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (-0.0, "-0"),
            (f64::INFINITY, "inf"),
            (1.0 / 3.0, "0.33333333333333331"),
            // In the middle to even.
            (1e15 + 0.25, "1000000000000000.2"),
            (1e15 + 0.75, "1000000000000000.8"),
        ] {
            assert_eq!(shown(value), text);
        }
    }

    #[test]
    fn floats_out_of_range_are_refused() {
        assert_eq!(parse_float(b"1e400"), None);
        assert_eq!(parse_float(b"1e-400"), None);
        assert_eq!(parse_float(b"nan"), None);
        assert_eq!(parse_float(b" 1"), None);
        assert_eq!(parse_float(b"-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(parse_float(b"0e5"), Some(0.0));
        assert_eq!(parse_float(b""), None);
        assert_eq!(parse_float(b"0x1.8p1"), Some(3.0));
        assert_eq!(parse_float(b"0x"), None);
    }
}
