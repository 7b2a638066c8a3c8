//! Arguments of commands.

use crate::fault::{Fault, NOT_A_FLOAT, NOT_AN_INTEGER, SYNTAX};
use crate::number;

/// Whether an argument is this word, in any case.
pub(crate) fn is(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}

pub(crate) fn int(arg: &[u8]) -> Result<i64, Fault> {
    number::parse_int(arg).ok_or(NOT_AN_INTEGER)
}

pub(crate) fn float(arg: &[u8]) -> Result<f64, Fault> {
    number::parse_float(arg).ok_or(NOT_A_FLOAT)
}

/// The argument at a place that an option promises.
pub(crate) fn at<'a>(args: &[&'a [u8]], index: usize) -> Result<&'a [u8], Fault> {
    args.get(index).copied().ok_or(SYNTAX)
}

/// Start and stop of a range that may count from the end, as places in something of that length; `None` is empty.
pub(crate) fn range(start: i64, stop: i64, length: usize) -> Option<(usize, usize)> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let from_end = |index: i64| if index < 0 { (length + index).max(0) } else { index };
    let first = from_end(start);
    let last = if stop < 0 { length + stop } else { stop.min(length - 1) };
    if first > last || first >= length {
        return None;
    }
    Some((usize::try_from(first).ok()?, usize::try_from(last).ok()?))
}

/// The sum of two floating-point numbers in the text form of INCRBYFLOAT and HINCRBYFLOAT.
pub(crate) fn float_sum(before: &[u8], by: &[u8]) -> Result<String, Fault> {
    let sum = float(before)? + float(by)?;
    if sum.is_finite() {
        Ok(number::general(sum, 17))
    } else {
        Err(Fault::of("ERR increment would produce NaN or Infinity"))
    }
}
