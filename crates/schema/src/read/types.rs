//! Types of fields, values, members and scores: in short (`"int:0.."`) or as a table.

use std::collections::BTreeMap;

use super::words::{TYPE_KINDS, TYPE_OPTIONS};
use super::{Reader, closest};
use crate::diagnostic::{Code, Span};
use crate::model::{Field, FieldMax, LifeCycle, TimeFormat, ValueType};
use crate::node::{Kind, Name, Node, Table};
use crate::pattern::Pattern;
use crate::units::{self, FloatRange, IntRange};

impl Reader<'_> {
    pub(super) fn fields(&mut self, node: &Node) -> Vec<Field> {
        let Some(table) = node.table() else { return Vec::new() };
        table.entries.iter().filter_map(|(name, node)| self.field(name, node)).collect()
    }

    fn field(&mut self, name: &Name, node: &Node) -> Option<Field> {
        let pattern = self.pattern(&name.text, name.at);
        let kind = self.value_type(node);
        let (pattern, kind) = (pattern?, kind?);
        let empty = Table::default();
        let table = node.table().unwrap_or(&empty);
        self.dates(table, name);
        let text = |word: &str| table.text(word).map(str::to_owned);
        Some(Field {
            name: pattern,
            kind,
            required: table.flag("required"),
            nullable: table.flag("nullable"),
            doc: text("doc").unwrap_or_default(),
            unit: text("unit"),
            example: text("example"),
            default: text("default"),
            max: table.get("max").and_then(|max| self.field_max(max)),
            writes: table.texts("writes"),
            life: life_cycle(table),
            at: name.at,
        })
    }

    fn field_max(&mut self, node: &Node) -> Option<FieldMax> {
        match &node.kind {
            Kind::Int(chars) => u64::try_from(*chars).ok().map(FieldMax::Chars),
            _ => self.parsed(node, units::size).map(FieldMax::Bytes),
        }
    }

    /// Parses a pattern, pointing into the text where the source is written plainly.
    pub(super) fn pattern(&mut self, text: &str, at: Span) -> Option<Pattern> {
        match Pattern::parse(text) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                let raw = self.source.get(at.start..at.end).unwrap_or_default();
                let quotes = usize::from(raw.len() == text.len() + 2);
                let plain = raw.len() == text.len() + 2 * quotes;
                let start = at.start + quotes + error.offset;
                let (spot, label) = match text {
                    "" => (at, "here".to_owned()),
                    _ if plain => (Span::new(start, start + 1), "here".to_owned()),
                    _ => (at, format!("in `{text}`")),
                };
                self.error(Code::BadPattern, error.reason, spot, label);
                None
            }
        }
    }

    pub(super) fn value_type(&mut self, node: &Node) -> Option<ValueType> {
        match &node.kind {
            Kind::Text(text) => self.short_type(text, node.at),
            Kind::Table(table) => self.long_type(table, node.at),
            _ => None,
        }
    }

    fn short_type(&mut self, text: &str, at: Span) -> Option<ValueType> {
        let (kind, argument) = match text.split_once(':') {
            Some((kind, argument)) => (kind, Some(argument)),
            None => (text, None),
        };
        if matches!(kind, "one_of" | "template" | "list" | "map" | "any_of") {
            self.error(Code::BadValue, format!("`{kind}` has no short form"), at, "write it as a table");
            return None;
        }
        if !TYPE_KINDS.iter().any(|word| word.name == kind) {
            self.unknown_kind(kind, at);
            return None;
        }
        let node =
            Node { at, kind: argument.map_or(Kind::Flag(true), |argument| Kind::Text(argument.to_owned())) };
        self.kind(kind, &node, &Table::default())
    }

    fn long_type(&mut self, table: &Table, at: Span) -> Option<ValueType> {
        let given: Vec<&(Name, Node)> = table
            .entries
            .iter()
            .filter(|(name, _)| TYPE_KINDS.iter().any(|kind| kind.name == name.text))
            .collect();
        for (name, node) in &table.entries {
            match TYPE_KINDS.iter().chain(TYPE_OPTIONS).find(|word| word.name == name.text) {
                Some(word) => self.shape(&name.text, node, word.shape, "a type"),
                None => self.unknown_kind(&name.text, name.at),
            }
        }
        match given.as_slice() {
            [(name, node)] => self.kind(&name.text, node, table),
            // An unknown word was meant to be the kind, and is already told.
            [] if table
                .entries
                .iter()
                .any(|(name, _)| !TYPE_OPTIONS.iter().any(|word| word.name == name.text)) =>
            {
                None
            }
            [] => {
                let kinds: Vec<&str> = TYPE_KINDS.iter().map(|word| word.name).collect();
                self.error(Code::Missing, "the type is missing", at, "says no kind").help =
                    Some(format!("one of: {}", kinds.join(", ")));
                None
            }
            [_, (second, _), ..] => {
                self.error(Code::BadValue, "a type has one kind", second.at, "a second kind");
                None
            }
        }
    }

    fn unknown_kind(&mut self, kind: &str, at: Span) {
        let names: Vec<&str> = TYPE_KINDS.iter().chain(TYPE_OPTIONS).map(|word| word.name).collect();
        let help = match closest(kind, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                format!("kinds: {}", TYPE_KINDS.iter().map(|word| word.name).collect::<Vec<_>>().join(", "))
            }
        };
        self.error(Code::UnknownWord, format!("a type has no word `{kind}`"), at, "not known here").help =
            Some(help);
    }

    fn kind(&mut self, kind: &str, node: &Node, table: &Table) -> Option<ValueType> {
        let argument = match &node.kind {
            Kind::Text(text) => Some(text.clone()),
            Kind::Int(number) => Some(number.to_string()),
            _ => None,
        };
        let length = |reader: &mut Self| match &argument {
            None => Some(None),
            Some(text) => match text.parse::<u32>() {
                Ok(length) if length > 0 => Some(Some(length)),
                _ => {
                    reader.error(
                        Code::BadValue,
                        format!("`{text}` is not a number of bytes"),
                        node.at,
                        "here",
                    );
                    None
                }
            },
        };
        match kind {
            "text" => Some(ValueType::Text),
            "decimal" => Some(ValueType::Decimal),
            "bytes" => length(self).map(ValueType::Bytes),
            "hex" => length(self).map(ValueType::Hex),
            "int" => self.range(argument.as_deref(), node.at, IntRange::parse).map(ValueType::Int),
            "float" => self.range(argument.as_deref(), node.at, FloatRange::parse).map(ValueType::Float),
            "bool" => match argument.as_deref().unwrap_or("true/false") {
                words @ ("true/false" | "1/0") => Some(ValueType::Bool(words.to_owned())),
                other => {
                    self.error(
                        Code::BadValue,
                        format!("`{other}` is not a way to write a flag"),
                        node.at,
                        "\"true/false\" or \"1/0\"",
                    );
                    None
                }
            },
            // In a table the argument's shape is already told.
            "time" if argument.is_none() && !table.entries.is_empty() => None,
            "time" => self.time(argument.as_deref(), node.at),
            "one_of" => Some(ValueType::OneOf {
                words: node.texts().into_iter().map(|word| word.text).collect(),
                open: table.flag("open"),
                moves: self.moves(node, table),
            }),
            "like" => self.like(argument?, node.at),
            "param" => argument.map(ValueType::Param),
            "template" => {
                let patterns: Vec<Option<Pattern>> =
                    node.texts().iter().map(|text| self.pattern(&text.text, text.at)).collect();
                patterns.into_iter().collect::<Option<Vec<_>>>().map(ValueType::Template)
            }
            "json" => Some(ValueType::Json(argument)),
            "cbor" => Some(ValueType::Cbor(argument)),
            "list" => self.value_type(node).map(|inner| ValueType::List(Box::new(inner))),
            "map" => self.value_type(node).map(|inner| ValueType::Map(Box::new(inner))),
            "any_of" => match &node.kind {
                Kind::List(items) => {
                    let kinds: Vec<Option<ValueType>> =
                        items.iter().map(|item| self.value_type(item)).collect();
                    kinds.into_iter().collect::<Option<Vec<_>>>().map(ValueType::AnyOf)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// An absent argument is no range; a bad one is an error.
    fn range<R>(
        &mut self,
        argument: Option<&str>,
        at: Span,
        parse: impl Fn(&str) -> Result<R, String>,
    ) -> Option<Option<R>> {
        match argument.map(parse) {
            None => Some(None),
            Some(Ok(range)) => Some(Some(range)),
            Some(Err(reason)) => {
                self.error(Code::BadValue, reason, at, "here");
                None
            }
        }
    }

    fn time(&mut self, argument: Option<&str>, at: Span) -> Option<ValueType> {
        let format = TimeFormat::ALL.into_iter().find(|format| Some(format.word()) == argument);
        if format.is_none() {
            let words: Vec<&str> = TimeFormat::ALL.iter().map(|format| format.word()).collect();
            let message = match argument {
                Some(other) => format!("`{other}` is not a format of time"),
                None => "a time needs its format, as in `time:unix_ms`".to_owned(),
            };
            self.error(Code::BadValue, message, at, "here").help =
                Some(format!("one of: {}", words.join(", ")));
        }
        format.map(ValueType::Time)
    }

    fn like(&mut self, regex: String, at: Span) -> Option<ValueType> {
        if let Err(reason) = crate::dfa::Dfa::regex(&regex) {
            self.error(Code::BadValue, format!("this check cannot be used: {reason}"), at, "here");
            return None;
        }
        Some(ValueType::Like(regex))
    }

    fn moves(&mut self, words: &Node, table: &Table) -> BTreeMap<String, Vec<String>> {
        let known: Vec<String> = words.texts().into_iter().map(|word| word.text).collect();
        let mut moves = BTreeMap::new();
        for (from, to) in table.table("moves").map(|moves| moves.entries.as_slice()).unwrap_or_default() {
            let targets = to.texts();
            for name in targets.iter().chain(std::iter::once(from)).filter(|name| !known.contains(&name.text))
            {
                let message = format!("`{}` is not one of the values", name.text);
                self.error(Code::UnknownName, message, name.at, "not in one_of").help =
                    Some(format!("one of: {}", known.join(", ")));
            }
            moves.insert(from.text.clone(), targets.into_iter().map(|name| name.text).collect());
        }
        moves
    }
}

pub(super) fn life_cycle(table: &Table) -> LifeCycle {
    let text = |word: &str| table.text(word).map(str::to_owned);
    LifeCycle {
        since: text("since"),
        deprecated: text("deprecated"),
        remove_after: text("remove_after"),
        alias_of: text("alias_of"),
        replaced_by: text("replaced_by"),
    }
}
