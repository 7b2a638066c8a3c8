//! Strings: SET and GET in all their forms, counters, parts of strings.

use super::{Answer, Command, flag};
use crate::args::{float_sum, int, is, long_double};
use crate::context::Context;
use crate::expiry::{Unit, Written};
use crate::fault::{Fault, NOT_AN_INTEGER, OVERFLOW, SYNTAX, TOO_LONG};
use crate::long_double::LongDouble;
use crate::notify::Class;
use crate::number;
use crate::reply::Reply;
use crate::value::{Form, Text, Value};

const WRITE: u32 = flag::WRITE | flag::DENYOOM;
const FAST_WRITE: u32 = WRITE | flag::FAST;
const FAST_READ: u32 = flag::READONLY | flag::FAST;
const ONE: (i32, i32, i32) = (1, 1, 1);

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("set", -3, WRITE, ONE, set),
    Command::new("get", 2, FAST_READ, ONE, get),
    Command::new("getset", 3, FAST_WRITE, ONE, getset),
    Command::new("getdel", 2, flag::WRITE | flag::FAST, ONE, getdel),
    Command::new("getex", -2, flag::WRITE | flag::FAST, ONE, getex),
    Command::new("setnx", 3, FAST_WRITE, ONE, setnx),
    Command::new("setex", 4, WRITE, ONE, |cx, args| setex(cx, args, Unit::Seconds, "setex")),
    Command::new("psetex", 4, WRITE, ONE, |cx, args| setex(cx, args, Unit::Millis, "psetex")),
    Command::new("mget", -2, FAST_READ, (1, -1, 1), mget),
    Command::new("mset", -3, WRITE, (1, -1, 2), mset),
    Command::new("msetnx", -3, WRITE, (1, -1, 2), msetnx),
    Command::new("append", 3, FAST_WRITE, ONE, append),
    Command::new("strlen", 2, FAST_READ, ONE, strlen),
    Command::new("getrange", 4, flag::READONLY, ONE, getrange),
    Command::new("substr", 4, flag::READONLY, ONE, getrange),
    Command::new("setrange", 4, WRITE, ONE, setrange),
    Command::new("incr", 2, FAST_WRITE, ONE, |cx, args| add(cx, args[1], 1)),
    Command::new("decr", 2, FAST_WRITE, ONE, |cx, args| add(cx, args[1], -1)),
    Command::new("incrby", 3, FAST_WRITE, ONE, |cx, args| add(cx, args[1], int(args[2])?)),
    Command::new("decrby", 3, FAST_WRITE, ONE, decrby),
    Command::new("incrbyfloat", 3, FAST_WRITE, ONE, incrbyfloat),
];

/// The longest string there is.
const LONGEST: usize = 512 * 1024 * 1024;

/// When SET and GETEX are told about the end of a key.
#[derive(Default)]
struct Options<'a> {
    if_absent: bool,
    if_present: bool,
    get: bool,
    keep_end: bool,
    persist: bool,
    end: Option<(Unit, Written, &'a [u8])>,
}

impl<'a> Options<'a> {
    /// Of SET, or of GETEX.
    fn parse(args: &[&'a [u8]], of_set: bool) -> Result<Self, Fault> {
        let mut options = Self::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            if of_set && is(arg, "NX") && !options.if_present {
                options.if_absent = true;
            } else if of_set && is(arg, "XX") && !options.if_absent {
                options.if_present = true;
            } else if of_set && is(arg, "GET") {
                options.get = true;
            } else if of_set && is(arg, "KEEPTTL") && options.end.is_none() {
                options.keep_end = true;
            } else if !of_set && is(arg, "PERSIST") && options.end.is_none() {
                options.persist = true;
            } else if let Some((unit, written)) = end_word(arg).filter(|word| options.may_end(*word)) {
                options.end = Some((unit, written, rest.next().ok_or(SYNTAX)?));
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(options)
    }

    /// The same word may come again, and the last counts.
    fn may_end(&self, word: (Unit, Written)) -> bool {
        !self.keep_end && !self.persist && self.end.is_none_or(|(unit, written, _)| (unit, written) == word)
    }

    /// The moment that was asked for, in milliseconds since 1970.
    fn end(&self, cx: &Context<'_>, command: &str) -> Result<Option<u64>, Fault> {
        let Some((unit, written, amount)) = self.end else { return Ok(None) };
        unit.positive_end(written, int(amount)?, cx.now(), command).map(Some)
    }
}

fn end_word(arg: &[u8]) -> Option<(Unit, Written)> {
    match arg.to_ascii_uppercase().as_slice() {
        b"EX" => Some((Unit::Seconds, Written::FromNow)),
        b"PX" => Some((Unit::Millis, Written::FromNow)),
        b"EXAT" => Some((Unit::Seconds, Written::At)),
        b"PXAT" => Some((Unit::Millis, Written::At)),
        _ => None,
    }
}

fn set(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let options = Options::parse(&args[3..], true)?;
    let end = options.end(cx, "set")?;
    let key = args[1];
    let before = if options.get { Some(get(cx, args)?) } else { None };
    let wanted = match (options.if_absent, options.if_present) {
        (true, _) => cx.find_mut(key).is_none(),
        (_, true) => cx.find_mut(key).is_some(),
        _ => true,
    };
    if !wanted {
        return Ok(before.unwrap_or(Reply::Nil));
    }
    store(cx, key, args[2], options.keep_end);
    match end {
        Some(end) => {
            cx.expire_at(key, end);
            cx.notify(Class::Generic, "expire", key);
            cx.log(&[b"SET", key, args[2], b"PXAT", &number::int_bytes(end as i64)]);
        }
        None if options.keep_end => cx.log(&[b"SET", key, args[2], b"KEEPTTL"]),
        None => cx.log(&[b"SET", key, args[2]]),
    }
    Ok(before.unwrap_or(Reply::Ok))
}

/// Puts a string there and says so.
fn store(cx: &mut Context<'_>, key: &[u8], bytes: &[u8], keep_end: bool) {
    let value = Value::text(bytes);
    if keep_end {
        cx.replace(key, value)
    } else {
        cx.put(key, value)
    }
    cx.changed(Class::String, "set", key);
}

fn get(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::maybe(cx.get::<Text>(args[1])?.map(|text| text.bytes.as_slice())))
}

fn getset(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let before = get(cx, args)?;
    store(cx, args[1], args[2], false);
    cx.log(&[b"SET", args[1], args[2]]);
    Ok(before)
}

fn getdel(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let before = get(cx, args)?;
    if before != Reply::Nil {
        cx.remove(args[1]);
        cx.changed(Class::Generic, "del", args[1]);
        cx.log(&[b"DEL", args[1]]);
    }
    Ok(before)
}

fn getex(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let options = Options::parse(&args[2..], false)?;
    let key = args[1];
    let value = get(cx, args)?;
    if value == Reply::Nil {
        return Ok(value);
    }
    if let Some(end) = options.end(cx, "getex")? {
        cx.end_at(key, i64::try_from(end).unwrap_or(i64::MAX));
    } else if options.persist && cx.persist(key) {
        cx.log(&[b"PERSIST", key]);
    }
    Ok(value)
}

fn setnx(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    if cx.find_mut(args[1]).is_some() {
        return Ok(Reply::Int(0));
    }
    store(cx, args[1], args[2], false);
    Ok(Reply::Int(1))
}

fn setex(cx: &mut Context<'_>, args: &[&[u8]], unit: Unit, name: &str) -> Answer {
    let (key, value) = (args[1], args[3]);
    let end = unit.positive_end(Written::FromNow, int(args[2])?, cx.now(), name)?;
    store(cx, key, value, false);
    cx.expire_at(key, end);
    cx.notify(Class::Generic, "expire", key);
    cx.log(&[b"SET", key, value, b"PXAT", &number::int_bytes(end as i64)]);
    Ok(Reply::Ok)
}

fn mget(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let one = |key: &&[u8]| {
        let text = cx.get::<Text>(key).ok().flatten();
        Reply::maybe(text.map(|text| text.bytes.as_slice()))
    };
    Ok(Reply::Array(args[1..].iter().map(one).collect()))
}

fn mset(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    if args.len().is_multiple_of(2) {
        return Err(Fault::arity("mset"));
    }
    args[1..].chunks_exact(2).for_each(|pair| store(cx, pair[0], pair[1], false));
    Ok(Reply::Ok)
}

fn msetnx(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    if args.len().is_multiple_of(2) {
        return Err(Fault::arity("msetnx"));
    }
    if args[1..].iter().step_by(2).any(|key| cx.find_mut(key).is_some()) {
        return Ok(Reply::Int(0));
    }
    mset(cx, args)?;
    Ok(Reply::Int(1))
}

fn append(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (key, more) = (args[1], args[2]);
    let length = match cx.get_mut::<Text>(key)? {
        Some(text) if text.bytes.len() + more.len() > LONGEST => return Err(TOO_LONG),
        Some(text) => {
            text.bytes.extend_from_slice(more);
            text.form = Form::Growing;
            text.bytes.len()
        }
        None => {
            cx.put(key, Value::text(more));
            more.len()
        }
    };
    cx.changed(Class::String, "append", key);
    Ok(Reply::count(length))
}

fn strlen(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::count(cx.get::<Text>(args[1])?.map_or(0, |text| text.bytes.len())))
}

fn getrange(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (start, end) = (int(args[2])?, int(args[3])?);
    let bytes = cx.get::<Text>(args[1])?.map(|text| text.bytes.as_slice()).unwrap_or_default();
    if start < 0 && end < 0 && start > end {
        return Ok(Reply::bulk(""));
    }
    let length = bytes.len() as i64;
    let place = |index: i64| if index < 0 { length.saturating_add(index).max(0) } else { index };
    let (first, last) = (place(start), place(end).min(length - 1));
    if first > last {
        return Ok(Reply::bulk(""));
    }
    Ok(Reply::bulk(&bytes[first as usize..=last as usize]))
}

fn setrange(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (key, offset, part) = (args[1], int(args[2])?, args[3]);
    let offset = usize::try_from(offset).map_err(|_| Fault::of("ERR offset is out of range"))?;
    let length = cx.get_mut::<Text>(key)?.map_or(0, |text| text.bytes.len());
    if part.is_empty() {
        return Ok(Reply::count(length));
    }
    let end = offset.checked_add(part.len()).filter(|end| *end <= LONGEST).ok_or(TOO_LONG)?;
    let text = cx.get_or_create::<Text>(key)?;
    if text.bytes.len() < end {
        text.bytes.resize(end, 0);
    }
    text.bytes[offset..end].copy_from_slice(part);
    text.form = Form::Growing;
    let length = text.bytes.len();
    cx.changed(Class::String, "setrange", key);
    Ok(Reply::count(length))
}

fn add(cx: &mut Context<'_>, key: &[u8], by: i64) -> Answer {
    let before = match cx.get_mut::<Text>(key)? {
        Some(text) => number::parse_int(&text.bytes).ok_or(NOT_AN_INTEGER)?,
        None => 0,
    };
    let after = before.checked_add(by).ok_or(OVERFLOW)?;
    cx.replace(key, Value::text(number::int_bytes(after)));
    cx.changed(Class::String, "incrby", key);
    Ok(Reply::Int(after))
}

fn decrby(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let by = int(args[2])?;
    let by = by.checked_neg().ok_or(Fault::of("ERR decrement would overflow"))?;
    add(cx, args[1], by)
}

fn incrbyfloat(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let key = args[1];
    let before = cx.get_mut::<Text>(key)?.map_or(Ok(LongDouble::ZERO), |text| long_double(&text.bytes))?;
    let after = float_sum(before, long_double(args[2])?)?;
    cx.replace(key, Value::Text(Text { bytes: after.clone(), form: Form::Plain }));
    cx.changed(Class::String, "incrbyfloat", key);
    cx.log(&[b"SET", key, &after, b"KEEPTTL"]);
    Ok(Reply::Bulk(after))
}
