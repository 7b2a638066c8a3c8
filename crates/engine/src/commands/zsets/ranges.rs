//! Members by rank, by score and by name.
//!
//! Where a range begins and ends is found without looking at what lies between, so that counting costs the same for one
//! member as for a million, and a LIMIT no more than what it lets through.

use std::ops::Range;

use super::members;
use super::pops::End;
use crate::args::{self, int, is};
use crate::commands::Answer;
use crate::context::Context;
use crate::fault::{Fault, SYNTAX};
use crate::notify::Class;
use crate::reply::Reply;
use crate::value::{Kind as _, Zset};

/// What a range is counted in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Rank,
    Score,
    /// Among members of the same score.
    Member,
}

/// What a command's name leaves open.
#[derive(Clone, Copy)]
pub(super) struct Form {
    by: Option<By>,
    from: Option<End>,
}

impl Form {
    pub(super) const OPEN: Self = Self { by: None, from: None };

    pub(super) const fn fixed(by: By, from: End) -> Self {
        Self { by: Some(by), from: Some(from) }
    }
}

/// Where a range ends on one side.
#[derive(Clone, Copy)]
struct Bound<T> {
    at: T,
    /// What is there is not in it.
    open: bool,
}

impl<T: PartialOrd> Bound<T> {
    fn is_reached_by(&self, value: &T) -> bool {
        if self.open { *value > self.at } else { *value >= self.at }
    }

    fn is_passed_by(&self, value: &T) -> bool {
        if self.open { *value >= self.at } else { *value > self.at }
    }
}

/// A name, or what is before or after all names.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Name<'a> {
    First,
    Of(&'a [u8]),
    Last,
}

/// A piece of a sorted set, as it was asked for.
enum Span<'a> {
    /// Which may count from the end.
    Ranks(i64, i64),
    Scores(Bound<f64>, Bound<f64>),
    Members(Bound<Name<'a>>, Bound<Name<'a>>),
}

impl<'a> Span<'a> {
    fn parse(by: By, low: &'a [u8], high: &'a [u8]) -> Result<Self, Fault> {
        match by {
            By::Rank => Ok(Self::Ranks(int(low)?, int(high)?)),
            By::Score => score_bound(low)
                .zip(score_bound(high))
                .map(|(low, high)| Self::Scores(low, high))
                .ok_or(Fault::of("ERR min or max is not a float")),
            By::Member => name_bound(low)
                .zip(name_bound(high))
                .map(|(low, high)| Self::Members(low, high))
                .ok_or(Fault::of("ERR min or max not valid string range item")),
        }
    }

    /// The ranks it comes to; ranks that are asked for count from this end.
    fn ranks(&self, zset: &Zset, from: End) -> Range<usize> {
        let (first, end) = match self {
            Self::Ranks(start, stop) => {
                let Some((first, last)) = args::range(*start, *stop, zset.len()) else { return 0..0 };
                match from {
                    End::Lowest => (first, last + 1),
                    End::Highest => (zset.len() - 1 - last, zset.len() - first),
                }
            }
            Self::Scores(low, high) => (
                zset.count_while(|_, score| !low.is_reached_by(&score)),
                zset.count_while(|_, score| !high.is_passed_by(&score)),
            ),
            Self::Members(low, high) => (
                zset.count_while(|member, _| !low.is_reached_by(&Name::Of(member))),
                zset.count_while(|member, _| !high.is_passed_by(&Name::Of(member))),
            ),
        };
        first..end.max(first)
    }
}

/// As C's strtod reads it: blanks before it, nothing at all for zero, and whatever comes after a zero byte.
fn score_bound(text: &[u8]) -> Option<Bound<f64>> {
    let (open, text) = match text {
        [b'(', text @ ..] => (true, text),
        text => (false, text),
    };
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    if text.is_empty() {
        return Some(Bound { at: 0.0, open });
    }
    let at: f64 = std::str::from_utf8(text).ok()?.trim_start_matches(is_blank).parse().ok()?;
    (!at.is_nan()).then_some(Bound { at, open })
}

fn is_blank(byte: char) -> bool {
    matches!(byte, ' ' | '\t'..='\r')
}

fn name_bound(text: &[u8]) -> Option<Bound<Name<'_>>> {
    match text {
        [b'-'] | [b'-', 0, ..] => Some(Bound { at: Name::First, open: true }),
        [b'+'] | [b'+', 0, ..] => Some(Bound { at: Name::Last, open: true }),
        [b'(', name @ ..] => Some(Bound { at: Name::Of(name), open: true }),
        [b'[', name @ ..] => Some(Bound { at: Name::Of(name), open: false }),
        _ => None,
    }
}

/// A range with its options.
struct Asked<'a> {
    span: Span<'a>,
    from: End,
    with_scores: bool,
    /// So many are left out first; so many follow, and all when it is negative.
    limit: (i64, i64),
}

impl<'a> Asked<'a> {
    /// From the two bounds on.
    fn parse(args: &[&'a [u8]], form: Form, stores: bool) -> Result<Self, Fault> {
        let (mut by, mut from) = (form.by, form.from);
        let (mut with_scores, mut limit) = (false, (0, -1));
        let mut rest = &args[2..];
        while let Some((word, after)) = rest.split_first() {
            rest = after;
            if !stores && is(word, "WITHSCORES") {
                with_scores = true;
            } else if is(word, "LIMIT")
                && let [offset, count, after @ ..] = after
            {
                limit = (int(offset)?, int(count)?);
                rest = after;
            } else if from.is_none() && is(word, "REV") {
                from = Some(End::Highest);
            } else if by.is_none() && is(word, "BYLEX") {
                by = Some(By::Member);
            } else if by.is_none() && is(word, "BYSCORE") {
                by = Some(By::Score);
            } else {
                return Err(SYNTAX);
            }
        }
        let (by, from) = (by.unwrap_or(By::Rank), from.unwrap_or(End::Lowest));
        if by == By::Rank && limit.1 != -1 {
            return Err(Fault::of(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        if by == By::Member && with_scores {
            return Err(Fault::of("ERR syntax error, WITHSCORES not supported in combination with BYLEX"));
        }
        let high_first = from == End::Highest && by != By::Rank;
        let (low, high) = if high_first { (args[1], args[0]) } else { (args[0], args[1]) };
        Ok(Self { span: Span::parse(by, low, high)?, from, with_scores, limit })
    }

    fn is_by_rank(&self) -> bool {
        matches!(self.span, Span::Ranks(..))
    }

    fn ranks(&self, zset: &Zset) -> Range<usize> {
        let all = self.span.ranks(zset, self.from);
        if self.is_by_rank() {
            return all;
        }
        // An offset below zero never comes to an end in Redis, and finds nothing.
        let Ok(offset) = usize::try_from(self.limit.0) else { return 0..0 };
        let left = all.len().saturating_sub(offset);
        let count = usize::try_from(self.limit.1).map_or(left, |count| count.min(left));
        match self.from {
            End::Lowest => all.end - left..all.end - left + count,
            End::Highest => all.start + left - count..all.start + left,
        }
    }

    fn find<'z>(&self, zset: &'z Zset) -> Vec<(&'z [u8], f64)> {
        let mut found: Vec<_> = zset.range(self.ranks(zset)).collect();
        if self.from == End::Highest {
            found.reverse();
        }
        found
    }
}

pub(super) fn range(cx: &mut Context<'_>, args: &[&[u8]], form: Form) -> Answer {
    let asked = Asked::parse(&args[2..], form, false)?;
    let three = cx.is_resp3();
    let found = cx.get::<Zset>(args[1])?.map(|zset| asked.find(zset)).unwrap_or_default();
    Ok(members(found.into_iter(), asked.with_scores, three))
}

pub(super) fn count(cx: &mut Context<'_>, args: &[&[u8]], by: By) -> Answer {
    let span = Span::parse(by, args[2], args[3])?;
    let ranks = cx.get::<Zset>(args[1])?.map(|zset| span.ranks(zset, End::Lowest));
    Ok(Reply::count(ranks.map_or(0, |ranks| ranks.len())))
}

pub(super) fn remove(cx: &mut Context<'_>, args: &[&[u8]], by: By, event: &str) -> Answer {
    let (key, span) = (args[1], Span::parse(by, args[2], args[3])?);
    let Some(zset) = cx.get_mut::<Zset>(key)? else { return Ok(Reply::Int(0)) };
    let gone = zset.take(span.ranks(zset, End::Lowest)).len();
    if gone > 0 {
        cx.changed(Class::Zset, event, key);
        cx.remove_if_empty(key);
    }
    Ok(Reply::count(gone))
}

pub(super) fn store(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let asked = Asked::parse(&args[3..], Form::OPEN, true)?;
    let mut stored = Zset::default();
    if let Some(zset) = cx.get::<Zset>(args[2])? {
        let found = asked.find(zset);
        // By rank Redis knows how many will come; otherwise what it stores grows out of its small form.
        stored = Zset::for_members(if asked.is_by_rank() { found.len() } else { 0 }, 0);
        for (member, score) in found {
            stored.set(member, score);
        }
    }
    put(cx, args[1], stored, "zrangestore")
}

/// In place of whatever is there; nothing, when it is empty.
pub(super) fn put(cx: &mut Context<'_>, key: &[u8], zset: Zset, event: &str) -> Answer {
    let length = zset.len();
    if length == 0 {
        if cx.remove(key).is_some() {
            cx.changed(Class::Generic, "del", key);
        }
        return Ok(Reply::Int(0));
    }
    cx.put(key, zset.into_value());
    cx.changed(Class::Zset, event, key);
    Ok(Reply::count(length))
}
