//! Members taken from either end, at once or when there are some.
//!
//! What is logged is ZPOPMIN or ZPOPMAX of the key that had some, whichever command took them.

use super::members;
use crate::args::{int, is};
use crate::blocking::{Blocking, Wait, until};
use crate::commands::Answer;
use crate::context::Context;
use crate::fault::{Fault, SYNTAX};
use crate::notify::Class;
use crate::number;
use crate::reply::Reply;
use crate::value::{Member, Zset};

/// One of the two ends of a sorted set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Lowest,
    Highest,
}

type Popped = Vec<(Member, f64)>;

/// Takes members; `None` is a key that is not there.
fn pop(cx: &mut Context<'_>, key: &[u8], end: End, count: usize) -> Result<Option<Popped>, Fault> {
    let Some(zset) = cx.get_mut::<Zset>(key)? else { return Ok(None) };
    let length = zset.len();
    let count = count.min(length);
    if count == 0 {
        return Ok(Some(Vec::new()));
    }
    let (event, command, ranks) = match end {
        End::Lowest => ("zpopmin", b"ZPOPMIN", 0..count),
        End::Highest => ("zpopmax", b"ZPOPMAX", length - count..length),
    };
    let mut popped = zset.take(ranks);
    if end == End::Highest {
        popped.reverse();
    }
    cx.changed(Class::Zset, event, key);
    cx.remove_if_empty(key);
    cx.log(&[command, key, &number::int_bytes(i64::try_from(count).unwrap_or(i64::MAX))]);
    Ok(Some(popped))
}

fn pairs(popped: &Popped, nested: bool) -> Reply {
    members(popped.iter().map(|(member, score)| (&**member, *score)), true, nested)
}

pub(super) fn zpop(cx: &mut Context<'_>, args: &[&[u8]], end: End) -> Answer {
    let count = match &args[2..] {
        [] => None,
        [count] => {
            let count = int(count).ok().and_then(|count| usize::try_from(count).ok());
            Some(count.ok_or(Fault::of("ERR value is out of range, must be positive"))?)
        }
        _ => return Err(SYNTAX),
    };
    let popped = pop(cx, args[1], end, count.unwrap_or(1))?.unwrap_or_default();
    Ok(pairs(&popped, count.is_some() && cx.is_resp3()))
}

/// What a command wants of the first of its keys that has something.
#[derive(Clone, Copy)]
struct Wish {
    end: End,
    /// The form with a count answers with pairs; the other takes one and answers flat.
    count: Option<usize>,
}

impl Wish {
    /// `None` is a key that is not there.
    fn fulfil(self, cx: &mut Context<'_>, key: &[u8]) -> Result<Option<Reply>, Fault> {
        let Some(popped) = pop(cx, key, self.end, self.count.unwrap_or(1))? else { return Ok(None) };
        let name = Reply::bulk(key);
        Ok(Some(match (self.count, pairs(&popped, self.count.is_some())) {
            (None, Reply::Array(flat)) => Reply::Array(std::iter::once(name).chain(flat).collect()),
            (_, pairs) => Reply::Array(vec![name, pairs]),
        }))
    }

    fn fulfil_first(self, cx: &mut Context<'_>, keys: &[&[u8]]) -> Result<Option<Reply>, Fault> {
        for key in keys {
            if let Some(reply) = self.fulfil(cx, key)? {
                return Ok(Some(reply));
            }
        }
        Ok(None)
    }

    fn fulfil_or_wait(self, cx: &mut Context<'_>, keys: &[&[u8]], timeout: &[u8]) -> Result<Blocking, Fault> {
        let until = until(cx.state.now, timeout)?;
        if let Some(reply) = self.fulfil_first(cx, keys)? {
            return Ok(Blocking::Done(reply));
        }
        Ok(Blocking::Wait(Wait {
            keys: keys.iter().map(|key| (*key).into()).collect(),
            until,
            // A key of another type is none that it waits for.
            serve: Box::new(move |cx, key| self.fulfil(cx, key).ok().flatten()),
            otherwise: Reply::NilArray,
        }))
    }
}

/// ZMPOP and BZMPOP from their count of keys on: the keys, and what is wanted of them.
fn parse<'a, 'b>(args: &'b [&'a [u8]]) -> Result<(&'b [&'a [u8]], Wish), Fault> {
    let positive = |arg: &[u8], fault: &'static str| {
        let number = int(arg).ok().and_then(|number| usize::try_from(number).ok());
        number.filter(|number| *number > 0).ok_or(Fault::of(fault))
    };
    let (first, rest) = args.split_first().ok_or(SYNTAX)?;
    let count = positive(first, "ERR numkeys should be greater than 0")?;
    let (keys, rest) = rest.split_at_checked(count).ok_or(SYNTAX)?;
    let (end, rest) = rest.split_first().ok_or(SYNTAX)?;
    let end = match () {
        () if is(end, "MIN") => End::Lowest,
        () if is(end, "MAX") => End::Highest,
        () => return Err(SYNTAX),
    };
    let count = match rest {
        [] => 1,
        [word, count, rest @ ..] if is(word, "COUNT") => {
            let count = positive(count, "ERR count should be greater than 0")?;
            if rest.is_empty() { count } else { return Err(SYNTAX) }
        }
        _ => return Err(SYNTAX),
    };
    Ok((keys, Wish { end, count: Some(count) }))
}

pub(super) fn zmpop(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (keys, wish) = parse(&args[1..])?;
    Ok(wish.fulfil_first(cx, keys)?.unwrap_or(Reply::NilArray))
}

pub(super) fn bzmpop(cx: &mut Context<'_>, args: &[&[u8]]) -> Result<Blocking, Fault> {
    let (keys, wish) = parse(&args[2..])?;
    wish.fulfil_or_wait(cx, keys, args[1])
}

pub(super) fn bzpop(cx: &mut Context<'_>, args: &[&[u8]], end: End) -> Result<Blocking, Fault> {
    let (timeout, keys) = args[1..].split_last().ok_or(SYNTAX)?;
    Wish { end, count: None }.fulfil_or_wait(cx, keys, timeout)
}
