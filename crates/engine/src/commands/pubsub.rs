//! Channels: SUBSCRIBE, PSUBSCRIBE, UNSUBSCRIBE, PUNSUBSCRIBE, PUBLISH, PUBSUB.
//!
//! A message goes first to those who listen to its channel, in the order they began to, then to those with a pattern that
//! matches it.

use indexmap::{IndexMap, IndexSet};

use super::{Answer, Command, flag, help, wrong_words};
use crate::clients::{Client, ClientId};
use crate::context::Context;
use crate::db::Hashing;
use crate::glob;
use crate::reply::Reply;
use crate::state::State;

const LISTEN: u32 = flag::PUBSUB | flag::NOSCRIPT | flag::WHILE_LISTENING;

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("subscribe", -2, LISTEN, (0, 0, 0), |cx, args| Ok(join(cx, &args[1..], &CHANNEL))),
    Command::new("psubscribe", -2, LISTEN, (0, 0, 0), |cx, args| Ok(join(cx, &args[1..], &PATTERN))),
    Command::new("unsubscribe", -1, LISTEN, (0, 0, 0), |cx, args| Ok(leave(cx, &args[1..], &CHANNEL))),
    Command::new("punsubscribe", -1, LISTEN, (0, 0, 0), |cx, args| Ok(leave(cx, &args[1..], &PATTERN))),
    Command::new("publish", 3, flag::PUBSUB | flag::FAST, (0, 0, 0), publish),
    Command::new("pubsub|channels", -2, flag::PUBSUB, (0, 0, 0), channels),
    Command::new("pubsub|numsub", -2, flag::PUBSUB, (0, 0, 0), numsub),
    Command::new("pubsub|numpat", 2, flag::PUBSUB, (0, 0, 0), numpat),
    Command::new("pubsub|help", 2, 0, (0, 0, 0), |_, _| Ok(help("PUBSUB", HELP))),
];

const HELP: &[&str] = &[
    "CHANNELS [<pattern>]",
    "    Return the currently active channels matching a <pattern> (default: '*').",
    "NUMPAT",
    "    Return number of subscriptions to patterns.",
    "NUMSUB [<channel> ...]",
    "    Return the number of subscribers for the specified channels, excluding",
    "    pattern subscriptions(default: no channels).",
];

type Listeners = IndexMap<Vec<u8>, IndexSet<ClientId, Hashing>, Hashing>;

/// Who listens to what.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    channels: Listeners,
    patterns: Listeners,
}

impl Channels {
    pub(crate) fn of(&self, channel: &[u8]) -> impl Iterator<Item = ClientId> {
        self.channels.get(channel).into_iter().flatten().copied()
    }

    /// With the pattern that matches.
    pub(crate) fn matching(&self, channel: &[u8]) -> impl Iterator<Item = (&[u8], ClientId)> {
        self.patterns
            .iter()
            .filter(|(pattern, _)| glob::matches(pattern, channel))
            .flat_map(|(pattern, clients)| clients.iter().map(|client| (pattern.as_slice(), *client)))
    }

    /// How many channels and how many patterns somebody listens to.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.channels.len(), self.patterns.len())
    }
}

fn remove(listeners: &mut Listeners, name: &[u8], client: ClientId) {
    if let Some(clients) = listeners.get_mut(name) {
        clients.shift_remove(&client);
        if clients.is_empty() {
            listeners.swap_remove(name);
        }
    }
}

impl State {
    /// The client listens to nothing any more.
    pub(crate) fn stop_listening(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(id) else { return };
        for way in [&CHANNEL, &PATTERN] {
            for name in std::mem::take((way.own)(client)) {
                remove((way.listeners)(&mut self.channels), &name, id);
            }
        }
    }
}

/// Channels and patterns are alike but for their words.
struct Way {
    joined: &'static str,
    left: &'static str,
    listeners: fn(&mut Channels) -> &mut Listeners,
    own: fn(&mut Client) -> &mut Names,
    forget: fn(&mut Names, &[u8]) -> bool,
}

type Names = IndexSet<Vec<u8>, Hashing>;

const CHANNEL: Way = Way {
    joined: "subscribe",
    left: "unsubscribe",
    listeners: |all| &mut all.channels,
    own: |client| &mut client.channels,
    forget: |own, name| own.swap_remove(name),
};

const PATTERN: Way = Way {
    joined: "psubscribe",
    left: "punsubscribe",
    listeners: |all| &mut all.patterns,
    own: |client| &mut client.patterns,
    // The order of patterns shows when all of them are left.
    forget: |own, name| own.shift_remove(name),
};

fn told(word: &str, name: Reply, count: usize) -> Reply {
    Reply::Push(vec![Reply::bulk(word), name, Reply::count(count)])
}

fn join(cx: &mut Context<'_>, names: &[&[u8]], way: &Way) -> Reply {
    let id = cx.session.client;
    let mut replies = Vec::with_capacity(names.len());
    for name in names {
        (way.listeners)(&mut cx.state.channels).entry(name.to_vec()).or_default().insert(id);
        let Some(client) = cx.client() else { continue };
        (way.own)(client).insert(name.to_vec());
        replies.push(told(way.joined, Reply::bulk(*name), client.subscriptions()));
    }
    Reply::Several(replies)
}

fn leave(cx: &mut Context<'_>, names: &[&[u8]], way: &Way) -> Reply {
    if names.is_empty() {
        return leave_all(cx, way);
    }
    let id = cx.session.client;
    let mut replies = Vec::with_capacity(names.len());
    for name in names {
        remove((way.listeners)(&mut cx.state.channels), name, id);
        let Some(client) = cx.client() else { continue };
        (way.forget)((way.own)(client), name);
        replies.push(told(way.left, Reply::bulk(*name), client.subscriptions()));
    }
    Reply::Several(replies)
}

fn leave_all(cx: &mut Context<'_>, way: &Way) -> Reply {
    let id = cx.session.client;
    let Some(client) = cx.client() else { return Reply::Several(Vec::new()) };
    let names = std::mem::take((way.own)(client));
    let others = client.subscriptions();
    if names.is_empty() {
        return told(way.left, Reply::Nil, others);
    }
    let mut replies = Vec::with_capacity(names.len());
    let counts = (others..others + names.len()).rev();
    for (name, count) in names.into_iter().zip(counts) {
        remove((way.listeners)(&mut cx.state.channels), &name, id);
        replies.push(told(way.left, Reply::Bulk(name), count));
    }
    Reply::Several(replies)
}

fn publish(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    Ok(Reply::count(cx.state.publish(args[1], args[2])))
}

fn channels(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    if args.len() > 3 {
        return Err(wrong_words("PUBSUB", args));
    }
    let pattern = args.get(2);
    let is_wanted = |name: &&Vec<u8>| pattern.is_none_or(|pattern| glob::matches(pattern, name));
    let names = cx.state.channels.channels.keys().filter(is_wanted);
    Ok(Reply::bulks(names.cloned()))
}

fn numsub(cx: &mut Context<'_>, args: &[&[u8]]) -> Answer {
    let mut replies = Vec::new();
    for name in &args[2..] {
        replies.push(Reply::bulk(*name));
        replies.push(Reply::count(cx.state.channels.channels.get(*name).map_or(0, IndexSet::len)));
    }
    Ok(Reply::Array(replies))
}

fn numpat(cx: &mut Context<'_>, _: &[&[u8]]) -> Answer {
    Ok(Reply::count(cx.state.channels.patterns.len()))
}
