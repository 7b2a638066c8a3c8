//! The server as a whole: all keys of a database at once, the clock, what there is instead of replicas and users.

use super::{Answer, Command, flag, help};
use crate::args::{int, is};
use crate::clients::{ClientId, Watched};
use crate::context::Context;
use crate::db::{Db, Name};
use crate::fault::{Fault, SYNTAX};
use crate::reply::Reply;
use crate::state::State;

/// The version of Redis whose answers these are.
pub(crate) const VERSION: &str = "7.0.15";

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("dbsize", 1, flag::READONLY | flag::FAST, (0, 0, 0), |cx, _| {
        Ok(Reply::count(cx.db().len()))
    }),
    Command::new("time", 1, flag::FAST, (0, 0, 0), time),
    Command::new("flushall", -1, flag::WRITE, (0, 0, 0), flushall),
    Command::new("flushdb", -1, flag::WRITE, (0, 0, 0), flushdb),
    Command::new("swapdb", 3, flag::WRITE | flag::FAST, (0, 0, 0), swapdb),
    Command::new("lastsave", 1, flag::FAST, (0, 0, 0), lastsave),
    Command::new("wait", 3, flag::NOSCRIPT, (0, 0, 0), wait),
    Command::new("role", 1, flag::NOSCRIPT | flag::FAST, (0, 0, 0), |_, _| {
        Ok(Reply::Array(vec![Reply::bulk("master"), Reply::Int(0), Reply::Array(Vec::new())]))
    }),
    Command::new("acl|whoami", 2, flag::NOSCRIPT, (0, 0, 0), |_, _| Ok(Reply::bulk("default"))),
    Command::new("acl|help", 2, 0, (0, 0, 0), |_, _| {
        Ok(help("ACL", &["WHOAMI", "    Return the current connection username."]))
    }),
    Command::new("lolwut", -1, flag::READONLY | flag::FAST, (0, 0, 0), lolwut),
];

fn time(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    let micros = cx.state.now.micros();
    Ok(Reply::bulks([(micros / 1_000_000).to_string(), (micros % 1_000_000).to_string()]))
}

/// ASYNC and SYNC are the same here.
fn check_flush(args: &[&[u8]]) -> Result<(), Fault> {
    match args {
        [_] => Ok(()),
        [_, how] if is(how, "ASYNC") || is(how, "SYNC") => Ok(()),
        _ => Err(SYNTAX),
    }
}

fn flushall(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    check_flush(args)?;
    for db in 0..cx.state.dbs.len() {
        cx.state.flush(db);
    }
    cx.log(&[b"FLUSHALL"]);
    Ok(Reply::Ok)
}

fn flushdb(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    check_flush(args)?;
    let db = cx.session.db;
    cx.state.flush(db);
    cx.log(&[b"FLUSHDB"]);
    Ok(Reply::Ok)
}

fn swapdb(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let number = |arg: &[u8], which: &str| {
        let number = int(arg).ok().and_then(|number| i32::try_from(number).ok());
        number.ok_or_else(|| Fault::new(format!("ERR invalid {which} DB index")))
    };
    let pair = (number(args[1], "first")?, number(args[2], "second")?);
    let place = |number: i32| usize::try_from(number).ok().filter(|number| *number < cx.state.dbs.len());
    let (Some(first), Some(second)) = (place(pair.0), place(pair.1)) else {
        return Err(Fault::of("ERR DB index is out of range"));
    };
    if first != second {
        cx.state.swap(first, second);
    }
    cx.log(args);
    Ok(Reply::Ok)
}

impl State {
    /// Removes all keys of a database. Clients that wait there go on waiting.
    fn flush(&mut self, db: usize) {
        self.outrun_watchers_of(db, None);
        self.dbs[db].clear();
    }

    /// Two databases change places. Clients stay where they are, and may find there what they wait for.
    fn swap(&mut self, first: usize, second: usize) {
        self.outrun_watchers_of(first, Some(second));
        self.outrun_watchers_of(second, Some(first));
        self.dbs.swap(first, second);
        let mut fed: Vec<(usize, Name)> = Vec::new();
        for (_, client) in self.clients.iter().filter(|(_, client)| [first, second].contains(&client.db)) {
            let keys = client.wait.iter().flat_map(|wait| &wait.keys);
            let there = keys.filter(|key| self.dbs[client.db].get(key).is_some());
            fed.extend(there.map(|key| (client.db, Name::clone(key))));
        }
        for (db, key) in fed {
            self.waiting.feed(db, &key);
        }
    }

    /// All keys of a database are removed, or replaced with those of another: tells clients that watch one of them.
    fn outrun_watchers_of(&mut self, db: usize, by: Option<usize>) {
        let now = self.now.millis();
        let places: Vec<(Name, Vec<ClientId>)> = self
            .watchers
            .iter()
            .filter(|((watched, _), _)| *watched == db)
            .map(|((_, key), clients)| (Name::clone(key), clients.clone()))
            .collect();
        for (key, clients) in places {
            let was_there = self.dbs[db].get(&key).is_some();
            let after = by.and_then(|by| self.dbs.get(by)).map(|other: &Db| other.get(&key));
            let after = after.flatten().map(|entry| entry.is_over(now));
            for id in clients {
                let Some(client) = self.clients.get_mut(id) else { continue };
                let is_it = |watched: &&mut Watched| watched.db == db && watched.key == key;
                let Some(watched) = client.watching.iter_mut().find(is_it) else { continue };
                match (watched.was_over, was_there, after) {
                    // Gone before, and gone after.
                    (_, false, None) | (true, _, Some(true)) => {}
                    (true, _, None) => watched.was_over = false,
                    (false, false, Some(true)) => watched.was_over = true,
                    _ => client.outrun = true,
                }
            }
        }
    }
}

fn lastsave(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    Ok(Reply::Int(i64::try_from(cx.state.stats.started.seconds()).unwrap_or(i64::MAX)))
}

/// There are no replicas, and none will come: nobody waits for them.
fn wait(_: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    int(args[1])?;
    match int(args[2]) {
        Err(_) => Err(Fault::of("ERR timeout is not an integer or out of range")),
        Ok(timeout) if timeout < 0 => Err(Fault::of("ERR timeout is negative")),
        Ok(_) => Ok(Reply::Int(0)),
    }
}

fn lolwut(_: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    if args.len() >= 3 && is(args[1], "VERSION") {
        int(args[2])?;
    }
    Ok(Reply::Text(format!("Redis ver. {VERSION}\n").into_bytes()))
}
