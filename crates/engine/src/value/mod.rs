//! What a key holds.

mod hash;
mod list;
mod set;
mod stream;
mod zset;

pub(crate) use hash::Hash;
pub(crate) use list::{List, Side};
pub(crate) use set::Set;
pub(crate) use stream::{Exactness, Fields, Id, Keep, Stream};
pub(crate) use zset::{Member, Scored, Zset};

/// A string.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    pub(crate) form: Form,
}

/// How Redis would keep a string, which only OBJECT shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Form {
    /// An integer as a number, a small one once for all keys that hold it.
    #[default]
    Compact,
    /// The same, but not shared with other keys: a copy.
    Own,
    /// Never as a number: a sum of INCRBYFLOAT.
    Plain,
    /// Changed in place: in a piece of memory that can grow.
    Growing,
}

/// Of one of the six types; containers are never empty.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(Text),
    List(Box<List>),
    Hash(Box<Hash>),
    Set(Box<Set>),
    Zset(Box<Zset>),
    Stream(Box<Stream>),
}

/// One of the six, as commands ask for it.
pub(crate) trait Kind: Default {
    fn of(value: &Value) -> Option<&Self>;
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
    fn into_value(self) -> Value;
}

macro_rules! kinds {
    ($($kind:ident $wrap:expr;)*) => {$(
        impl Kind for $kind {
            fn of(value: &Value) -> Option<&Self> {
                match value {
                    Value::$kind(found) => Some(found),
                    _ => None,
                }
            }

            fn of_mut(value: &mut Value) -> Option<&mut Self> {
                match value {
                    Value::$kind(found) => Some(found),
                    _ => None,
                }
            }

            fn into_value(self) -> Value {
                Value::$kind($wrap(self))
            }
        }
    )*};
}

kinds! {
    Text std::convert::identity;
    List Box::new;
    Hash Box::new;
    Set Box::new;
    Zset Box::new;
    Stream Box::new;
}

impl Value {
    pub(crate) fn text(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Text(Text { bytes: bytes.into(), form: Form::Compact })
    }

    /// What TYPE says.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Hash(_) => "hash",
            Self::Set(_) => "set",
            Self::Zset(_) => "zset",
            Self::Stream(_) => "stream",
        }
    }

    /// A container that its last element has left does not stay; a stream does.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Text(_) | Self::Stream(_) => false,
            Self::List(list) => list.is_empty(),
            Self::Hash(hash) => hash.is_empty(),
            Self::Set(set) => set.is_empty(),
            Self::Zset(zset) => zset.is_empty(),
        }
    }

    /// What COPY puts in another place.
    pub(crate) fn copied(&self) -> Self {
        let mut copy = self.clone();
        if let Self::Text(text) = &mut copy
            && text.form == Form::Compact
        {
            text.form = Form::Own;
        }
        copy
    }

    /// What OBJECT ENCODING says.
    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Self::Text(text) => text.encoding(),
            Self::List(list) => list.encoding(),
            Self::Hash(hash) => hash.encoding(),
            Self::Set(set) => set.encoding(),
            Self::Zset(zset) => zset.encoding(),
            Self::Stream(_) => "stream",
        }
    }

    /// Bytes it takes up, roughly.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.bytes.capacity(),
            Self::List(list) => list.size(),
            Self::Hash(hash) => hash.size(),
            Self::Set(set) => set.size(),
            Self::Zset(zset) => zset.size(),
            Self::Stream(stream) => stream.size(),
        }
    }
}

impl Text {
    fn integer(&self) -> Option<i64> {
        let may_be = matches!(self.form, Form::Compact | Form::Own);
        crate::number::parse_int(&self.bytes).filter(|_| may_be)
    }

    fn encoding(&self) -> &'static str {
        /// Up to there Redis keeps a string and what it knows of it in one piece.
        const SHORT: usize = 44;
        if self.integer().is_some() {
            "int"
        } else if self.form == Form::Growing || self.bytes.len() > SHORT {
            "raw"
        } else {
            "embstr"
        }
    }

    /// Whether Redis keeps it once for all keys that hold it.
    pub(crate) fn is_shared(&self) -> bool {
        self.form == Form::Compact && self.integer().is_some_and(|number| (0..10_000).contains(&number))
    }
}
