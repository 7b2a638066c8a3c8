//! Redis types as markers, and the commands each of them has.
//!
//! One `impl Key<…>` per type: the compiler refuses a command of another type and names the type that has it.

use crate::{Command, Key, Policy};

/// A Redis type.
pub trait Kind: sealed::Sealed + 'static {
    /// The word that TYPE answers.
    const NAME: &'static str;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind {}
        impl sealed::Sealed for $kind {}
        impl Kind for $kind {
            const NAME: &'static str = $name;
        }
    )*};
}

kinds! {
    /// A string.
    Str = "string";
    /// A hash.
    Hash = "hash";
    /// A list.
    List = "list";
    /// A set.
    Set = "set";
    /// A sorted set.
    Zset = "zset";
    /// A stream.
    Stream = "stream";
}

impl<T: Kind> Key<T> {
    fn command(&self, name: &'static str) -> Command {
        Command::new(name, self.info()).arg(self.as_str())
    }

    /// `DEL`.
    pub fn del(&self) -> Command {
        self.command("DEL")
    }

    /// `EXISTS`.
    pub fn exists(&self) -> Command {
        self.command("EXISTS")
    }

    /// `PTTL`.
    pub fn pttl(&self) -> Command {
        self.command("PTTL")
    }

    /// The command that a write must be followed by, so that the key lives as the contract says: `PEXPIRE`, with `NX` where
    /// only the first write counts. `None` where a write sets no expiry: without TTL, linked to another key, or after an
    /// event; those are set where the parent or the event is known.
    #[must_use]
    pub fn expire(&self) -> Option<Command> {
        let (lasts, once) = match (self.ttl().policy, self.ttl().lasts) {
            (Policy::Sliding | Policy::Refreshed | Policy::Max, Some(lasts)) => (lasts, false),
            (Policy::Fixed, Some(lasts)) => (lasts, true),
            (Policy::Pruned { key: Some(lasts) }, _) => (lasts, false),
            _ => return None,
        };
        let command = self.command("PEXPIRE").arg(lasts.as_millis().to_string());
        Some(if once { command.arg("NX") } else { command })
    }
}

impl Key<Str> {
    /// `GET`.
    pub fn get(&self) -> Command {
        self.command("GET")
    }

    /// `SET`.
    pub fn set(&self, value: impl AsRef<[u8]>) -> Command {
        self.command("SET").arg(value)
    }

    /// `INCRBY`.
    pub fn incrby(&self, by: i64) -> Command {
        self.command("INCRBY").arg(by.to_string())
    }
}

impl Key<Hash> {
    /// `HGET`.
    pub fn hget(&self, field: impl AsRef<[u8]>) -> Command {
        self.command("HGET").arg(field)
    }

    /// `HMGET`.
    pub fn hmget<F: AsRef<[u8]>>(&self, fields: impl IntoIterator<Item = F>) -> Command {
        fields.into_iter().fold(self.command("HMGET"), Command::arg)
    }

    /// `HGETALL`.
    pub fn hgetall(&self) -> Command {
        self.command("HGETALL")
    }

    /// `HSET` of several fields.
    pub fn hset<F: AsRef<[u8]>, V: AsRef<[u8]>>(&self, fields: impl IntoIterator<Item = (F, V)>) -> Command {
        fields.into_iter().fold(self.command("HSET"), |command, (field, value)| command.arg(field).arg(value))
    }

    /// `HDEL`.
    pub fn hdel(&self, field: impl AsRef<[u8]>) -> Command {
        self.command("HDEL").arg(field)
    }

    /// `HINCRBY`.
    pub fn hincrby(&self, field: impl AsRef<[u8]>, by: i64) -> Command {
        self.command("HINCRBY").arg(field).arg(by.to_string())
    }

    /// `HLEN`.
    pub fn hlen(&self) -> Command {
        self.command("HLEN")
    }
}

impl Key<List> {
    /// `LPUSH`.
    pub fn lpush(&self, item: impl AsRef<[u8]>) -> Command {
        self.command("LPUSH").arg(item)
    }

    /// `RPUSH`.
    pub fn rpush(&self, item: impl AsRef<[u8]>) -> Command {
        self.command("RPUSH").arg(item)
    }

    /// `LPOP`.
    pub fn lpop(&self) -> Command {
        self.command("LPOP")
    }

    /// `RPOP`.
    pub fn rpop(&self) -> Command {
        self.command("RPOP")
    }

    /// `LLEN`.
    pub fn llen(&self) -> Command {
        self.command("LLEN")
    }

    /// `LRANGE`.
    pub fn lrange(&self, start: i64, stop: i64) -> Command {
        self.command("LRANGE").arg(start.to_string()).arg(stop.to_string())
    }
}

impl Key<Set> {
    /// `SADD`.
    pub fn sadd(&self, member: impl AsRef<[u8]>) -> Command {
        self.command("SADD").arg(member)
    }

    /// `SREM`.
    pub fn srem(&self, member: impl AsRef<[u8]>) -> Command {
        self.command("SREM").arg(member)
    }

    /// `SISMEMBER`.
    pub fn sismember(&self, member: impl AsRef<[u8]>) -> Command {
        self.command("SISMEMBER").arg(member)
    }

    /// `SMEMBERS`.
    pub fn smembers(&self) -> Command {
        self.command("SMEMBERS")
    }

    /// `SCARD`.
    pub fn scard(&self) -> Command {
        self.command("SCARD")
    }
}

impl Key<Zset> {
    /// `ZADD`.
    pub fn zadd(&self, score: f64, member: impl AsRef<[u8]>) -> Command {
        self.command("ZADD").arg(score.to_string()).arg(member)
    }

    /// `ZREM`.
    pub fn zrem(&self, member: impl AsRef<[u8]>) -> Command {
        self.command("ZREM").arg(member)
    }

    /// `ZSCORE`.
    pub fn zscore(&self, member: impl AsRef<[u8]>) -> Command {
        self.command("ZSCORE").arg(member)
    }

    /// `ZCARD`.
    pub fn zcard(&self) -> Command {
        self.command("ZCARD")
    }

    /// `ZRANGE` by rank.
    pub fn zrange(&self, start: i64, stop: i64) -> Command {
        self.command("ZRANGE").arg(start.to_string()).arg(stop.to_string())
    }
}

impl Key<Stream> {
    /// `XADD` with an id of the server's.
    pub fn xadd<F: AsRef<[u8]>, V: AsRef<[u8]>>(&self, fields: impl IntoIterator<Item = (F, V)>) -> Command {
        fields
            .into_iter()
            .fold(self.command("XADD").arg("*"), |command, (field, value)| command.arg(field).arg(value))
    }

    /// `XLEN`.
    pub fn xlen(&self) -> Command {
        self.command("XLEN")
    }

    /// `XRANGE`.
    pub fn xrange(&self, start: &str, end: &str) -> Command {
        self.command("XRANGE").arg(start).arg(end)
    }
}
