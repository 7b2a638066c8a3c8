//! Clients that wait for a key.
//!
//! Who has waited longest at a key is served first. Clients are served when the step that fed the key is over, so a
//! transaction or script is never seen half done.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::clients::{ClientId, Origin, Session};
use crate::context::Context;
use crate::db::{Hashing, Name};
use crate::engine::Delivery;
use crate::reply::Reply;
use crate::state::State;
use crate::time::Time;

/// Tries to answer from a key that was fed; nothing when it still cannot.
pub(crate) type Serve = Box<dyn Fn(&mut Context<'_>, &[u8]) -> Option<Reply> + Send>;

/// What a client waits for.
pub(crate) struct Wait {
    pub(crate) keys: Vec<Name>,
    /// `None` is for ever.
    pub(crate) until: Option<Time>,
    pub(crate) serve: Serve,
    /// What it is answered when nothing comes, and inside transactions and scripts, where nobody waits.
    pub(crate) otherwise: Reply,
}

/// A command that may wait was answered, or waits.
pub(crate) enum Blocking {
    Done(Reply),
    Wait(Wait),
}

impl std::fmt::Debug for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wait").field("keys", &self.keys).field("until", &self.until).finish_non_exhaustive()
    }
}

/// Who waits where.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    queues: HashMap<(usize, Name), VecDeque<ClientId>, Hashing>,
    ends: BTreeSet<(Time, ClientId)>,
    ready: Vec<(usize, Name)>,
    count: usize,
}

impl Waiting {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn next_end(&self) -> Option<Time> {
        self.ends.first().map(|(end, _)| *end)
    }

    /// A key was fed.
    pub(crate) fn feed(&mut self, db: usize, key: &[u8]) {
        if self.queues.is_empty() {
            return;
        }
        let place = (db, Name::from(key));
        if self.queues.contains_key(&place) && !self.ready.contains(&place) {
            self.ready.push(place);
        }
    }
}

impl State {
    /// The client waits from now on.
    pub(crate) fn block(&mut self, client: ClientId, wait: Wait) {
        let Some(known) = self.clients.get_mut(client) else { return };
        for key in &wait.keys {
            let queue = self.waiting.queues.entry((known.db, Name::clone(key))).or_default();
            if !queue.contains(&client) {
                queue.push_back(client);
            }
        }
        if let Some(until) = wait.until {
            self.waiting.ends.insert((until, client));
        }
        self.waiting.count += 1;
        known.wait = Some(wait);
    }

    /// The client waits no longer.
    pub(crate) fn unblock(&mut self, client: ClientId) -> Option<Wait> {
        let known = self.clients.get_mut(client)?;
        let wait = known.wait.take()?;
        self.waiting.count -= 1;
        for key in &wait.keys {
            let place = (known.db, Name::clone(key));
            if let Some(queue) = self.waiting.queues.get_mut(&place) {
                queue.retain(|waiting| *waiting != client);
                if queue.is_empty() {
                    self.waiting.queues.remove(&place);
                }
            }
        }
        if let Some(until) = wait.until {
            self.waiting.ends.remove(&(until, client));
        }
        Some(wait)
    }

    /// Serves whoever waits at keys that were fed, and at those that serving feeds.
    pub(crate) fn serve_waiting(&mut self) {
        while !self.waiting.ready.is_empty() {
            for (db, key) in std::mem::take(&mut self.waiting.ready) {
                let place = (db, key);
                let queue: Vec<ClientId> = self
                    .waiting
                    .queues
                    .get(&place)
                    .map(|queue| queue.iter().copied().collect())
                    .unwrap_or_default();
                for client in queue {
                    if self.dbs.get(db).is_none_or(|db| db.get(&place.1).is_none()) {
                        break;
                    }
                    self.serve(client, db, &place.1);
                }
            }
        }
    }

    fn serve(&mut self, client: ClientId, db: usize, key: &[u8]) {
        let Some(known) = self.clients.get_mut(client) else { return };
        let protocol = known.protocol;
        // Taken out while it runs: what it does may look at this client.
        let Some(wait) = known.wait.take() else { return };
        let session = Session { client, db, protocol, origin: Origin::Client };
        let mut context = Context::new(self, session);
        let reply = (wait.serve)(&mut context, key);
        if let Some(known) = self.clients.get_mut(client) {
            known.wait = Some(wait);
        }
        if let Some(reply) = reply {
            self.unblock(client);
            self.deliver(Delivery::message(client, reply));
        }
    }

    /// Those whose time is up.
    pub(crate) fn end_waits(&mut self) {
        while let Some((end, client)) = self.waiting.ends.first().copied() {
            if end > self.now {
                break;
            }
            self.waiting.ends.pop_first();
            if let Some(wait) = self.unblock(client) {
                self.deliver(Delivery::message(client, wait.otherwise));
            }
        }
    }
}
