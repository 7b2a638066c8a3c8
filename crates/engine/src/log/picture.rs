//! The keys at one moment, as commands that make them, while they go on changing.
//!
//! A key is written down when the walk reaches it or just before it first changes, whichever comes first. So the picture
//! shows the moment at which it was begun, and nobody waits for it.

use crate::db::Entry;
use crate::number;
use crate::reply;
use crate::value::{Id, Stream, Value};

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
        Value::Hash(hash) => {
            in_pieces(out, &[b"HSET", key], hash.iter().map(|(field, value)| [field, value]))
        }
        Value::Set(set) => in_pieces(out, &[b"SADD", key], set.iter().map(|member| [member])),
        Value::Zset(zset) => {
            let members: Vec<(Vec<u8>, &[u8])> =
                zset.iter().map(|(member, score)| (number::shown(score).into_bytes(), member)).collect();
            in_pieces(out, &[b"ZADD", key], members.iter().map(|(score, member)| [score.as_slice(), member]));
        }
        Value::Stream(stream) => write_stream(key, stream, out),
    }
    if let Some(end) = entry.expires() {
        let end = number::int_bytes(i64::try_from(end).unwrap_or(i64::MAX));
        reply::command(out, &[b"PEXPIREAT", key, &end]);
    }
}

fn write_stream(key: &[u8], stream: &Stream, out: &mut Vec<u8>) {
    for (id, fields) in stream.range(Id::MIN, Id::MAX) {
        let id = id.to_string();
        let mut command: Vec<&[u8]> = vec![b"XADD", key, id.as_bytes()];
        command.extend(fields.iter().map(|part| &**part));
        reply::command(out, &command);
    }
    let last = stream.last.to_string();
    if stream.len() == 0 {
        // An entry that is cut off at once leaves a stream that is there and empty. No entry has the least of all ids.
        let id = if stream.last == Id::MIN { "0-1" } else { &last };
        reply::command(out, &[b"XADD", key, b"MAXLEN", b"0", id.as_bytes(), b"x", b"y"]);
    }
    let (added, removed) = (number::int_bytes(stream.added), stream.greatest_removed.to_string());
    let words: [&[u8]; 7] =
        [b"XSETID", key, last.as_bytes(), b"ENTRIESADDED", &added, b"MAXDELETEDID", removed.as_bytes()];
    reply::command(out, &words);
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
