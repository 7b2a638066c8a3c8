//! The server as a whole.

use super::{Answer, Command, flag};
use crate::clients::{Origin, Session};
use crate::context::Context;
use crate::engine::Delivery;
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
];

fn time(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    let micros = cx.state.now.micros();
    Ok(Reply::bulks([(micros / 1_000_000).to_string(), (micros % 1_000_000).to_string()]))
}

fn flushall(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    cx.state.dbs.iter_mut().for_each(crate::db::Db::clear);
    cx.touched(b"");
    Ok(Reply::Ok)
}

impl State {
    /// Shows a command to those who monitor.
    pub(crate) fn monitor(&mut self, command: &Command, session: &Session, args: &[&[u8]]) {
        if self.monitors == 0 || command.has(flag::SKIP_MONITOR | flag::ADMIN) {
            return;
        }
        let micros = self.now.micros();
        let from = match (session.origin, self.clients.get(session.client)) {
            (Origin::Script, _) | (_, None) => "lua",
            (_, Some(client)) => client.address.as_str(),
        };
        let mut line = format!("{}.{:06} [{} {from}]", micros / 1_000_000, micros % 1_000_000, session.db);
        for arg in args {
            line.push_str(&format!(" \"{}\"", arg.escape_ascii()));
        }
        let monitors: Vec<_> =
            self.clients.iter().filter(|(_, client)| client.monitors).map(|(id, _)| id).collect();
        for client in monitors {
            self.deliver(Delivery::message(client, Reply::Status(line.clone().into())));
        }
    }
}
