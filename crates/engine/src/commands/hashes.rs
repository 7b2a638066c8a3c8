//! Hashes: fields with a value each.

use std::collections::BTreeSet;

use super::{Answer, Command, flag};
use crate::args::{float_sum, int, int_within, is, long_double};
use crate::context::Context;
use crate::fault::{Fault, OVERFLOW, SYNTAX};
use crate::long_double::LongDouble;
use crate::notify::Class;
use crate::number;
use crate::reply::Reply;
use crate::scan::{self, Scan, Walk};
use crate::state::Random;
use crate::value::Hash;

const WRITE: u32 = flag::WRITE | flag::DENYOOM | flag::FAST;
const READ: u32 = flag::READONLY;
const FAST_READ: u32 = flag::READONLY | flag::FAST;
const ONE: (i32, i32, i32) = (1, 1, 1);

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("hset", -4, WRITE, ONE, |cx, args| Ok(Reply::count(set_fields(cx, args, "hset")?))),
    Command::new("hmset", -4, WRITE, ONE, |cx, args| set_fields(cx, args, "hmset").map(|_| Reply::Ok)),
    Command::new("hsetnx", 4, WRITE, ONE, hsetnx),
    Command::new("hget", 3, FAST_READ, ONE, hget),
    Command::new("hmget", -3, FAST_READ, ONE, hmget),
    Command::new("hgetall", 2, READ, ONE, hgetall),
    Command::new("hkeys", 2, READ, ONE, hkeys),
    Command::new("hvals", 2, READ, ONE, hvals),
    Command::new("hlen", 2, FAST_READ, ONE, hlen),
    Command::new("hstrlen", 3, FAST_READ, ONE, hstrlen),
    Command::new("hexists", 3, FAST_READ, ONE, hexists),
    Command::new("hdel", -3, flag::WRITE | flag::FAST, ONE, hdel),
    Command::new("hincrby", 4, WRITE, ONE, hincrby),
    Command::new("hincrbyfloat", 4, WRITE, ONE, hincrbyfloat),
    Command::new("hrandfield", -2, READ, ONE, hrandfield),
    Command::new("hscan", -3, READ, ONE, hscan),
];

/// How many fields are new.
fn set_fields(cx: &mut Context<'_>, args: &[&[u8]], name: &str) -> Result<usize, Fault> {
    if !args.len().is_multiple_of(2) {
        return Err(Fault::arity(name));
    }
    let key = args[1];
    let hash = cx.get_or_create::<Hash>(key)?;
    let new = args[2..].chunks_exact(2).filter(|pair| hash.set(pair[0], pair[1].to_vec())).count();
    cx.changed(Class::Hash, "hset", key);
    Ok(new)
}

fn hsetnx(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    if cx.get_mut::<Hash>(args[1])?.is_some_and(|hash| hash.get(args[2]).is_some()) {
        return Ok(Reply::Int(0));
    }
    set_fields(cx, args, "hsetnx")?;
    Ok(Reply::Int(1))
}

fn hget(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(field(cx.get::<Hash>(args[1])?, args[2]))
}

fn hmget(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let hash = cx.get::<Hash>(args[1])?;
    Ok(Reply::Array(args[2..].iter().map(|name| field(hash, name)).collect()))
}

/// The value of a field, or nothing.
fn field(hash: Option<&Hash>, name: &[u8]) -> Reply {
    Reply::maybe(hash.and_then(|hash| hash.get(name)).map(Vec::as_slice))
}

fn hgetall(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let pairs = cx.get::<Hash>(args[1])?.into_iter().flat_map(Hash::iter);
    Ok(Reply::Map(pairs.map(|(name, value)| (Reply::bulk(name), Reply::bulk(value.as_slice()))).collect()))
}

fn hkeys(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let pairs = cx.get::<Hash>(args[1])?.into_iter().flat_map(Hash::iter);
    Ok(Reply::bulks(pairs.map(|(name, _)| name)))
}

fn hvals(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let pairs = cx.get::<Hash>(args[1])?.into_iter().flat_map(Hash::iter);
    Ok(Reply::bulks(pairs.map(|(_, value)| value.as_slice())))
}

fn hlen(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::count(cx.get::<Hash>(args[1])?.map_or(0, Hash::len)))
}

fn hstrlen(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let value = cx.get::<Hash>(args[1])?.and_then(|hash| hash.get(args[2]));
    Ok(Reply::count(value.map_or(0, Vec::len)))
}

fn hexists(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::truth(cx.get::<Hash>(args[1])?.is_some_and(|hash| hash.get(args[2]).is_some())))
}

fn hdel(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let key = args[1];
    let Some(hash) = cx.get_mut::<Hash>(key)? else { return Ok(Reply::Int(0)) };
    let gone = args[2..].iter().filter(|name| hash.remove(name).is_some()).count();
    if gone > 0 {
        cx.changed(Class::Hash, "hdel", key);
        cx.remove_if_empty(key);
    }
    Ok(Reply::count(gone))
}

fn hincrby(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (key, name, by) = (args[1], args[2], int(args[3])?);
    let before = match cx.get_mut::<Hash>(key)?.and_then(|hash| hash.get(name)) {
        Some(value) => number::parse_int(value).ok_or(Fault::of("ERR hash value is not an integer"))?,
        None => 0,
    };
    let after = before.checked_add(by).ok_or(OVERFLOW)?;
    cx.get_or_create::<Hash>(key)?.set(name, number::int_bytes(after));
    cx.changed(Class::Hash, "hincrby", key);
    Ok(Reply::Int(after))
}

fn hincrbyfloat(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (key, name, by) = (args[1], args[2], long_double(args[3])?);
    if by == LongDouble::Infinite {
        return Err(Fault::of("ERR value is NaN or Infinity"));
    }
    let before = match cx.get_mut::<Hash>(key)?.and_then(|hash| hash.get(name)) {
        Some(value) => LongDouble::parse(value).ok_or(Fault::of("ERR hash value is not a float"))?,
        None => LongDouble::ZERO,
    };
    let after = float_sum(before, by)?;
    cx.get_or_create::<Hash>(key)?.set(name, after.clone());
    cx.changed(Class::Hash, "hincrbyfloat", key);
    cx.log(&[b"HSET", key, name, &after]);
    Ok(Reply::Bulk(after))
}

const OUT_OF_RANGE: Fault = Fault::of("ERR value is out of range");

fn hrandfield(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let Some(count) = args.get(2) else { return any_field(cx, args[1]) };
    let count = int_within(count, -i64::MAX, i64::MAX)?;
    let with_values = match &args[3..] {
        [] => false,
        [word] if is(word, "WITHVALUES") => true,
        _ => return Err(SYNTAX),
    };
    if with_values && count.unsigned_abs() > i64::MAX.unsigned_abs() / 2 {
        return Err(OUT_OF_RANGE);
    }
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let nested = cx.is_resp3();
    let length = cx.get::<Hash>(args[1])?.map_or(0, Hash::len);
    let numbers = if count >= 0 {
        distinct(&mut cx.state.random, length, wanted).into_iter().collect()
    } else {
        repeated(&mut cx.state.random, length, wanted)?
    };
    let Some(hash) = cx.get_mut::<Hash>(args[1])? else { return Ok(Reply::Array(Vec::new())) };
    if count < 0 && !is_small_enough(hash, &numbers, with_values) {
        return Err(OUT_OF_RANGE);
    }
    Ok(Reply::Array(picked(hash, &numbers, with_values, nested)))
}

fn any_field(cx: &mut Context<'_>, key: &[u8]) -> Answer {
    let length = cx.get::<Hash>(key)?.map_or(0, Hash::len);
    let number = cx.state.random.below(length);
    let hash = cx.get_mut::<Hash>(key)?;
    Ok(Reply::maybe(hash.and_then(|hash| hash.at(number)).map(|(name, _)| name)))
}

/// That many different numbers below this one, or all there are.
fn distinct(random: &mut Random, length: usize, wanted: usize) -> BTreeSet<usize> {
    let mut chosen = BTreeSet::new();
    // Floyd's way: one draw for each, and every choice is as likely as any other.
    for last in length.saturating_sub(wanted)..length {
        let drawn = random.below(last + 1);
        if !chosen.insert(drawn) {
            chosen.insert(last);
        }
    }
    chosen
}

/// What fields that are picked again and again may take up; Redis would go on until its memory ends.
const MOST_PICKED: usize = 512 * 1024 * 1024;
/// What one of them takes up beside its bytes.
const EACH: usize = 64;

/// That many numbers below this one.
fn repeated(random: &mut Random, length: usize, wanted: usize) -> Result<Vec<usize>, Fault> {
    match length {
        0 => Ok(Vec::new()),
        _ if wanted > MOST_PICKED / EACH => Err(OUT_OF_RANGE),
        _ => Ok((0..wanted).map(|_| random.below(length)).collect()),
    }
}

fn is_small_enough(hash: &Hash, numbers: &[usize], with_values: bool) -> bool {
    let sizes = numbers.iter().filter_map(|number| hash.at(*number)).map(|(name, value)| {
        let value = if with_values { value.len() } else { 0 };
        EACH + name.len() + value
    });
    sizes.fold(0, usize::saturating_add) <= MOST_PICKED
}

/// The fields with these numbers. With values RESP3 shows pairs, RESP2 one after the other.
fn picked(hash: &Hash, numbers: &[usize], with_values: bool, nested: bool) -> Vec<Reply> {
    let mut replies = Vec::new();
    for (name, value) in numbers.iter().filter_map(|number| hash.at(*number)) {
        match (Reply::bulk(name), with_values.then(|| Reply::bulk(value.as_slice()))) {
            (name, Some(value)) if nested => replies.push(Reply::Array(vec![name, value])),
            (name, value) => replies.extend(std::iter::once(name).chain(value)),
        }
    }
    replies
}

fn hscan(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    scan::check_cursor(args[2])?;
    let Some(hash) = cx.get::<Hash>(args[1])? else { return Ok(Scan::reply(0, Reply::Array(Vec::new()))) };
    let scan = Scan::parse(args[2], &args[3..], false)?;
    let Walk { next, visited } = scan.walk(hash.len(), hash.is_in_one_piece());
    let pairs = visited.filter_map(|number| hash.at(number)).filter(|(name, _)| scan.takes(name));
    Ok(Scan::reply(next, Reply::bulks(pairs.flat_map(|(name, value)| [name, value.as_slice()]))))
}

#[cfg(test)]
mod tests {
    use crate::{Answer, Engine, Reply, Settings, Time};

    #[test]
    fn what_is_picked_again_and_again_is_bounded() {
        let mut engine = Engine::new(Settings::default(), Time::default());
        let client = engine.connect(Time::default(), String::new());
        let value = vec![b'v'; 1024 * 1024];
        let mut ask = |args: &[&[u8]]| engine.execute(Time::default(), client, args).answer;
        ask(&[b"HSET", b"h", b"f", &value]);
        let refused = Answer::Reply(Reply::Error(super::OUT_OF_RANGE));
        assert_eq!(ask(&[b"HRANDFIELD", b"h", b"-9223372036854775807"]), refused);
        assert_eq!(ask(&[b"HRANDFIELD", b"h", b"-600", b"WITHVALUES"]), refused);
        assert!(
            matches!(ask(&[b"HRANDFIELD", b"h", b"-600"]), Answer::Reply(Reply::Array(all)) if all.len() == 600)
        );
        let none = Answer::Reply(Reply::Array(Vec::new()));
        assert_eq!(ask(&[b"HRANDFIELD", b"none", b"-9223372036854775807"]), none);
    }
}
