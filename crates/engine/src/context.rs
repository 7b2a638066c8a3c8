//! What a command works with: the keys of its database, and the ways to say what it did.
//!
//! A command that changes a key says so with [`Context::changed`]: watchers, notifications and the log follow from that.
//! What it was sent is logged as it is, unless it logs something else ([`Context::log`]) because the words depend on the
//! moment or on chance.

use crate::clients::{Client, Session};
use crate::db::{Db, Entry};
use crate::fault::{Fault, WRONG_TYPE};
use crate::notify::Class;
use crate::reply::Protocol;
use crate::state::State;
use crate::value::{Kind, Value};

pub(crate) struct Context<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) session: Session,
    changed: bool,
    logged: bool,
}

impl<'a> Context<'a> {
    pub(crate) fn new(state: &'a mut State, session: Session) -> Self {
        Self { state, session, changed: false, logged: false }
    }

    pub(crate) fn now(&self) -> u64 {
        self.state.now.millis()
    }

    pub(crate) fn is_resp3(&self) -> bool {
        self.session.protocol == Protocol::Three
    }

    pub(crate) fn db(&mut self) -> &mut Db {
        &mut self.state.dbs[self.session.db]
    }

    /// Who sent the command; a script's is the caller.
    pub(crate) fn client(&mut self) -> Option<&mut Client> {
        self.state.clients.get_mut(self.session.client)
    }

    /// Whatever the key holds, for reading.
    pub(crate) fn find(&mut self, key: &[u8]) -> Option<&Entry> {
        let Some(number) = self.number(key) else {
            self.state.stats.misses += 1;
            self.notify(Class::Missed, "keymiss", key);
            return None;
        };
        self.state.stats.hits += 1;
        let seen = self.state.now.seconds() as u32;
        let entry = self.db().at_mut(number)?;
        entry.seen = seen;
        Some(entry)
    }

    /// Whatever the key holds.
    pub(crate) fn find_mut(&mut self, key: &[u8]) -> Option<&mut Entry> {
        let number = self.number(key)?;
        let seen = self.state.now.seconds() as u32;
        let entry = self.db().at_mut(number)?;
        entry.seen = seen;
        Some(entry)
    }

    /// Where the key is, unless its end has come.
    fn number(&mut self, key: &[u8]) -> Option<usize> {
        let now = self.state.now.millis();
        let db = &self.state.dbs[self.session.db];
        let number = db.number(key)?;
        if db.at(number)?.1.is_over(now) {
            self.state.expire_if_over(self.session.db, key);
            return None;
        }
        Some(number)
    }

    /// Of this type, for reading.
    pub(crate) fn get<K: Kind>(&mut self, key: &[u8]) -> Result<Option<&K>, Fault> {
        match self.find(key) {
            Some(entry) => K::of(&entry.value).map(Some).ok_or(WRONG_TYPE),
            None => Ok(None),
        }
    }

    /// Of this type, for changing.
    pub(crate) fn get_mut<K: Kind>(&mut self, key: &[u8]) -> Result<Option<&mut K>, Fault> {
        match self.find_mut(key) {
            Some(entry) => K::of_mut(&mut entry.value).map(Some).ok_or(WRONG_TYPE),
            None => Ok(None),
        }
    }

    /// Of this type, made when it is not there. Whoever calls this puts something in.
    pub(crate) fn get_or_create<K: Kind>(&mut self, key: &[u8]) -> Result<&mut K, Fault> {
        if self.find_mut(key).is_none() {
            self.put(key, K::default().into_value());
        }
        self.get_mut(key)?.ok_or(WRONG_TYPE)
    }

    /// In place of whatever is there, without an end.
    pub(crate) fn put(&mut self, key: &[u8], value: Value) {
        self.put_with(key, value, false);
    }

    /// In place of whatever is there, with its end.
    pub(crate) fn replace(&mut self, key: &[u8], value: Value) {
        self.put_with(key, value, true);
    }

    fn put_with(&mut self, key: &[u8], value: Value, keep_end: bool) {
        let there = self.number(key);
        let seen = self.state.now.seconds() as u32;
        let can_be_waited_for = matches!(value, Value::List(_) | Value::Zset(_) | Value::Stream(_));
        self.db().put(key, there, value, keep_end, seen);
        if there.is_none() {
            if can_be_waited_for {
                self.feed(key);
            }
            self.state.notify(Class::New, "new", self.session.db, key);
        }
    }

    /// Whether it was there.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<Entry> {
        self.find_mut(key)?;
        self.db().remove(key)
    }

    /// A container that its last element has left is removed.
    pub(crate) fn remove_if_empty(&mut self, key: &[u8]) {
        if self.db().get(key).is_some_and(|entry| entry.value.is_empty()) {
            self.db().remove(key);
            self.notify(Class::Generic, "del", key);
        }
    }

    /// The key has changed; this is what happened.
    pub(crate) fn changed(&mut self, class: Class, event: &str, key: &[u8]) {
        self.touched(key);
        self.notify(class, event, key);
    }

    /// The key has changed, and nobody is notified of that.
    pub(crate) fn touched(&mut self, key: &[u8]) {
        self.changed = true;
        self.state.outrun_watchers(self.session.db, key);
    }

    pub(crate) fn notify(&mut self, class: Class, event: &str, key: &[u8]) {
        self.state.notify(class, event, self.session.db, key);
    }

    /// There is something to be had at this key.
    pub(crate) fn feed(&mut self, key: &[u8]) {
        let db = self.session.db;
        self.state.waiting.feed(db, key);
    }

    /// An effect, in place of the command as it was sent.
    pub(crate) fn log(&mut self, effect: &[&[u8]]) {
        self.logged = true;
        self.state.effects.push(self.session.db, effect);
    }

    /// The command as it was sent is no effect.
    pub(crate) fn log_nothing(&mut self) {
        self.logged = true;
    }

    /// The command is over.
    pub(crate) fn log_as_sent(&mut self, args: &[&[u8]]) {
        if self.changed && !self.logged {
            self.state.effects.push(self.session.db, args);
        }
    }
}
