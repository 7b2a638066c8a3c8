//! Sorted sets: members with scores, one key at a time.
//!
//! [`ranges`] has what asks for members by rank, score or name, [`pops`] what takes them from either end, and
//! [`combinations`] what makes one out of several.

mod combinations;
mod pops;
mod ranges;

use indexmap::IndexSet;

use super::{Answer, Command, flag};
use crate::args::{float, int, is};
use crate::context::Context;
use crate::db::Hashing;
use crate::fault::{Fault, SYNTAX};
use crate::notify::Class;
use crate::number;
use crate::reply::Reply;
use crate::scan::Scan;
use crate::state::{Random, State};
use crate::value::{Kind as _, Scored, Zset};
use combinations::Operation::{Difference, Intersection, Union};
use pops::End::{Highest, Lowest};
use ranges::{By, Form};

const WRITE: u32 = flag::WRITE;
const FAST_WRITE: u32 = flag::WRITE | flag::FAST;
const GROW: u32 = flag::WRITE | flag::DENYOOM;
const READ: u32 = flag::READONLY;
const FAST_READ: u32 = flag::READONLY | flag::FAST;
const NONE: (i32, i32, i32) = (0, 0, 0);
const ONE: (i32, i32, i32) = (1, 1, 1);
/// All but the last argument.
const UNTIL_LAST: (i32, i32, i32) = (1, -2, 1);

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("zadd", -4, GROW | flag::FAST, ONE, |cx, args| zadd(cx, args, false)),
    Command::new("zincrby", 4, GROW | flag::FAST, ONE, |cx, args| zadd(cx, args, true)),
    Command::new("zrem", -3, FAST_WRITE, ONE, zrem),
    Command::new("zcard", 2, FAST_READ, ONE, zcard),
    Command::new("zscore", 3, FAST_READ, ONE, zscore),
    Command::new("zmscore", -3, FAST_READ, ONE, zmscore),
    Command::new("zrank", 3, FAST_READ, ONE, |cx, args| zrank(cx, args, Lowest)),
    Command::new("zrevrank", 3, FAST_READ, ONE, |cx, args| zrank(cx, args, Highest)),
    Command::new("zrandmember", -2, READ, ONE, zrandmember),
    Command::new("zscan", -3, READ, ONE, zscan),
    Command::new("zcount", 4, FAST_READ, ONE, |cx, args| ranges::count(cx, args, By::Score)),
    Command::new("zlexcount", 4, FAST_READ, ONE, |cx, args| ranges::count(cx, args, By::Member)),
    Command::new("zrange", -4, READ, ONE, |cx, args| ranges::range(cx, args, Form::OPEN)),
    Command::new("zrevrange", -4, READ, ONE, |cx, args| {
        ranges::range(cx, args, Form::fixed(By::Rank, Highest))
    }),
    Command::new("zrangebyscore", -4, READ, ONE, |cx, args| {
        ranges::range(cx, args, Form::fixed(By::Score, Lowest))
    }),
    Command::new("zrevrangebyscore", -4, READ, ONE, |cx, args| {
        ranges::range(cx, args, Form::fixed(By::Score, Highest))
    }),
    Command::new("zrangebylex", -4, READ, ONE, |cx, args| {
        ranges::range(cx, args, Form::fixed(By::Member, Lowest))
    }),
    Command::new("zrevrangebylex", -4, READ, ONE, |cx, args| {
        ranges::range(cx, args, Form::fixed(By::Member, Highest))
    }),
    Command::new("zrangestore", -5, GROW, (1, 2, 1), ranges::store),
    Command::new("zremrangebyrank", 4, WRITE, ONE, |cx, args| {
        ranges::remove(cx, args, By::Rank, "zremrangebyrank")
    }),
    Command::new("zremrangebyscore", 4, WRITE, ONE, |cx, args| {
        ranges::remove(cx, args, By::Score, "zremrangebyscore")
    }),
    Command::new("zremrangebylex", 4, WRITE, ONE, |cx, args| {
        ranges::remove(cx, args, By::Member, "zremrangebylex")
    }),
    Command::new("zpopmin", -2, FAST_WRITE, ONE, |cx, args| pops::zpop(cx, args, Lowest)),
    Command::new("zpopmax", -2, FAST_WRITE, ONE, |cx, args| pops::zpop(cx, args, Highest)),
    Command::new("zmpop", -4, WRITE, NONE, pops::zmpop),
    Command::blocking("bzpopmin", -3, FAST_WRITE | flag::NOSCRIPT, UNTIL_LAST, |cx, args| {
        pops::bzpop(cx, args, Lowest)
    }),
    Command::blocking("bzpopmax", -3, FAST_WRITE | flag::NOSCRIPT, UNTIL_LAST, |cx, args| {
        pops::bzpop(cx, args, Highest)
    }),
    Command::blocking("bzmpop", -5, WRITE, NONE, pops::bzmpop),
    Command::new("zunion", -3, READ, NONE, |cx, args| combinations::answer(cx, args, Union, "zunion")),
    Command::new("zinter", -3, READ, NONE, |cx, args| combinations::answer(cx, args, Intersection, "zinter")),
    Command::new("zdiff", -3, READ, NONE, |cx, args| combinations::answer(cx, args, Difference, "zdiff")),
    Command::new("zintercard", -3, READ, NONE, combinations::zintercard),
    Command::new("zunionstore", -4, GROW, ONE, |cx, args| {
        combinations::store(cx, args, Union, "zunionstore")
    }),
    Command::new("zinterstore", -4, GROW, ONE, |cx, args| {
        combinations::store(cx, args, Intersection, "zinterstore")
    }),
    Command::new("zdiffstore", -4, GROW, ONE, |cx, args| {
        combinations::store(cx, args, Difference, "zdiffstore")
    }),
];

/// When ZADD is to change a score, and what it answers.
#[derive(Default)]
struct Conditions {
    if_absent: bool,
    if_present: bool,
    if_greater: bool,
    if_less: bool,
    count_moved: bool,
    increment: bool,
}

/// Scores and their members, as they were sent.
type Pairs<'a> = Vec<(f64, &'a [u8])>;

impl Conditions {
    /// And the pairs that follow them.
    fn parse<'a>(args: &[&'a [u8]], increment: bool) -> Result<(Self, Pairs<'a>), Fault> {
        let mut asked = Self { increment, ..Self::default() };
        let mut rest = args;
        while let Some((word, after)) = rest.split_first()
            && let Some(condition) = asked.named(word)
        {
            *condition = true;
            rest = after;
        }
        if rest.is_empty() || !rest.len().is_multiple_of(2) {
            return Err(SYNTAX);
        }
        asked.check(rest.len() / 2)?;
        let pairs =
            rest.chunks_exact(2).map(|pair| Ok((float(pair[0])?, pair[1]))).collect::<Result<_, _>>()?;
        Ok((asked, pairs))
    }

    fn named(&mut self, word: &[u8]) -> Option<&mut bool> {
        match () {
            () if is(word, "NX") => Some(&mut self.if_absent),
            () if is(word, "XX") => Some(&mut self.if_present),
            () if is(word, "GT") => Some(&mut self.if_greater),
            () if is(word, "LT") => Some(&mut self.if_less),
            () if is(word, "CH") => Some(&mut self.count_moved),
            () if is(word, "INCR") => Some(&mut self.increment),
            () => None,
        }
    }

    fn check(&self, pairs: usize) -> Result<(), Fault> {
        if self.if_absent && self.if_present {
            return Err(Fault::of("ERR XX and NX options at the same time are not compatible"));
        }
        if [self.if_absent, self.if_greater, self.if_less].into_iter().filter(|asked| *asked).count() > 1 {
            return Err(Fault::of("ERR GT, LT, and/or NX options at the same time are not compatible"));
        }
        if self.increment && pairs > 1 {
            return Err(Fault::of("ERR INCR option supports a single increment-element pair"));
        }
        Ok(())
    }

    /// The score that a member is to have; none when it is to stay as it is.
    fn score(&self, before: Option<f64>, given: f64) -> Result<Option<f64>, Fault> {
        let Some(before) = before else { return Ok((!self.if_present).then_some(given)) };
        if self.if_absent {
            return Ok(None);
        }
        let score = if self.increment { before + given } else { given };
        if score.is_nan() {
            return Err(Fault::of("ERR resulting score is not a number (NaN)"));
        }
        let stays = (self.if_greater && score <= before) || (self.if_less && score >= before);
        Ok((!stays).then_some(score))
    }
}

fn zadd(cx: &mut Context<'_>, args: &[&[u8]], increment: bool) -> Answer {
    let (conditions, pairs) = Conditions::parse(&args[2..], increment)?;
    let key = args[1];
    let is_absent = cx.get_mut::<Zset>(key)?.is_none();
    let (mut added, mut moved, mut last) = (0, 0, None);
    if !(is_absent && conditions.if_present) {
        let zset = cx.get_or_create::<Zset>(key)?;
        for (given, member) in pairs {
            // Only an increment can go wrong here, and it comes alone and to a member that is there.
            let Some(score) = conditions.score(zset.score(member), given)? else { continue };
            last = Some(score);
            match zset.set(member, score) {
                Scored::New => added += 1,
                Scored::Moved => moved += 1,
                Scored::Same => {}
            }
        }
    }
    if added + moved > 0 {
        cx.changed(Class::Zset, if conditions.increment { "zincr" } else { "zadd" }, key);
    }
    Ok(match last {
        Some(score) if conditions.increment => Reply::Double(score),
        None if conditions.increment => Reply::Nil,
        _ if conditions.count_moved => Reply::Int(added + moved),
        _ => Reply::Int(added),
    })
}

fn zrem(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let key = args[1];
    let Some(zset) = cx.get_mut::<Zset>(key)? else { return Ok(Reply::Int(0)) };
    let gone = args[2..].iter().filter(|member| zset.remove(member)).count();
    if gone > 0 {
        cx.changed(Class::Zset, "zrem", key);
        cx.remove_if_empty(key);
    }
    Ok(Reply::count(gone))
}

fn zcard(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::count(cx.get::<Zset>(args[1])?.map_or(0, Zset::len)))
}

fn zscore(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let score = cx.get::<Zset>(args[1])?.and_then(|zset| zset.score(args[2]));
    Ok(score.map_or(Reply::Nil, Reply::Double))
}

fn zmscore(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let zset = cx.get::<Zset>(args[1])?;
    let scores = args[2..].iter().map(|member| zset.and_then(|zset| zset.score(member)));
    Ok(Reply::Array(scores.map(|score| score.map_or(Reply::Nil, Reply::Double)).collect()))
}

fn zrank(cx: &mut Context<'_>, args: &[&[u8]], from: pops::End) -> Answer {
    let Some(zset) = cx.get::<Zset>(args[1])? else { return Ok(Reply::Nil) };
    let Some(rank) = zset.rank(args[2]) else { return Ok(Reply::Nil) };
    Ok(Reply::count(if from == Lowest { rank } else { zset.len() - 1 - rank }))
}

fn zrandmember(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let asked = args.get(2).map(|count| parse_draw(count, &args[3..])).transpose()?;
    let (key, db, three) = (args[1], cx.session.db, cx.is_resp3());
    cx.get::<Zset>(key)?;
    let State { dbs, random, .. } = &mut *cx.state;
    let zset = dbs[db].get(key).and_then(|entry| Zset::of(&entry.value));
    let Some((count, with_scores)) = asked else {
        let member = zset.and_then(|zset| zset.at(random.below(zset.len())));
        return Ok(Reply::maybe(member.map(|(member, _)| member)));
    };
    let Some(zset) = zset else { return Ok(Reply::Array(Vec::new())) };
    let drawn = match usize::try_from(count) {
        // All of them come in order, the highest first.
        Ok(count) if count >= zset.len() => {
            return Ok(members(zset.range(0..zset.len()).rev(), with_scores, three));
        }
        Ok(count) => different(random, zset.len(), count),
        Err(_) => repeated(random, zset, count.unsigned_abs())?,
    };
    Ok(members(drawn.into_iter().filter_map(|number| zset.at(number)), with_scores, three))
}

/// How many, and whether their scores are wanted.
fn parse_draw(count: &[u8], rest: &[&[u8]]) -> Result<(i64, bool), Fault> {
    let count = int(count)?;
    if count == i64::MIN {
        return Err(Fault::of(
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        ));
    }
    let with_scores = match rest {
        [] => false,
        [word] if is(word, "WITHSCORES") => true,
        _ => return Err(SYNTAX),
    };
    if with_scores && count.unsigned_abs() > i64::MAX.unsigned_abs() / 2 {
        return Err(TOO_MANY);
    }
    Ok((count, with_scores))
}

const TOO_MANY: Fault = Fault::of("ERR value is out of range");

/// So many different numbers below a length.
fn different(random: &mut Random, length: usize, count: usize) -> Vec<usize> {
    // Floyd's way: what was drawn before gives way to the last, so that every choice is as likely as any other.
    let mut drawn: IndexSet<usize, Hashing> = IndexSet::default();
    for last in length.saturating_sub(count)..length {
        let number = random.below(last + 1);
        if !drawn.insert(number) {
            drawn.insert(last);
        }
    }
    drawn.into_iter().collect()
}

/// So many numbers of members, the same ones again and again, as long as memory can hold the answer. Redis has no bound,
/// and ends when its memory does.
fn repeated(random: &mut Random, zset: &Zset, count: u64) -> Result<Vec<usize>, Fault> {
    const MOST_BYTES: usize = 512 * 1024 * 1024;
    /// A member, its score and what keeps them together.
    const EACH: usize = 3 * size_of::<Reply>();
    let count = usize::try_from(count).map_err(|_| TOO_MANY)?;
    let mut bytes = count.saturating_mul(EACH);
    let mut drawn = Vec::new();
    while drawn.len() < count && bytes <= MOST_BYTES {
        let number = random.below(zset.len());
        bytes += zset.at(number).map_or(0, |(member, _)| member.len());
        drawn.push(number);
    }
    if bytes > MOST_BYTES { Err(TOO_MANY) } else { Ok(drawn) }
}

/// Members, with their scores where they are wanted: beside them, and in RESP3 in pairs.
fn members<'z>(found: impl Iterator<Item = (&'z [u8], f64)>, with_scores: bool, three: bool) -> Reply {
    if !with_scores {
        return Reply::bulks(found.map(|(member, _)| member));
    }
    let pairs = found.map(|(member, score)| [Reply::bulk(member), Reply::Double(score)]);
    Reply::Array(if three {
        pairs.map(|pair| Reply::Array(pair.into())).collect()
    } else {
        pairs.flatten().collect()
    })
}

fn zscan(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let cursor = args[2];
    // A key that is not there hides what is wrong with the options, and nothing hides a bad cursor.
    Scan::parse(cursor, &[], false)?;
    let Some(zset) = cx.get::<Zset>(args[1])? else { return Ok(Scan::reply(0, Reply::Array(Vec::new()))) };
    let scan = Scan::parse(cursor, &args[3..], false)?;
    let in_one_piece = zset.is_in_one_piece();
    if in_one_piece {
        let found = zset.range(0..zset.len()).filter(|(member, _)| scan.takes(member));
        let texts = found.flat_map(|(member, score)| [member.to_vec(), packed(score)]);
        return Ok(Scan::reply(0, Reply::bulks(texts)));
    }
    let walk = scan.walk(zset.len(), false);
    let found = walk.visited.filter_map(|number| zset.at(number)).filter(|(member, _)| scan.takes(member));
    let texts = found.flat_map(|(member, score)| [member.to_vec(), number::shown(score).into_bytes()]);
    Ok(Scan::reply(walk.next, Reply::bulks(texts)))
}

/// A score as Redis writes it into a small sorted set, which ZSCAN shows as it is.
fn packed(score: f64) -> Vec<u8> {
    /// Half of what an integer can hold: Redis goes no further.
    const FAR: f64 = (i64::MAX / 2) as f64;
    if score.fract() == 0.0 && score.abs() <= FAR {
        number::int_bytes(score as i64)
    } else {
        number::shown(score).into_bytes()
    }
}
