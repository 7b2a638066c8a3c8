//! Sets: members, random members, and what several sets have in common.
//!
//! An answer of several members has the order that Redis gives it where there is one: small sets of integers are sorted.
//! What chance took is logged by name.

use indexmap::IndexSet;

use super::{Answer, Command, flag};
use crate::args::{int, is};
use crate::context::Context;
use crate::db::Hashing;
use crate::fault::{Fault, SYNTAX};
use crate::notify::Class;
use crate::reply::Reply;
use crate::scan::{Scan, Walk};
use crate::state::Random;
use crate::value::{Kind as _, Set};

const FAST_WRITE: u32 = flag::WRITE | flag::FAST;
const STORE: u32 = flag::WRITE | flag::DENYOOM;
const READ: u32 = flag::READONLY;
const FAST_READ: u32 = flag::READONLY | flag::FAST;
const ONE: (i32, i32, i32) = (1, 1, 1);
const ALL: (i32, i32, i32) = (1, -1, 1);

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("sadd", -3, FAST_WRITE | flag::DENYOOM, ONE, sadd),
    Command::new("srem", -3, FAST_WRITE, ONE, srem),
    Command::new("smove", 4, FAST_WRITE, (1, 2, 1), smove),
    Command::new("sismember", 3, FAST_READ, ONE, sismember),
    Command::new("smismember", -3, FAST_READ, ONE, smismember),
    Command::new("scard", 2, FAST_READ, ONE, scard),
    Command::new("spop", -2, FAST_WRITE, ONE, spop),
    Command::new("srandmember", -2, READ, ONE, srandmember),
    Command::new("smembers", 2, READ, ONE, |cx, args| combine(cx, &args[1..], Combination::Intersection)),
    Command::new("sinter", -2, READ, ALL, |cx, args| combine(cx, &args[1..], Combination::Intersection)),
    Command::new("sunion", -2, READ, ALL, |cx, args| combine(cx, &args[1..], Combination::Union)),
    Command::new("sdiff", -2, READ, ALL, |cx, args| combine(cx, &args[1..], Combination::Difference)),
    Command::new("sinterstore", -3, STORE, ALL, |cx, args| store(cx, args, Combination::Intersection)),
    Command::new("sunionstore", -3, STORE, ALL, |cx, args| store(cx, args, Combination::Union)),
    Command::new("sdiffstore", -3, STORE, ALL, |cx, args| store(cx, args, Combination::Difference)),
    Command::new("sintercard", -3, READ, (0, 0, 0), sintercard),
    Command::new("sscan", -3, READ, ONE, sscan),
];

/// How many bytes one SRANDMEMBER with repetition may answer. Redis has no bound, and ends when its memory does.
const MOST_REPEATED: usize = 512 * 1024 * 1024;

const NOT_POSITIVE: Fault = Fault::of("ERR value is out of range, must be positive");

fn sadd(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let set = cx.get_or_create::<Set>(args[1])?;
    let added = args[2..].iter().filter(|member| set.add(member)).count();
    if added > 0 {
        cx.changed(Class::Set, "sadd", args[1]);
    }
    Ok(Reply::count(added))
}

fn srem(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let Some(set) = cx.get_mut::<Set>(args[1])? else { return Ok(Reply::Int(0)) };
    let removed = args[2..].iter().filter(|member| set.remove(member)).count();
    if removed > 0 {
        cx.changed(Class::Set, "srem", args[1]);
        cx.remove_if_empty(args[1]);
    }
    Ok(Reply::count(removed))
}

fn smove(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (from, to, member) = (args[1], args[2], args[3]);
    let Some(source) = cx.get_mut::<Set>(from)? else { return Ok(Reply::Int(0)) };
    let there = source.contains(member);
    cx.get_mut::<Set>(to)?;
    if from == to || !there {
        return Ok(Reply::truth(there));
    }
    if let Some(source) = cx.get_mut::<Set>(from)? {
        source.remove(member);
    }
    cx.changed(Class::Set, "srem", from);
    cx.remove_if_empty(from);
    if cx.get_or_create::<Set>(to)?.add(member) {
        cx.changed(Class::Set, "sadd", to);
    }
    Ok(Reply::Int(1))
}

fn sismember(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::truth(cx.get::<Set>(args[1])?.is_some_and(|set| set.contains(args[2]))))
}

fn smismember(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let set = cx.get::<Set>(args[1])?;
    let one = |member: &&[u8]| Reply::truth(set.is_some_and(|set| set.contains(member)));
    Ok(Reply::Array(args[2..].iter().map(one).collect()))
}

fn scard(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::count(cx.get::<Set>(args[1])?.map_or(0, Set::len)))
}

fn spop(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let key = args[1];
    let count = match args {
        [_, _] => None,
        [_, _, count] => Some(positive(count, NOT_POSITIVE)?),
        _ => return Err(SYNTAX),
    };
    let length = cx.get_mut::<Set>(key)?.map_or(0, |set| set.len());
    let wanted = count.unwrap_or(1).min(length);
    if wanted == 0 {
        return Ok(if count.is_some() { Reply::Set(Vec::new()) } else { Reply::Nil });
    }
    let taken = take(cx, key, wanted);
    cx.changed(Class::Set, "spop", key);
    cx.remove_if_empty(key);
    if count.is_some() && wanted == length {
        cx.log(&[b"DEL", key]);
    } else {
        let mut effect: Vec<&[u8]> = vec![b"SREM", key];
        effect.extend(taken.iter().map(Vec::as_slice));
        cx.log(&effect);
    }
    let mut taken = taken.into_iter().map(Reply::Bulk);
    Ok(if count.is_some() { Reply::Set(taken.collect()) } else { taken.next().unwrap_or(Reply::Nil) })
}

/// Takes so many members out of a set that has them, by chance.
fn take(cx: &mut Context<'_>, key: &[u8], count: usize) -> Vec<Vec<u8>> {
    /// When it leaves so much less than it takes, Redis puts the rest into a new set, which may be a small one again.
    const FEW_LEFT: usize = 5;
    let db = cx.session.db;
    let entry = cx.state.dbs[db].get_mut(key);
    let Some(set) = entry.and_then(|entry| Set::of_mut(&mut entry.value)) else { return Vec::new() };
    if count >= set.len() {
        return std::mem::take(set).iter().map(<[u8]>::to_vec).collect();
    }
    let mut taken = Vec::with_capacity(count);
    while taken.len() < count {
        let Some(member) = set.at(cx.state.random.below(set.len())).map(<[u8]>::to_vec) else { break };
        set.remove(&member);
        taken.push(member);
    }
    if set.len().saturating_mul(FEW_LEFT) <= count {
        *set = set.iter().collect();
    }
    taken
}

/// A number that is zero or more.
fn positive(arg: &[u8], otherwise: Fault) -> Result<usize, Fault> {
    int(arg).ok().and_then(|number| usize::try_from(number).ok()).ok_or(otherwise)
}

fn srandmember(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (db, key) = (cx.session.db, args[1]);
    let count = match args {
        [_, _] => None,
        [_, _, count] => Some(random_count(count)?),
        _ => return Err(SYNTAX),
    };
    cx.get::<Set>(key)?;
    let random = &mut cx.state.random;
    let Some(set) = cx.state.dbs[db].get(key).and_then(|entry| Set::of(&entry.value)) else {
        return Ok(if count.is_some() { Reply::Array(Vec::new()) } else { Reply::Nil });
    };
    match count {
        None => Ok(Reply::maybe(set.at(random.below(set.len())))),
        Some(count) if count < 0 => repeated(set, random, count.unsigned_abs()),
        Some(count) => match usize::try_from(count).unwrap_or(usize::MAX) {
            all if all >= set.len() => Ok(Reply::bulks(set.iter())),
            some => {
                let numbers = different(random, some, set.len());
                Ok(Reply::bulks(numbers.into_iter().filter_map(|number| set.at(number))))
            }
        },
    }
}

/// So many members, the same ones again and again.
fn repeated(set: &Set, random: &mut Random, count: u64) -> Answer {
    const TOO_MANY: Fault = Fault::of("ERR value is out of range");
    let count = usize::try_from(count).map_err(|_| TOO_MANY)?;
    let mut bytes = count.saturating_mul(size_of::<Reply>());
    let mut members = Vec::new();
    while bytes <= MOST_REPEATED && members.len() < count {
        let member = set.at(random.below(set.len())).unwrap_or_default();
        bytes += member.len();
        members.push(Reply::bulk(member));
    }
    if bytes > MOST_REPEATED { Err(TOO_MANY) } else { Ok(Reply::Array(members)) }
}

fn random_count(arg: &[u8]) -> Result<i64, Fault> {
    match int(arg)? {
        i64::MIN => Err(Fault::of(
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        )),
        count => Ok(count),
    }
}

/// So many different numbers below a length that is greater, every choice as likely as any other (Floyd's way).
fn different(random: &mut Random, count: usize, length: usize) -> Vec<usize> {
    let mut chosen = IndexSet::<usize, Hashing>::with_capacity_and_hasher(count, Hashing::default());
    for last in length - count..length {
        let number = random.below(last + 1);
        if !chosen.insert(number) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

#[derive(Clone, Copy)]
enum Combination {
    Intersection,
    Union,
    Difference,
}

impl Combination {
    fn of(self, sets: &[Option<&Set>]) -> Set {
        match self {
            Self::Intersection => common(sets).into_iter().flatten().collect(),
            Self::Union => sets.iter().flatten().flat_map(|set| set.iter()).collect(),
            Self::Difference => difference(sets),
        }
    }

    /// The notification of its result.
    fn stored(self) -> &'static str {
        match self {
            Self::Intersection => "sinterstore",
            Self::Union => "sunionstore",
            Self::Difference => "sdiffstore",
        }
    }
}

/// The sets at these keys; there is none where nothing is.
fn sets<'c>(cx: &'c mut Context<'_>, keys: &[&[u8]]) -> Result<Vec<Option<&'c Set>>, Fault> {
    for key in keys {
        cx.get::<Set>(key)?;
    }
    let db = &cx.state.dbs[cx.session.db];
    Ok(keys.iter().map(|key| db.get(key).and_then(|entry| Set::of(&entry.value))).collect())
}

/// The members of the smallest that are in all others, in its order; `None` when one of them is not there.
fn common<'s>(sets: &[Option<&'s Set>]) -> Option<impl Iterator<Item = &'s [u8]>> {
    let mut sets: Vec<&Set> = sets.iter().copied().collect::<Option<_>>()?;
    sets.sort_by_key(|set| set.len());
    let (smallest, others) = (*sets.first()?, sets.split_off(1));
    Some(smallest.iter().filter(move |member| others.iter().all(|set| set.contains(member))))
}

/// Takes one of two ways, as Redis does: they differ in which kind of set the result is.
fn difference(sets: &[Option<&Set>]) -> Set {
    let Some((Some(first), others)) = sets.split_first() else { return Set::default() };
    let others: Vec<&Set> = others.iter().copied().flatten().collect();
    if others.iter().any(|set| std::ptr::eq(*set, *first)) {
        return Set::default();
    }
    let one_by_one = first.len().saturating_mul(others.len() + 1) / 2;
    let all_at_once = others.iter().map(|set| set.len()).sum::<usize>() + first.len();
    if one_by_one <= all_at_once {
        return first.iter().filter(|member| !others.iter().any(|set| set.contains(member))).collect();
    }
    // A new set, which may be in one piece where the first is not any more.
    let mut left: Set = first.iter().collect();
    for member in others.iter().flat_map(|set| set.iter()) {
        left.remove(member);
    }
    left
}

fn combine(cx: &mut Context<'_>, keys: &[&[u8]], combination: Combination) -> Answer {
    let sets = sets(cx, keys)?;
    let members = |found: &mut dyn Iterator<Item = &[u8]>| Reply::Set(found.map(Reply::bulk).collect());
    Ok(match combination {
        Combination::Intersection => members(&mut common(&sets).into_iter().flatten()),
        _ => members(&mut combination.of(&sets).iter()),
    })
}

fn store(cx: &mut Context<'_>, args: &[&[u8]], combination: Combination) -> Answer {
    let to = args[1];
    let result = combination.of(&sets(cx, &args[2..])?);
    let length = result.len();
    if length > 0 {
        cx.put(to, result.into_value());
        cx.changed(Class::Set, combination.stored(), to);
    } else if cx.remove(to).is_some() {
        cx.changed(Class::Generic, "del", to);
    }
    Ok(Reply::count(length))
}

fn sintercard(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    const NO_KEYS: Fault = Fault::of("ERR numkeys should be greater than 0");
    let count = positive(args[1], NO_KEYS)?;
    if count == 0 {
        return Err(NO_KEYS);
    }
    let Some((keys, options)) = args[2..].split_at_checked(count) else {
        return Err(Fault::of("ERR Number of keys can't be greater than number of args"));
    };
    let mut most = 0;
    for option in options.chunks(2) {
        match option {
            [word, limit] if is(word, "LIMIT") => {
                most = positive(limit, Fault::of("ERR LIMIT can't be negative"))?;
            }
            _ => return Err(SYNTAX),
        }
    }
    let most = if most == 0 { usize::MAX } else { most };
    let sets = sets(cx, keys)?;
    Ok(Reply::count(common(&sets).into_iter().flatten().take(most).count()))
}

fn sscan(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    // A cursor is looked at before the key, and options only when there is something to walk through.
    Scan::parse(args[2], &[], false)?;
    let Some(set) = cx.get::<Set>(args[1])? else { return Ok(Scan::reply(0, Reply::Array(Vec::new()))) };
    let scan = Scan::parse(args[2], &args[3..], false)?;
    let wanted = |member: &&[u8]| scan.takes(member);
    if set.is_in_one_piece() {
        return Ok(Scan::reply(0, Reply::bulks(set.iter().filter(wanted))));
    }
    let Walk { next, visited } = scan.walk(set.len(), false);
    Ok(Scan::reply(next, Reply::bulks(visited.filter_map(|number| set.at(number)).filter(wanted))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_chooses_different_numbers_and_any_of_them() {
        let mut random = Random::default();
        let mut met = [0; 10];
        for round in 0..1000 {
            let count = round % 10;
            let mut chosen = different(&mut random, count, met.len());
            assert_eq!(chosen.len(), count);
            chosen.iter().for_each(|number| met[*number] += 1);
            chosen.sort_unstable();
            chosen.dedup();
            assert_eq!(chosen.len(), count, "{chosen:?}");
        }
        assert!(met.iter().all(|times| (350..550).contains(times)), "{met:?}");
    }

    #[test]
    fn what_chance_took_is_logged_by_name() {
        let settings = crate::Settings { keeps_effects: true, ..crate::Settings::default() };
        let now = crate::Time::from_millis(1);
        let mut engine = crate::Engine::new(settings, now);
        let client = engine.connect(now, String::new());
        engine.execute(now, client, &[b"SADD", b"s", b"a", b"b", b"c", b"d", b"e"]);
        engine.take_effects();
        let outcome = engine.execute(now, client, &[b"SPOP", b"s", b"3"]);
        let crate::Answer::Reply(Reply::Set(taken)) = outcome.answer else { panic!("{outcome:?}") };
        let mut logged = b"*5\r\n$4\r\nSREM\r\n$1\r\ns\r\n".to_vec();
        taken.iter().for_each(|member| member.encode(crate::Protocol::Two, &mut logged));
        assert_eq!(taken.len(), 3);
        assert_eq!(engine.take_effects().bytes(), logged);
    }

    #[test]
    fn a_count_that_no_memory_holds_is_refused() {
        let set: Set = [b"a".as_slice(), b"b"].into_iter().collect();
        let mut random = Random::default();
        for count in [1 << 40, i64::MAX.unsigned_abs(), u64::MAX] {
            assert!(repeated(&set, &mut random, count).is_err());
        }
    }
}
