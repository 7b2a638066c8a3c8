//! What a client is answered, and its form on the wire.

use std::borrow::Cow;

use crate::fault::Fault;
use crate::number;

/// Which of the two forms a client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// RESP2, which every connection begins with.
    #[default]
    Two,
    /// RESP3, after `HELLO 3`.
    Three,
}

/// An answer, or a message that nobody asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// `+OK`.
    Ok,
    /// A word or two, such as a type.
    Status(Cow<'static, str>),
    /// An error.
    Error(Fault),
    /// A number.
    Int(i64),
    /// Bytes.
    Bulk(Vec<u8>),
    /// A floating-point number; in RESP2 its text.
    Double(f64),
    /// A truth; in RESP2 1 or 0.
    Bool(bool),
    /// Nothing where a string would be.
    Nil,
    /// Nothing where an array would be.
    NilArray,
    /// Several.
    Array(Vec<Reply>),
    /// Several without an order; in RESP2 an array.
    Set(Vec<Reply>),
    /// Pairs; in RESP2 an array of twice the length.
    Map(Vec<(Reply, Reply)>),
    /// Text for people; in RESP2 bytes.
    Text(Vec<u8>),
    /// Text for people in a format with a name of three letters; in RESP2 bytes.
    Verbatim {
        /// Its name.
        format: [u8; 3],
        /// The text itself.
        text: Vec<u8>,
    },
    /// An integer of any size; in RESP2 its text.
    BigNumber(Vec<u8>),
    /// A status that a script made up, in any bytes.
    Words(Vec<u8>),
    /// A message out of turn; in RESP2 an array.
    Push(Vec<Reply>),
    /// Several answers to one command.
    Several(Vec<Reply>),
}

impl Reply {
    pub(crate) fn bulk(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Bulk(bytes.into())
    }

    pub(crate) const fn status(text: &'static str) -> Self {
        Self::Status(Cow::Borrowed(text))
    }

    /// How many; a length never leaves the range.
    pub(crate) fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(crate) fn truth(truth: bool) -> Self {
        Self::Int(i64::from(truth))
    }

    /// Bytes, or nothing.
    pub(crate) fn maybe(bytes: Option<impl Into<Vec<u8>>>) -> Self {
        bytes.map_or(Self::Nil, Self::bulk)
    }

    /// An array of bytes.
    pub(crate) fn bulks<B: Into<Vec<u8>>>(all: impl IntoIterator<Item = B>) -> Self {
        Self::Array(all.into_iter().map(Self::bulk).collect())
    }

    /// Appends its form on the wire.
    pub fn encode(&self, protocol: Protocol, out: &mut Vec<u8>) {
        let three = protocol == Protocol::Three;
        match self {
            Self::Ok => out.extend_from_slice(b"+OK\r\n"),
            Self::Status(text) => line(out, b'+', text.as_bytes()),
            Self::Error(fault) => {
                out.push(b'-');
                out.extend(fault.line());
                out.extend_from_slice(b"\r\n");
            }
            Self::Int(value) => number(out, b':', *value),
            Self::Bulk(bytes) => bulk(out, bytes),
            Self::Double(value) if three => line(out, b',', number::shown(*value).as_bytes()),
            Self::Double(value) => bulk(out, number::shown(*value).as_bytes()),
            Self::Bool(truth) if three => line(out, b'#', if *truth { b"t" } else { b"f" }),
            Self::Bool(truth) => number(out, b':', i64::from(*truth)),
            Self::Nil | Self::NilArray if three => out.extend_from_slice(b"_\r\n"),
            Self::Nil => out.extend_from_slice(b"$-1\r\n"),
            Self::NilArray => out.extend_from_slice(b"*-1\r\n"),
            Self::Array(all) => aggregate(out, b'*', all, protocol),
            Self::Set(all) => aggregate(out, if three { b'~' } else { b'*' }, all, protocol),
            Self::Push(all) => aggregate(out, if three { b'>' } else { b'*' }, all, protocol),
            Self::Map(pairs) => {
                let (mark, count) = if three { (b'%', pairs.len()) } else { (b'*', pairs.len() * 2) };
                length(out, mark, count);
                for (key, value) in pairs {
                    key.encode(protocol, out);
                    value.encode(protocol, out);
                }
            }
            Self::Text(text) if three => verbatim(out, b"txt", text),
            Self::Verbatim { format, text } if three => verbatim(out, format, text),
            Self::Text(text) | Self::Verbatim { text, .. } => bulk(out, text),
            Self::BigNumber(digits) if three => line(out, b'(', digits),
            Self::BigNumber(digits) => bulk(out, digits),
            Self::Words(text) => line(out, b'+', text),
            Self::Several(all) => all.iter().for_each(|one| one.encode(protocol, out)),
        }
    }
}

impl From<Fault> for Reply {
    fn from(fault: Fault) -> Self {
        Self::Error(fault)
    }
}

fn line(out: &mut Vec<u8>, mark: u8, text: &[u8]) {
    out.push(mark);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

fn verbatim(out: &mut Vec<u8>, format: &[u8; 3], text: &[u8]) {
    length(out, b'=', text.len() + 4);
    out.extend_from_slice(format);
    out.push(b':');
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

fn number(out: &mut Vec<u8>, mark: u8, value: i64) {
    out.push(mark);
    number::write_int(out, value);
    out.extend_from_slice(b"\r\n");
}

fn length(out: &mut Vec<u8>, mark: u8, length: usize) {
    number(out, mark, i64::try_from(length).unwrap_or(i64::MAX));
}

/// Bytes with their length before them: also the form of a command's arguments.
pub(crate) fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    length(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// A command as a client would send it.
pub(crate) fn command(out: &mut Vec<u8>, args: &[&[u8]]) {
    length(out, b'*', args.len());
    args.iter().for_each(|arg| bulk(out, arg));
}

fn aggregate(out: &mut Vec<u8>, mark: u8, all: &[Reply], protocol: Protocol) {
    length(out, mark, all.len());
    all.iter().for_each(|one| one.encode(protocol, out));
}
