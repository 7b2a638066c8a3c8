//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.

use super::{Answer, Command, Run, flag};
use crate::clients::Watched;
use crate::context::Context;
use crate::db::Name;
use crate::fault::Fault;
use crate::reply::Reply;
use crate::transaction::Queue;

const FLAGS: u32 = flag::NOSCRIPT | flag::FAST;

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("multi", 1, FLAGS | flag::NEVER_QUEUED, (0, 0, 0), multi),
    Command {
        name: "exec",
        arity: 1,
        flags: flag::NOSCRIPT | flag::NEVER_QUEUED | flag::SKIP_SLOWLOG,
        keys: (0, 0, 0),
        run: Run::Exec,
    },
    Command::new("discard", 1, FLAGS | flag::NEVER_QUEUED, (0, 0, 0), discard),
    Command::new("watch", -2, FLAGS | flag::NEVER_QUEUED, (1, -1, 1), watch),
    Command::new("unwatch", 1, FLAGS, (0, 0, 0), unwatch),
];

fn multi(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    match cx.client() {
        Some(client) if client.queue.is_none() => {
            client.queue = Some(Queue::default());
            Ok(Reply::Ok)
        }
        _ => Err(Fault::of("ERR MULTI calls can not be nested")),
    }
}

fn discard(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    let queued = cx.client().and_then(|client| client.queue.take()).is_some();
    if !queued {
        return Err(Fault::of("ERR DISCARD without MULTI"));
    }
    let client = cx.session.client;
    cx.state.unwatch(client);
    Ok(Reply::Ok)
}

fn watch(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let (id, db, now) = (cx.session.client, cx.session.db, cx.now());
    if cx.client().is_some_and(|client| client.queue.is_some()) {
        return Err(Fault::of("ERR WATCH inside MULTI is not allowed"));
    }
    for key in &args[1..] {
        let key = Name::from(*key);
        let was_over = cx.db().get(&key).is_some_and(|entry| entry.is_over(now));
        let watchers = cx.state.watchers.entry((db, Name::clone(&key))).or_default();
        if watchers.contains(&id) {
            continue;
        }
        watchers.push(id);
        if let Some(client) = cx.client() {
            client.watching.push(Watched { db, key, was_over });
        }
    }
    Ok(Reply::Ok)
}

fn unwatch(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    let client = cx.session.client;
    cx.state.unwatch(client);
    Ok(Reply::Ok)
}
