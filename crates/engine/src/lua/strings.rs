//! The functions of `string` that Lua's own library could not do safely: searches, replacements, repetitions.

use mlua::{Function, Lua, LuaString, MultiValue, Result, Table, Value};

use super::patterns::{Flaw, Matcher, Piece, find_bytes, is_plain};
use super::thrown::{Thrown, bad_argument, fail, out_of_memory, raise_value, type_name};
use super::{MEMORY, Native, Slot, args, base};

pub(super) const STRING: &[(&str, Native)] = &[
    ("find", |lua, args| search(lua, &args, true)),
    ("match", |lua, args| search(lua, &args, false)),
    ("gmatch", gmatch),
    ("gfind", gmatch),
    ("gsub", gsub),
    ("rep", repeat),
];

/// Lets something use the steps that the script has left.
fn counted<T>(lua: &Lua, run: impl FnOnce(&mut u64) -> std::result::Result<T, Flaw>) -> Result<T> {
    let mut left = Slot::of(lua)?.budget;
    let done = run(&mut left);
    let mut slot = Slot::of(lua)?;
    slot.budget = left;
    match done {
        Ok(done) => Ok(done),
        Err(Flaw::Malformed(why)) => {
            drop(slot);
            fail(lua, why)
        }
        Err(Flaw::OutOfSteps) => {
            slot.budget = 0;
            slot.stopped = true;
            Thrown::Stopped.raise()
        }
    }
}

fn repeat(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let text = args::string(lua, &args, 1)?;
    let times = usize::try_from(args::int(lua, &args, 2)?).unwrap_or(0);
    let text = text.as_bytes();
    if text.len().checked_mul(times).is_none_or(|length| length > MEMORY) {
        return out_of_memory();
    }
    let text = if text.is_empty() { Vec::new() } else { text.repeat(times) };
    one(Value::String(lua.create_string(text)?))
}

fn one(value: Value) -> Result<MultiValue> {
    Ok([value].into_iter().collect())
}

/// `find` tells where, `match` what.
fn search(lua: &Lua, args: &MultiValue, is_find: bool) -> Result<MultiValue> {
    let (text, pattern) = (args::string(lua, args, 1)?, args::string(lua, args, 2)?);
    let start = args::int_or(lua, args, 3, 1)?;
    let plain = !matches!(args::at(args, 4), Value::Nil | Value::Boolean(false));
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let start = start_in(&text, start);
    let mut values = MultiValue::new();
    if is_find && (plain || is_plain(&pattern)) {
        match counted(lua, |steps| find_bytes(&text, &pattern, start, steps))? {
            Some(place) => values.extend(places(place, place + pattern.len())),
            None => values.push_back(Value::Nil),
        }
        return Ok(values);
    }
    let (mut matcher, anchored) = Matcher::anchored(&text, &pattern, 0);
    let last = if anchored { start } else { text.len() };
    let Some((start, end)) = counted(lua, |steps| first(&mut matcher, start, last, steps))? else {
        return one(Value::Nil);
    };
    if is_find {
        values.extend(places(start, end));
    }
    push_captures(lua, &matcher, &text, (start, end), !is_find, &mut values)?;
    Ok(values)
}

/// Counted from 1 or, when negative, from the end.
fn start_in(text: &[u8], start: i64) -> usize {
    let from_end = if start < 0 { start.saturating_add(text.len() as i64 + 1) } else { start };
    usize::try_from(from_end.saturating_sub(1)).unwrap_or(0).min(text.len())
}

/// The first match that begins in this range.
fn first(
    matcher: &mut Matcher<'_>,
    start: usize,
    last: usize,
    steps: &mut u64,
) -> std::result::Result<Option<(usize, usize)>, Flaw> {
    matcher.steps = *steps;
    let mut found = Ok(None);
    for start in start..=last {
        found = matcher.match_at(start).map(|end| end.map(|end| (start, end)));
        if !matches!(found, Ok(None)) {
            break;
        }
    }
    *steps = matcher.steps;
    found
}

/// First and last byte, counted from 1.
fn places(start: usize, end: usize) -> [Value; 2] {
    [Value::Integer(start as i64 + 1), Value::Integer(end as i64)]
}

fn captured(lua: &Lua, text: &[u8], piece: Piece) -> Result<Value> {
    Ok(match piece {
        Piece::Text { start, end } => Value::String(lua.create_string(&text[start..end])?),
        Piece::Place(place) => Value::Integer(place as i64),
    })
}

fn capture(lua: &Lua, matcher: &Matcher<'_>, number: usize, found: (usize, usize)) -> Result<Piece> {
    counted(lua, |_| matcher.capture(number, found.0, found.1))
}

fn push_captures(
    lua: &Lua,
    matcher: &Matcher<'_>,
    text: &[u8],
    found: (usize, usize),
    whole: bool,
    values: &mut MultiValue,
) -> Result<()> {
    for number in 0..matcher.count(whole) {
        let piece = capture(lua, matcher, number, found)?;
        values.push_back(captured(lua, text, piece)?);
    }
    Ok(())
}

fn gmatch(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let (text, pattern) = (args::string(lua, &args, 1)?, args::string(lua, &args, 2)?);
    // In the registry and not in the closure: there is room for a few thousand handles only, and for any number of
    // iterators.
    let (text, pattern) = (lua.create_registry_value(text)?, lua.create_registry_value(pattern)?);
    let mut next = 0;
    let walk = lua.create_function_mut(move |lua, _: MultiValue| {
        let (text, pattern): (LuaString, LuaString) =
            (lua.registry_value(&text)?, lua.registry_value(&pattern)?);
        let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
        let mut matcher = Matcher::new(&text, &pattern, 0);
        let mut values = MultiValue::new();
        let last = text.len();
        if let Some((start, end)) = counted(lua, |steps| first(&mut matcher, next, last, steps))? {
            // An empty match goes on one byte further.
            next = end.max(start + 1);
            push_captures(lua, &matcher, &text, (start, end), true, &mut values)?;
        } else {
            next = last + 1;
        }
        Ok(values)
    })?;
    one(Value::Function(walk))
}

/// What a match is replaced with.
enum Replacement {
    Text(LuaString),
    Lookup(Table),
    Call(Function),
}

fn gsub(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let (text, pattern) = (args::string(lua, &args, 1)?, args::string(lua, &args, 2)?);
    let most = args::int_or(lua, &args, 4, text.as_bytes().len() as i64 + 1)? as i32;
    let with = match args::at(&args, 3) {
        Value::Table(table) => Replacement::Lookup(table),
        Value::Function(function) => Replacement::Call(function),
        Value::String(_) | Value::Integer(_) | Value::Number(_) => {
            Replacement::Text(args::string(lua, &args, 3)?)
        }
        _ => return bad_argument(lua, 3, "string/function/table expected"),
    };
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let (mut matcher, anchored) = Matcher::anchored(&text, &pattern, 0);
    let (mut out, mut place, mut count) = (Vec::new(), 0, 0);
    while count < most {
        let found = counted(lua, |steps| first(&mut matcher, place, place, steps))?;
        if let Some(found) = found {
            count += 1;
            replace(lua, &matcher, &text, found, &with, &mut out)?;
        }
        match found {
            Some((start, end)) if end > start => place = end,
            _ if place < text.len() => {
                out.push(text[place]);
                place += 1;
            }
            _ => break,
        }
        if anchored {
            break;
        }
    }
    out.extend_from_slice(&text[place..]);
    Ok([Value::String(lua.create_string(out)?), Value::Integer(i64::from(count))].into_iter().collect())
}

fn replace(
    lua: &Lua,
    matcher: &Matcher<'_>,
    text: &[u8],
    found: (usize, usize),
    with: &Replacement,
    out: &mut Vec<u8>,
) -> Result<()> {
    let value = match with {
        Replacement::Text(with) => {
            fill_in(lua, matcher, text, found, &with.as_bytes(), out)?;
            return room_for(out);
        }
        Replacement::Lookup(table) => {
            let key = captured(lua, text, capture(lua, matcher, 0, found)?)?;
            match base::index(lua, table, key)? {
                Ok(value) => value,
                Err(raised) => return raise_value(lua, raised),
            }
        }
        Replacement::Call(function) => {
            let mut captures = MultiValue::new();
            push_captures(lua, matcher, text, found, true, &mut captures)?;
            match base::protected(lua, function, captures)? {
                Ok(mut values) => values.pop_front().unwrap_or(Value::Nil),
                Err(raised) => return raise_value(lua, raised),
            }
        }
    };
    match value {
        Value::Nil | Value::Boolean(false) => out.extend_from_slice(&text[found.0..found.1]),
        value @ (Value::String(_) | Value::Integer(_) | Value::Number(_)) => {
            if let Some(string) = lua.coerce_string(value)? {
                out.extend_from_slice(&string.as_bytes());
            }
        }
        other => return fail(lua, format!("invalid replacement value (a {})", type_name(&other))),
    }
    room_for(out)
}

/// A text with `%1` and its like in it.
fn fill_in(
    lua: &Lua,
    matcher: &Matcher<'_>,
    text: &[u8],
    found: (usize, usize),
    with: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut bytes = with.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        // A string of Lua has a zero byte behind its end, and that is what a last `%` takes.
        match bytes.next().unwrap_or(0) {
            b'0' => out.extend_from_slice(&text[found.0..found.1]),
            digit @ b'1'..=b'9' => match capture(lua, matcher, usize::from(digit - b'1'), found)? {
                Piece::Text { start, end } => out.extend_from_slice(&text[start..end]),
                Piece::Place(place) => out.extend_from_slice(place.to_string().as_bytes()),
            },
            other => out.push(other),
        }
        room_for(out)?;
    }
    Ok(())
}

fn room_for(out: &[u8]) -> Result<()> {
    if out.len() > MEMORY { out_of_memory() } else { Ok(()) }
}
