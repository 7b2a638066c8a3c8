//! Transactions: what a client has queued between MULTI and EXEC, and the keys that it depends on.
//!
//! A client that watches keys is outrun when one of them has changed since; its EXEC then runs nothing. The end of a key
//! is a change like any other, but only for those who began to watch it before.

use crate::args::is;
use crate::clients::{Client, ClientId, Watched};
use crate::commands::Command;
use crate::db::Name;
use crate::fault::Fault;
use crate::state::State;

/// Commands that wait for EXEC.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) commands: Vec<Queued>,
    /// One of them was refused, so none will run.
    pub(crate) broken: bool,
}

/// One of them, with what it was sent with.
pub(crate) struct Queued {
    pub(crate) command: &'static Command,
    pub(crate) args: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.commands.iter().map(|queued| queued.command.name);
        f.debug_list().entries(names).finish()
    }
}

impl Queue {
    pub(crate) fn push(&mut self, command: &'static Command, args: &[&[u8]]) {
        if !self.broken {
            let args = args.iter().map(|arg| arg.to_vec()).collect();
            self.commands.push(Queued { command, args });
        }
    }

    /// What will not run need not be kept.
    fn break_off(&mut self) {
        self.broken = true;
        self.commands = Vec::new();
    }
}

impl State {
    /// What is said of a command that may not run: it breaks the transaction that it was meant for, and an EXEC that may
    /// not run ends it.
    pub(crate) fn refused(&mut self, client: ClientId, args: &[&[u8]], why: Fault) -> Fault {
        let Some(known) = self.clients.get_mut(client) else { return why };
        if !args.first().is_some_and(|name| is(name, "EXEC")) {
            known.queue.iter_mut().for_each(Queue::break_off);
            return why;
        }
        known.queue = None;
        self.unwatch(client);
        let text = why.bytes().strip_prefix(b"ERR ").unwrap_or(why.bytes());
        Fault::new([b"EXECABORT Transaction discarded because of: ", text].concat())
    }

    /// The client watches this key from now on.
    pub(crate) fn watch(&mut self, client: ClientId, db: usize, key: &[u8]) {
        let was_over = self.is_over(db, key);
        let Some(known) = self.clients.get_mut(client) else { return };
        // For one that is outrun already it makes no difference.
        if known.outrun || known.watched(db, key).is_some() {
            return;
        }
        let key = Name::from(key);
        self.watchers.entry((db, Name::clone(&key))).or_default().push(client);
        known.watching.push(Watched { db, key, was_over });
    }

    /// The client watches nothing any more.
    pub(crate) fn unwatch(&mut self, client: ClientId) {
        let Some(known) = self.clients.get_mut(client) else { return };
        known.outrun = false;
        for Watched { db, key, .. } in std::mem::take(&mut known.watching) {
            let place = (db, key);
            if let Some(watchers) = self.watchers.get_mut(&place) {
                watchers.retain(|watcher| *watcher != client);
                if watchers.is_empty() {
                    self.watchers.remove(&place);
                }
            }
        }
    }

    /// Tells clients that watch it that a key has changed.
    pub(crate) fn outrun_watchers(&mut self, db: usize, key: &[u8]) {
        if self.watchers.is_empty() {
            return;
        }
        let gone = self.dbs.get(db).is_none_or(|db| db.get(key).is_none());
        for client in self.watchers.get(&(db, Name::from(key))).into_iter().flatten() {
            let Some(known) = self.clients.get_mut(*client) else { continue };
            match known.watched(db, key) {
                // It is not only over now but gone, which is no change.
                Some(watched) if watched.was_over && gone => watched.was_over = false,
                _ => known.outrun = true,
            }
        }
    }

    /// Whether a key that the client watches has changed.
    pub(crate) fn is_outrun(&self, client: ClientId) -> bool {
        let Some(known) = self.clients.get(client) else { return false };
        let ended = |watched: &Watched| !watched.was_over && self.is_over(watched.db, &watched.key);
        known.outrun || known.watching.iter().any(ended)
    }

    /// Whether a key is still there though its end has come.
    fn is_over(&self, db: usize, key: &[u8]) -> bool {
        let now = self.now.millis();
        self.dbs.get(db).and_then(|db| db.get(key)).is_some_and(|entry| entry.is_over(now))
    }
}

impl Client {
    fn watched(&mut self, db: usize, key: &[u8]) -> Option<&mut Watched> {
        self.watching.iter_mut().find(|watched| watched.db == db && *watched.key == *key)
    }
}
