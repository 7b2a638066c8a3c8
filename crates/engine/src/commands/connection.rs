//! Connections: which protocol and database each uses, and whether it has given the password.

use super::{Answer, Command, cut, flag};
use crate::args::{int, is};
use crate::context::Context;
use crate::fault::{Fault, SYNTAX};
use crate::reply::{Protocol, Reply};

const ANY_TIME: u32 = flag::NOSCRIPT | flag::FAST | flag::NO_AUTH;
const ALWAYS: u32 = ANY_TIME | flag::WHILE_LISTENING | flag::NEVER_QUEUED;

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("ping", -1, flag::FAST | flag::WHILE_LISTENING, (0, 0, 0), ping),
    Command::new("echo", 2, flag::FAST, (0, 0, 0), |_, args| Ok(Reply::bulk(args[1]))),
    Command::new("select", 2, flag::FAST, (0, 0, 0), select),
    Command::new("auth", -2, ANY_TIME, (0, 0, 0), auth),
    Command::new("hello", -1, ANY_TIME, (0, 0, 0), hello),
    Command::new("reset", 1, ALWAYS, (0, 0, 0), reset),
    Command::new("quit", -1, ALWAYS, (0, 0, 0), quit),
];

fn ping(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    if args.len() > 2 {
        return Err(Fault::arity("ping"));
    }
    let listens = !cx.is_resp3() && cx.client().is_some_and(|client| client.subscriptions() > 0);
    if listens {
        let text = args.get(1).copied().unwrap_or_default();
        return Ok(Reply::Array(vec![Reply::bulk("pong"), Reply::bulk(text)]));
    }
    Ok(args.get(1).map_or(Reply::status("PONG"), |text| Reply::bulk(*text)))
}

fn select(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    cx.session.db = cx.db_number(args[1])?;
    Ok(Reply::Ok)
}

impl Context<'_> {
    fn log_in(&mut self, user: &[u8], password: &[u8]) -> Result<(), Fault> {
        let right = match &self.state.config.password {
            Some(wanted) => user == b"default" && is_same(wanted, password),
            // Without a password the default user takes any.
            None => user == b"default",
        };
        if !right {
            return Err(Fault::of("WRONGPASS invalid username-password pair or user is disabled."));
        }
        if let Some(client) = self.client() {
            client.authenticated = true;
        }
        Ok(())
    }

    pub(super) fn set_name(&mut self, name: &[u8]) -> Result<(), Fault> {
        if !name.iter().all(u8::is_ascii_graphic) {
            return Err(Fault::of("ERR Client names cannot contain spaces, newlines or special characters."));
        }
        if let Some(client) = self.client() {
            client.name = name.to_vec();
        }
        Ok(())
    }
}

/// Takes as long for a wrong password as for the right one, whatever they share.
fn is_same(wanted: &[u8], given: &[u8]) -> bool {
    wanted.len() == given.len() && wanted.iter().zip(given).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

fn auth(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    match args {
        [_, _] if cx.state.config.password.is_none() => Err(Fault::of(
            "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
             configuration is correct?",
        )),
        [_, password] => cx.log_in(b"default", password).map(|()| Reply::Ok),
        [_, user, password] => cx.log_in(user, password).map(|()| Reply::Ok),
        _ => Err(SYNTAX),
    }
}

/// Options take effect one after the other, as in Redis: those before a wrong one stay.
fn hello(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let protocol = match args.get(1) {
        None => None,
        Some(version) => match int(version) {
            Ok(2) => Some(Protocol::Two),
            Ok(3) => Some(Protocol::Three),
            Ok(_) => return Err(Fault::of("NOPROTO unsupported protocol version")),
            Err(_) => return Err(Fault::of("ERR Protocol version is not an integer or out of range")),
        },
    };
    let mut rest = args.get(2..).unwrap_or_default();
    while let [option, more @ ..] = rest {
        rest = match more {
            [user, password, more @ ..] if is(option, "AUTH") => {
                cx.log_in(user, password)?;
                more
            }
            [name, more @ ..] if is(option, "SETNAME") => {
                cx.set_name(name)?;
                more
            }
            _ => {
                let option = cut(option, usize::MAX);
                return Err(Fault::new([b"ERR Syntax error in HELLO option '", option, b"'"].concat()));
            }
        };
    }
    if cx.client().is_some_and(|client| !client.authenticated) {
        return Err(Fault::of(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> \
             option can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    cx.session.protocol = protocol.unwrap_or(cx.session.protocol);
    let protocol = cx.session.protocol;
    if let Some(client) = cx.client() {
        client.protocol = protocol;
    }
    Ok(greeting(protocol, cx.session.client.number()))
}

fn greeting(protocol: Protocol, id: u64) -> Reply {
    let pair = |name: &str, value: Reply| (Reply::bulk(name), value);
    Reply::Map(vec![
        pair("server", Reply::bulk("redis")),
        pair("version", Reply::bulk(super::server::VERSION)),
        pair("proto", Reply::Int(if protocol == Protocol::Three { 3 } else { 2 })),
        pair("id", Reply::Int(i64::try_from(id).unwrap_or(i64::MAX))),
        pair("mode", Reply::bulk("standalone")),
        pair("role", Reply::bulk("master")),
        pair("modules", Reply::Array(Vec::new())),
    ])
}

fn reset(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    let client = cx.session.client;
    cx.state.reset(client);
    (cx.session.db, cx.session.protocol) = (0, Protocol::default());
    Ok(Reply::status("RESET"))
}

fn quit(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    if let Some(client) = cx.client() {
        client.closing = true;
    }
    Ok(Reply::Ok)
}
