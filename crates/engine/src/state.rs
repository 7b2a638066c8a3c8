//! Everything that a command can see and change.

use crate::blocking::Waiting;
use crate::clients::{ClientId, Clients};
use crate::commands::pubsub::Channels;
use crate::config::Config;
use crate::db::{Db, Hashing, Name};
use crate::effects::Effects;
use crate::engine::Delivery;
use crate::fault::Fault;
use crate::notify::Class;
use crate::reply::Reply;
use crate::stats::Stats;
use crate::time::Time;
use std::collections::HashMap;

/// How many databases there are.
pub(crate) const DATABASES: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct State {
    /// Stands still during a step.
    pub(crate) now: Time,
    pub(crate) dbs: Vec<Db>,
    pub(crate) random: Random,
    pub(crate) clients: Clients,
    pub(crate) waiting: Waiting,
    pub(crate) watchers: HashMap<(usize, Name), Vec<ClientId>, Hashing>,
    pub(crate) channels: Channels,
    pub(crate) config: Config,
    pub(crate) stats: Stats,
    pub(crate) effects: Effects,
    pub(crate) deliveries: Vec<Delivery>,
    /// Why nothing may be changed.
    pub(crate) refusal: Option<Fault>,
    /// The clients that monitor.
    pub(crate) monitors: Vec<ClientId>,
}

/// Randomness that was handed in.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) fastrand::Rng);

impl Default for Random {
    fn default() -> Self {
        Self(fastrand::Rng::with_seed(0))
    }
}

impl Random {
    /// A place in something of that length.
    pub(crate) fn below(&mut self, length: usize) -> usize {
        if length == 0 { 0 } else { self.0.usize(..length) }
    }
}

impl State {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            dbs: (0..DATABASES).map(|_| Db::default()).collect(),
            random: Random(fastrand::Rng::with_seed(seed)),
            ..Self::default()
        }
    }

    /// Hands something out. A client that wants no answers learns of one only that it is there.
    pub(crate) fn deliver(&mut self, mut delivery: Delivery) {
        if let Delivery::Message { to, message } = &mut delivery
            && !matches!(message, Reply::Push(_))
            && self.clients.get(*to).is_some_and(|client| client.replies.are_off())
        {
            *message = Reply::Several(Vec::new());
        }
        self.deliveries.push(delivery);
    }

    pub(crate) fn notify(&mut self, class: Class, event: &str, db: usize, key: &[u8]) {
        if self.config.notify == crate::notify::Wanted::default() {
            return;
        }
        for (channel, message) in self.config.notify.messages(class, event, db, key) {
            self.publish(&channel, &message);
        }
    }

    /// Removes a key whose end has come. Whether it had.
    pub(crate) fn expire_if_over(&mut self, db: usize, key: &[u8]) -> bool {
        let now = self.now.millis();
        let Some(found) = self.dbs.get_mut(db) else { return false };
        if !found.get(key).is_some_and(|entry| entry.is_over(now)) {
            return false;
        }
        found.remove(key);
        self.stats.expired += 1;
        self.effects.push(db, &[b"DEL", key]);
        self.outrun_watchers(db, key);
        self.notify(Class::Expired, "expired", db, key);
        true
    }

    /// Removes keys whose end has come, at most so many.
    pub(crate) fn expire_due(&mut self, most: usize) {
        let mut left = most;
        for db in 0..self.dbs.len() {
            while let Some(key) = self.dbs[db].over(self.now.millis(), &mut left) {
                self.expire_if_over(db, &key);
                self.effects.end_step();
            }
        }
    }

    /// When the next key or wait ends, or may.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        // A key lives through its last millisecond.
        let keys =
            self.dbs.iter().filter_map(Db::first_end).map(|at| Time::from_millis(at.saturating_add(1)));
        keys.chain(self.waiting.next_end()).min()
    }

    /// Sends a message to whoever listens; to how many.
    pub(crate) fn publish(&mut self, channel: &[u8], message: &[u8]) -> usize {
        let mut listeners = 0;
        for client in self.channels.of(channel) {
            listeners += 1;
            let parts = [b"message", channel, message].map(Reply::bulk);
            self.deliveries.push(Delivery::message(client, Reply::Push(parts.into())));
        }
        for (pattern, client) in self.channels.matching(channel) {
            listeners += 1;
            let parts = [b"pmessage", pattern, channel, message].map(Reply::bulk);
            self.deliveries.push(Delivery::message(client, Reply::Push(parts.into())));
        }
        listeners
    }
}
