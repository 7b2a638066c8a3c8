//! SCAN, HSCAN, SSCAN and ZSCAN.
//!
//! Elements have numbers, and the last takes the place of one that is removed. A walk goes from the highest number down:
//! what it has not reached yet can then only move further down, so whatever is there from the beginning to the end is
//! found, however much else comes and goes. The cursor is the number it goes on below, and needs no memory here.

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

/// The numbers to look at now, and the cursor to go on with.
pub(crate) struct Walk {
    pub(crate) next: u64,
    pub(crate) visited: std::iter::Rev<std::ops::Range<usize>>,
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

    /// Over that many elements; all at once where Redis keeps them in one piece.
    pub(crate) fn walk(&self, length: usize, in_one_piece: bool) -> Walk {
        let from = match usize::try_from(self.cursor) {
            Ok(cursor) if cursor > 0 => cursor.min(length),
            _ => length,
        };
        let to = if in_one_piece { 0 } else { from.saturating_sub(self.count) };
        Walk { next: to as u64, visited: (to..from).rev() }
    }

    pub(crate) fn takes(&self, name: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, name))
    }

    pub(crate) fn takes_type(&self, name: &str) -> bool {
        self.type_name.is_none_or(|wanted| is(wanted, name))
    }

    pub(crate) fn reply(next: u64, found: Reply) -> Reply {
        Reply::Array(vec![Reply::bulk(next.to_string()), found])
    }
}

fn parse_cursor(text: &[u8]) -> Result<u64, Fault> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Fault::of("ERR invalid cursor"))
}
