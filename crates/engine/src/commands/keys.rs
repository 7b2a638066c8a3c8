//! Keys of any type: their ends, names, types, and walks through them.

use super::{Answer, Command, flag};
use crate::args::{at, int, int_within, is};
use crate::context::Context;
use crate::db::{Entry, Name};
use crate::expiry::{Unit, Written};
use crate::fault::{Fault, NO_SUCH_KEY, SYNTAX};
use crate::notify::Class;
use crate::reply::Reply;
use crate::scan::{self, Scan, Walk};
use crate::value::Value;

const WRITE: u32 = flag::WRITE;
const FAST_WRITE: u32 = flag::WRITE | flag::FAST;
const READ: u32 = flag::READONLY;
const FAST_READ: u32 = flag::READONLY | flag::FAST;
const ONE: (i32, i32, i32) = (1, 1, 1);
const SECOND: (i32, i32, i32) = (2, 2, 1);

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("del", -2, WRITE, (1, -1, 1), del),
    Command::new("unlink", -2, FAST_WRITE, (1, -1, 1), del),
    Command::new("exists", -2, FAST_READ, (1, -1, 1), exists),
    Command::new("touch", -2, FAST_READ, (1, -1, 1), touch),
    Command::new("type", 2, FAST_READ, ONE, type_of),
    Command::new("expire", -3, FAST_WRITE, ONE, |cx, args| {
        expire(cx, args, Unit::Seconds, Written::FromNow, "expire")
    }),
    Command::new("pexpire", -3, FAST_WRITE, ONE, |cx, args| {
        expire(cx, args, Unit::Millis, Written::FromNow, "pexpire")
    }),
    Command::new("expireat", -3, FAST_WRITE, ONE, |cx, args| {
        expire(cx, args, Unit::Seconds, Written::At, "expireat")
    }),
    Command::new("pexpireat", -3, FAST_WRITE, ONE, |cx, args| {
        expire(cx, args, Unit::Millis, Written::At, "pexpireat")
    }),
    Command::new("ttl", 2, FAST_READ, ONE, |cx, args| ttl(cx, args, Unit::Seconds, Written::FromNow)),
    Command::new("pttl", 2, FAST_READ, ONE, |cx, args| ttl(cx, args, Unit::Millis, Written::FromNow)),
    Command::new("expiretime", 2, FAST_READ, ONE, |cx, args| ttl(cx, args, Unit::Seconds, Written::At)),
    Command::new("pexpiretime", 2, FAST_READ, ONE, |cx, args| ttl(cx, args, Unit::Millis, Written::At)),
    Command::new("persist", 2, FAST_WRITE, ONE, |cx, args| Ok(Reply::truth(cx.persist(args[1])))),
    Command::new("keys", 2, READ, (0, 0, 0), keys),
    Command::new("scan", -2, READ, (0, 0, 0), scan_keys),
    Command::new("randomkey", 1, READ, (0, 0, 0), randomkey),
    Command::new("rename", 3, WRITE, (1, 2, 1), |cx, args| rename(cx, args, false)),
    Command::new("renamenx", 3, FAST_WRITE, (1, 2, 1), |cx, args| rename(cx, args, true)),
    Command::new("copy", -3, WRITE | flag::DENYOOM, (1, 2, 1), copy),
    Command::new("move", 3, FAST_WRITE, ONE, move_to),
    Command::new("object|encoding", 3, READ, SECOND, encoding),
    Command::new("object|refcount", 3, READ, SECOND, refcount),
    Command::new("object|idletime", 3, READ, SECOND, idletime),
    Command::new("object|freq", 3, READ, SECOND, freq),
    Command::new("object|help", 2, 0, (0, 0, 0), |_, _| Ok(help())),
];

fn del(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let mut gone = 0;
    for key in &args[1..] {
        if cx.remove(key).is_some() {
            cx.changed(Class::Generic, "del", key);
            gone += 1;
        }
    }
    Ok(Reply::Int(gone))
}

fn exists(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::count(args[1..].iter().filter(|key| cx.peek(key).is_some()).count()))
}

fn touch(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::count(args[1..].iter().filter(|key| cx.find(key).is_some()).count()))
}

fn type_of(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::status(cx.peek(args[1]).map_or("none", |entry| entry.value.type_name())))
}

/// When EXPIRE is to change an end.
#[derive(Default)]
struct Conditions {
    if_none: bool,
    if_some: bool,
    if_later: bool,
    if_earlier: bool,
}

impl Conditions {
    fn parse(args: &[&[u8]]) -> Result<Self, Fault> {
        let mut asked = Self::default();
        for arg in args {
            let condition = match arg.to_ascii_uppercase().as_slice() {
                b"NX" => &mut asked.if_none,
                b"XX" => &mut asked.if_some,
                b"GT" => &mut asked.if_later,
                b"LT" => &mut asked.if_earlier,
                _ => return Err(Fault::new([b"ERR Unsupported option ".as_slice(), arg].concat())),
            };
            *condition = true;
        }
        if asked.if_none && (asked.if_some || asked.if_later || asked.if_earlier) {
            return Err(Fault::of("ERR NX and XX, GT or LT options at the same time are not compatible"));
        }
        if asked.if_later && asked.if_earlier {
            return Err(Fault::of("ERR GT and LT options at the same time are not compatible"));
        }
        Ok(asked)
    }

    /// No end counts as an infinite one.
    fn hold(&self, before: Option<u64>, end: i64) -> bool {
        let before = before.map(|at| i64::try_from(at).unwrap_or(i64::MAX));
        !(self.if_none && before.is_some()
            || self.if_some && before.is_none()
            || self.if_later && before.is_none_or(|at| end <= at)
            || self.if_earlier && before.is_some_and(|at| end >= at))
    }
}

fn expire(cx: &mut Context<'_>, args: &[&[u8]], unit: Unit, written: Written, name: &str) -> Answer {
    let conditions = Conditions::parse(&args[3..])?;
    let end = unit.end(written, int(args[2])?, cx.now(), name)?;
    let Some(entry) = cx.find_mut(args[1]) else { return Ok(Reply::Int(0)) };
    if !conditions.hold(entry.expires(), end) {
        return Ok(Reply::Int(0));
    }
    cx.end_at(args[1], end);
    Ok(Reply::Int(1))
}

fn ttl(cx: &mut Context<'_>, args: &[&[u8]], unit: Unit, written: Written) -> Answer {
    let now = cx.now();
    let Some(entry) = cx.peek(args[1]) else { return Ok(Reply::Int(-2)) };
    let Some(end) = entry.expires() else { return Ok(Reply::Int(-1)) };
    let millis = match written {
        Written::FromNow => end.saturating_sub(now),
        Written::At => end,
    };
    let shown = match unit {
        Unit::Seconds => millis.saturating_add(500) / 1000,
        Unit::Millis => millis,
    };
    Ok(Reply::Int(i64::try_from(shown).unwrap_or(i64::MAX)))
}

fn keys(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let now = cx.now();
    let live = cx.db().iter().filter(|(key, entry)| scan::matches(args[1], key) && !entry.is_over(now));
    Ok(Reply::bulks(live.map(|(key, _)| key.to_vec())))
}

fn scan_keys(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let scan = Scan::parse(args[1], &args[2..], true)?;
    let Walk { next, visited } = scan.walk(cx.db().len(), false);
    let db = cx.session.db;
    let names = visited.filter_map(|number| cx.state.dbs[db].at(number)).map(|(key, _)| key);
    let mut found: Vec<Name> = names.filter(|key| scan.takes(key)).map(Name::clone).collect();
    found.retain(|key| {
        !cx.state.expire_if_over(db, key)
            && cx.state.dbs[db].get(key).is_some_and(|entry| scan.takes_type(entry.value.type_name()))
    });
    Ok(Scan::reply(next, Reply::bulks(found.iter().map(|key| key.to_vec()))))
}

fn randomkey(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    loop {
        let length = cx.db().len();
        let number = cx.state.random.below(length);
        let Some((key, _)) = cx.db().at(number) else { return Ok(Reply::Nil) };
        let key = Name::clone(key);
        let db = cx.session.db;
        if !cx.state.expire_if_over(db, &key) {
            return Ok(Reply::bulk(&*key));
        }
    }
}

fn rename(cx: &mut Context<'_>, args: &[&[u8]], if_absent: bool) -> Answer {
    let (from, to) = (args[1], args[2]);
    if cx.find_mut(from).is_none() {
        return Err(NO_SUCH_KEY);
    }
    let done = if if_absent { Reply::Int(1) } else { Reply::Ok };
    if from == to {
        return Ok(if if_absent { Reply::Int(0) } else { Reply::Ok });
    }
    if cx.remove_target(to, if_absent) == Target::Taken {
        return Ok(Reply::Int(0));
    }
    let Some(entry) = cx.remove(from) else { return Err(NO_SUCH_KEY) };
    let end = entry.expires();
    cx.arrive(to, entry.value, end);
    cx.changed(Class::Generic, "rename_from", from);
    cx.changed(Class::Generic, "rename_to", to);
    Ok(done)
}

#[derive(PartialEq, Eq)]
enum Target {
    Free,
    Taken,
}

impl Context<'_> {
    /// Whatever the key holds; it does not count as looked at.
    pub(crate) fn peek(&mut self, key: &[u8]) -> Option<&Entry> {
        if self.inspect(key).is_none() {
            self.notify(Class::Missed, "keymiss", key);
        }
        self.db().get(key)
    }

    /// The same, for those who look at the store and not for a value: nobody is told that there is none.
    fn inspect(&mut self, key: &[u8]) -> Option<&Entry> {
        let db = self.session.db;
        self.state.expire_if_over(db, key);
        let found = self.state.dbs[db].get(key);
        let stats = &mut self.state.stats;
        *(if found.is_some() { &mut stats.hits } else { &mut stats.misses }) += 1;
        found
    }

    /// Puts a value under a key that was made free, and serves whoever waits there.
    fn arrive(&mut self, key: &[u8], value: Value, end: Option<u64>) {
        let is_waited_for = matches!(value, Value::List(_) | Value::Zset(_) | Value::Stream(_));
        self.put(key, value);
        if let Some(end) = end {
            self.expire_at(key, end);
        }
        if is_waited_for {
            self.feed(key);
        }
    }

    /// Makes room for a key, unless what is there is to stay.
    fn remove_target(&mut self, key: &[u8], keep: bool) -> Target {
        if self.find_mut(key).is_none() {
            return Target::Free;
        }
        if keep {
            return Target::Taken;
        }
        self.db().remove(key);
        Target::Free
    }

    /// Does something in another database.
    fn in_db<R>(&mut self, db: usize, act: impl FnOnce(&mut Self) -> R) -> R {
        let own = std::mem::replace(&mut self.session.db, db);
        let done = act(self);
        self.session.db = own;
        done
    }

    pub(crate) fn db_number(&self, arg: &[u8]) -> Result<usize, Fault> {
        usize::try_from(int_within(arg, i32::MIN.into(), i32::MAX.into())?)
            .ok()
            .filter(|number| *number < self.state.dbs.len())
            .ok_or(Fault::of("ERR DB index is out of range"))
    }
}

const SAME: Fault = Fault::of("ERR source and destination objects are the same");

fn copy(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (from, to) = (args[1], args[2]);
    let (mut db, mut replace) = (cx.session.db, false);
    let mut rest = 3;
    while let Some(arg) = args.get(rest) {
        if is(arg, "REPLACE") {
            replace = true;
        } else if is(arg, "DB") {
            rest += 1;
            db = cx.db_number(at(args, rest)?)?;
        } else {
            return Err(SYNTAX);
        }
        rest += 1;
    }
    if db == cx.session.db && from == to {
        return Err(SAME);
    }
    let Some(entry) = cx.find(from) else { return Ok(Reply::Int(0)) };
    let (value, end) = (entry.value.copied(), entry.expires());
    Ok(Reply::truth(cx.in_db(db, |cx| {
        if cx.remove_target(to, !replace) == Target::Taken {
            return false;
        }
        cx.arrive(to, value, end);
        cx.changed(Class::Generic, "copy_to", to);
        true
    })))
}

fn move_to(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (key, db) = (args[1], cx.db_number(args[2])?);
    if db == cx.session.db {
        return Err(SAME);
    }
    let is_there = cx.find_mut(key).is_some();
    if !is_there || cx.in_db(db, |cx| cx.find_mut(key).is_some()) {
        return Ok(Reply::Int(0));
    }
    let Some(entry) = cx.remove(key) else { return Ok(Reply::Int(0)) };
    let end = entry.expires();
    cx.in_db(db, |cx| cx.arrive(key, entry.value, end));
    cx.changed(Class::Generic, "move_from", key);
    cx.in_db(db, |cx| cx.changed(Class::Generic, "move_to", key));
    Ok(Reply::Int(1))
}

fn encoding(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::maybe(cx.inspect(args[2]).map(|entry| entry.value.encoding())))
}

fn refcount(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let Some(entry) = cx.inspect(args[2]) else { return Ok(Reply::Nil) };
    let is_shared = matches!(&entry.value, Value::Text(text) if text.is_shared());
    Ok(Reply::Int(if is_shared { i32::MAX.into() } else { 1 }))
}

fn idletime(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let now = cx.state.now.seconds();
    let idle = cx.inspect(args[2]).map(|entry| now.saturating_sub(u64::from(entry.seen)));
    Ok(idle.map_or(Reply::Nil, |idle| Reply::Int(i64::try_from(idle).unwrap_or(i64::MAX))))
}

fn freq(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    match cx.inspect(args[2]) {
        None => Ok(Reply::Nil),
        Some(_) => Err(Fault::of(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching \
             between policies at runtime LRU and LFU data will take some time to adjust.",
        )),
    }
}

fn help() -> Reply {
    const LINES: &[&str] = &[
        "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "ENCODING <key>",
        "    Return the kind of internal representation used in order to store the value",
        "    associated with a <key>.",
        "FREQ <key>",
        "    Return the access frequency index of the <key>. The returned integer is",
        "    proportional to the logarithm of the recent access frequency of the key.",
        "IDLETIME <key>",
        "    Return the idle time of the <key>, that is the approximated number of",
        "    seconds elapsed since the last access to the key.",
        "REFCOUNT <key>",
        "    Return the number of references of the value associated with the specified",
        "    <key>.",
        "HELP",
        "    Prints this help.",
    ];
    Reply::Array(LINES.iter().map(|line| Reply::status(line)).collect())
}
