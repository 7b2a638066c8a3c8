//! Streams, as event logs: entries are added at the end, read by id, waited for, and trimmed. There are no consumer
//! groups.
//!
//! What is logged of an addition is the id that it got, and of a trim that may be about right the length that it left:
//! a replay comes to the same entries whatever the moment.

use super::{Answer, Command, flag};
use crate::args::{at, int, is};
use crate::blocking::{Blocking, Wait};
use crate::clients::Origin;
use crate::context::Context;
use crate::db::Name;
use crate::fault::{Fault, NO_SUCH_KEY, SYNTAX};
use crate::notify::Class;
use crate::number;
use crate::reply::Reply;
use crate::time::Time;
use crate::value::{Exactness, Fields, Id, Keep, Stream};

const WRITE: u32 = flag::WRITE;
const FAST_WRITE: u32 = flag::WRITE | flag::FAST;
const READ: u32 = flag::READONLY;
const ONE: (i32, i32, i32) = (1, 1, 1);

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("xadd", -5, FAST_WRITE | flag::DENYOOM, ONE, xadd),
    Command::new("xlen", 2, READ | flag::FAST, ONE, xlen),
    Command::new("xrange", -4, READ, ONE, |cx, args| xrange(cx, args, Direction::Forwards)),
    Command::new("xrevrange", -4, READ, ONE, |cx, args| xrange(cx, args, Direction::Backwards)),
    Command::blocking("xread", -4, READ, (0, 0, 0), xread),
    Command::new("xtrim", -4, WRITE, ONE, xtrim),
    Command::new("xdel", -3, FAST_WRITE, ONE, xdel),
    Command::new("xsetid", -3, FAST_WRITE | flag::DENYOOM, ONE, xsetid),
    Command::new("xinfo|stream", -3, READ, (2, 2, 1), xinfo_stream),
];

const INVALID_ID: Fault = Fault::of("ERR Invalid stream ID specified as stream command argument");
const NOT_GREATER: Fault =
    Fault::of("ERR The ID specified in XADD is equal or smaller than the target stream top item");

/// The longest text that is looked at as an id.
const LONGEST_ID: usize = 127;

/// Milliseconds and number; where the number is missing it is this one.
fn parse_id(text: &[u8], missing: u64) -> Result<Id, Fault> {
    let (millis, number) = halves(text)?;
    let number = number.map_or(Some(missing), unsigned);
    match (unsigned(millis), number) {
        (Some(millis), Some(number)) => Ok(Id { millis, number }),
        _ => Err(INVALID_ID),
    }
}

/// What stands before the first dash, and what after it.
fn halves(text: &[u8]) -> Result<(&[u8], Option<&[u8]>), Fault> {
    if text.len() > LONGEST_ID {
        return Err(INVALID_ID);
    }
    // Redis reads it as text that ends with a zero.
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut halves = text.splitn(2, |byte| *byte == b'-');
    Ok((halves.next().unwrap_or_default(), halves.next()))
}

/// A number as C's strtoull reads it when it is not in the one form that Redis takes: blanks and signs may stand before
/// it, and a minus counts down from the end.
fn unsigned(text: &[u8]) -> Option<u64> {
    if let Some(number) = number::parse_int(text) {
        return u64::try_from(number).ok();
    }
    const VERTICAL_TAB: u8 = 0x0b;
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace() && *byte != VERTICAL_TAB)?;
    let (negative, digits) = match &text[start..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(if negative { number.wrapping_neg() } else { number })
}

/// The id that an entry is to get.
#[derive(Clone, Copy, PartialEq, Default)]
enum NewId {
    /// Of now.
    #[default]
    Any,
    /// The next of these milliseconds.
    Of(u64),
    This(Id),
}

impl NewId {
    fn parse(text: &[u8]) -> Result<Self, Fault> {
        match halves(text)? {
            (millis, Some(b"*")) => unsigned(millis).map(Self::Of).ok_or(INVALID_ID),
            _ => parse_id(text, 0).map(Self::This),
        }
    }

    fn after(self, last: Id, now: u64) -> Result<Id, Fault> {
        const EXHAUSTED: Fault =
            Fault::of("ERR The stream has exhausted the last possible ID, unable to add more items");
        let next = last.next().ok_or(EXHAUSTED)?;
        let id = match self {
            Self::Any if now > last.millis => Id { millis: now, number: 0 },
            Self::Any => next,
            Self::Of(millis) if millis == last.millis && next.millis > millis => return Err(NOT_GREATER),
            Self::Of(millis) if millis == last.millis => next,
            Self::Of(millis) => Id { millis, number: 0 },
            Self::This(id) => id,
        };
        if id > last { Ok(id) } else { Err(NOT_GREATER) }
    }
}

/// What XADD and XTRIM are told before the id.
#[derive(Default)]
struct Options {
    keep: Option<Keep>,
    approximately: bool,
    limit: Option<usize>,
    if_present: bool,
    id: NewId,
}

impl Options {
    /// With what follows the id.
    fn parse<'s, 'a>(args: &'s [&'a [u8]], adds: bool) -> Result<(Self, &'s [&'a [u8]]), Fault> {
        let mut options = Self::default();
        let mut place = 2;
        while let Some(arg) = args.get(place) {
            let more = place + 1 < args.len();
            if adds && *arg == b"*" {
                break;
            } else if more && (is(arg, "MAXLEN") || is(arg, "MINID")) {
                place = options.parse_keep(args, place)?;
            } else if more && is(arg, "LIMIT") {
                place += 1;
                let limit = usize::try_from(int(at(args, place)?)?);
                options.limit = Some(limit.map_err(|_| Fault::of("ERR The LIMIT argument must be >= 0."))?);
            } else if adds && is(arg, "NOMKSTREAM") {
                options.if_present = true;
            } else if adds {
                options.id = NewId::parse(arg)?;
                break;
            } else {
                return Err(SYNTAX);
            }
            place += 1;
        }
        options.check(adds)?;
        Ok((options, args.get(place + 1..).unwrap_or_default()))
    }

    /// From its word on; the place of its last argument.
    fn parse_keep(&mut self, args: &[&[u8]], mut place: usize) -> Result<usize, Fault> {
        if self.keep.is_some() {
            return Err(Fault::of(
                "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
            ));
        }
        let word = at(args, place)?;
        place += 1;
        let sign = at(args, place)?;
        if place + 1 < args.len() && (sign == b"~" || sign == b"=") {
            self.approximately = sign == b"~";
            place += 1;
        }
        let amount = at(args, place)?;
        self.keep = Some(if is(word, "MAXLEN") {
            let count = usize::try_from(int(amount)?);
            Keep::Last(count.map_err(|_| Fault::of("ERR The MAXLEN argument must be >= 0."))?)
        } else {
            Keep::From(parse_id(amount, 0)?)
        });
        Ok(place)
    }

    fn check(&self, adds: bool) -> Result<(), Fault> {
        let limited = self.limit.is_some_and(|limit| limit > 0);
        if limited && self.keep.is_none() {
            return Err(Fault::of(
                "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
            ));
        }
        if !adds && self.keep.is_none() {
            return Err(Fault::of("ERR syntax error, XTRIM must be called with a trimming strategy"));
        }
        if self.limit.is_some() && !self.approximately {
            return Err(Fault::of("ERR syntax error, LIMIT cannot be used without the special ~ option"));
        }
        Ok(())
    }

    /// Trims as asked; how many entries went.
    fn trim(&self, stream: &mut Stream) -> usize {
        /// A hundred nodes of a hundred entries: as many as Redis removes in one go unless told otherwise.
        const AT_ONCE: usize = 10_000;
        let exactness = match (self.approximately, self.limit) {
            (false, _) => Exactness::Exact,
            (true, Some(0)) => Exactness::Nodes(None),
            (true, limit) => Exactness::Nodes(Some(limit.unwrap_or(AT_ONCE))),
        };
        self.keep.map_or(0, |keep| stream.trim(keep, exactness))
    }

    /// The words for a trim that leaves the same for sure; none when nothing was said of trimming.
    fn trimmed_to(&self, length: usize) -> Vec<String> {
        let (word, amount) = match self.keep {
            None => return Vec::new(),
            Some(_) if self.approximately => ("MAXLEN", length.to_string()),
            Some(Keep::Last(count)) => ("MAXLEN", count.to_string()),
            Some(Keep::From(id)) => ("MINID", id.to_string()),
        };
        vec![word.to_owned(), "=".to_owned(), amount]
    }
}

fn xadd(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (key, now) = (args[1], cx.now());
    let (options, parts) = Options::parse(args, true)?;
    if parts.is_empty() || !parts.len().is_multiple_of(2) {
        return Err(Fault::arity("xadd"));
    }
    if options.id == NewId::This(Id::MIN) {
        return Err(Fault::of("ERR The ID specified in XADD must be greater than 0-0"));
    }
    let last = match cx.get_mut::<Stream>(key)? {
        Some(stream) => stream.last,
        None if options.if_present => return Ok(Reply::Nil),
        None => Id::MIN,
    };
    let id = options.id.after(last, now)?;
    check_size(parts)?;
    let stream = cx.get_or_create::<Stream>(key)?;
    stream.append(id, parts.iter().map(|part| Box::from(*part)).collect());
    let trimmed = options.trim(stream);
    let trim = options.trimmed_to(stream.len());
    cx.changed(Class::Stream, "xadd", key);
    if trimmed > 0 {
        cx.notify(Class::Stream, "xtrim", key);
    }
    let id = id.to_string().into_bytes();
    let mut effect: Vec<&[u8]> = vec![b"XADD", key];
    effect.extend(trim.iter().map(String::as_bytes));
    effect.push(&id);
    effect.extend(parts);
    cx.log(&effect);
    cx.feed(key);
    Ok(Reply::Bulk(id))
}

/// Redis keeps an entry in one piece, and that has an end.
fn check_size(parts: &[&[u8]]) -> Result<(), Fault> {
    const MOST: usize = 1 << 30;
    let bytes = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len()));
    if bytes > MOST { Err(Fault::of("ERR Elements are too large to be stored")) } else { Ok(()) }
}

fn xlen(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::count(cx.get::<Stream>(args[1])?.map_or(0, Stream::len)))
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Forwards,
    Backwards,
}

fn xrange(cx: &mut Context<'_>, args: &[&[u8]], direction: Direction) -> Answer {
    let (start, end) = match direction {
        Direction::Forwards => (args[2], args[3]),
        Direction::Backwards => (args[3], args[2]),
    };
    let from = match bound(start, 0)? {
        (id, false) => id,
        (id, true) => id.next().ok_or(Fault::of("ERR invalid start ID for the interval"))?,
    };
    let to = match bound(end, u64::MAX)? {
        (id, false) => id,
        (id, true) => id.before().ok_or(Fault::of("ERR invalid end ID for the interval"))?,
    };
    let count = parse_count(&args[4..])?;
    let Some(stream) = cx.get::<Stream>(args[1])? else { return Ok(Reply::Array(Vec::new())) };
    if count == Some(0) {
        return Ok(Reply::NilArray);
    }
    let count = count.unwrap_or(usize::MAX);
    let found = stream.range(from, to);
    Ok(Reply::Array(match direction {
        Direction::Forwards => found.take(count).map(entry).collect(),
        Direction::Backwards => found.rev().take(count).map(entry).collect(),
    }))
}

/// An end of a range, and whether it is left out itself.
fn bound(text: &[u8], missing: u64) -> Result<(Id, bool), Fault> {
    match text {
        b"-" => Ok((Id::MIN, false)),
        b"+" => Ok((Id::MAX, false)),
        [b'(', id @ ..] if !id.is_empty() => Ok((parse_id(id, missing)?, true)),
        id => Ok((parse_id(id, missing)?, false)),
    }
}

/// The last COUNT there is; less than nothing is nothing.
fn parse_count(options: &[&[u8]]) -> Result<Option<usize>, Fault> {
    let mut count = None;
    for option in options.chunks(2) {
        match option {
            [word, number] if is(word, "COUNT") => count = Some(usize::try_from(int(number)?).unwrap_or(0)),
            _ => return Err(SYNTAX),
        }
    }
    Ok(count)
}

fn entry((id, fields): (Id, &Fields)) -> Reply {
    Reply::Array(vec![Reply::bulk(id.to_string()), Reply::bulks(fields.iter().map(|part| part.to_vec()))])
}

/// What XREAD is told.
struct Reading<'a> {
    /// Nothing is asked to wait; zero is for ever.
    millis: Option<u64>,
    /// At most so many entries of each stream; zero is all.
    count: usize,
    keys: Vec<&'a [u8]>,
    ids: Vec<&'a [u8]>,
}

impl<'a> Reading<'a> {
    fn parse(cx: &Context<'_>, args: &[&'a [u8]]) -> Result<Self, Fault> {
        let mut reading = Self { millis: None, count: 0, keys: Vec::new(), ids: Vec::new() };
        let mut rest = args.iter().skip(1);
        while let Some(word) = rest.next() {
            let more = rest.len();
            let mut next = || rest.next().copied().ok_or(SYNTAX);
            if more > 0 && is(word, "BLOCK") {
                if cx.session.origin == Origin::Script {
                    let name = String::from_utf8_lossy(args[0]);
                    return Err(Fault::new(format!(
                        "ERR {name} command is not allowed with BLOCK option from scripts"
                    )));
                }
                reading.millis = Some(timeout(next()?)?);
            } else if more > 0 && is(word, "COUNT") {
                reading.count = usize::try_from(int(next()?)?).unwrap_or(0);
            } else if more > 0 && is(word, "STREAMS") {
                reading.keys = rest.copied().collect();
                if !more.is_multiple_of(2) {
                    return Err(Fault::of(
                        "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
                    ));
                }
                reading.ids = reading.keys.split_off(more / 2);
                return Ok(reading);
            } else if (more > 1 && is(word, "GROUP")) || is(word, "NOACK") {
                let word = if is(word, "GROUP") { "GROUP" } else { "NOACK" };
                return Err(Fault::new(format!(
                    "ERR The {word} option is only supported by XREADGROUP. You called XREAD instead."
                )));
            } else {
                return Err(SYNTAX);
            }
        }
        Err(SYNTAX)
    }

    /// After which entry each stream is read; `$` is the last one there is now.
    fn after(&self, cx: &mut Context<'_>) -> Result<Vec<Id>, Fault> {
        let mut after = Vec::with_capacity(self.keys.len());
        for (key, id) in self.keys.iter().zip(&self.ids) {
            let stream = cx.get::<Stream>(key)?;
            after.push(match *id {
                b"$" => stream.map_or(Id::MIN, |stream| stream.last),
                b">" => {
                    return Err(Fault::of(
                        "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> \
                         option.",
                    ));
                }
                id => parse_id(id, 0)?,
            });
        }
        Ok(after)
    }
}

fn timeout(arg: &[u8]) -> Result<u64, Fault> {
    let millis = int(arg).map_err(|_| Fault::of("ERR timeout is not an integer or out of range"))?;
    u64::try_from(millis).map_err(|_| Fault::of("ERR timeout is negative"))
}

fn xread(cx: &mut Context<'_>, args: &[&[u8]]) -> Result<Blocking, Fault> {
    let reading = Reading::parse(cx, args)?;
    let after = reading.after(cx)?;
    let mut found = Vec::new();
    for (key, after) in reading.keys.iter().zip(&after) {
        let stream = cx.get::<Stream>(key)?;
        if let Some(stream) = stream.filter(|stream| stream.newest().is_some_and(|(id, _)| id > *after)) {
            found.push((Reply::bulk(*key), news(stream, *after, reading.count)));
        }
    }
    if !found.is_empty() {
        return Ok(Blocking::Done(by_stream(cx, found)));
    }
    let Some(millis) = reading.millis else { return Ok(Blocking::Done(Reply::NilArray)) };
    Ok(Blocking::Wait(wait(cx, millis, &reading, after)))
}

/// Entries after that one.
fn news(stream: &Stream, after: Id, count: usize) -> Reply {
    let count = if count == 0 { usize::MAX } else { count };
    let found = after.next().into_iter().flat_map(|from| stream.range(from, Id::MAX));
    Reply::Array(found.take(count).map(entry).collect())
}

/// In RESP3 a map, in RESP2 an array of pairs.
fn by_stream(cx: &Context<'_>, found: Vec<(Reply, Reply)>) -> Reply {
    if cx.is_resp3() {
        return Reply::Map(found);
    }
    Reply::Array(found.into_iter().map(|(key, entries)| Reply::Array(vec![key, entries])).collect())
}

/// Until one of the streams has an id that is greater than what was asked for.
fn wait(cx: &Context<'_>, millis: u64, reading: &Reading<'_>, after: Vec<Id>) -> Wait {
    /// How many entries a client that waited is given when it did not say.
    const UNASKED: usize = 1000;
    let count = if reading.count == 0 { UNASKED } else { reading.count };
    let keys: Vec<Name> = reading.keys.iter().map(|key| Name::from(*key)).collect();
    let places: Vec<(Name, Id)> = keys.iter().cloned().zip(after).collect();
    let until = (millis > 0).then(|| Time::from_millis(cx.now().saturating_add(millis)));
    let serve = move |cx: &mut Context<'_>, key: &[u8]| {
        let (_, after) = places.iter().find(|(place, _)| **place == *key)?;
        let stream = cx.get_mut::<Stream>(key).ok()??;
        // The entry itself may be trimmed away by now: then there is nothing in the answer.
        if stream.last <= *after {
            return None;
        }
        let entries = news(stream, *after, count);
        Some(by_stream(cx, vec![(Reply::bulk(key), entries)]))
    };
    Wait { keys, until, serve: Box::new(serve), otherwise: Reply::NilArray }
}

fn xtrim(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (options, _) = Options::parse(args, false)?;
    let Some(stream) = cx.get_mut::<Stream>(args[1])? else { return Ok(Reply::Int(0)) };
    let gone = options.trim(stream);
    let trim = options.trimmed_to(stream.len());
    if gone > 0 {
        cx.changed(Class::Stream, "xtrim", args[1]);
        let mut effect: Vec<&[u8]> = vec![b"XTRIM", args[1]];
        effect.extend(trim.iter().map(String::as_bytes));
        cx.log(&effect);
    }
    Ok(Reply::count(gone))
}

fn xdel(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    if cx.get_mut::<Stream>(args[1])?.is_none() {
        return Ok(Reply::Int(0));
    }
    let ids: Vec<Id> = args[2..].iter().map(|id| parse_id(id, 0)).collect::<Result<_, _>>()?;
    let Some(stream) = cx.get_mut::<Stream>(args[1])? else { return Ok(Reply::Int(0)) };
    let gone = ids.iter().filter(|id| stream.remove(**id)).count();
    if gone > 0 {
        cx.changed(Class::Stream, "xdel", args[1]);
    }
    Ok(Reply::count(gone))
}

/// What XSETID is told besides the last id.
#[derive(Default)]
struct Past {
    added: Option<i64>,
    removed: Option<Id>,
}

impl Past {
    fn parse(options: &[&[u8]], last: Id) -> Result<Self, Fault> {
        let mut past = Self::default();
        for option in options.chunks(2) {
            match option {
                [word, number] if is(word, "ENTRIESADDED") => past.added = Some(int(number)?),
                [word, id] if is(word, "MAXDELETEDID") => past.removed = Some(parse_id(id, 0)?),
                _ => return Err(SYNTAX),
            }
            if past.added.is_some_and(|added| added < 0) {
                return Err(Fault::of("ERR entries_added must be positive"));
            }
            if past.removed > Some(last) {
                return Err(Fault::of(
                    "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
                ));
            }
        }
        Ok(past)
    }
}

fn xsetid(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (key, last) = (args[1], parse_id(args[2], 0)?);
    let past = Past::parse(&args[3..], last)?;
    let stream = cx.get_mut::<Stream>(key)?.ok_or(NO_SUCH_KEY)?;
    if stream.newest().is_some_and(|(newest, _)| last < newest) {
        return Err(Fault::of("ERR The ID specified in XSETID is smaller than the target stream top item"));
    }
    let added = past.added.unwrap_or(stream.added);
    if past.added.is_some() && usize::try_from(added).is_ok_and(|added| added < stream.len()) {
        return Err(Fault::of(
            "ERR The entries_added specified in XSETID is smaller than the target stream length",
        ));
    }
    (stream.last, stream.added) = (last, added);
    if let Some(removed) = past.removed.filter(|id| *id > Id::MIN) {
        stream.greatest_removed = removed;
    }
    // No entry has changed: who watches the key is not told, as in Redis.
    cx.notify(Class::Stream, "xsetid", key);
    cx.log(args);
    Ok(Reply::Ok)
}

/// How many entries FULL shows when it is not told, or told less than none.
const SHOWN_IN_FULL: usize = 10;

fn xinfo_stream(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let stream = cx.get::<Stream>(args[2])?.ok_or(NO_SUCH_KEY)?;
    let shown = match &args[3..] {
        [] => None,
        [full] if is(full, "FULL") => Some(SHOWN_IN_FULL),
        [full, count, number] if is(full, "FULL") && is(count, "COUNT") => {
            Some(usize::try_from(int(number)?).unwrap_or(SHOWN_IN_FULL))
        }
        _ => {
            let given = &args[1][..args[1].len().min(128)];
            return Err(Fault::new(
                [b"ERR unknown subcommand or wrong number of arguments for '", given, b"'. Try XINFO HELP."]
                    .concat(),
            ));
        }
    };
    let id = |id: Id| Reply::bulk(id.to_string());
    let nodes = stream.nodes();
    let first = stream.first();
    let mut facts = vec![
        ("length", Reply::count(stream.len())),
        ("radix-tree-keys", Reply::count(nodes)),
        // There is no such tree here; one of Redis has more nodes when it has several keys.
        ("radix-tree-nodes", Reply::count(nodes + 1)),
        ("last-generated-id", id(stream.last)),
        ("max-deleted-entry-id", id(stream.greatest_removed)),
        ("entries-added", Reply::Int(stream.added)),
        ("recorded-first-entry-id", id(first.map_or(Id::MIN, |(id, _)| id))),
    ];
    match shown {
        Some(count) => {
            // Zero is all.
            let count = if count == 0 { usize::MAX } else { count };
            let entries = stream.range(Id::MIN, Id::MAX).take(count).map(entry).collect();
            facts.push(("entries", Reply::Array(entries)));
            facts.push(("groups", Reply::Array(Vec::new())));
        }
        None => {
            facts.push(("groups", Reply::Int(0)));
            facts.push(("first-entry", first.map_or(Reply::Nil, entry)));
            facts.push(("last-entry", stream.newest().map_or(Reply::Nil, entry)));
        }
    }
    Ok(Reply::Map(facts.into_iter().map(|(name, fact)| (Reply::bulk(name), fact)).collect()))
}
