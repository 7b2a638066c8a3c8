//! What a server answers, and how it becomes a value.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;

/// An answer as it came.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Nothing there.
    Nil,
    /// `+OK`.
    Ok,
    /// A number.
    Int(i64),
    /// Bytes or text.
    Bytes(Vec<u8>),
    /// A floating-point number.
    Double(f64),
    /// Several.
    Array(Vec<Reply>),
    /// Pairs.
    Map(Vec<(Reply, Reply)>),
    /// An error, alone or inside an array.
    Error(ServerError),
}

/// An error that a server answers with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// The first word: `WRONGTYPE`, `NOPERM`, `ERR`.
    pub code: String,
    /// The rest.
    pub message: String,
}

impl ServerError {
    pub(crate) fn new(code: &str, message: &str) -> Self {
        Self { code: code.to_owned(), message: message.to_owned() }
    }

    /// Whether the server did not run the command and may do so in a moment, or elsewhere. A script can answer with any
    /// code, so of a script's errors only those in the server's own words count.
    pub(crate) fn is_passing(&self, of_script: bool) -> bool {
        let own_words: &[&str] = match self.code.as_str() {
            "MOVED" | "ASK" => return !of_script || self.is_redirect(),
            "TRYAGAIN" => &["Multiple keys request"],
            "CLUSTERDOWN" => &["The cluster is down", "Hash slot not served"],
            "LOADING" => &["is loading the dataset in memory"],
            "MASTERDOWN" => &["Link with MASTER is down"],
            _ => return false,
        };
        !of_script || own_words.iter().any(|words| self.message.contains(words))
    }

    /// Slot and address, and nothing else.
    fn is_redirect(&self) -> bool {
        let mut words = self.message.split_whitespace();
        let slot = words.next().is_some_and(|slot| slot.parse::<u16>().is_ok());
        let address = words.next().and_then(|address| address.rsplit_once(':'));
        slot && address.is_some_and(|(_, port)| port.parse::<u16>().is_ok()) && words.next().is_none()
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.message)
    }
}

impl Reply {
    /// One word for messages.
    fn word(&self) -> &'static str {
        match self {
            Self::Nil => "nothing",
            Self::Ok => "OK",
            Self::Int(_) => "a number",
            Self::Bytes(_) => "a string",
            Self::Double(_) => "a floating-point number",
            Self::Array(_) => "an array",
            Self::Map(_) => "a map",
            Self::Error(_) => "an error",
        }
    }
}

/// The answer is not what the command answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the server answered {got} where {wanted} was expected")]
pub struct UnexpectedReply {
    wanted: &'static str,
    got: String,
}

impl UnexpectedReply {
    fn new(wanted: &'static str, got: &Reply) -> Self {
        let got = match got {
            Reply::Error(error) => error.to_string(),
            Reply::Bytes(bytes) if bytes.len() <= 32 => format!("\"{}\"", bytes.escape_ascii()),
            other => other.word().to_owned(),
        };
        Self { wanted, got }
    }
}

/// Made from an answer.
pub trait FromReply: Sized {
    /// Reads it.
    fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply>;
}

impl FromReply for Reply {
    fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
        Ok(reply)
    }
}

/// Whatever the answer is, as long as it is no error.
impl FromReply for () {
    fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
        match reply {
            Reply::Error(_) => Err(UnexpectedReply::new("an answer", &reply)),
            _ => Ok(()),
        }
    }
}

impl FromReply for Vec<u8> {
    fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
        match reply {
            Reply::Bytes(bytes) => Ok(bytes),
            Reply::Ok => Ok(b"OK".to_vec()),
            // Lua and counters answer numbers where text was stored.
            Reply::Int(number) => Ok(number.to_string().into_bytes()),
            other => Err(UnexpectedReply::new("a string", &other)),
        }
    }
}

impl FromReply for String {
    fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
        let bytes = Vec::<u8>::from_reply(reply)?;
        Self::from_utf8(bytes)
            .map_err(|error| UnexpectedReply::new("text", &Reply::Bytes(error.into_bytes())))
    }
}

fn number<N: std::str::FromStr + TryFrom<i64>>(reply: &Reply) -> Result<N, UnexpectedReply> {
    let wanted = "a number in range";
    match reply {
        Reply::Int(number) => N::try_from(*number).map_err(|_| UnexpectedReply::new(wanted, reply)),
        Reply::Bytes(bytes) => std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| UnexpectedReply::new(wanted, reply)),
        _ => Err(UnexpectedReply::new(wanted, reply)),
    }
}

macro_rules! integers {
    ($($number:ty)*) => {$(
        impl FromReply for $number {
            fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
                number(&reply)
            }
        }
    )*};
}
integers!(i64 u64 u32 u16 usize);

impl FromReply for f64 {
    fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
        match &reply {
            Reply::Double(number) => Ok(*number),
            Reply::Int(number) => Ok(*number as Self),
            Reply::Bytes(bytes) => std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| UnexpectedReply::new("a number", &reply)),
            _ => Err(UnexpectedReply::new("a number", &reply)),
        }
    }
}

impl FromReply for bool {
    fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
        match reply {
            Reply::Int(0) | Reply::Nil => Ok(false),
            Reply::Int(1) | Reply::Ok => Ok(true),
            other => Err(UnexpectedReply::new("0 or 1", &other)),
        }
    }
}

impl<T: FromReply> FromReply for Option<T> {
    fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
        match reply {
            Reply::Nil => Ok(None),
            other => T::from_reply(other).map(Some),
        }
    }
}

/// Items of an array, each by itself. Pairs come as arrays of two, as maps, or flat.
trait Item: Sized {
    fn items(replies: Vec<Reply>) -> Result<Vec<Self>, UnexpectedReply>;
    fn pairs(pairs: Vec<(Reply, Reply)>) -> Result<Vec<Self>, UnexpectedReply>;
}

macro_rules! items {
    ($($item:ty)*) => {$(
        impl Item for $item {
            fn items(replies: Vec<Reply>) -> Result<Vec<Self>, UnexpectedReply> {
                replies.into_iter().map(Self::from_reply).collect()
            }
            fn pairs(pairs: Vec<(Reply, Reply)>) -> Result<Vec<Self>, UnexpectedReply> {
                Self::items(pairs.into_iter().flat_map(|(key, value)| [key, value]).collect())
            }
        }
    )*};
}
items!(Reply Vec<u8> String i64 u64 u32 usize f64 bool);

impl<T: FromReply> Item for Option<T> {
    fn items(replies: Vec<Reply>) -> Result<Vec<Self>, UnexpectedReply> {
        replies.into_iter().map(Self::from_reply).collect()
    }

    fn pairs(pairs: Vec<(Reply, Reply)>) -> Result<Vec<Self>, UnexpectedReply> {
        Self::items(pairs.into_iter().flat_map(|(key, value)| [key, value]).collect())
    }
}

impl<A: FromReply, B: FromReply> Item for (A, B) {
    fn items(replies: Vec<Reply>) -> Result<Vec<Self>, UnexpectedReply> {
        if replies.iter().all(|reply| matches!(reply, Reply::Array(pair) if pair.len() == 2)) {
            return replies.into_iter().map(Self::from_reply).collect();
        }
        // RESP2 and Lua flatten pairs.
        if !replies.len().is_multiple_of(2) {
            return Err(UnexpectedReply::new("pairs", &Reply::Array(replies)));
        }
        let mut rest = replies.into_iter();
        let mut pairs = Vec::with_capacity(rest.len() / 2);
        while let (Some(key), Some(value)) = (rest.next(), rest.next()) {
            pairs.push((A::from_reply(key)?, B::from_reply(value)?));
        }
        Ok(pairs)
    }

    fn pairs(pairs: Vec<(Reply, Reply)>) -> Result<Vec<Self>, UnexpectedReply> {
        pairs.into_iter().map(|(key, value)| Ok((A::from_reply(key)?, B::from_reply(value)?))).collect()
    }
}

#[allow(private_bounds)]
impl<T: Item> FromReply for Vec<T> {
    fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
        match reply {
            Reply::Array(replies) => T::items(replies),
            Reply::Map(pairs) => T::pairs(pairs),
            Reply::Nil => Ok(Self::new()),
            other => Err(UnexpectedReply::new("an array", &other)),
        }
    }
}

macro_rules! tuples {
    ($($count:literal $wanted:literal: $($name:ident)*;)*) => {$(
        impl<$($name: FromReply),*> FromReply for ($($name,)*) {
            fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
                match reply {
                    Reply::Array(replies) if replies.len() == $count => {
                        let mut rest = replies.into_iter();
                        Ok(($($name::from_reply(rest.next().unwrap_or(Reply::Nil))?,)*))
                    }
                    other => Err(UnexpectedReply::new($wanted, &other)),
                }
            }
        }
    )*};
}
tuples! {
    2 "an array of two": A B;
    3 "an array of three": A B C;
    4 "an array of four": A B C D;
}

impl<K: FromReply + Eq + Hash, V: FromReply> FromReply for HashMap<K, V> {
    fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
        Ok(Vec::<(K, V)>::from_reply(reply)?.into_iter().collect())
    }
}

impl<K: FromReply + Ord, V: FromReply> FromReply for BTreeMap<K, V> {
    fn from_reply(reply: Reply) -> Result<Self, UnexpectedReply> {
        Ok(Vec::<(K, V)>::from_reply(reply)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn bytes(text: &str) -> Reply {
        Reply::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn pairs_come_flat_nested_and_as_a_map() {
        let wanted = vec![("a".to_owned(), 1_i64), ("b".to_owned(), 2)];
        let flat = Reply::Array(vec![bytes("a"), bytes("1"), bytes("b"), Reply::Int(2)]);
        let nested = Reply::Array(vec![
            Reply::Array(vec![bytes("a"), Reply::Int(1)]),
            Reply::Array(vec![bytes("b"), Reply::Int(2)]),
        ]);
        let map = Reply::Map(vec![(bytes("a"), Reply::Int(1)), (bytes("b"), Reply::Int(2))]);
        for reply in [flat, nested, map] {
            assert_eq!(Vec::<(String, i64)>::from_reply(reply.clone()).unwrap(), wanted);
            assert_eq!(BTreeMap::<String, i64>::from_reply(reply).unwrap().len(), 2);
        }
        assert!(Vec::<(String, i64)>::from_reply(Reply::Array(vec![bytes("a")])).is_err());
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let told = |error: UnexpectedReply| error.to_string();
        assert_eq!(
            told(u64::from_reply(Reply::Int(-1)).unwrap_err()),
            "the server answered a number where a number in range was expected"
        );
        assert_eq!(
            told(i64::from_reply(bytes("many")).unwrap_err()),
            "the server answered \"many\" where a number in range was expected"
        );
        assert_eq!(
            told(<()>::from_reply(Reply::Error(ServerError::new("ERR", "no"))).unwrap_err()),
            "the server answered ERR no where an answer was expected"
        );
        assert!(String::from_reply(Reply::Bytes(vec![0xff])).is_err());
        assert!(bool::from_reply(Reply::Int(2)).is_err());
        assert!(<(i64, i64)>::from_reply(Reply::Array(vec![Reply::Int(1)])).is_err());
    }

    #[test]
    fn nothing_is_none_an_empty_list_and_false() {
        assert_eq!(Option::<i64>::from_reply(Reply::Nil).unwrap(), None);
        assert!(Vec::<i64>::from_reply(Reply::Nil).unwrap().is_empty());
        assert!(!bool::from_reply(Reply::Nil).unwrap());
        assert!(i64::from_reply(Reply::Nil).is_err());
    }
}
