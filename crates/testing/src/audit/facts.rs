//! What lies in a namespace, as the store tells it.

use std::collections::BTreeSet;
use std::time::Duration;

use redis::{Connection, RedisResult};

/// A key and what can be judged about it.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    pub(crate) key: String,
    /// The word of TYPE.
    pub(crate) kind: String,
    pub(crate) ttl: Option<Duration>,
    /// Fields of a hash.
    pub(crate) fields: Vec<Vec<u8>>,
    /// Fields, members or entries.
    pub(crate) count: u64,
}

/// Keys that one SCAN step looks at.
const STEP: usize = 1000;

/// Everything in a namespace on these masters, by key.
pub(crate) fn read(masters: &mut [Connection], namespace: &str) -> Vec<Fact> {
    let mut facts = Vec::new();
    for master in masters {
        let there = read_one(master, namespace);
        facts.extend(there.unwrap_or_else(|error| panic!("the store cannot be audited: {error}")));
    }
    facts.sort_by(|a, b| a.key.cmp(&b.key));
    facts
}

fn read_one(master: &mut Connection, namespace: &str) -> RedisResult<Vec<Fact>> {
    let keys = keys(master, namespace)?;
    keys.iter().filter_map(|key| fact(master, key).transpose()).collect()
}

/// Removes everything in a namespace from a master.
pub(crate) fn remove(master: &mut Connection, namespace: &str) -> RedisResult<()> {
    let keys = keys(master, namespace)?;
    let mut pipeline = redis::pipe();
    for key in &keys {
        // One by one: on a cluster the keys of one command must share a slot.
        pipeline.cmd("UNLINK").arg(key).ignore();
    }
    if keys.is_empty() { Ok(()) } else { pipeline.exec(master) }
}

/// SCAN tells a key that moves in its table twice, hence a set.
fn keys(master: &mut Connection, namespace: &str) -> RedisResult<BTreeSet<Vec<u8>>> {
    let mut keys = BTreeSet::new();
    // The second spelling is that of a contract which tags its keys by the namespace.
    for pattern in [format!("{namespace}:*"), format!("{{{namespace}}}:*")] {
        let mut cursor = 0u64;
        loop {
            let (next, found): (u64, Vec<Vec<u8>>) = redis::cmd("SCAN")
                .arg(cursor)
                .arg("MATCH")
                .arg(&pattern)
                .arg("COUNT")
                .arg(STEP)
                .query(master)?;
            keys.extend(found);
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
    }
    Ok(keys)
}

/// `None` when the key has ended in the meantime.
fn fact(master: &mut Connection, key: &[u8]) -> RedisResult<Option<Fact>> {
    let kind: String = redis::cmd("TYPE").arg(key).query(master)?;
    let ttl: i64 = redis::cmd("PTTL").arg(key).query(master)?;
    let count = match kind.as_str() {
        "hash" => Some("HLEN"),
        "list" => Some("LLEN"),
        "set" => Some("SCARD"),
        "zset" => Some("ZCARD"),
        "stream" => Some("XLEN"),
        _ => None,
    };
    let count = match count {
        Some(command) => redis::cmd(command).arg(key).query(master)?,
        None => 1,
    };
    let fields = if kind == "hash" { redis::cmd("HKEYS").arg(key).query(master)? } else { Vec::new() };
    // -2: no such key any more; -1: no expiry.
    let gone = kind == "none" || ttl == -2;
    let ttl = u64::try_from(ttl).ok().map(Duration::from_millis);
    let key = String::from_utf8_lossy(key).into_owned();
    Ok((!gone).then_some(Fact { key, kind, ttl, fields, count }))
}
