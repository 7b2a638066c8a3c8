//! The numbers of INCRBYFLOAT and HINCRBYFLOAT: C's `long double` with the 80 bits of the x87, so that 0.1 and 0.2 are 0.3.
//!
//! Reading and adding round once, to the nearest and to even in the middle; what is shown are the exact digits of the
//! result. A text is shorter than [`TOO_LONG`], and exponents out of range are refused before anything is multiplied out:
//! no number takes more than a few kilobytes and a few divisions.

use num_bigint::BigUint;

/// Redis refuses texts of this length.
const TOO_LONG: usize = 5 * 1024;

/// Decimals that are shown.
const DECIMALS: u32 = 17;

/// A number, and never "not a number".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LongDouble {
    /// Of either sign: nothing that is added to it gives a number again.
    Infinite,
    Finite(Finite),
}

/// `significand × 2^exponent`, with the highest bit set unless the exponent is the least there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finite {
    negative: bool,
    significand: u64,
    exponent: i32,
}

/// What a binary format can hold.
struct Format {
    /// Of the significand.
    bits: i64,
    /// The exponents of its lowest bit.
    least: i64,
    most: i64,
}

const X87: Format = Format { bits: 64, least: -16_445, most: 16_320 };
const DOUBLE: Format = Format { bits: 53, least: -1_074, most: 971 };

impl LongDouble {
    pub(crate) const ZERO: Self =
        Self::Finite(Finite { negative: false, significand: 0, exponent: X87.least as i32 });

    /// As C's strtold reads it: all of the text, in decimal or hexadecimal, in range.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        if text.len() >= TOO_LONG {
            return None;
        }
        let (negative, body) = signed(text);
        if names_infinity(body) {
            return Some(Self::Infinite);
        }
        let (significand, exponent) = match Digits::parse(body)? {
            Digits { radix: 16, whole, fraction, exponent } => hexadecimal(whole, fraction, exponent),
            Digits { whole, fraction, exponent, .. } => decimal(whole, fraction, exponent)?,
        };
        let (significand, exponent) = X87.round(significand, exponent)?;
        Some(Self::Finite(Finite { negative, significand, exponent }))
    }

    /// `None` where there is no finite sum.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Finite(one), Self::Finite(other)) => one.plus(other).map(Self::Finite),
            _ => None,
        }
    }
}

/// The digits of C's `%.17Lf`, without the zeros at the end.
impl std::fmt::Display for LongDouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Infinite => f.write_str("inf"),
            Self::Finite(finite) => std::fmt::Display::fmt(finite, f),
        }
    }
}

impl Finite {
    fn plus(self, other: Self) -> Option<Self> {
        /// Room below the larger number's last bit, which is more than rounding ever looks at.
        const BELOW: u32 = 62;
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let apart = large.exponent.abs_diff(small.exponent);
        let room = u128::from(small.significand) << BELOW;
        let shifted = room.checked_shr(apart).unwrap_or(0);
        let is_cut = shifted.checked_shl(apart).unwrap_or(0) != room;
        // The lowest bit stands for all that was cut off.
        let aligned = shifted | u128::from(is_cut);
        let sum = large.with_sign(u128::from(large.significand) << BELOW) + small.with_sign(aligned);
        let exponent = i64::from(large.exponent) - i64::from(BELOW);
        let (significand, exponent) = X87.round(sum.unsigned_abs(), exponent)?;
        Some(Self { negative: sum < 0, significand, exponent })
    }

    fn with_sign(self, magnitude: u128) -> i128 {
        // Both have 126 bits at most.
        let magnitude = magnitude.cast_signed();
        if self.negative { -magnitude } else { magnitude }
    }

    /// The whole part, and what follows the point.
    fn parts(self) -> (String, u64) {
        if let Ok(exponent) = u32::try_from(self.exponent) {
            return ((BigUint::from(self.significand) << exponent).to_string(), 0);
        }
        const ONE: u128 = 10_u128.pow(DECIMALS);
        // 121 bits at most.
        let scaled = u128::from(self.significand) * ONE;
        let rounded = rounded_shift(scaled, self.exponent.unsigned_abs());
        ((rounded / ONE).to_string(), (rounded % ONE) as u64)
    }
}

impl std::fmt::Display for Finite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, fraction) = self.parts();
        if self.negative && (whole != "0" || fraction != 0) {
            f.write_str("-")?;
        }
        f.write_str(&whole)?;
        if fraction == 0 {
            return Ok(());
        }
        let decimals = format!("{fraction:0width$}", width = DECIMALS as usize);
        write!(f, ".{}", decimals.trim_end_matches('0'))
    }
}

impl Format {
    /// The nearest number; the lowest bit of a long significand may stand for more that follows. `None` where it is out
    /// of range: too large, or so small that only zero is near.
    fn round(&self, significand: u128, exponent: i64) -> Option<(u64, i32)> {
        if significand == 0 {
            return Some((0, i32::try_from(self.least).ok()?));
        }
        let length = i64::from(u128::BITS - significand.leading_zeros());
        let cut = (length - self.bits).max(self.least - exponent);
        let mut kept = match u32::try_from(cut) {
            Ok(cut) => rounded_shift(significand, cut),
            Err(_) => significand << cut.unsigned_abs(),
        };
        let mut exponent = exponent + cut;
        if kept >> self.bits != 0 {
            kept >>= 1;
            exponent += 1;
        }
        if kept == 0 || exponent > self.most {
            return None;
        }
        Some((u64::try_from(kept).ok()?, i32::try_from(exponent).ok()?))
    }
}

/// Without so many bits, rounded to the nearest, in the middle to even. Of at most 127 bits.
fn rounded_shift(value: u128, bits: u32) -> u128 {
    if bits == 0 {
        return value;
    }
    // Less than half of one.
    let Some(half) = 1_u128.checked_shl(bits - 1).filter(|_| bits < u128::BITS) else { return 0 };
    let kept = value >> bits;
    let rest = value - (kept << bits);
    let up = rest > half || (rest == half && kept & 1 == 1);
    kept + u128::from(up)
}

/// A number's digits, as they are written.
struct Digits<'a> {
    radix: u32,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// Of ten, or of two after hexadecimal digits.
    exponent: i64,
}

impl<'a> Digits<'a> {
    fn parse(text: &'a [u8]) -> Option<Self> {
        let (radix, mark, text) = match text {
            [b'0', b'x' | b'X', rest @ ..] => (16, b'p', rest),
            _ => (10, b'e', text),
        };
        let (whole, rest) = split_digits(text, radix);
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => split_digits(rest, radix),
            _ => (&rest[..0], rest),
        };
        let exponent = match rest {
            [] => 0,
            [letter, rest @ ..] if letter.eq_ignore_ascii_case(&mark) => exponent(rest)?,
            _ => return None,
        };
        let any = !whole.is_empty() || !fraction.is_empty();
        any.then_some(Self { radix, whole, fraction, exponent })
    }
}

fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

fn names_infinity(body: &[u8]) -> bool {
    body.eq_ignore_ascii_case(b"inf") || body.eq_ignore_ascii_case(b"infinity")
}

fn split_digits(text: &[u8], radix: u32) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !char::from(*byte).is_digit(radix)).unwrap_or(text.len());
    text.split_at(end)
}

/// What lies far out of any range stays there without being exact.
fn exponent(text: &[u8]) -> Option<i64> {
    const FAR: i64 = 1_000_000;
    let (negative, digits) = signed(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size = digits.iter().fold(0, |size, digit| (size * 10 + i64::from(digit - b'0')).min(FAR));
    Some(if negative { -size } else { size })
}

/// Significand and exponent of two. The lowest bit of a long significand stands for all digits that found no room.
fn hexadecimal(whole: &[u8], fraction: &[u8], exponent: i64) -> (u128, i64) {
    const ROOM: u128 = 1 << 120;
    let (mut significand, mut exponent, mut is_cut) = (0_u128, exponent, false);
    for (place, digit) in whole.iter().chain(fraction).enumerate() {
        let digit = char::from(*digit).to_digit(16).unwrap_or(0);
        if significand < ROOM {
            significand = significand << 4 | u128::from(digit);
        } else {
            is_cut |= digit != 0;
            exponent += 4;
        }
        if place >= whole.len() {
            exponent -= 4;
        }
    }
    (significand | u128::from(is_cut), exponent)
}

/// The same of decimal digits; `None` where the number is out of any range.
fn decimal(whole: &[u8], fraction: &[u8], exponent: i64) -> Option<(u128, i64)> {
    /// Ten to the power of this is beyond the largest number, and below half the smallest when negative.
    const RANGE: i64 = 4_960;
    /// Bits of the quotient: two more than are kept.
    const BITS: i64 = 66;
    let zeros = |digits: &&u8| **digits == b'0';
    let digits: Vec<u8> = whole.iter().chain(fraction).skip_while(zeros).copied().collect();
    if digits.is_empty() {
        return Some((0, 0));
    }
    let scale = exponent - i64::try_from(fraction.len()).ok()?;
    let magnitude = scale + i64::try_from(digits.len()).ok()?;
    if magnitude.abs() > RANGE {
        return None;
    }
    let power = BigUint::from(10_u32).pow(u32::try_from(scale.unsigned_abs()).ok()?);
    let digits = BigUint::parse_bytes(&digits, 10)?;
    let (mut above, mut below) =
        if scale < 0 { (digits, power) } else { (digits * power, BigUint::from(1_u32)) };
    let shift = BITS - (above.bits().cast_signed() - below.bits().cast_signed());
    if shift > 0 {
        above <<= shift;
    } else {
        below <<= shift.unsigned_abs();
    }
    let quotient = &above / &below;
    let is_cut = &quotient * below != above;
    Some((u128::try_from(quotient).ok()? | u128::from(is_cut), -shift))
}

/// A hexadecimal text as C's strtod reads it; the standard library reads only decimal ones.
pub(crate) fn double_from_hexadecimal(text: &[u8]) -> Option<f64> {
    let (negative, body) = signed(text);
    let Digits { radix: 16, whole, fraction, exponent } = Digits::parse(body)? else { return None };
    let (significand, exponent) = hexadecimal(whole, fraction, exponent);
    let (significand, exponent) = DOUBLE.round(significand, exponent)?;
    const HIDDEN: u64 = 1 << 52;
    let bits = match significand.checked_sub(HIDDEN) {
        // From one to just below two, times a power of two whose bias is 1023.
        Some(rest) => rest | u64::try_from(exponent + 52 + 1023).ok()? << 52,
        None => significand,
    };
    let value = f64::from_bits(bits);
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        LongDouble::parse(text.as_bytes()).map(|number| number.to_string())
    }

    fn sum(one: &str, other: &str) -> Option<String> {
        let read = |text: &str| LongDouble::parse(text.as_bytes()).unwrap();
        read(one).plus(read(other)).map(|sum| sum.to_string())
    }

    #[test]
    fn texts_are_read_as_c_reads_them() {
        for (text, expected) in [
            ("0.1", Some("0.1")),
            ("-3.0e3", Some("-3000")),
            ("+.5", Some("0.5")),
            ("5.", Some("5")),
            ("-0", Some("0")),
            ("-1e-30", Some("0")),
            ("1E2", Some("100")),
            ("0x1.8p3", Some("12")),
            ("0X.8", Some("0.5")),
            ("-0xffP-4", Some("-15.9375")),
            ("0e99999999999999999999", Some("0")),
            ("inf", Some("inf")),
            ("-INFINITY", Some("inf")),
            ("9223372036854775807", Some("9223372036854775807")),
            ("18446744073709551615", Some("18446744073709551615")),
            // One bit more than there is room for: in the middle to even, and beyond it up.
            ("18446744073709551617", Some("18446744073709551616")),
            ("18446744073709551619", Some("18446744073709551620")),
            ("18446744073709551617.000000000000000000000001", Some("18446744073709551618")),
            ("0x8000000000000000.8", Some("9223372036854775808")),
            ("0x8000000000000000.80000000000000000001", Some("9223372036854775809")),
            ("1e4933", None),
            ("1e-4952", None),
            ("1e99999999999999999999", None),
            ("0x1p16384", None),
            ("0x1p-16446", None),
            ("nan", None),
            ("", None),
            ("-", None),
            (".", None),
            ("1e", None),
            ("1e+", None),
            ("e5", None),
            ("0x", None),
            ("0x.p1", None),
            ("0x1p", None),
            ("1.5.5", None),
            (" 1", None),
            ("1 ", None),
            ("1\0", None),
            ("--1", None),
            ("infinit", None),
        ] {
            assert_eq!(shown(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_ends_of_the_range_are_exact() {
        let largest = shown("1.189731495357231765e4932").unwrap();
        assert_eq!(largest.len(), 4933);
        assert_eq!(shown("0x1.fffffffffffffffep16383"), Some(largest));
        assert_eq!(shown("0x1.ffffffffffffffffp16383"), None);
        let smallest = LongDouble::parse(b"3.6e-4951").unwrap();
        assert_eq!(smallest, LongDouble::parse(b"0x1p-16445").unwrap());
        assert_eq!(LongDouble::parse(b"1.9e-4951").unwrap(), smallest);
        assert_eq!(shown("1.8e-4951"), None);
    }

    #[test]
    fn sums_are_rounded_once() {
        for (one, other, expected) in [
            ("0.1", "0.2", "0.3"),
            ("5.0e3", "2.0e2", "5200"),
            ("1", "-1", "0"),
            ("0.5", "-0.75", "-0.25"),
            ("18446744073709551615", "1", "18446744073709551616"),
            ("18446744073709551615", "0.5", "18446744073709551616"),
            ("18446744073709551614", "0.5", "18446744073709551614"),
            ("18446744073709551614", "0.50001", "18446744073709551615"),
            ("18446744073709551614", "0x.8000000000000001", "18446744073709551615"),
            ("9223372036854775809", "-0x1p-4000", "9223372036854775809"),
            ("0x1p-16445", "1", "1"),
        ] {
            assert_eq!(sum(one, other).as_deref(), Some(expected), "{one} + {other}");
            assert_eq!(sum(other, one).as_deref(), Some(expected), "{other} + {one}");
        }
        assert_eq!(sum("1e4932", "1e4932"), None);
        assert_eq!(sum("inf", "-inf"), None);
        assert_eq!(LongDouble::ZERO.plus(LongDouble::ZERO), Some(LongDouble::ZERO));
    }

    #[test]
    fn texts_that_are_too_long_are_refused() {
        assert_eq!(shown(&"0".repeat(TOO_LONG - 1)).as_deref(), Some("0"));
        assert_eq!(shown(&"0".repeat(TOO_LONG)), None);
        let long = format!("0.{}1e5000", "0".repeat(4999));
        assert_eq!(shown(&long).as_deref(), Some("1"));
        assert!(shown(&format!("1e-4{}", "9".repeat(5000))).is_none());
        assert!(shown(&"9".repeat(TOO_LONG - 1)).is_none());
    }

    #[test]
    fn hexadecimal_doubles_are_rounded_once() {
        for (text, expected) in [
            ("0x10", Some(16.0)),
            ("-0x1.8p1", Some(-3.0)),
            ("0x0p0", Some(0.0)),
            ("0x1.fffffffffffffp1023", Some(f64::MAX)),
            ("0x1p1024", None),
            ("0x1p-1074", Some(f64::from_bits(1))),
            ("0x1p-1075", None),
            ("0x1.8p-1075", Some(f64::from_bits(1))),
            ("0x1p-1022", Some(f64::MIN_POSITIVE)),
            // Once to 64 and then to 53 bits would go down to even.
            ("0x1.00000000000008000000001", Some(1.0 + f64::EPSILON)),
            ("10", None),
        ] {
            assert_eq!(double_from_hexadecimal(text.as_bytes()), expected, "{text}");
        }
    }
}
