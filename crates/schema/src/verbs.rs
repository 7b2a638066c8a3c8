//! What an operation does to a key, and the Redis commands that follow from it.
//!
//! Access is derived from the verb, never from the words "read" and "write": consuming a list is a write.

use std::fmt;

/// The type of a Redis value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum RedisType {
    String,
    Hash,
    List,
    Set,
    Zset,
    Stream,
}

impl RedisType {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::String, Self::Hash, Self::List, Self::Set, Self::Zset, Self::Stream];

    /// The word of the contract and of the TYPE command.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Hash => "hash",
            Self::List => "list",
            Self::Set => "set",
            Self::Zset => "zset",
            Self::Stream => "stream",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Commands that count what is in a key, or tell whether something is. Redis does not take them for reading, so a
    /// writer who may not read can stay within a limit.
    fn sizes(self) -> &'static [&'static str] {
        match self {
            Self::Hash => &["hlen", "hexists"],
            Self::List => &["llen"],
            Self::Set => &["scard", "sismember"],
            Self::Zset => &["zcard"],
            // A stream drops its oldest entries by itself.
            Self::String | Self::Stream => &[],
        }
    }
}

impl fmt::Display for RedisType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What an operation does to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Verb {
    Peek,
    Put,
    Update,
    Count,
    Add,
    Produce,
    Consume,
    Append,
    Remove,
    Prune,
    Hold,
    Swap,
}

impl Verb {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Peek,
        Self::Put,
        Self::Update,
        Self::Count,
        Self::Add,
        Self::Produce,
        Self::Consume,
        Self::Append,
        Self::Remove,
        Self::Prune,
        Self::Hold,
        Self::Swap,
    ];

    /// The word in `[op]`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Peek => "peek",
            Self::Put => "put",
            Self::Update => "update",
            Self::Count => "count",
            Self::Add => "add",
            Self::Produce => "produce",
            Self::Consume => "consume",
            Self::Append => "append",
            Self::Remove => "remove",
            Self::Prune => "prune",
            Self::Hold => "hold",
            Self::Swap => "swap",
        }
    }

    /// The word that lists owners on a key: `peeks = ["monitor"]`.
    #[must_use]
    pub fn owner_word(self) -> &'static str {
        match self {
            Self::Peek => "peeks",
            Self::Put => "puts",
            Self::Update => "updates",
            Self::Count => "counts",
            Self::Add => "adds",
            Self::Produce => "produces",
            Self::Consume => "consumes",
            Self::Append => "appends",
            Self::Remove => "removes",
            Self::Prune => "prunes",
            Self::Hold => "holds",
            Self::Swap => "swaps",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.word() == word)
    }

    /// The verb that somebody who thinks in commands may have meant.
    pub(crate) fn meant(word: &str) -> Option<Self> {
        match word {
            "read" | "get" | "list" | "len" => Some(Self::Peek),
            "set" | "write" | "create" => Some(Self::Put),
            "incr" | "increment" => Some(Self::Count),
            "insert" => Some(Self::Add),
            "push" | "enqueue" | "lpush" | "rpush" => Some(Self::Produce),
            "pop" | "dequeue" | "claim" => Some(Self::Consume),
            "log" | "xadd" => Some(Self::Append),
            "delete" | "del" => Some(Self::Remove),
            "trim" | "expire" => Some(Self::Prune),
            "lock" => Some(Self::Hold),
            "rename" => Some(Self::Swap),
            _ => None,
        }
    }

    /// Whether it changes the key.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Self::Peek
    }

    /// Whether it can bring a key into being.
    #[must_use]
    pub fn creates(self) -> bool {
        !matches!(self, Self::Peek | Self::Consume | Self::Remove | Self::Prune)
    }

    /// The verb that `writes` stands for on a type; lists have none, because it would not say which end.
    #[must_use]
    pub fn ordinary_write(kind: RedisType) -> Option<Self> {
        match kind {
            RedisType::String => Some(Self::Put),
            RedisType::Hash => Some(Self::Update),
            RedisType::Set | RedisType::Zset => Some(Self::Add),
            RedisType::Stream => Some(Self::Append),
            RedisType::List => None,
        }
    }

    /// The commands it needs on a key of this type; empty when the verb makes no sense there.
    #[must_use]
    pub fn commands(self, kind: RedisType) -> &'static [&'static str] {
        use RedisType::{Hash, List, Set, Stream, String, Zset};
        match (self, kind) {
            (Self::Peek, String) => &["get", "mget", "strlen", "getrange"],
            (Self::Peek, Hash) => &[
                "hget",
                "hmget",
                "hgetall",
                "hlen",
                "hexists",
                "hkeys",
                "hvals",
                "hstrlen",
                "hscan",
                "hrandfield",
            ],
            (Self::Peek, List) => &["llen", "lrange", "lindex", "lpos"],
            (Self::Peek, Set) => &["scard", "smembers", "sismember", "smismember", "sscan", "srandmember"],
            (Self::Peek, Zset) => &[
                "zcard",
                "zcount",
                "zlexcount",
                "zrange",
                "zrangebyscore",
                "zrangebylex",
                "zrevrange",
                "zrevrangebyscore",
                "zrank",
                "zrevrank",
                "zscore",
                "zmscore",
                "zscan",
            ],
            (Self::Peek, Stream) => &["xlen", "xrange", "xrevrange", "xread"],
            (Self::Put, String) => &["set", "setex", "psetex"],
            (Self::Put, Hash) => &["hset", "hmset"],
            (Self::Update, Hash) => &["hset", "hmset", "hsetnx", "hdel", "hincrby", "hincrbyfloat"],
            (Self::Update, List) => &["lset"],
            (Self::Update, Zset) => &["zadd", "zincrby"],
            (Self::Count, String) => &["incr", "incrby", "incrbyfloat", "decr", "decrby"],
            (Self::Count, Hash) => &["hincrby", "hincrbyfloat"],
            (Self::Add, Set) => &["sadd"],
            (Self::Add, Zset) => &["zadd"],
            (Self::Produce, List) => &["lpush", "rpush"],
            (Self::Consume, List) => {
                &["lpop", "rpop", "lmpop", "lmove", "blpop", "brpop", "blmpop", "blmove"]
            }
            (Self::Append, Stream) => &["xadd"],
            (Self::Remove, String) => &["del", "unlink"],
            (Self::Remove, Hash) => &["del", "unlink", "hdel"],
            (Self::Remove, List) => &["del", "unlink", "lrem"],
            (Self::Remove, Set) => &["del", "unlink", "srem"],
            (Self::Remove, Zset) => &["del", "unlink", "zrem"],
            (Self::Remove, Stream) => &["del", "unlink", "xdel"],
            (Self::Prune, Hash) => &["hdel"],
            (Self::Prune, List) => &["ltrim"],
            (Self::Prune, Set) => &["srem"],
            (Self::Prune, Zset) => &["zremrangebyscore", "zremrangebyrank", "zremrangebylex"],
            (Self::Prune, Stream) => &["xtrim"],
            (Self::Hold, String) => &["set", "get", "pttl", "del"],
            (Self::Swap, _) => &["rename", "renamenx"],
            _ => &[],
        }
    }

    /// The commands that come with it: a reader may look at the key as such, a writer sets its TTL, and where the number
    /// of items is limited counts them.
    #[must_use]
    pub fn commands_beside(self, kind: RedisType, limited: bool) -> Vec<&'static str> {
        match (self.writes(), limited) {
            (false, _) => LOOK.to_vec(),
            (true, false) => EXPIRE.to_vec(),
            (true, true) => [EXPIRE, kind.sizes()].concat(),
        }
    }

    /// What the commands need of the key, as an ACL key permission: `%R~`, `%W~` or `%RW~`.
    #[must_use]
    pub fn access(self) -> Access {
        match self {
            Self::Peek => Access::Read,
            // These return what was there, which Redis counts as reading.
            Self::Update | Self::Count | Self::Consume | Self::Hold | Self::Swap => Access::ReadWrite,
            Self::Put | Self::Add | Self::Produce | Self::Append | Self::Remove | Self::Prune => {
                Access::Write
            }
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Commands about a key as such, which every reader may use. They show no value, but Redis takes some of them for reading.
pub(crate) const LOOK: &[&str] =
    &["exists", "type", "ttl", "pttl", "expiretime", "pexpiretime", "touch", "watch"];

/// Commands that set a time to live, which every writing verb includes.
pub(crate) const EXPIRE: &[&str] = &["expire", "pexpire", "expireat", "pexpireat", "persist"];

/// A key permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Access {
    Read,
    Write,
    ReadWrite,
}

impl Access {
    /// The prefix in an ACL rule.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Read => "%R~",
            Self::Write => "%W~",
            Self::ReadWrite => "%RW~",
        }
    }
}
