//! Lists: pushes and pops at both ends, moves from list to list, and pops that wait for an element.
//!
//! What a waiting client is answered is logged as the plain command that would have done the same.

use super::{Answer, Command, flag};
use crate::args::{at, int, is, range};
use crate::blocking::{Blocking, Wait, until};
use crate::clients::Origin;
use crate::context::Context;
use crate::db::Name;
use crate::fault::{Fault, NO_SUCH_KEY, OUT_OF_RANGE, SYNTAX};
use crate::notify::Class;
use crate::number;
use crate::reply::Reply;
use crate::value::{List, Side};

const WRITE: u32 = flag::WRITE | flag::DENYOOM;
const PUSH: u32 = WRITE | flag::FAST;
const POP: u32 = flag::WRITE | flag::FAST;
const READ: u32 = flag::READONLY;
const ONE: (i32, i32, i32) = (1, 1, 1);
const TWO: (i32, i32, i32) = (1, 2, 1);
const ALL_BUT_LAST: (i32, i32, i32) = (1, -2, 1);

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("lpush", -3, PUSH, ONE, |cx, args| push(cx, args, Side::Left)),
    Command::new("rpush", -3, PUSH, ONE, |cx, args| push(cx, args, Side::Right)),
    Command::new("lpushx", -3, PUSH, ONE, |cx, args| push_existing(cx, args, Side::Left)),
    Command::new("rpushx", -3, PUSH, ONE, |cx, args| push_existing(cx, args, Side::Right)),
    Command::new("lpop", -2, POP, ONE, |cx, args| pop(cx, args, Side::Left)),
    Command::new("rpop", -2, POP, ONE, |cx, args| pop(cx, args, Side::Right)),
    Command::new("llen", 2, READ | flag::FAST, ONE, llen),
    Command::new("lindex", 3, READ, ONE, lindex),
    Command::new("linsert", 5, WRITE, ONE, linsert),
    Command::new("lset", 4, WRITE, ONE, lset),
    Command::new("lrange", 4, READ, ONE, lrange),
    Command::new("ltrim", 4, flag::WRITE, ONE, ltrim),
    Command::new("lrem", 4, flag::WRITE, ONE, lrem),
    Command::new("lpos", -3, READ, ONE, lpos),
    Command::new("lmove", 5, WRITE, TWO, lmove),
    Command::new("rpoplpush", 3, WRITE, TWO, rpoplpush),
    Command::new("lmpop", -4, flag::WRITE, (0, 0, 0), lmpop),
    Command::blocking("blpop", -3, flag::WRITE | flag::NOSCRIPT, ALL_BUT_LAST, |cx, args| {
        bpop(cx, args, Side::Left)
    }),
    Command::blocking("brpop", -3, flag::WRITE | flag::NOSCRIPT, ALL_BUT_LAST, |cx, args| {
        bpop(cx, args, Side::Right)
    }),
    Command::blocking("blmove", 6, WRITE | flag::NOSCRIPT, TWO, blmove),
    Command::blocking("brpoplpush", 4, WRITE | flag::NOSCRIPT, TWO, brpoplpush),
    Command::blocking("blmpop", -5, flag::WRITE, (0, 0, 0), blmpop),
];

/// As commands and notifications name the ends.
impl Side {
    fn parse(word: &[u8]) -> Result<Self, Fault> {
        if is(word, "LEFT") {
            Ok(Self::Left)
        } else if is(word, "RIGHT") {
            Ok(Self::Right)
        } else {
            Err(SYNTAX)
        }
    }

    fn word(self) -> &'static [u8] {
        match self {
            Self::Left => b"LEFT",
            Self::Right => b"RIGHT",
        }
    }

    fn pop_command(self) -> &'static [u8] {
        match self {
            Self::Left => b"LPOP",
            Self::Right => b"RPOP",
        }
    }

    fn popped(self) -> &'static str {
        match self {
            Self::Left => "lpop",
            Self::Right => "rpop",
        }
    }

    fn pushed(self) -> &'static str {
        match self {
            Self::Left => "lpush",
            Self::Right => "rpush",
        }
    }
}

fn push(cx: &mut Context<'_>, args: &[&[u8]], side: Side) -> Answer {
    let key = args[1];
    let list = cx.get_or_create::<List>(key)?;
    args[2..].iter().for_each(|element| list.push(side, element.to_vec()));
    let length = list.len();
    cx.changed(Class::List, side.pushed(), key);
    Ok(Reply::count(length))
}

fn push_existing(cx: &mut Context<'_>, args: &[&[u8]], side: Side) -> Answer {
    if cx.get_mut::<List>(args[1])?.is_none() {
        return Ok(Reply::Int(0));
    }
    push(cx, args, side)
}

/// A number from `least` up, or this error for anything else.
fn at_least(least: usize, arg: &[u8], otherwise: &'static str) -> Result<usize, Fault> {
    let number = number::parse_int(arg).and_then(|number| usize::try_from(number).ok());
    number.filter(|number| *number >= least).ok_or(Fault::of(otherwise))
}

fn pop(cx: &mut Context<'_>, args: &[&[u8]], side: Side) -> Answer {
    let key = args[1];
    let count = match args[2..] {
        [] => None,
        [count] => Some(at_least(0, count, "ERR value is out of range, must be positive")?),
        _ => return Err(Fault::arity(side.popped())),
    };
    let exists = cx.get_mut::<List>(key)?.is_some();
    match count {
        None if exists => Ok(Reply::maybe(take(cx, key, side, 1).pop())),
        None => Ok(Reply::Nil),
        Some(_) if !exists => Ok(Reply::NilArray),
        Some(0) => Ok(Reply::Array(Vec::new())),
        Some(count) => Ok(Reply::bulks(take(cx, key, side, count))),
    }
}

/// Takes up to so many elements off a list and says so. There is a list, and the number is not zero.
fn take(cx: &mut Context<'_>, key: &[u8], side: Side, most: usize) -> Vec<Vec<u8>> {
    let Ok(Some(list)) = cx.get_mut::<List>(key) else { return Vec::new() };
    let taken = (0..most.min(list.len())).filter_map(|_| list.pop(side)).collect();
    cx.changed(Class::List, side.popped(), key);
    cx.remove_if_empty(key);
    taken
}

fn llen(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::count(cx.get::<List>(args[1])?.map_or(0, List::len)))
}

fn lindex(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let Some(list) = cx.get::<List>(args[1])? else { return Ok(Reply::Nil) };
    let place = list.place(int(args[2])?);
    Ok(Reply::maybe(place.and_then(|place| list.elements.get(place)).cloned()))
}

fn linsert(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (key, pivot, element) = (args[1], args[3], args[4]);
    let after = if is(args[2], "AFTER") {
        1
    } else if is(args[2], "BEFORE") {
        0
    } else {
        return Err(SYNTAX);
    };
    let Some(list) = cx.get_mut::<List>(key)? else { return Ok(Reply::Int(0)) };
    let Some(place) = list.elements.iter().position(|other| other == pivot) else {
        return Ok(Reply::Int(-1));
    };
    list.elements.insert(place + after, element.to_vec());
    let length = list.len();
    cx.changed(Class::List, "linsert", key);
    Ok(Reply::count(length))
}

fn lset(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (key, element) = (args[1], args[3]);
    let list = cx.get_mut::<List>(key)?.ok_or(NO_SUCH_KEY)?;
    let place = list.place(int(args[2])?);
    let slot = place.and_then(|place| list.elements.get_mut(place)).ok_or(OUT_OF_RANGE)?;
    *slot = element.to_vec();
    cx.changed(Class::List, "lset", key);
    Ok(Reply::Ok)
}

fn lrange(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (start, stop) = (int(args[2])?, int(args[3])?);
    let Some(list) = cx.get::<List>(args[1])? else { return Ok(Reply::Array(Vec::new())) };
    Ok(match range(start, stop, list.len()) {
        Some((first, last)) => Reply::bulks(list.elements.range(first..=last).cloned()),
        None => Reply::Array(Vec::new()),
    })
}

fn ltrim(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (key, start, stop) = (args[1], int(args[2])?, int(args[3])?);
    let Some(list) = cx.get_mut::<List>(key)? else { return Ok(Reply::Ok) };
    let before = list.len();
    list.trim(range(start, stop, before));
    let nothing_gone = list.len() == before;
    // Redis says so to watchers and listeners even when everything stays.
    cx.changed(Class::List, "ltrim", key);
    if nothing_gone {
        cx.log_nothing();
    }
    cx.remove_if_empty(key);
    Ok(Reply::Ok)
}

fn lrem(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (key, count, element) = (args[1], int(args[2])?, args[3]);
    let Some(list) = cx.get_mut::<List>(key)? else { return Ok(Reply::Int(0)) };
    let side = if count < 0 { Side::Right } else { Side::Left };
    let most =
        if count == 0 { usize::MAX } else { usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX) };
    let gone = list.remove(element, side, most);
    if gone > 0 {
        cx.changed(Class::List, "lrem", key);
        cx.remove_if_empty(key);
    }
    Ok(Reply::count(gone))
}

/// What LPOS looks for.
struct Search {
    /// The first match that counts, from the left, or from the right when negative.
    rank: i64,
    /// Zero is all; `None` is one, and no array.
    count: Option<usize>,
    /// How many elements to look at; zero is all.
    most: usize,
}

impl Search {
    fn parse(args: &[&[u8]]) -> Result<Self, Fault> {
        let mut search = Self { rank: 1, count: None, most: 0 };
        for option in args.chunks(2) {
            let [word, value] = option else { return Err(SYNTAX) };
            if is(word, "RANK") {
                search.rank = int(value)?;
                if search.rank == 0 {
                    return Err(Fault::of(
                        "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use \
                         negative to start from the end of the list",
                    ));
                }
            } else if is(word, "COUNT") {
                search.count = Some(at_least(0, value, "ERR COUNT can't be negative")?);
            } else if is(word, "MAXLEN") {
                search.most = at_least(0, value, "ERR MAXLEN can't be negative")?;
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(search)
    }

    /// Places of the matches that were asked for, nearest first.
    fn run(&self, list: &List, wanted: &[u8]) -> Vec<usize> {
        let unless_zero = |most: usize| if most == 0 { usize::MAX } else { most };
        let (skipped, found) = match self.rank.checked_abs() {
            Some(rank) => {
                (usize::try_from(rank).unwrap_or(usize::MAX) - 1, unless_zero(self.count.unwrap_or(1)))
            }
            // Has no positive counterpart: Redis then skips nothing and never has enough.
            None => (0, usize::MAX),
        };
        let all = list.elements.iter().enumerate();
        let all: Box<dyn Iterator<Item = _>> =
            if self.rank < 0 { Box::new(all.rev()) } else { Box::new(all) };
        let equal = all.take(unless_zero(self.most)).filter(|(_, element)| *element == wanted);
        equal.map(|(place, _)| place).skip(skipped).take(found).collect()
    }
}

fn lpos(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let search = Search::parse(&args[3..])?;
    let found = cx.get::<List>(args[1])?.map(|list| search.run(list, args[2])).unwrap_or_default();
    Ok(match search.count {
        Some(_) => Reply::Array(found.into_iter().map(Reply::count).collect()),
        None => found.first().map_or(Reply::Nil, |place| Reply::count(*place)),
    })
}

/// From where to where an element goes.
struct Move {
    from: Name,
    to: Name,
    out: Side,
    into: Side,
    /// Without words for the sides, which are then right and left.
    is_rpoplpush: bool,
}

impl Move {
    /// Of LMOVE and BLMOVE.
    fn parse(args: &[&[u8]]) -> Result<Self, Fault> {
        let (out, into) = (Side::parse(args[3])?, Side::parse(args[4])?);
        Ok(Self { from: args[1].into(), to: args[2].into(), out, into, is_rpoplpush: false })
    }

    /// Of RPOPLPUSH and BRPOPLPUSH.
    fn rpoplpush(args: &[&[u8]]) -> Self {
        let (out, into) = (Side::Right, Side::Left);
        Self { from: args[1].into(), to: args[2].into(), out, into, is_rpoplpush: true }
    }

    /// Does it; nothing where there is nothing to move.
    fn run(&self, cx: &mut Context<'_>) -> Result<Option<Reply>, Fault> {
        if cx.get_mut::<List>(&self.from)?.is_none() {
            return Ok(None);
        }
        cx.get_mut::<List>(&self.to)?;
        let Some(element) = cx.get_mut::<List>(&self.from)?.and_then(|list| list.pop(self.out)) else {
            return Ok(None);
        };
        // The same list may be meant, so it is not removed yet where this was its last element.
        cx.get_or_create::<List>(&self.to)?.push(self.into, element.clone());
        cx.changed(Class::List, self.into.pushed(), &self.to);
        cx.changed(Class::List, self.out.popped(), &self.from);
        cx.remove_if_empty(&self.from);
        if self.is_rpoplpush {
            cx.log(&[b"RPOPLPUSH", &self.from, &self.to]);
        } else {
            cx.log(&[b"LMOVE", &self.from, &self.to, self.out.word(), self.into.word()]);
        }
        Ok(Some(Reply::Bulk(element)))
    }

    /// Does it now, or when there is something to move.
    fn run_or_wait(self, cx: &mut Context<'_>, seconds: &[u8]) -> Result<Blocking, Fault> {
        let until = until(cx.state.now, seconds)?;
        if let Some(reply) = self.run(cx)? {
            return Ok(Blocking::Done(reply));
        }
        if cx.session.origin != Origin::Client {
            // Where nobody waits it is not the array that the end of a wait is.
            return Ok(Blocking::Done(Reply::Nil));
        }
        let keys = vec![Name::clone(&self.from)];
        let serve = Box::new(move |cx: &mut Context<'_>, key: &[u8]| {
            cx.get_mut::<List>(key).ok()??;
            self.run(cx).unwrap_or_else(|fault| Some(Reply::Error(fault)))
        });
        Ok(Blocking::Wait(Wait { keys, until, serve, otherwise: Reply::NilArray }))
    }
}

fn lmove(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Move::parse(args)?.run(cx)?.unwrap_or(Reply::Nil))
}

fn rpoplpush(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Move::rpoplpush(args).run(cx)?.unwrap_or(Reply::Nil))
}

fn blmove(cx: &mut Context<'_>, args: &[&[u8]]) -> Result<Blocking, Fault> {
    Move::parse(args)?.run_or_wait(cx, args[5])
}

fn brpoplpush(cx: &mut Context<'_>, args: &[&[u8]]) -> Result<Blocking, Fault> {
    Move::rpoplpush(args).run_or_wait(cx, args[3])
}

/// What a pop from the first list of several takes.
#[derive(Clone, Copy)]
struct Pop {
    side: Side,
    /// Not given by BLPOP and BRPOP: one, and no array.
    count: Option<usize>,
}

impl Pop {
    /// Takes from this key; nothing where it holds no list.
    fn run(self, cx: &mut Context<'_>, key: &[u8]) -> Option<Reply> {
        cx.get_mut::<List>(key).ok()??;
        let mut taken = take(cx, key, self.side, self.count.unwrap_or(1));
        let command = self.side.pop_command();
        let popped = match self.count {
            None => {
                cx.log(&[command, key]);
                Reply::maybe(taken.pop())
            }
            Some(_) => {
                cx.log(&[command, key, taken.len().to_string().as_bytes()]);
                Reply::bulks(taken)
            }
        };
        Some(Reply::Array(vec![Reply::bulk(key), popped]))
    }

    /// Takes from the first of these keys that is there.
    fn run_first(self, cx: &mut Context<'_>, keys: &[&[u8]]) -> Result<Option<Reply>, Fault> {
        for key in keys {
            if cx.get_mut::<List>(key)?.is_some() {
                return Ok(self.run(cx, key));
            }
        }
        Ok(None)
    }

    /// The same, or from the first to be there.
    fn run_or_wait(self, cx: &mut Context<'_>, keys: &[&[u8]], seconds: &[u8]) -> Result<Blocking, Fault> {
        let until = until(cx.state.now, seconds)?;
        if let Some(reply) = self.run_first(cx, keys)? {
            return Ok(Blocking::Done(reply));
        }
        let keys = keys.iter().map(|key| Name::from(*key)).collect();
        let serve = Box::new(move |cx: &mut Context<'_>, key: &[u8]| self.run(cx, key));
        Ok(Blocking::Wait(Wait { keys, until, serve, otherwise: Reply::NilArray }))
    }
}

fn bpop(cx: &mut Context<'_>, args: &[&[u8]], side: Side) -> Result<Blocking, Fault> {
    let (seconds, keys) = args[1..].split_last().ok_or(SYNTAX)?;
    Pop { side, count: None }.run_or_wait(cx, keys, seconds)
}

/// Keys, side and count of LMPOP and BLMPOP, from the number of keys on.
fn parse_mpop<'a, 'b>(args: &'b [&'a [u8]]) -> Result<(&'b [&'a [u8]], Pop), Fault> {
    let count = at_least(1, at(args, 0)?, "ERR numkeys should be greater than 0")?;
    let side_at = count.checked_add(1).ok_or(SYNTAX)?;
    let side = Side::parse(at(args, side_at)?)?;
    let count = match &args[side_at + 1..] {
        [] => 1,
        [word, count, rest @ ..] if is(word, "COUNT") => {
            let count = at_least(1, count, "ERR count should be greater than 0")?;
            if !rest.is_empty() {
                return Err(SYNTAX);
            }
            count
        }
        _ => return Err(SYNTAX),
    };
    Ok((&args[1..side_at], Pop { side, count: Some(count) }))
}

fn lmpop(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (keys, pop) = parse_mpop(&args[1..])?;
    Ok(pop.run_first(cx, keys)?.unwrap_or(Reply::NilArray))
}

fn blmpop(cx: &mut Context<'_>, args: &[&[u8]]) -> Result<Blocking, Fault> {
    let (keys, pop) = parse_mpop(&args[2..])?;
    pop.run_or_wait(cx, keys, args[1])
}
