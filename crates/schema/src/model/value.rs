//! Fields, values and their layouts.

use std::collections::BTreeMap;
use std::fmt;

use super::LifeCycle;
use crate::diagnostic::Span;
use crate::pattern::Pattern;
use crate::units::{FloatRange, IntRange};

/// A field of a hash, stream or layout.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Field {
    /// Its name, or a family of names (`bid<level>_p`).
    pub name: Pattern,
    /// What it holds.
    pub kind: ValueType,
    /// Always there.
    pub required: bool,
    /// May be null (in layouts).
    pub nullable: bool,
    /// What it is.
    pub doc: String,
    /// Unit of measure.
    pub unit: Option<String>,
    /// A value.
    pub example: Option<String>,
    /// What absence means.
    pub default: Option<String>,
    /// Its own limit.
    pub max: Option<FieldMax>,
    /// The writers of the key that own this field; empty means all.
    pub writes: Vec<String>,
    /// Since when, until when, instead of what.
    pub life: LifeCycle,
    pub(crate) at: Span,
}

/// Limit of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldMax {
    /// Characters.
    Chars(u64),
    /// Bytes.
    Bytes(u64),
}

/// What a field, value, member or score holds.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ValueType {
    Text,
    Bytes(Option<u32>),
    Hex(Option<u32>),
    Int(Option<IntRange>),
    Float(Option<FloatRange>),
    Decimal,
    /// `true/false` or `1/0`.
    Bool(String),
    Time(TimeFormat),
    OneOf {
        words: Vec<String>,
        open: bool,
        /// Legal transitions; empty means any.
        moves: BTreeMap<String, Vec<String>>,
    },
    Like(String),
    Param(String),
    Template(Vec<Pattern>),
    Json(Option<String>),
    Cbor(Option<String>),
    List(Box<ValueType>),
    Map(Box<ValueType>),
    AnyOf(Vec<ValueType>),
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Bytes(None) => f.write_str("bytes"),
            Self::Bytes(Some(length)) => write!(f, "{length} bytes"),
            Self::Hex(None) => f.write_str("hex"),
            Self::Hex(Some(length)) => write!(f, "{length} bytes as hex"),
            Self::Int(None) => f.write_str("integer"),
            Self::Int(Some(range)) => write!(f, "integer {range}"),
            Self::Float(None) => f.write_str("number"),
            Self::Float(Some(range)) => write!(f, "number {range}"),
            Self::Decimal => f.write_str("decimal"),
            Self::Bool(words) => f.write_str(words),
            Self::Time(format) => write!(f, "time ({})", format.word()),
            Self::OneOf { words, open, .. } => {
                write!(f, "{}{}", words.join(" | "), if *open { " | …" } else { "" })
            }
            Self::Like(regex) => write!(f, "text like `{regex}`"),
            Self::Param(name) => write!(f, "<{name}>"),
            Self::Template(patterns) => {
                f.write_str(&patterns.iter().map(Pattern::as_str).collect::<Vec<_>>().join(" or "))
            }
            Self::Json(None) => f.write_str("JSON"),
            Self::Json(Some(layout)) => write!(f, "JSON {layout}"),
            Self::Cbor(None) => f.write_str("CBOR"),
            Self::Cbor(Some(layout)) => write!(f, "CBOR {layout}"),
            Self::List(kind) => write!(f, "list of {kind}"),
            Self::Map(kind) => write!(f, "map of {kind}"),
            Self::AnyOf(kinds) => {
                f.write_str(&kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", or "))
            }
        }
    }
}

/// How a moment is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TimeFormat {
    Rfc3339,
    Rfc3339Ms,
    Iso,
    UnixS,
    UnixMs,
    UnixUs,
}

impl TimeFormat {
    pub(crate) const ALL: [Self; 6] =
        [Self::Rfc3339, Self::Rfc3339Ms, Self::Iso, Self::UnixS, Self::UnixMs, Self::UnixUs];

    /// The word of the contract.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Rfc3339 => "rfc3339",
            Self::Rfc3339Ms => "rfc3339ms",
            Self::Iso => "iso",
            Self::UnixS => "unix_s",
            Self::UnixMs => "unix_ms",
            Self::UnixUs => "unix_us",
        }
    }
}

/// The layout of an encoded value.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Layout {
    /// Its name.
    pub name: String,
    /// JSON or CBOR.
    pub encoding: Encoding,
    /// Object, array by position, or many of one type.
    pub shape: Shape,
    /// What it is.
    pub doc: String,
    /// Its fields, in order; none for a list or map.
    pub fields: Vec<Field>,
    /// What a list or map holds.
    pub of: Option<ValueType>,
    pub(crate) at: Span,
}

/// How a value is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Encoding {
    Json,
    Cbor,
}

/// How the fields of a layout are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Shape {
    Object,
    Array,
    List,
    Map,
}
