//! SCAN, HSCAN, SSCAN and ZSCAN.
//!
//! Elements have numbers, and the last takes the place of one that is removed. A walk goes from the highest number down:
//! what it has not reached yet can then only move further down, so whatever is there from the beginning to the end is
//! found, however much else comes and goes. The cursor is the number it goes on below, and needs no memory here.

use std::iter::{Chain, Rev};
use std::ops::Range;

use crate::args::{int, is};
use crate::fault::{Fault, SYNTAX};
use crate::glob;
use crate::reply::Reply;

/// What a scan was asked for.
pub(crate) struct Scan<'a> {
    cursor: u64,
    count: usize,
    pattern: Option<&'a [u8]>,
    type_name: Option<&'a [u8]>,
}

/// All in order, or some from the highest down: one of the two is empty.
type Visited = Chain<Range<usize>, Rev<Range<usize>>>;

/// The numbers to look at now, and the cursor to go on with.
pub(crate) struct Walk {
    pub(crate) next: u64,
    pub(crate) visited: Visited,
}

impl<'a> Scan<'a> {
    /// `of_keys` knows TYPE as well.
    pub(crate) fn parse(cursor: &[u8], options: &[&'a [u8]], of_keys: bool) -> Result<Self, Fault> {
        let mut scan = Self { cursor: parse_cursor(cursor)?, count: 10, pattern: None, type_name: None };
        for option in options.chunks(2) {
            let [word, value] = option else { return Err(SYNTAX) };
            if is(word, "COUNT") {
                scan.count = usize::try_from(int(value)?).ok().filter(|count| *count > 0).ok_or(SYNTAX)?;
            } else if is(word, "MATCH") {
                scan.pattern = Some(value);
            } else if of_keys && is(word, "TYPE") {
                scan.type_name = Some(value);
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(scan)
    }

    /// Over that many elements; all at once, whatever the cursor, where Redis keeps them in one piece.
    pub(crate) fn walk(&self, length: usize, in_one_piece: bool) -> Walk {
        if in_one_piece {
            return Walk { next: 0, visited: (0..length).chain((0..0).rev()) };
        }
        let from = match usize::try_from(self.cursor) {
            Ok(cursor) if cursor > 0 => cursor.min(length),
            _ => length,
        };
        let to = from.saturating_sub(self.count);
        Walk { next: to as u64, visited: (0..0).chain((to..from).rev()) }
    }

    pub(crate) fn takes(&self, name: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| matches(pattern, name))
    }

    pub(crate) fn takes_type(&self, name: &str) -> bool {
        self.type_name.is_none_or(|wanted| is(wanted, name))
    }

    pub(crate) fn reply(next: u64, found: Reply) -> Reply {
        Reply::Array(vec![Reply::bulk(next.to_string()), found])
    }
}

/// The cursor is looked at before the key, and the key before the options.
pub(crate) fn check_cursor(text: &[u8]) -> Result<(), Fault> {
    parse_cursor(text).map(drop)
}

/// Whether a name of a key or an element matches. A star alone takes all, also the empty name.
pub(crate) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    pattern == b"*" || glob::matches(pattern, name)
}

/// As C's strtoul reads it: up to a NUL, nothing as zero, and a negative number turned around.
fn parse_cursor(text: &[u8]) -> Result<u64, Fault> {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if text.is_empty() {
        return Ok(0);
    }
    // The standard library would take a second sign.
    let digits = digits.iter().all(u8::is_ascii_digit).then_some(digits);
    let size: Option<u64> = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let size = size.ok_or(Fault::of("ERR invalid cursor"))?;
    Ok(if negative { size.wrapping_neg() } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_as_c_reads_them() {
        for (text, cursor) in [
            ("", Some(0)),
            ("17", Some(17)),
            ("+017", Some(17)),
            ("-1", Some(u64::MAX)),
            ("-18446744073709551615", Some(1)),
            ("18446744073709551616", None),
            ("5\0x", Some(5)),
            (" 1", None),
            ("1 ", None),
            ("--1", None),
            ("-", None),
            ("0x1", None),
        ] {
            assert_eq!(parse_cursor(text.as_bytes()).ok(), cursor, "{text:?}");
        }
    }

    #[test]
    fn what_is_there_all_the_time_is_found() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..200 {
            let mut elements: Vec<u32> = (0..random.u32(1..100)).collect();
            let mut stays = elements.clone();
            let mut scan = Scan { cursor: 0, count: random.usize(1..8), pattern: None, type_name: None };
            loop {
                let Walk { next, visited } = scan.walk(elements.len(), false);
                visited.for_each(|number| stays.retain(|stay| *stay != elements[number]));
                if next == 0 {
                    break;
                }
                scan.cursor = next;
                if random.bool() {
                    elements.push(1000 + random.u32(..));
                } else {
                    let gone = elements.swap_remove(random.usize(..elements.len()));
                    stays.retain(|stay| *stay != gone);
                }
            }
            assert!(stays.is_empty(), "{stays:?}");
        }
    }
}
