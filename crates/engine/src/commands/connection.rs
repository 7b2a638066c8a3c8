//! Connections: who is there, which protocol and database it uses.

use super::{Answer, Command, flag};
use crate::args::{int, is};
use crate::context::Context;
use crate::fault::{Fault, SYNTAX};
use crate::reply::{Protocol, Reply};

const ANY_TIME: u32 = flag::NOSCRIPT | flag::FAST | flag::NO_AUTH;

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("ping", -1, flag::FAST | flag::WHILE_LISTENING, (0, 0, 0), ping),
    Command::new("echo", 2, flag::FAST, (0, 0, 0), |_, args| Ok(Reply::bulk(args[1]))),
    Command::new("select", 2, flag::FAST, (0, 0, 0), select),
    Command::new("auth", -2, ANY_TIME | flag::SKIP_MONITOR | flag::SKIP_SLOWLOG, (0, 0, 0), auth),
    Command::new("hello", -1, ANY_TIME | flag::SKIP_MONITOR | flag::SKIP_SLOWLOG, (0, 0, 0), hello),
    Command::new("quit", -1, ANY_TIME | flag::WHILE_LISTENING | flag::NEVER_QUEUED, (0, 0, 0), |_, _| {
        Ok(Reply::Ok)
    }),
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

const WRONG_PASSWORD: Fault = Fault::of("WRONGPASS invalid username-password pair or user is disabled.");

impl Context<'_> {
    fn log_in(&mut self, user: &[u8], password: &[u8]) -> Result<(), Fault> {
        let right = match &self.state.config.password {
            Some(wanted) => user == b"default" && wanted == password,
            // Without a password the default user takes any.
            None => user == b"default",
        };
        if !right {
            return Err(WRONG_PASSWORD);
        }
        if let Some(client) = self.client() {
            client.authenticated = true;
        }
        Ok(())
    }
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
    let mut name = None;
    let mut rest = args.iter().skip(2);
    while let Some(option) = rest.next() {
        if is(option, "AUTH")
            && let (Some(user), Some(password)) = (rest.next(), rest.next())
        {
            cx.log_in(user, password)?;
        } else if is(option, "SETNAME")
            && let Some(given) = rest.next()
        {
            name = Some(given.to_vec());
        } else {
            let option = [b"ERR Syntax error in HELLO option '".as_slice(), option, b"'"].concat();
            return Err(Fault::new(option));
        }
    }
    if cx.client().is_some_and(|client| !client.authenticated) {
        return Err(Fault::of(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> \
             <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    let protocol = protocol.unwrap_or(cx.session.protocol);
    cx.session.protocol = protocol;
    if let Some(client) = cx.client() {
        client.protocol = protocol;
        client.name = name.unwrap_or_else(|| std::mem::take(&mut client.name));
    }
    let pair = |name: &str, value: Reply| (Reply::bulk(name), value);
    Ok(Reply::Map(vec![
        pair("server", Reply::bulk("redis")),
        pair("version", Reply::bulk(super::server::VERSION)),
        pair("proto", Reply::Int(if protocol == Protocol::Three { 3 } else { 2 })),
        pair("id", Reply::Int(i64::try_from(cx.session.client.number()).unwrap_or(i64::MAX))),
        pair("mode", Reply::bulk("standalone")),
        pair("role", Reply::bulk("master")),
        pair("modules", Reply::Array(Vec::new())),
    ]))
}
