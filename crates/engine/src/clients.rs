//! Connected clients, as the engine knows them.

use indexmap::{IndexMap, IndexSet};

use crate::blocking::Wait;
use crate::db::{Hashing, Name};
use crate::reply::Protocol;
use crate::state::State;
use crate::time::Time;
use crate::transaction::Queue;

/// A connection, numbered from 1 and never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub(crate) u64);

impl ClientId {
    /// As CLIENT ID shows it.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// Who sends a command at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Client,
    Transaction,
    Script,
}

/// What a command needs to know about who sent it. A script has one of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Session {
    pub(crate) client: ClientId,
    pub(crate) db: usize,
    pub(crate) protocol: Protocol,
    pub(crate) origin: Origin,
}

/// What CLIENT REPLY asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Replies {
    #[default]
    On,
    Off,
    /// Not for the next command.
    SkipNext,
    /// Not for this one.
    Skip,
}

impl Replies {
    /// When a command begins.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::SkipNext => Self::Skip,
            Self::Skip => Self::On,
            lasting => lasting,
        }
    }

    /// Whether what is no push is kept from the client.
    pub(crate) fn are_off(self) -> bool {
        matches!(self, Self::Off | Self::Skip)
    }
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) db: usize,
    pub(crate) protocol: Protocol,
    pub(crate) authenticated: bool,
    pub(crate) replies: Replies,
    pub(crate) name: Vec<u8>,
    pub(crate) address: String,
    pub(crate) connected: Time,
    pub(crate) active: Time,
    /// Its last command, in lower case.
    pub(crate) last: &'static str,
    pub(crate) queue: Option<Queue>,
    pub(crate) watching: Vec<Watched>,
    /// A watched key has changed.
    pub(crate) outrun: bool,
    pub(crate) channels: IndexSet<Vec<u8>, Hashing>,
    pub(crate) patterns: IndexSet<Vec<u8>, Hashing>,
    pub(crate) monitors: bool,
    /// CLIENT NO-EVICT; shown, and nothing else.
    pub(crate) stays: bool,
    /// Its connection is to be closed after the present answer.
    pub(crate) closing: bool,
    pub(crate) wait: Option<Wait>,
}

/// A key that a transaction depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Watched {
    pub(crate) db: usize,
    pub(crate) key: Name,
    /// It was over already when the watch began, so its removal is no change.
    pub(crate) was_over: bool,
}

impl Client {
    fn new(address: String, authenticated: bool, now: Time) -> Self {
        Self {
            db: 0,
            protocol: Protocol::default(),
            authenticated,
            replies: Replies::default(),
            name: Vec::new(),
            address,
            connected: now,
            active: now,
            last: "NULL",
            queue: None,
            watching: Vec::new(),
            outrun: false,
            channels: IndexSet::default(),
            patterns: IndexSet::default(),
            monitors: false,
            stays: false,
            closing: false,
            wait: None,
        }
    }

    pub(crate) fn subscriptions(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }
}

/// All clients, in the order they came.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    all: IndexMap<ClientId, Client, Hashing>,
    last: u64,
}

impl Clients {
    pub(crate) fn add(&mut self, address: String, authenticated: bool, now: Time) -> ClientId {
        self.last += 1;
        let id = ClientId(self.last);
        self.all.insert(id, Client::new(address, authenticated, now));
        id
    }

    pub(crate) fn get(&self, id: ClientId) -> Option<&Client> {
        self.all.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: ClientId) -> Option<&mut Client> {
        self.all.get_mut(&id)
    }

    pub(crate) fn remove(&mut self, id: ClientId) -> Option<Client> {
        self.all.shift_remove(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ClientId, &Client)> {
        self.all.iter().map(|(id, client)| (*id, client))
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// How many there have been.
    pub(crate) fn so_far(&self) -> u64 {
        self.last
    }
}

impl State {
    /// The client is gone, and with it whatever it waited for, watched or listened to. Whether it was there.
    pub(crate) fn forget(&mut self, id: ClientId) -> bool {
        self.unblock(id);
        self.unwatch(id);
        self.stop_listening(id);
        self.stop_monitoring(id);
        self.clients.remove(id).is_some()
    }

    /// The client is as if it had just connected; what CLIENT NO-EVICT said stays.
    pub(crate) fn reset(&mut self, id: ClientId) {
        self.unwatch(id);
        self.stop_listening(id);
        self.stop_monitoring(id);
        let open = self.config.password.is_none();
        let Some(client) = self.clients.get_mut(id) else { return };
        client.db = 0;
        client.protocol = Protocol::default();
        client.authenticated = open;
        client.replies = Replies::On;
        client.name.clear();
        client.queue = None;
    }
}
