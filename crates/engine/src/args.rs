//! Arguments of commands.

use crate::fault::{Fault, NOT_A_FLOAT, NOT_AN_INTEGER, SYNTAX};
use crate::long_double::LongDouble;
use crate::number;

/// Whether an argument is this word, in any case.
pub(crate) fn is(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}

pub(crate) fn int(arg: &[u8]) -> Result<i64, Fault> {
    number::parse_int(arg).ok_or(NOT_AN_INTEGER)
}

/// An integer of this range.
pub(crate) fn int_within(arg: &[u8], low: i64, high: i64) -> Result<i64, Fault> {
    let out = || Fault::new(format!("ERR value is out of range, value must between {low} and {high}"));
    Some(int(arg)?).filter(|number| (low..=high).contains(number)).ok_or_else(out)
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

/// A number as INCRBYFLOAT and HINCRBYFLOAT take it.
pub(crate) fn long_double(arg: &[u8]) -> Result<LongDouble, Fault> {
    LongDouble::parse(arg).ok_or(NOT_A_FLOAT)
}

/// The sum in the text form of INCRBYFLOAT and HINCRBYFLOAT.
pub(crate) fn float_sum(before: LongDouble, by: LongDouble) -> Result<Vec<u8>, Fault> {
    let sum = before.plus(by).ok_or(Fault::of("ERR increment would produce NaN or Infinity"))?;
    Ok(sum.to_string().into_bytes())
}
