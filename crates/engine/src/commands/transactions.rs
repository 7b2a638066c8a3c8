//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.

use super::{Answer, Command, Run, flag};
use crate::context::Context;
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
    let (client, db) = (cx.session.client, cx.session.db);
    if cx.client().is_some_and(|client| client.queue.is_some()) {
        return Err(Fault::of("ERR WATCH inside MULTI is not allowed"));
    }
    args[1..].iter().for_each(|key| cx.state.watch(client, db, key));
    Ok(Reply::Ok)
}

fn unwatch(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    let client = cx.session.client;
    cx.state.unwatch(client);
    Ok(Reply::Ok)
}
