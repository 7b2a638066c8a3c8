//! The keys at one moment, as commands that make them, while they go on changing.
//!
//! A key is written down when the walk reaches it or just before it first changes, whichever comes first. So the picture
//! shows the moment at which it was begun, and nobody waits for it.

use crate::db::Entry;
use crate::number;
use crate::reply;
use crate::value::Value;

/// A picture of one database that is being taken.
#[derive(Debug)]
pub(crate) struct Picture {
    /// Which; entries that bear this number are in it, or came later.
    pub(crate) number: u32,
    /// The walk goes on below this place.
    pub(crate) below: usize,
    /// What was written down and not fetched yet.
    pub(crate) out: Vec<u8>,
    /// The database was emptied at a stroke.
    pub(crate) spoiled: bool,
}

/// How many elements one command brings at most.
const AT_ONCE: usize = 64;

impl Picture {
    pub(crate) fn new(number: u32, db: usize, keys: usize) -> Self {
        let mut out = Vec::new();
        reply::command(&mut out, &[b"SELECT", db.to_string().as_bytes()]);
        Self { number, below: keys, out, spoiled: false }
    }
}

/// Appends the commands that make this key.
pub(crate) fn write_down(key: &[u8], entry: &Entry, out: &mut Vec<u8>) {
    match &entry.value {
        Value::Text(text) => reply::command(out, &[b"SET", key, &text.bytes]),
        Value::List(list) => {
            let elements = list.elements.iter().map(|element| [element.as_slice()]);
            in_pieces(out, &[b"RPUSH", key], elements);
        }
        Value::Hash(hash) => in_pieces(out, &[b"HSET", key], hash.iter().map(|(field, value)| [field, value])),
        Value::Set(set) => in_pieces(out, &[b"SADD", key], set.iter().map(|member| [member])),
        Value::Zset(_) | Value::Stream(_) => {}
    }
    if let Some(end) = entry.expires() {
        let end = number::int_bytes(i64::try_from(end).unwrap_or(i64::MAX));
        reply::command(out, &[b"PEXPIREAT", key, &end]);
    }
}

fn in_pieces<'a, const N: usize>(
    out: &mut Vec<u8>,
    words: &[&'a [u8]],
    elements: impl Iterator<Item = [&'a [u8]; N]>,
) {
    let mut elements = elements.peekable();
    while elements.peek().is_some() {
        let mut command = words.to_vec();
        command.extend(elements.by_ref().take(AT_ONCE).flatten());
        reply::command(out, &command);
    }
}
