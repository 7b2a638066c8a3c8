//! Commands to try on a key, and the verbs that are meant to allow them.
//!
//! This is the table of verbs in `docs/contract.md` written a second time, command by command, so that a slip in the
//! generator's own table shows.

use keyplane_schema::{RedisType, Verb};

use Verb::{Add, Append, Consume, Count, Hold, Peek, Produce, Prune, Put, Remove, Swap, Update};

/// One command to try.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    /// The words of the command; `K` stands for the key.
    text: &'static str,
    /// Any of these verbs allows it; none does when there are none.
    pub(crate) verbs: &'static [Verb],
}

impl Probe {
    /// The command without its arguments. Reading the old value makes SET another command in the eyes of an ACL.
    pub(crate) fn name(&self) -> &'static str {
        if self.text.ends_with(" GET") {
            "SET…GET"
        } else {
            self.text.split(' ').next().unwrap_or_default()
        }
    }

    /// The words with the key put in.
    pub(crate) fn words<'k>(&self, key: &'k str) -> Vec<&'k str> {
        filled(self.text, key)
    }

    /// Whether it waits when there is nothing.
    pub(crate) fn blocks(&self) -> bool {
        ["BL", "BR", "BZ"].iter().any(|start| self.text.starts_with(start))
    }

    /// Whether it is for readers.
    pub(crate) fn is_read(&self) -> bool {
        self.verbs.contains(&Peek)
    }
}

/// What to try on a key of this type.
pub(crate) fn probes(kind: RedisType) -> Vec<Probe> {
    let own = match kind {
        RedisType::String => STRING,
        RedisType::Hash => HASH,
        RedisType::List => LIST,
        RedisType::Set => SET,
        RedisType::Zset => ZSET,
        RedisType::Stream => STREAM,
    };
    let groups = own.iter().chain(ANY);
    groups.flat_map(|(verbs, texts)| texts.iter().map(|text| Probe { text, verbs })).collect()
}

/// The words of a command with the key put in.
pub(crate) fn filled<'k>(text: &'static str, key: &'k str) -> Vec<&'k str> {
    text.split(' ').map(|word| if word == "K" { key } else { word }).collect()
}

/// The probe of that name.
pub(crate) fn probe(kind: RedisType, name: &str) -> Probe {
    let found = probes(kind).into_iter().find(|probe| probe.name() == name);
    found.unwrap_or_else(|| panic!("{name} is not probed on a {kind}"))
}

/// The names of all commands that only look at a key as such, and of those that set its time to live.
pub(crate) fn shared_names() -> [Vec<&'static str>; 2] {
    [&ANY[..2], &ANY[2..3]].map(|groups| {
        let probes = groups.iter().flat_map(|(verbs, texts)| texts.iter().map(|text| Probe { text, verbs }));
        probes.map(|probe| probe.name()).collect()
    })
}

/// The command that makes a key of this type. Numbers, so that counting works.
pub(crate) fn creation(kind: RedisType) -> &'static str {
    match kind {
        RedisType::String => "SET K 5",
        RedisType::Hash => "HSET K f 1 g 2",
        RedisType::List => "RPUSH K a b c",
        RedisType::Set => "SADD K a b",
        RedisType::Zset => "ZADD K 1 a 2 b",
        RedisType::Stream => "XADD K 1-1 f v",
    }
}

type Group = (&'static [Verb], &'static [&'static str]);

const WRITING: &[Verb] = &[Put, Update, Count, Add, Produce, Consume, Append, Remove, Prune, Hold, Swap];

const ANY: &[Group] = &[
    (&[Peek], &["EXISTS K", "TYPE K", "TTL K", "EXPIRETIME K", "PEXPIRETIME K", "TOUCH K", "WATCH K"]),
    // Whoever waits for a lock asks how long it lasts.
    (&[Peek, Hold], &["PTTL K"]),
    (
        WRITING,
        &[
            "EXPIRE K 600",
            "PEXPIRE K 600000",
            "EXPIREAT K 9999999999",
            "PEXPIREAT K 9999999999999",
            "PERSIST K",
        ],
    ),
    (&[Remove], &["UNLINK K"]),
    (&[Swap], &["RENAME K K", "RENAMENX K K"]),
    (
        &[],
        &[
            "COPY K K",
            "DUMP K",
            "RESTORE K 0 x REPLACE",
            "MOVE K 1",
            "SORT K",
            "SORT_RO K",
            "OBJECT ENCODING K",
        ],
    ),
    (&[], &["MEMORY USAGE K", "MIGRATE 127.0.0.1 1 K 0 1", "PFADD K a", "PFCOUNT K", "GEOADD K 1 1 a"]),
];

const STRING: &[Group] = &[
    (&[Peek, Hold], &["GET K"]),
    (&[Peek], &["MGET K", "STRLEN K", "GETRANGE K 0 -1"]),
    (&[Put, Hold], &["SET K 5"]),
    (&[Put], &["SETEX K 600 5", "PSETEX K 600000 5"]),
    // Holding a lock includes reading it, putting a value does not.
    (&[Hold], &["SET K 5 GET"]),
    (&[Count], &["INCR K", "INCRBY K 2", "INCRBYFLOAT K 0.5", "DECR K", "DECRBY K 2"]),
    (&[Remove, Hold], &["DEL K"]),
    (&[], &["APPEND K x", "GETSET K 5", "GETDEL K", "GETEX K", "SETNX K 5", "MSET K 5", "SETRANGE K 0 x"]),
    (&[], &["SETBIT K 0 1", "GETBIT K 0", "BITCOUNT K", "BITFIELD K GET u8 0"]),
];

const HASH: &[Group] = &[
    (
        &[Peek],
        &[
            "HGET K f",
            "HMGET K f g",
            "HGETALL K",
            "HLEN K",
            "HEXISTS K f",
            "HKEYS K",
            "HVALS K",
            "HSTRLEN K f",
        ],
    ),
    (&[Peek], &["HSCAN K 0", "HRANDFIELD K"]),
    (&[Put, Update], &["HSET K f 3", "HMSET K f 3"]),
    (&[Update], &["HSETNX K h 3"]),
    (&[Update, Count], &["HINCRBY K f 1", "HINCRBYFLOAT K f 0.5"]),
    (&[Update, Remove, Prune], &["HDEL K f"]),
    (&[Remove], &["DEL K"]),
];

const LIST: &[Group] = &[
    (&[Peek], &["LLEN K", "LRANGE K 0 -1", "LINDEX K 0", "LPOS K a"]),
    (&[Update], &["LSET K 0 x"]),
    (&[Produce], &["LPUSH K x", "RPUSH K x"]),
    (&[Consume], &["LPOP K", "RPOP K", "LMPOP 1 K LEFT", "LMOVE K K LEFT RIGHT"]),
    (&[Consume], &["BLPOP K 1", "BRPOP K 1", "BLMPOP 1 1 K LEFT", "BLMOVE K K LEFT RIGHT 1"]),
    (&[Remove], &["DEL K", "LREM K 1 a"]),
    (&[Prune], &["LTRIM K 0 1"]),
    (&[], &["LINSERT K BEFORE a x", "LPUSHX K x", "RPUSHX K x", "RPOPLPUSH K K", "BRPOPLPUSH K K 1"]),
];

const SET: &[Group] = &[
    (&[Peek], &["SCARD K", "SMEMBERS K", "SISMEMBER K a", "SMISMEMBER K a b", "SSCAN K 0", "SRANDMEMBER K"]),
    (&[Add], &["SADD K c"]),
    (&[Remove, Prune], &["SREM K a"]),
    (&[Remove], &["DEL K"]),
    (&[], &["SPOP K", "SMOVE K K a", "SINTER K", "SUNION K", "SDIFF K", "SUNIONSTORE K K", "SINTERCARD 1 K"]),
];

const ZSET: &[Group] = &[
    (&[Peek], &["ZCARD K", "ZCOUNT K 0 9", "ZLEXCOUNT K - +", "ZRANGE K 0 -1", "ZRANGEBYSCORE K 0 9"]),
    (
        &[Peek],
        &["ZRANGEBYLEX K - +", "ZREVRANGE K 0 -1", "ZREVRANGEBYSCORE K 9 0", "ZRANK K a", "ZREVRANK K a"],
    ),
    (&[Peek], &["ZSCORE K a", "ZMSCORE K a b", "ZSCAN K 0"]),
    (&[Add, Update], &["ZADD K 3 c"]),
    (&[Update], &["ZINCRBY K 1 a"]),
    (&[Remove], &["DEL K", "ZREM K a"]),
    (&[Prune], &["ZREMRANGEBYSCORE K 0 1", "ZREMRANGEBYRANK K 0 0", "ZREMRANGEBYLEX K - +"]),
    (&[], &["ZPOPMIN K", "ZPOPMAX K", "BZPOPMIN K 1", "ZMPOP 1 K MIN", "ZRANDMEMBER K", "ZUNION 1 K"]),
    (&[], &["ZUNIONSTORE K 1 K", "ZRANGESTORE K K 0 -1"]),
];

const STREAM: &[Group] = &[
    (&[Peek], &["XLEN K", "XRANGE K - +", "XREVRANGE K + -", "XREAD COUNT 1 STREAMS K 0"]),
    (&[Append], &["XADD K * f v"]),
    (&[Remove], &["DEL K", "XDEL K 1-1"]),
    (&[Prune], &["XTRIM K MAXLEN 1"]),
    (&[], &["XGROUP CREATE K g 0", "XREADGROUP GROUP g c STREAMS K >", "XACK K g 1-1", "XSETID K 9-9"]),
    (&[], &["XINFO STREAM K", "XPENDING K g", "XCLAIM K g c 0 1-1"]),
];
