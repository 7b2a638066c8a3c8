//! Ends of keys, as commands are told them.

use crate::context::Context;
use crate::fault::Fault;
use crate::notify::Class;
use crate::number;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Millis,
}

/// How a moment is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    FromNow,
    /// Since 1970.
    At,
}

impl Unit {
    /// The moment in milliseconds since 1970, which may be in the past.
    pub(crate) fn end(self, written: Written, amount: i64, now: u64, command: &str) -> Result<i64, Fault> {
        let invalid = || Fault::new(format!("ERR invalid expire time in '{command}' command"));
        let millis = match self {
            Self::Seconds => amount.checked_mul(1000).ok_or_else(invalid)?,
            Self::Millis => amount,
        };
        match written {
            Written::At => Ok(millis),
            Written::FromNow => millis.checked_add(now as i64).ok_or_else(invalid),
        }
    }

    /// The same where zero and less are no answer.
    pub(crate) fn positive_end(
        self,
        written: Written,
        amount: i64,
        now: u64,
        command: &str,
    ) -> Result<u64, Fault> {
        let end = if amount > 0 { self.end(written, amount, now, command)? } else { 0 };
        u64::try_from(end)
            .ok()
            .filter(|end| *end > 0)
            .ok_or_else(|| Fault::new(format!("ERR invalid expire time in '{command}' command")))
    }
}

impl Context<'_> {
    /// The key ends then; nothing is said of it.
    pub(crate) fn expire_at(&mut self, key: &[u8], at: u64) {
        self.db().expire_at(key, at);
    }

    /// The key ends then, which may be at once. Says and logs so.
    pub(crate) fn end_at(&mut self, key: &[u8], at: i64) {
        match u64::try_from(at).ok().filter(|at| *at > self.now()) {
            Some(at) => {
                self.expire_at(key, at);
                self.changed(Class::Generic, "expire", key);
                self.log(&[b"PEXPIREAT", key, &number::int_bytes(at as i64)]);
            }
            None => {
                self.remove(key);
                self.changed(Class::Generic, "del", key);
                self.log(&[b"DEL", key]);
            }
        }
    }

    /// The key has no end any more. Whether it had one; says so.
    pub(crate) fn persist(&mut self, key: &[u8]) -> bool {
        if self.find_mut(key).is_none() || !self.db().persist(key) {
            return false;
        }
        self.changed(Class::Generic, "persist", key);
        true
    }
}
