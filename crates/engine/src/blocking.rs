//! Clients that wait for a key.
//!
//! Who has waited longest at a key is served first. Clients are served when the step that fed the key is over, so a
//! transaction or script is never seen half done; what serving them feeds is served in the same step. To feed a key costs
//! nothing for clients that wait elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use indexmap::IndexSet;

use crate::clients::{ClientId, Origin, Session};
use crate::context::Context;
use crate::db::{Hashing, Name};
use crate::engine::Delivery;
use crate::fault::Fault;
use crate::number;
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

/// Until when a client waits that is ready to wait so many seconds; zero is for ever.
pub(crate) fn until(now: Time, seconds: &[u8]) -> Result<Option<Time>, Fault> {
    /// From there on a number of milliseconds is none that Redis can hold, and it takes it for a negative one.
    const TOO_LONG: f64 = 9_223_372_036_854_775_808.0;
    const NEGATIVE: Fault = Fault::of("ERR timeout is negative");
    let seconds =
        number::parse_float(seconds).ok_or(Fault::of("ERR timeout is not a float or out of range"))?;
    let exact = seconds * 1000.0;
    let whole = exact.round();
    // Up, but not because of what a decimal fraction loses when it becomes a binary one.
    let millis = if (exact - whole).abs() <= whole.abs() * f64::EPSILON { whole } else { exact.ceil() };
    if !(0.0..TOO_LONG).contains(&millis) {
        return Err(NEGATIVE);
    }
    let end = now.millis().saturating_add(millis as u64);
    Ok((millis > 0.0).then_some(Time::from_millis(end)))
}

/// Tells who came first.
type Ticket = u64;

/// Those who wait at one key, longest first.
type Queue = BTreeMap<Ticket, ClientId>;

/// Who waits where.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// By number of the database. No queue is empty.
    queues: Vec<HashMap<Name, Queue, Hashing>>,
    /// What each waiting client holds, at all of its keys.
    tickets: HashMap<ClientId, Ticket, Hashing>,
    last_ticket: Ticket,
    /// In milliseconds since 1970.
    ends: BTreeSet<(u64, ClientId)>,
    /// Keys that were fed, in this order.
    ready: IndexSet<(usize, Name), Hashing>,
}

impl Waiting {
    pub(crate) fn count(&self) -> usize {
        self.tickets.len()
    }

    /// When the first wait is over: it lasts through its last millisecond.
    pub(crate) fn next_end(&self) -> Option<Time> {
        self.ends.first().map(|(end, _)| Time::from_millis(end.saturating_add(1)))
    }

    /// A key was fed.
    pub(crate) fn feed(&mut self, db: usize, key: &[u8]) {
        if let Some((name, _)) = self.queues.get(db).and_then(|queues| queues.get_key_value(key)) {
            self.ready.insert((db, Name::clone(name)));
        }
    }

    /// The first to wait at a key, or the next after someone.
    fn next(&self, db: usize, key: &[u8], after: Option<Ticket>) -> Option<(Ticket, ClientId)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = self.queues.get(db)?.get(key)?.range((from, Bound::Unbounded));
        rest.next().map(|(ticket, client)| (*ticket, *client))
    }

    fn enter(&mut self, client: ClientId, db: usize, wait: &Wait) {
        self.last_ticket += 1;
        self.tickets.insert(client, self.last_ticket);
        if self.queues.len() <= db {
            self.queues.resize_with(db + 1, HashMap::default);
        }
        for key in &wait.keys {
            self.queues[db].entry(Name::clone(key)).or_default().insert(self.last_ticket, client);
        }
        self.ends.extend(wait.until.map(|until| (until.millis(), client)));
    }

    fn leave(&mut self, client: ClientId, db: usize, wait: &Wait) {
        let (Some(ticket), Some(queues)) = (self.tickets.remove(&client), self.queues.get_mut(db)) else {
            return;
        };
        for key in &wait.keys {
            if let Some(queue) = queues.get_mut(key) {
                queue.remove(&ticket);
                if queue.is_empty() {
                    queues.remove(key);
                }
            }
        }
        if let Some(until) = wait.until {
            self.ends.remove(&(until.millis(), client));
        }
    }
}

impl State {
    /// The client waits from now on.
    pub(crate) fn block(&mut self, client: ClientId, wait: Wait) {
        self.unblock(client);
        let Some(known) = self.clients.get_mut(client) else { return };
        self.waiting.enter(client, known.db, &wait);
        known.wait = Some(wait);
    }

    /// The client waits no longer.
    pub(crate) fn unblock(&mut self, client: ClientId) -> Option<Wait> {
        let known = self.clients.get_mut(client)?;
        let wait = known.wait.take()?;
        self.waiting.leave(client, known.db, &wait);
        Some(wait)
    }

    /// Serves whoever waits at keys that were fed, and at those that serving feeds.
    pub(crate) fn serve_waiting(&mut self) {
        while !self.waiting.ready.is_empty() {
            for (db, key) in std::mem::take(&mut self.waiting.ready) {
                self.serve_at(db, &key);
            }
        }
    }

    /// Serves those who wait at a key, as long as there is one.
    fn serve_at(&mut self, db: usize, key: &[u8]) {
        self.expire_if_over(db, key);
        let mut served = None;
        while self.dbs.get(db).is_some_and(|db| db.get(key).is_some())
            && let Some((ticket, client)) = self.waiting.next(db, key, served)
        {
            self.serve(client, db, key);
            served = Some(ticket);
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
        let now = self.now.millis();
        while let Some((end, client)) = self.waiting.ends.first().copied()
            && end < now
        {
            self.waiting.ends.pop_first();
            if let Some(wait) = self.unblock(client) {
                self.deliver(Delivery::message(client, wait.otherwise));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Answer, Engine, Settings};

    #[test]
    fn a_wait_is_never_shorter_than_asked_for() {
        let wait = |seconds: &str| {
            let until = until(Time::from_millis(5), seconds.as_bytes());
            until.map(|until| until.map(|until| until.millis() - 5)).map_err(|fault| fault.to_string())
        };
        for (seconds, millis) in [
            ("1", 1000),
            ("0.001", 1),
            ("0.0011", 2),
            ("1e-10", 1),
            ("0.253", 253),
            ("2.007", 2007),
            (".5", 500),
        ] {
            assert_eq!(wait(seconds), Ok(Some(millis)), "{seconds}");
        }
        for for_ever in ["0", "0.0", "-0", "-0.0001"] {
            assert_eq!(wait(for_ever), Ok(None), "{for_ever}");
        }
        for negative in ["-1", "-inf", "inf", "1e18"] {
            assert_eq!(wait(negative), Err("ERR timeout is negative".to_owned()), "{negative}");
        }
        for none in ["", "x", "nan", " 1", "1 "] {
            assert_eq!(wait(none), Err("ERR timeout is not a float or out of range".to_owned()), "{none}");
        }
    }

    #[test]
    fn nothing_is_left_of_clients_that_waited() {
        let now = Time::from_millis(1);
        let mut engine = Engine::new(Settings::default(), now);
        let clients: Vec<_> = (0..3).map(|_| engine.connect(now, String::new())).collect();
        for client in &clients {
            let outcome = engine.execute(now, *client, &[b"BLPOP", b"a", b"b", b"a", b"0.5"]);
            assert_eq!(outcome.answer, Answer::Blocked);
        }
        assert_eq!(engine.state.waiting.count(), 3);
        engine.disconnect(clients[0]);
        let other = engine.connect(now, String::new());
        let served = engine.execute(now, other, &[b"RPUSH", b"b", b"x"]).deliveries;
        assert!(matches!(served[..], [Delivery::Message { to, .. }] if to == clients[1]), "{served:?}");
        assert_eq!(engine.next_deadline(), Some(Time::from_millis(502)));
        assert_eq!(engine.tick(Time::from_millis(501)), []);
        assert_eq!(engine.tick(Time::from_millis(502)), [Delivery::message(clients[2], Reply::NilArray)]);
        let Waiting { queues, tickets, ends, ready, .. } = &engine.state.waiting;
        assert!(
            queues.iter().all(HashMap::is_empty) && tickets.is_empty() && ends.is_empty() && ready.is_empty()
        );
    }

    #[test]
    fn what_a_client_was_served_is_logged_after_what_fed_it() {
        let now = Time::from_millis(1);
        let mut engine = Engine::new(Settings { keeps_effects: true, ..Settings::default() }, now);
        let clients: Vec<_> = (0..3).map(|_| engine.connect(now, String::new())).collect();
        engine.execute(now, clients[0], &[b"BLMOVE", b"a", b"b", b"left", b"Right", b"0"]);
        engine.execute(now, clients[1], &[b"BLMPOP", b"0", b"1", b"b", b"LEFT", b"COUNT", b"7"]);
        engine.execute(now, clients[2], &[b"RPUSH", b"a", b"x"]);
        let log = engine.take_effects();
        let words: Vec<_> = log
            .bytes()
            .split(|byte| *byte == b'\n')
            .map(|line| String::from_utf8_lossy(line).trim_end().to_owned())
            .filter(|line| !line.starts_with(['*', '$']))
            .collect();
        assert_eq!(words.join(" "), "MULTI SELECT 0 RPUSH a x LMOVE a b LEFT RIGHT LPOP b 1 EXEC ");
    }
}
