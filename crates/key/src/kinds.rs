//! Redis types as markers, and the commands each of them has.
//!
//! One `impl Key<…>` per type: the compiler refuses a command of another type and names the type that has it.

use crate::{Command, Key};

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
    #[must_use]
    pub fn del(&self) -> Command {
        self.command("DEL")
    }

    /// `EXISTS`.
    #[must_use]
    pub fn exists(&self) -> Command {
        self.command("EXISTS")
    }

    /// `PTTL`.
    #[must_use]
    pub fn pttl(&self) -> Command {
        self.command("PTTL")
    }

    /// `PEXPIRE` with the duration of the contract; `None` when the contract names none.
    #[must_use]
    pub fn expire(&self) -> Option<Command> {
        self.ttl().lasts.map(|lasts| self.command("PEXPIRE").arg(lasts.as_millis().to_string()))
    }
}

impl Key<Str> {
    /// `GET`.
    #[must_use]
    pub fn get(&self) -> Command {
        self.command("GET")
    }

    /// `SET`.
    #[must_use]
    pub fn set(&self, value: impl AsRef<[u8]>) -> Command {
        self.command("SET").arg(value)
    }

    /// `INCRBY`.
    #[must_use]
    pub fn incrby(&self, by: i64) -> Command {
        self.command("INCRBY").arg(by.to_string())
    }
}

impl Key<Hash> {
    /// `HGET`.
    #[must_use]
    pub fn hget(&self, field: impl AsRef<[u8]>) -> Command {
        self.command("HGET").arg(field)
    }

    /// `HMGET`.
    #[must_use]
    pub fn hmget<F: AsRef<[u8]>>(&self, fields: impl IntoIterator<Item = F>) -> Command {
        fields.into_iter().fold(self.command("HMGET"), Command::arg)
    }

    /// `HGETALL`.
    #[must_use]
    pub fn hgetall(&self) -> Command {
        self.command("HGETALL")
    }

    /// `HSET` of several fields.
    #[must_use]
    pub fn hset<F: AsRef<[u8]>, V: AsRef<[u8]>>(&self, fields: impl IntoIterator<Item = (F, V)>) -> Command {
        fields.into_iter().fold(self.command("HSET"), |command, (field, value)| command.arg(field).arg(value))
    }

    /// `HDEL`.
    #[must_use]
    pub fn hdel(&self, field: impl AsRef<[u8]>) -> Command {
        self.command("HDEL").arg(field)
    }

    /// `HINCRBY`.
    #[must_use]
    pub fn hincrby(&self, field: impl AsRef<[u8]>, by: i64) -> Command {
        self.command("HINCRBY").arg(field).arg(by.to_string())
    }

    /// `HLEN`.
    #[must_use]
    pub fn hlen(&self) -> Command {
        self.command("HLEN")
    }
}

impl Key<List> {
    /// `LPUSH`.
    #[must_use]
    pub fn lpush(&self, item: impl AsRef<[u8]>) -> Command {
        self.command("LPUSH").arg(item)
    }

    /// `RPUSH`.
    #[must_use]
    pub fn rpush(&self, item: impl AsRef<[u8]>) -> Command {
        self.command("RPUSH").arg(item)
    }

    /// `LPOP`.
    #[must_use]
    pub fn lpop(&self) -> Command {
        self.command("LPOP")
    }

    /// `RPOP`.
    #[must_use]
    pub fn rpop(&self) -> Command {
        self.command("RPOP")
    }

    /// `LLEN`.
    #[must_use]
    pub fn llen(&self) -> Command {
        self.command("LLEN")
    }

    /// `LRANGE`.
    #[must_use]
    pub fn lrange(&self, start: i64, stop: i64) -> Command {
        self.command("LRANGE").arg(start.to_string()).arg(stop.to_string())
    }
}

impl Key<Set> {
    /// `SADD`.
    #[must_use]
    pub fn sadd(&self, member: impl AsRef<[u8]>) -> Command {
        self.command("SADD").arg(member)
    }

    /// `SREM`.
    #[must_use]
    pub fn srem(&self, member: impl AsRef<[u8]>) -> Command {
        self.command("SREM").arg(member)
    }

    /// `SISMEMBER`.
    #[must_use]
    pub fn sismember(&self, member: impl AsRef<[u8]>) -> Command {
        self.command("SISMEMBER").arg(member)
    }

    /// `SMEMBERS`.
    #[must_use]
    pub fn smembers(&self) -> Command {
        self.command("SMEMBERS")
    }

    /// `SCARD`.
    #[must_use]
    pub fn scard(&self) -> Command {
        self.command("SCARD")
    }
}

impl Key<Zset> {
    /// `ZADD`.
    #[must_use]
    pub fn zadd(&self, score: f64, member: impl AsRef<[u8]>) -> Command {
        self.command("ZADD").arg(score.to_string()).arg(member)
    }

    /// `ZREM`.
    #[must_use]
    pub fn zrem(&self, member: impl AsRef<[u8]>) -> Command {
        self.command("ZREM").arg(member)
    }

    /// `ZSCORE`.
    #[must_use]
    pub fn zscore(&self, member: impl AsRef<[u8]>) -> Command {
        self.command("ZSCORE").arg(member)
    }

    /// `ZCARD`.
    #[must_use]
    pub fn zcard(&self) -> Command {
        self.command("ZCARD")
    }

    /// `ZRANGE` by rank.
    #[must_use]
    pub fn zrange(&self, start: i64, stop: i64) -> Command {
        self.command("ZRANGE").arg(start.to_string()).arg(stop.to_string())
    }
}

impl Key<Stream> {
    /// `XADD` with an id of the server's.
    #[must_use]
    pub fn xadd<F: AsRef<[u8]>, V: AsRef<[u8]>>(&self, fields: impl IntoIterator<Item = (F, V)>) -> Command {
        fields.into_iter().fold(self.command("XADD").arg("*"), |command, (field, value)| command.arg(field).arg(value))
    }

    /// `XLEN`.
    #[must_use]
    pub fn xlen(&self) -> Command {
        self.command("XLEN")
    }

    /// `XRANGE`.
    #[must_use]
    pub fn xrange(&self, start: &str, end: &str) -> Command {
        self.command("XRANGE").arg(start).arg(end)
    }
}
