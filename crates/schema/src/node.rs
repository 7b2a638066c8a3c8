//! A TOML document as a tree with spans. The only file that knows the TOML parser.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Code, Diagnostic, Span};

/// A name in a table, with its place.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) at: Span,
}

/// A value with its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) at: Span,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Text(String),
    Int(i64),
    Flag(bool),
    List(Vec<Node>),
    Table(Table),
    /// A float or date, which no word of the language takes bare; the text names it.
    Other(&'static str),
}

/// Entries in the order of the file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<(Name, Node)>,
}

impl Table {
    pub(crate) fn get(&self, word: &str) -> Option<&Node> {
        self.entries.iter().find(|(name, _)| name.text == word).map(|(_, node)| node)
    }

    pub(crate) fn text(&self, word: &str) -> Option<&str> {
        self.get(word).and_then(Node::text)
    }

    /// The texts of a word that takes one or several.
    pub(crate) fn texts(&self, word: &str) -> Vec<String> {
        self.get(word).map(Node::texts).unwrap_or_default().into_iter().map(|name| name.text).collect()
    }

    pub(crate) fn flag(&self, word: &str) -> bool {
        matches!(self.get(word), Some(Node { kind: Kind::Flag(true), .. }))
    }

    pub(crate) fn table(&self, word: &str) -> Option<&Table> {
        self.get(word).and_then(Node::table)
    }
}

impl Node {
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.kind {
            Kind::Table(table) => Some(table),
            _ => None,
        }
    }

    /// A text, or every text of a list: most words take one or several names.
    pub(crate) fn texts(&self) -> Vec<Name> {
        match &self.kind {
            Kind::Text(text) => vec![Name { text: text.clone(), at: self.at }],
            Kind::List(items) => items.iter().flat_map(Node::texts).collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Text(_) => "a text",
            Kind::Int(_) => "a number",
            Kind::Flag(_) => "true or false",
            Kind::List(_) => "a list",
            Kind::Table(_) => "a table",
            Kind::Other(name) => name,
        }
    }
}

/// Parses a document. On a syntax error the diagnostic says what the TOML parser says.
pub(crate) fn parse(source: &str) -> Result<Table, Diagnostic> {
    match DeTable::parse(source) {
        Ok(table) => Ok(convert_table(table.get_ref())),
        Err(error) => {
            let at = error.span().map_or(Span::new(0, 0), |span| Span::new(span.start, span.end));
            Err(Diagnostic::error(Code::Syntax, error.message().to_owned(), at, "here"))
        }
    }
}

fn convert_table(table: &DeTable<'_>) -> Table {
    let entries = table
        .iter()
        .map(|(name, value)| {
            (Name { text: Cow::clone(name.get_ref()).into_owned(), at: span_of(name) }, convert(value))
        })
        .collect();
    Table { entries }
}

fn convert(value: &Spanned<DeValue<'_>>) -> Node {
    let kind = match value.get_ref() {
        DeValue::String(text) => Kind::Text(Cow::clone(text).into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Kind::Int(number),
            Err(_) => Kind::Other("a number beyond 64 bits"),
        },
        DeValue::Boolean(flag) => Kind::Flag(*flag),
        DeValue::Array(items) => Kind::List(items.iter().map(convert).collect()),
        DeValue::Table(table) => Kind::Table(convert_table(table)),
        DeValue::Float(_) => Kind::Other("a fraction"),
        DeValue::Datetime(_) => Kind::Other("a date (write it in quotes)"),
    };
    Node { at: span_of(value), kind }
}

fn span_of<T>(spanned: &Spanned<T>) -> Span {
    let span = spanned.span();
    Span::new(span.start, span.end)
}
