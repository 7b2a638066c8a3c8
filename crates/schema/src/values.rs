//! Whether a text is what the contract says a field, value or member holds.

use crate::dfa::Dfa;
use crate::model::{Contract, Field, Key, Layout, Param, Shape, TimeFormat, ValueType};
use crate::pattern::Pattern;
use crate::units::{FloatRange, IntRange};

/// A type of the contract, made ready to look at many values.
#[derive(Debug, Clone)]
pub struct ValueCheck(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Anything,
    Text,
    Length(u32),
    Hex(Option<u32>),
    Int(Option<IntRange>),
    Float(Option<FloatRange>),
    Decimal,
    Words(Vec<String>),
    Time(TimeFormat),
    Shape(Dfa),
    Templates(Vec<Name>),
    Json { object: bool, required: Vec<String>, array: bool },
    AnyOf(Vec<Kind>),
}

impl ValueCheck {
    /// A check for that type.
    #[must_use]
    pub fn new(contract: &Contract, kind: &ValueType) -> Self {
        Self(Kind::new(contract, kind))
    }

    /// Whether these bytes are such a value. What is inside CBOR is not looked at, inside JSON only what its layout requires.
    #[must_use]
    pub fn accepts(&self, value: &[u8]) -> bool {
        self.0.accepts(value)
    }
}

impl Kind {
    fn new(contract: &Contract, kind: &ValueType) -> Self {
        match kind {
            ValueType::Text | ValueType::OneOf { open: true, .. } => Self::Text,
            ValueType::Bytes(Some(length)) => Self::Length(*length),
            ValueType::Hex(length) => Self::Hex(*length),
            ValueType::Int(range) => Self::Int(*range),
            ValueType::Float(range) => Self::Float(*range),
            ValueType::Decimal => Self::Decimal,
            ValueType::Bool(words) => Self::Words(words.split('/').map(str::to_owned).collect()),
            ValueType::OneOf { words, .. } => Self::Words(words.clone()),
            ValueType::Time(format) => Self::Time(*format),
            ValueType::Like(regex) => Dfa::regex(regex).map_or(Self::Anything, Self::Shape),
            ValueType::Param(name) => {
                contract.param(name).map_or(Self::Anything, |param| Self::Shape(param.automaton().clone()))
            }
            ValueType::Template(patterns) => {
                Self::Templates(patterns.iter().map(|pattern| Name::new(contract, pattern)).collect())
            }
            ValueType::Json(layout) => {
                let named = |layout: &&Layout| Some(&layout.name) == kind.layout();
                Self::json(layout.as_ref().and_then(|_| contract.values.iter().find(named)))
            }
            ValueType::List(_) => Self::Json { object: false, required: Vec::new(), array: true },
            ValueType::Map(_) => Self::Json { object: true, required: Vec::new(), array: false },
            ValueType::AnyOf(kinds) => {
                Self::AnyOf(kinds.iter().map(|kind| Self::new(contract, kind)).collect())
            }
            ValueType::Bytes(None) | ValueType::Cbor(_) => Self::Anything,
        }
    }

    fn json(layout: Option<&Layout>) -> Self {
        let object = layout.is_some_and(|layout| matches!(layout.shape, Shape::Object | Shape::Map));
        let required = layout.into_iter().filter(|layout| layout.shape == Shape::Object).flat_map(|layout| {
            layout.fields.iter().filter(|field| field.required).map(|field| field.name.as_str().to_owned())
        });
        Self::Json { object, required: required.collect(), array: layout.is_some() && !object }
    }

    fn accepts(&self, value: &[u8]) -> bool {
        match self {
            Self::Anything => true,
            Self::Length(length) => value.len() == *length as usize,
            Self::Shape(shape) => shape.accepts(value),
            Self::Templates(names) => names.iter().any(|name| name.accepts(value)),
            Self::AnyOf(kinds) => kinds.iter().any(|kind| kind.accepts(value)),
            _ => std::str::from_utf8(value).is_ok_and(|text| self.accepts_text(text)),
        }
    }

    fn accepts_text(&self, text: &str) -> bool {
        match self {
            Self::Hex(length) => {
                let digits = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
                digits
                    && length.map_or(text.len().is_multiple_of(2), |length| text.len() == 2 * length as usize)
            }
            Self::Int(range) => {
                is_integer(text) && text.parse().is_ok_and(|n| range.is_none_or(|r| r.contains(n)))
            }
            Self::Float(range) => {
                text.parse().is_ok_and(|n: f64| n.is_finite() && range.is_none_or(|r| r.contains(n)))
            }
            Self::Decimal => is_decimal(text),
            Self::Words(words) => words.iter().any(|word| word == text),
            Self::Time(format) => is_time(*format, text),
            Self::Json { object, required, array } => match serde_json::from_str(text) {
                Ok(serde_json::Value::Object(map)) => {
                    !array && required.iter().all(|name| map.contains_key(name))
                }
                Ok(serde_json::Value::Array(_)) => !object,
                Ok(_) => !object && !array,
                Err(_) => false,
            },
            _ => true,
        }
    }
}

impl ValueType {
    /// The layout of an encoded value.
    fn layout(&self) -> Option<&String> {
        match self {
            Self::Json(layout) | Self::Cbor(layout) => layout.as_ref(),
            _ => None,
        }
    }
}

impl Contract {
    /// What the contract says about a field of a hash or stream. `None` for one that it does not name.
    #[must_use]
    pub fn field(&self, key: &Key, name: &[u8]) -> Option<&Field> {
        self.fields_of(key).find(|field| Name::new(self, &field.name).accepts(name))
    }

    /// The fields of a key, those of the keys whose fields it has included.
    pub fn fields_of<'c>(&'c self, key: &Key) -> impl Iterator<Item = &'c Field> {
        let own = self.key(&key.name);
        let inherited = |key: &&'c Key| key.fields_of.as_deref().and_then(|of| self.key(of));
        // A second spelling may have the fields of a second spelling; a circle must not hold us.
        std::iter::successors(own, inherited).take(4).flat_map(|key| &key.fields)
    }
}

/// A name, or a family of names with placeholders, to compare with.
#[derive(Debug, Clone)]
struct Name(Vec<Part>);

#[derive(Debug, Clone)]
enum Part {
    Text(Vec<u8>),
    Value(Option<Dfa>),
}

impl Name {
    fn new(contract: &Contract, pattern: &Pattern) -> Self {
        let mut parts = Vec::new();
        for (index, segment) in pattern.segments().iter().enumerate() {
            let colon = if index > 0 { ":" } else { "" };
            parts.push(Part::Text([colon, &segment.prefix].concat().into_bytes()));
            if let Some(param) = &segment.param {
                parts.push(Part::Value(contract.param(param).map(Param::read_automaton).cloned()));
            }
            parts.push(Part::Text(segment.suffix.clone().into_bytes()));
        }
        Self(parts)
    }

    fn accepts(&self, name: &[u8]) -> bool {
        matches(&self.0, name)
    }
}

/// Such names are short, so trying every end of a placeholder is quick enough.
fn matches(parts: &[Part], name: &[u8]) -> bool {
    match parts {
        [] => name.is_empty(),
        [Part::Text(text), rest @ ..] => {
            name.strip_prefix(text.as_slice()).is_some_and(|name| matches(rest, name))
        }
        [Part::Value(check), rest @ ..] => (0..=name.len()).any(|end| {
            let (value, behind) = name.split_at(end);
            check.as_ref().is_none_or(|check| check.accepts(value)) && matches(rest, behind)
        }),
    }
}

/// As Redis keeps numbers, so that HINCRBY takes it: no `+`, no leading zeros.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain && (digits == "0" && text == "0" || !digits.starts_with('0'))
}

fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = text.strip_prefix('-').unwrap_or(text);
    match number.split_once('.') {
        Some((whole, part)) => digits(whole) && digits(part),
        None => digits(number),
    }
}

fn is_time(format: TimeFormat, text: &str) -> bool {
    match format {
        TimeFormat::UnixS | TimeFormat::UnixMs | TimeFormat::UnixUs => is_integer(text),
        TimeFormat::Rfc3339 | TimeFormat::Rfc3339Ms => split_zone(text).is_some_and(is_moment),
        TimeFormat::Iso => is_moment(text),
    }
}

/// The text before `Z` or `+01:00`.
fn split_zone(text: &str) -> Option<&str> {
    if let Some(moment) = text.strip_suffix('Z') {
        return Some(moment);
    }
    let (moment, zone) = text.split_at_checked(text.len().checked_sub(6)?)?;
    shaped(zone, "+00:00").or(shaped(zone, "-00:00")).map(|()| moment)
}

/// `2026-11-16T08:30:00`, with or without a fraction, and with numbers that a calendar has.
fn is_moment(text: &str) -> bool {
    let (moment, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let number =
        |from: usize| moment.get(from..from + 2).and_then(|two| two.parse::<u8>().ok()).unwrap_or(99);
    shaped(moment, "0000-00-00T00:00:00").is_some()
        && !fraction.is_empty()
        && fraction.bytes().all(|b| b.is_ascii_digit())
        && (1..=12).contains(&number(5))
        && (1..=31).contains(&number(8))
        && number(11) < 24
        && number(14) < 60
        // A leap second is one.
        && number(17) < 61
}

/// Whether there is a digit wherever the shape has one, and the same elsewhere.
fn shaped(text: &str, shape: &str) -> Option<()> {
    let fits = |(own, wanted): (u8, u8)| if wanted == b'0' { own.is_ascii_digit() } else { own == wanted };
    (text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
[contract]
name = "things"
version = "1.0"
doc = "Values of every kind."
[param]
id = { like = '[a-z]{2,4}', example = "ab" }
[component]
web = "Writes."
[key.thing]
pattern = "thing:<id>"
type = "hash"
ttl = { policy = "none" }
writes = ["web"]
doc = "A thing."
[key.thing.fields]
text = "text"
count = "int:0..10"
share = "float:0..1"
price = "decimal"
flag = { bool = "true/false" }
at = { time = "rfc3339" }
ms = { time = "unix_ms" }
state = { one_of = ["open", "shut"] }
open = { one_of = ["open"], open = true }
code = { like = '[0-9]{3}' }
owner = { param = "id" }
name = { template = ["x:<id>", "y"] }
bag = { json = "Bag" }
raw = { bytes = 2 }
mixed = { any_of = ["int", "json:Bag"] }
sum = { hex = 2 }
"vote:<id>" = "int"
[value.Bag]
encoding = "json"
doc = "A bag."
[value.Bag.fields]
size = { int = "0..", required = true }
"#;

    #[test]
    fn values_are_what_the_contract_says() {
        let contract = crate::parse("keys.toml", SOURCE).unwrap();
        let thing = contract.key("thing").unwrap();
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("text", &["", "hé"], &[]),
            ("count", &["0", "10"], &["11", "-1", "01", "+1", "1.0", "", "-0"]),
            ("share", &["0", "0.25", "1"], &["1.1", "-0.1", "NaN", "inf", "x"]),
            ("price", &["1", "-1.50", "0.1"], &["1.", ".5", "1e3", ""]),
            ("flag", &["true", "false"], &["1", "True"]),
            (
                "at",
                &["2026-11-16T08:30:00Z", "2026-11-16T08:30:00.123Z", "2026-11-16T08:30:00+01:00"],
                &[
                    "2026-11-16T08:30:00",
                    "2026-13-16T08:30:00Z",
                    "2026-11-16T24:30:00Z",
                    "2026-11-16 08:30:00Z",
                    "Z",
                ],
            ),
            ("ms", &["1731745800000"], &["x", ""]),
            ("state", &["open"], &["ajar", ""]),
            ("open", &["ajar"], &[]),
            ("code", &["123"], &["12", "1234"]),
            ("owner", &["abcd"], &["a", "abcde"]),
            ("name", &["x:ab", "y"], &["x:a", "z"]),
            ("bag", &["{\"size\":1}"], &["{}", "[]", "1", "{"]),
            ("raw", &["ab"], &["a", "abc"]),
            ("mixed", &["5", "{\"size\":1}"], &["{}"]),
            ("sum", &["00ff"], &["00FF", "00f", "00ff00"]),
            ("vote:ab", &["-7"], &["x"]),
        ];
        for (name, good, bad) in cases {
            let field = contract.field(thing, name.as_bytes()).unwrap_or_else(|| panic!("{name}"));
            let check = ValueCheck::new(&contract, &field.kind);
            for value in *good {
                assert!(check.accepts(value.as_bytes()), "{name} refuses {value:?}");
            }
            for value in *bad {
                assert!(!check.accepts(value.as_bytes()), "{name} accepts {value:?}");
            }
        }
        assert!(contract.field(thing, b"colour").is_none());
        assert!(contract.field(thing, b"vote:abcde").is_none());
    }
}
