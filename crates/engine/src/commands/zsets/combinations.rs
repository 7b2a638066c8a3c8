//! Unions, intersections and differences, of sorted sets and sets alike.
//!
//! A set's members have the score 1. The order in which scores are added is Redis's own, from the smallest input to the
//! largest, because sums of floating-point numbers depend on it.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::{members, ranges};
use crate::args::{at, int, is};
use crate::commands::Answer;
use crate::context::Context;
use crate::db::{Db, Hashing};
use crate::fault::{Fault, SYNTAX, WRONG_TYPE};
use crate::number;
use crate::reply::Reply;
use crate::value::{Set, Value, Zset};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Union,
    Intersection,
    Difference,
}

/// What becomes of the scores of a member that several inputs have.
#[derive(Clone, Copy)]
enum Aggregate {
    Sum,
    Least,
    Greatest,
}

impl Aggregate {
    fn of(self, before: f64, score: f64) -> f64 {
        match self {
            Self::Sum => number_or_zero(before + score),
            // Not min and max: of two zeros the first stays, and what is no number changes nothing.
            Self::Least => {
                if score < before {
                    score
                } else {
                    before
                }
            }
            Self::Greatest => {
                if score > before {
                    score
                } else {
                    before
                }
            }
        }
    }
}

/// The sum of both infinities counts as zero, and so does nothing times infinity.
fn number_or_zero(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

/// What an operation reads.
enum Source<'a> {
    Absent,
    Zset(&'a Zset),
    Set(&'a Set),
}

impl<'a> Source<'a> {
    fn find(db: &'a Db, key: &[u8]) -> Self {
        match db.get(key).map(|entry| &entry.value) {
            Some(Value::Zset(zset)) => Self::Zset(zset),
            Some(Value::Set(set)) => Self::Set(set),
            _ => Self::Absent,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Zset(zset) => zset.len(),
            Self::Set(set) => set.len(),
        }
    }

    fn score(&self, member: &[u8]) -> Option<f64> {
        match self {
            Self::Absent => None,
            Self::Zset(zset) => zset.score(member),
            Self::Set(set) => set.contains(member).then_some(1.0),
        }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = (&'a [u8], f64)> + 'a> {
        match self {
            Self::Absent => Box::new(std::iter::empty()),
            Self::Zset(zset) => Box::new(zset.iter()),
            Self::Set(set) => Box::new(set.iter().map(|member| (member, 1.0))),
        }
    }
}

/// What was asked for, besides the keys.
struct Options {
    weights: Vec<f64>,
    aggregate: Aggregate,
    with_scores: bool,
}

impl Options {
    fn parse(args: &[&[u8]], keys: usize, operation: Operation, stores: bool) -> Result<Self, Fault> {
        let mut options = Self { weights: vec![1.0; keys], aggregate: Aggregate::Sum, with_scores: false };
        let weighs = operation != Operation::Difference;
        let mut rest = args;
        while let Some((word, after)) = rest.split_first() {
            if weighs && is(word, "WEIGHTS") && after.len() >= keys {
                let (weights, after) = after.split_at(keys);
                options.weights =
                    weights.iter().map(|weight| parse_weight(weight)).collect::<Result<_, _>>()?;
                rest = after;
            } else if weighs && is(word, "AGGREGATE") && !after.is_empty() {
                options.aggregate = parse_aggregate(after[0])?;
                rest = &after[1..];
            } else if !stores && is(word, "WITHSCORES") {
                options.with_scores = true;
                rest = after;
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(options)
    }
}

fn parse_weight(weight: &[u8]) -> Result<f64, Fault> {
    number::parse_float(weight).ok_or(Fault::of("ERR weight value is not a float"))
}

fn parse_aggregate(word: &[u8]) -> Result<Aggregate, Fault> {
    match word.to_ascii_uppercase().as_slice() {
        b"SUM" => Ok(Aggregate::Sum),
        b"MIN" => Ok(Aggregate::Least),
        b"MAX" => Ok(Aggregate::Greatest),
        _ => Err(SYNTAX),
    }
}

type Args<'a, 'b> = &'b [&'a [u8]];

/// The keys that follow their number, and the options after them. Every key is looked at before any option is.
fn parse_keys<'a, 'b>(
    cx: &mut Context<'_>,
    args: Args<'a, 'b>,
    command: &str,
) -> Result<(Args<'a, 'b>, Args<'a, 'b>), Fault> {
    let count = int(at(args, 0)?)?;
    if count < 1 {
        return Err(Fault::new(format!("ERR at least 1 input key is needed for '{command}' command")));
    }
    let count = usize::try_from(count).map_err(|_| SYNTAX)?;
    let (keys, options) = args[1..].split_at_checked(count).ok_or(SYNTAX)?;
    for key in keys {
        match cx.find(key).map(|entry| &entry.value) {
            None | Some(Value::Zset(_) | Value::Set(_)) => {}
            Some(_) => return Err(WRONG_TYPE),
        }
    }
    Ok((keys, options))
}

/// The members of the result and their scores, in order.
fn combine<'a>(db: &'a Db, keys: &[&[u8]], operation: Operation, options: &Options) -> Vec<(&'a [u8], f64)> {
    let weights = options.weights.iter().copied();
    let mut sources: Vec<(Source<'a>, f64)> =
        keys.iter().map(|key| Source::find(db, key)).zip(weights).collect();
    if operation != Operation::Difference {
        sources.sort_by_key(|(source, _)| source.len());
    }
    let mut found = match operation {
        Operation::Union => union(&sources, options.aggregate),
        Operation::Intersection => intersection(&sources, options.aggregate).collect(),
        Operation::Difference => difference(&sources),
    };
    found.sort_by(|(left, low), (right, high)| {
        low.partial_cmp(high).unwrap_or(Ordering::Equal).then_with(|| left.cmp(right))
    });
    found
}

fn union<'a>(sources: &[(Source<'a>, f64)], aggregate: Aggregate) -> Vec<(&'a [u8], f64)> {
    let mut scores: HashMap<&[u8], f64, Hashing> = HashMap::default();
    for (source, weight) in sources {
        for (member, score) in source.iter() {
            let score = number_or_zero(score * weight);
            scores.entry(member).and_modify(|before| *before = aggregate.of(*before, score)).or_insert(score);
        }
    }
    scores.into_iter().collect()
}

/// One after the other, so that whoever only counts can stop early.
fn intersection<'a, 's>(
    sources: &'s [(Source<'a>, f64)],
    aggregate: Aggregate,
) -> impl Iterator<Item = (&'a [u8], f64)> + use<'a, 's> {
    let (smallest, others) = sources.split_at(sources.len().min(1));
    let weighed = |(source, weight): &'s (Source<'a>, f64)| {
        source.iter().map(move |(member, score)| (member, number_or_zero(score * weight)))
    };
    smallest.iter().flat_map(weighed).filter_map(move |(member, score)| {
        let mut others = others.iter();
        let score = others.try_fold(score, |score, (source, weight)| {
            source.score(member).map(|other| aggregate.of(score, other * weight))
        });
        score.map(|score| (member, score))
    })
}

fn difference<'a>(sources: &[(Source<'a>, f64)]) -> Vec<(&'a [u8], f64)> {
    let Some(((first, _), others)) = sources.split_first() else { return Vec::new() };
    let is_left = |member: &[u8]| others.iter().all(|(other, _)| other.score(member).is_none());
    first.iter().filter(|(member, _)| is_left(member)).collect()
}

/// ZUNION, ZINTER and ZDIFF.
pub(super) fn answer(cx: &mut Context<'_>, args: &[&[u8]], operation: Operation, name: &str) -> Answer {
    let (keys, options) = parse_keys(cx, &args[1..], name)?;
    let options = Options::parse(options, keys.len(), operation, false)?;
    let found = combine(&cx.state.dbs[cx.session.db], keys, operation, &options);
    Ok(members(found.into_iter(), options.with_scores, cx.is_resp3()))
}

/// The same, into a key.
pub(super) fn store(cx: &mut Context<'_>, args: &[&[u8]], operation: Operation, name: &str) -> Answer {
    let (keys, options) = parse_keys(cx, &args[2..], name)?;
    let options = Options::parse(options, keys.len(), operation, true)?;
    let found = combine(&cx.state.dbs[cx.session.db], keys, operation, &options);
    let longest = found.iter().map(|(member, _)| member.len()).max().unwrap_or(0);
    let mut stored = Zset::for_members(found.len(), longest);
    for (member, score) in found {
        stored.set(member, score);
    }
    ranges::put(cx, args[1], stored, name)
}

pub(super) fn zintercard(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (keys, options) = parse_keys(cx, &args[1..], "zintercard")?;
    let mut limit = 0;
    for option in options.chunks(2) {
        let [word, number] = option else { return Err(SYNTAX) };
        if !is(word, "LIMIT") {
            return Err(SYNTAX);
        }
        limit = int(number)
            .ok()
            .and_then(|number| usize::try_from(number).ok())
            .ok_or(Fault::of("ERR LIMIT can't be negative"))?;
    }
    let db = &cx.state.dbs[cx.session.db];
    let mut sources: Vec<_> = keys.iter().map(|key| (Source::find(db, key), 1.0)).collect();
    sources.sort_by_key(|(source, _)| source.len());
    let most = if limit == 0 { usize::MAX } else { limit };
    Ok(Reply::count(intersection(&sources, Aggregate::Sum).take(most).count()))
}
