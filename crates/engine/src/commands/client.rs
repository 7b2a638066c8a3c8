//! CLIENT: a connection about itself and about others.
//!
//! A client that is killed is forgotten at once, whatever it waited for; whoever runs the engine is told to close its
//! connection. CLIENT PAUSE is refused, and CLIENT TRACKING can only be off: see the words of their errors.

use std::fmt::Write as _;

use super::{Answer, Command, cut, flag, help, wrong_words};
use crate::args::{at, int, is};
use crate::clients::{Client, ClientId, Replies};
use crate::context::Context;
use crate::engine::Delivery;
use crate::fault::{Fault, SYNTAX};
use crate::reply::{Protocol, Reply};

const OWN: u32 = flag::NOSCRIPT;
const OTHERS: u32 = flag::NOSCRIPT | flag::ADMIN;

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("client|id", 2, OWN, (0, 0, 0), |cx, _| Ok(number(cx.session.client))),
    Command::new("client|getname", 2, OWN, (0, 0, 0), getname),
    Command::new("client|setname", 3, OWN, (0, 0, 0), |cx, args| cx.set_name(args[2]).map(|()| Reply::Ok)),
    Command::new("client|info", 2, OWN, (0, 0, 0), info),
    Command::new("client|list", -2, OTHERS, (0, 0, 0), list),
    Command::new("client|kill", -3, OTHERS, (0, 0, 0), kill),
    Command::new("client|unblock", -3, OTHERS, (0, 0, 0), unblock),
    Command::new("client|reply", 3, OWN, (0, 0, 0), reply),
    Command::new("client|no-evict", 3, OTHERS, (0, 0, 0), no_evict),
    Command::new("client|pause", -3, OTHERS, (0, 0, 0), pause),
    Command::new("client|unpause", 2, OTHERS, (0, 0, 0), |_, _| Ok(Reply::Ok)),
    Command::new("client|tracking", -3, OWN, (0, 0, 0), tracking),
    Command::new("client|caching", 3, OWN, (0, 0, 0), caching),
    Command::new("client|getredir", 2, OWN, (0, 0, 0), |_, _| Ok(Reply::Int(-1))),
    Command::new("client|trackinginfo", 2, OWN, (0, 0, 0), trackinginfo),
    Command::new("client|help", 2, 0, (0, 0, 0), |_, _| Ok(help("CLIENT", HELP))),
];

const HELP: &[&str] = &[
    "CACHING (YES|NO)",
    "    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.",
    "GETREDIR",
    "    Return the client ID we are redirecting to when tracking is enabled.",
    "GETNAME",
    "    Return the name of the current connection.",
    "ID",
    "    Return the ID of the current connection.",
    "INFO",
    "    Return information about the current client connection.",
    "KILL <ip:port>",
    "    Kill connection made from <ip:port>.",
    "KILL <option> <value> [<option> <value> [...]]",
    "    Kill connections. Options are:",
    "    * ADDR (<ip:port>|<unixsocket>:0)",
    "      Kill connections made from the specified address",
    "    * LADDR (<ip:port>|<unixsocket>:0)",
    "      Kill connections made to specified local address",
    "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
    "      Kill connections by type.",
    "    * USER <username>",
    "      Kill connections authenticated by <username>.",
    "    * SKIPME (YES|NO)",
    "      Skip killing current connection (default: yes).",
    "LIST [options ...]",
    "    Return information about client connections. Options:",
    "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
    "      Return clients of specified type.",
    "UNPAUSE",
    "    Stop the current client pause, resuming traffic.",
    "PAUSE <timeout> [WRITE|ALL]",
    "    Suspend all, or just write, clients for <timeout> milliseconds.",
    "REPLY (ON|OFF|SKIP)",
    "    Control the replies sent to the current connection.",
    "SETNAME <name>",
    "    Assign the name <name> to the current connection.",
    "UNBLOCK <clientid> [TIMEOUT|ERROR]",
    "    Unblock the specified blocked client.",
    "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
    "         [OPTIN] [OPTOUT] [NOLOOP]",
    "    Control server assisted client side caching.",
    "TRACKINGINFO",
    "    Report tracking status for the current connection.",
    "NO-EVICT (ON|OFF)",
    "    Protect current client connection from eviction.",
];

fn number(id: ClientId) -> Reply {
    Reply::Int(i64::try_from(id.number()).unwrap_or(i64::MAX))
}

fn getname(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    let name = cx.client().map(|client| client.name.clone()).filter(|name| !name.is_empty());
    Ok(Reply::maybe(name))
}

/// What the kinds of clients are called. There are no masters and no replicas here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Pubsub,
    Replication,
}

impl Kind {
    fn parse(name: &[u8]) -> Result<Self, Fault> {
        match name.to_ascii_lowercase().as_slice() {
            b"normal" => Ok(Self::Normal),
            b"pubsub" => Ok(Self::Pubsub),
            b"master" | b"slave" | b"replica" => Ok(Self::Replication),
            _ => Err(Fault::new([b"ERR Unknown client type '", cut(name, usize::MAX), b"'"].concat())),
        }
    }

    fn of(client: &Client) -> Self {
        if client.subscriptions() > 0 { Self::Pubsub } else { Self::Normal }
    }
}

/// A client as CLIENT LIST shows it. What only a connection knows (buffers, descriptors) is shown as nothing.
fn line(cx: &Context<'_>, id: ClientId, client: &Client) -> Vec<u8> {
    let now = cx.state.now.seconds();
    let mut flags = String::new();
    for (holds, letter) in [
        (client.monitors, 'O'),
        (client.subscriptions() > 0, 'P'),
        (client.queue.is_some(), 'x'),
        (client.wait.is_some(), 'b'),
        (client.outrun, 'd'),
        (client.closing, 'c'),
        (client.address.starts_with('/'), 'U'),
        (client.stays, 'e'),
    ] {
        flags.extend(holds.then_some(letter));
    }
    if flags.is_empty() {
        flags.push('N');
    }
    let mut head = format!("id={} addr={} laddr= fd=-1 name=", id.number(), client.address);
    let mut tail = String::new();
    let (age, idle) =
        (now.saturating_sub(client.connected.seconds()), now.saturating_sub(client.active.seconds()));
    let queued = client.queue.as_ref().map_or(-1, |queue| queue.commands.len() as i64);
    let protocol = if client.protocol == Protocol::Three { 3 } else { 2 };
    let _ = write!(
        tail,
        " age={age} idle={idle} flags={flags} db={} sub={} psub={} ssub=0 multi={queued} qbuf=0 qbuf-free=0 \
         argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd={} user=default redir=-1 \
         resp={protocol}",
        client.db,
        client.channels.len(),
        client.patterns.len(),
        client.last,
    );
    tail.push('\n');
    // A name has no bytes that are no text.
    head.push_str(&String::from_utf8_lossy(&client.name));
    head.push_str(&tail);
    head.into_bytes()
}

fn info(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    let id = cx.session.client;
    Ok(Reply::Text(cx.state.clients.get(id).map(|client| line(cx, id, client)).unwrap_or_default()))
}

fn list(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let all = cx.state.clients.iter();
    let lines: Vec<Vec<u8>> = match args {
        [_, _] => all.map(|(id, client)| line(cx, id, client)).collect(),
        [_, _, word, kind] if is(word, "TYPE") => {
            let kind = Kind::parse(kind)?;
            all.filter(|(_, client)| Kind::of(client) == kind)
                .map(|(id, client)| line(cx, id, client))
                .collect()
        }
        [_, _, word, ids @ ..] if is(word, "ID") && !ids.is_empty() => {
            let ids: Result<Vec<i64>, Fault> =
                ids.iter().map(|id| int(id).map_err(|_| Fault::of("ERR Invalid client ID"))).collect();
            let ids = ids?.into_iter().filter_map(|id| u64::try_from(id).ok()).map(ClientId);
            ids.filter_map(|id| cx.state.clients.get(id).map(|client| line(cx, id, client))).collect()
        }
        _ => return Err(SYNTAX),
    };
    Ok(Reply::Text(lines.concat()))
}

/// Which clients are to go; what is not said does not matter.
struct Doomed<'a> {
    id: Option<ClientId>,
    address: Option<&'a [u8]>,
    local: Option<&'a [u8]>,
    kind: Option<Kind>,
    spare: Option<ClientId>,
}

impl<'a> Doomed<'a> {
    fn parse(args: &[&'a [u8]], own: ClientId) -> Result<Self, Fault> {
        let mut doomed = Self { id: None, address: None, local: None, kind: None, spare: Some(own) };
        for option in args.chunks(2) {
            let [word, value] = option else { return Err(SYNTAX) };
            match word.to_ascii_lowercase().as_slice() {
                b"id" => {
                    let id = int(value).ok().filter(|id| *id > 0).and_then(|id| u64::try_from(id).ok());
                    let id = id.ok_or(Fault::of("ERR client-id should be greater than 0"))?;
                    doomed.id = Some(ClientId(id));
                }
                b"type" => doomed.kind = Some(Kind::parse(value)?),
                b"addr" => doomed.address = Some(value),
                b"laddr" => doomed.local = Some(value),
                // Everybody is the default user.
                b"user" if *value == b"default" => {}
                b"user" => {
                    let name = cut(value, usize::MAX);
                    return Err(Fault::new([b"ERR No such user '", name, b"'"].concat()));
                }
                b"skipme" if is(value, "yes") => doomed.spare = Some(own),
                b"skipme" if is(value, "no") => doomed.spare = None,
                _ => return Err(SYNTAX),
            }
        }
        Ok(doomed)
    }

    fn takes(&self, id: ClientId, client: &Client) -> bool {
        self.id.is_none_or(|wanted| wanted == id)
            && self.address.is_none_or(|wanted| wanted == client.address.as_bytes())
            && self.local.is_none_or(<[u8]>::is_empty)
            && self.kind.is_none_or(|wanted| wanted == Kind::of(client))
            && self.spare != Some(id)
    }
}

fn kill(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let own = cx.session.client;
    let by_address = args.len() == 3;
    let doomed = if by_address {
        Doomed { id: None, address: Some(args[2]), local: None, kind: None, spare: None }
    } else {
        Doomed::parse(&args[2..], own)?
    };
    let found: Vec<ClientId> =
        cx.state.clients.iter().filter(|(id, client)| doomed.takes(*id, client)).map(|(id, _)| id).collect();
    for id in &found {
        if *id == own {
            if let Some(client) = cx.client() {
                client.closing = true;
            }
        } else {
            cx.state.forget(*id);
            cx.state.deliver(Delivery::Close { to: *id });
        }
    }
    match (by_address, found.is_empty()) {
        (true, true) => Err(Fault::of("ERR No such client")),
        (true, false) => Ok(Reply::Ok),
        (false, _) => Ok(Reply::count(found.len())),
    }
}

fn unblock(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let with_error = match args {
        [_, _, _] => false,
        [_, _, _, how] if is(how, "TIMEOUT") => false,
        [_, _, _, how] if is(how, "ERROR") => true,
        [_, _, _, _] => return Err(Fault::of("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
        _ => return Err(wrong_words("CLIENT", args)),
    };
    let id = int(at(args, 2)?)?;
    let Ok(id) = u64::try_from(id).map(ClientId) else { return Ok(Reply::Int(0)) };
    let Some(wait) = cx.state.unblock(id) else { return Ok(Reply::Int(0)) };
    let answer = if with_error {
        Reply::Error(Fault::of("UNBLOCKED client unblocked via CLIENT UNBLOCK"))
    } else {
        wait.otherwise
    };
    cx.state.deliver(Delivery::message(id, answer));
    Ok(Reply::Int(1))
}

fn reply(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let Some(client) = cx.client() else { return Ok(Reply::Ok) };
    if is(args[2], "ON") {
        client.replies = Replies::On;
        return Ok(Reply::Ok);
    }
    if is(args[2], "OFF") {
        client.replies = Replies::Off;
    } else if is(args[2], "SKIP") {
        if client.replies != Replies::Off {
            client.replies = Replies::SkipNext;
        }
    } else {
        return Err(SYNTAX);
    }
    Ok(Reply::Several(Vec::new()))
}

fn no_evict(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let stays = if is(args[2], "ON") {
        true
    } else if is(args[2], "OFF") {
        false
    } else {
        return Err(SYNTAX);
    };
    if let Some(client) = cx.client() {
        client.stays = stays;
    }
    Ok(Reply::Ok)
}

/// Whoever pauses clients relies on their standing still. They would not, so this is refused.
fn pause(_: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    match args {
        [_, _, _] => {}
        [_, _, _, mode] if is(mode, "WRITE") || is(mode, "ALL") => {}
        [_, _, _, _] => return Err(Fault::of("ERR CLIENT PAUSE mode must be WRITE or ALL")),
        _ => return Err(wrong_words("CLIENT", args)),
    }
    match int(at(args, 2)?) {
        Err(_) => Err(Fault::of("ERR timeout is not an integer or out of range")),
        Ok(timeout) if timeout < 0 => Err(Fault::of("ERR timeout is negative")),
        Ok(0) => Ok(Reply::Ok),
        Ok(_) => Err(Fault::of("ERR CLIENT PAUSE is not supported")),
    }
}

fn tracking(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let mut rest = args[3..].iter();
    let mut redirected = false;
    while let Some(option) = rest.next() {
        match option.to_ascii_lowercase().as_slice() {
            b"bcast" | b"optin" | b"optout" | b"noloop" => {}
            b"prefix" if rest.next().is_some() => {}
            b"redirect" => {
                let Some(target) = rest.next() else { return Err(SYNTAX) };
                if redirected {
                    return Err(Fault::of("ERR A client can only redirect to a single other client"));
                }
                let target = int(target)?;
                let known = u64::try_from(target).ok().and_then(|id| cx.state.clients.get(ClientId(id)));
                known.ok_or(Fault::of("ERR The client ID you want redirect to does not exist"))?;
                redirected = true;
            }
            _ => return Err(SYNTAX),
        }
    }
    if is(args[2], "OFF") {
        Ok(Reply::Ok)
    } else if is(args[2], "ON") {
        Err(Fault::of("ERR CLIENT TRACKING is not supported"))
    } else {
        Err(SYNTAX)
    }
}

fn caching(_: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    Err(Fault::of(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
    ))
}

fn trackinginfo(_: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    let pair = |name: &str, value: Reply| (Reply::bulk(name), value);
    Ok(Reply::Map(vec![
        pair("flags", Reply::Set(vec![Reply::bulk("off")])),
        pair("redirect", Reply::Int(-1)),
        pair("prefixes", Reply::Array(Vec::new())),
    ]))
}
