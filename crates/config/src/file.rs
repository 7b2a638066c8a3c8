//! `keyplane.toml`: every finding at once, with its line.

use std::path::Path;

use keyplane_schema::{Broken, Code, Diagnostic, Span};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::definition::{Inert, Kind, Meaning, Setting, Via};
use crate::given::{Given, Level, Source};
use crate::mask;
use crate::parts::Parts;
use crate::rows::Row;
use crate::section::{OLDER_MEMPOOL, Section};
use crate::table::{INERT, by_older_name, setting};
use crate::unknown;
use crate::value::{Raw, Value};

/// What a file says.
pub(crate) struct FileReader<'s> {
    name: &'s str,
    text: &'s str,
    pub(crate) given: Vec<Given>,
    /// Words without an effect, to be shown as such.
    pub(crate) inert: Vec<Row>,
    pub(crate) found: Vec<Diagnostic>,
    /// The text without secrets, for messages.
    masked: String,
}

/// The key and value of one line.
type Entry<'e, 'i> = (&'e Spanned<DeString<'i>>, &'e Spanned<DeValue<'i>>);

impl<'s> FileReader<'s> {
    /// Reads a file. `name` is for messages and the place from which relative paths start.
    pub(crate) fn read(name: &'s str, text: &'s str) -> Self {
        let mut reader = Self {
            name,
            text,
            given: Vec::new(),
            inert: Vec::new(),
            found: Vec::new(),
            masked: String::new(),
        };
        match DeTable::parse(text) {
            Ok(table) => {
                reader.masked = mask::document(text, table.get_ref());
                reader.document(table.get_ref());
            }
            Err(error) => {
                reader.masked = mask::text(text);
                let at = error.span().map_or(Span::new(0, 0), |span| Span::new(span.start, span.end));
                reader.found.push(Diagnostic::error(Code::Syntax, error.message(), at, "here"));
            }
        }
        reader
    }

    /// The findings, in the order of the file; `None` when there are none.
    pub(crate) fn broken(mut self) -> Option<Broken> {
        if self.found.is_empty() {
            return None;
        }
        self.found.sort_by_key(|found| found.span().start);
        Some(Broken { file: self.name.to_owned(), source: self.masked, diagnostics: self.found })
    }

    fn document(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let word = name.get_ref().as_ref();
            match (Section::named(word), value.get_ref()) {
                (Some(section), DeValue::Table(inner)) => self.section(section, inner),
                (None, DeValue::Table(inner)) if word == OLDER_MEMPOOL.0 => self.older_mempool(inner),
                (None, DeValue::Table(_)) => self.no_section(word, span_of(name)),
                (Some(_), _) => {
                    let message = format!("[{word}] is a section, not a value");
                    let found = Diagnostic::error(
                        Code::BadValue,
                        message,
                        span_of(name),
                        format!("this is {}", raw(value).kind_name()),
                    );
                    self.found
                        .push(found.help(format!("write [{word}] on a line of its own, settings below it")));
                }
                (None, _) => {
                    let message = format!("`{word}` stands outside of every section");
                    let found =
                        Diagnostic::error(Code::UnknownWord, message, span_of(name), "not known here");
                    self.found.push(found.help(unknown::outside(word)));
                }
            }
        }
    }

    fn older_mempool(&mut self, storage: &DeTable<'_>) {
        for (name, value) in storage {
            match (name.get_ref().as_ref(), value.get_ref()) {
                (word, DeValue::Table(inner)) if word == OLDER_MEMPOOL.1 => {
                    self.section(Section::Mempool, inner)
                }
                (word, _) => self.no_section(&format!("{}.{word}", OLDER_MEMPOOL.0), span_of(name)),
            }
        }
    }

    fn no_section(&mut self, word: &str, at: Span) {
        let message = format!("there is no section [{word}]");
        let help = match word.split_once('.') {
            Some((storage, _)) if storage == OLDER_MEMPOOL.0 => {
                format!("of [{storage}], only [{storage}.{}] is read", OLDER_MEMPOOL.1)
            }
            _ => unknown::section(word),
        };
        self.found.push(Diagnostic::error(Code::UnknownWord, message, at, "not known").help(help));
    }

    fn section(&mut self, section: Section, table: &DeTable<'_>) {
        let mut parts = Parts::default();
        for (name, value) in table {
            let word = name.get_ref().as_ref();
            let older = by_older_name(Via::File, word).filter(|(_, older)| older.section == section);
            if let Some(inert) = INERT.iter().find(|inert| inert.section == section && inert.name == word) {
                self.inert(inert, (name, value));
            } else if let Some((setting, older)) = older {
                let raw = raw(value);
                match setting.kind.read_as(older.meaning, word, setting.default, &raw) {
                    Err(problem) => self.found.push(problem.at(span_of(value))),
                    Ok(value) => match older.meaning {
                        Meaning::Part(part) => parts.add(part, value, self.source(name), span_of(name)),
                        _ => self.give(section, setting, value, name),
                    },
                }
            } else if let Some(setting) = setting(section, word) {
                self.setting(section, setting, (name, value));
            } else {
                let message = format!("{section} has no setting `{word}`");
                let found = Diagnostic::error(Code::UnknownWord, message, span_of(name), "not known here");
                self.found.push(found.help(unknown::in_section(section, word)));
            }
        }
        self.given.extend(parts.url(section, Level::File));
    }

    fn setting(&mut self, section: Section, setting: &'static Setting, (name, value): Entry<'_, '_>) {
        if matches!(setting.kind, Kind::Secret) {
            let found = Diagnostic::error(
                Code::BadValue,
                "a password does not belong in this file: it is copied, committed and backed up",
                span_of(value),
                "blotted out here",
            );
            self.found.push(found.help(format!(
                "set {}, or put it in a file of its own (chmod 600) and name that in `password_file`",
                setting.variable(section)
            )));
            return;
        }
        match setting.kind.read(setting.name, &raw(value)) {
            Ok(value) => self.give(section, setting, self.anchored(value), name),
            Err(problem) => self.found.push(problem.at(span_of(value))),
        }
    }

    fn inert(&mut self, inert: &'static Inert, (name, value): Entry<'_, '_>) {
        if let Some(Err(problem)) = inert.kind.map(|kind| kind.read(inert.name, &raw(value))) {
            let problem = match inert.help {
                Some(help) => problem.help(help),
                None => problem,
            };
            self.found.push(problem.at(span_of(value)));
        }
        let source = self.source(name);
        self.inert.push(Row::without_effect(inert.section, inert.name, source, inert.doc));
    }

    fn give(
        &mut self,
        section: Section,
        setting: &'static Setting,
        value: Value,
        name: &Spanned<DeString<'_>>,
    ) {
        self.given.push(Given {
            setting,
            section,
            value,
            level: Level::File,
            source: self.source(name),
            word: name.get_ref().to_string(),
            at: Some(span_of(name)),
        });
    }

    /// A path in a file starts from the file's own folder, wherever the process was started.
    fn anchored(&self, value: Value) -> Value {
        match (value, Path::new(self.name).parent()) {
            (Value::Path(path), Some(folder)) => Value::Path(folder.join(path)),
            (value, _) => value,
        }
    }

    fn source(&self, name: &Spanned<DeString<'_>>) -> Source {
        let before = self.text.get(..name.span().start).unwrap_or_default();
        Source::File { name: self.name.to_owned(), line: before.matches('\n').count() + 1 }
    }
}

fn raw(value: &Spanned<DeValue<'_>>) -> Raw {
    match value.get_ref() {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Raw::Int(number),
            Err(_) => Raw::Other("a number beyond 64 bits"),
        },
        DeValue::Float(number) => number.as_str().parse().map_or(Raw::Other("a fraction"), Raw::Fraction),
        DeValue::Boolean(flag) => Raw::Flag(*flag),
        DeValue::Array(items) => Raw::List(items.iter().map(raw).collect()),
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Table(_) => Raw::Other("a table"),
    }
}

fn span_of<T>(spanned: &Spanned<T>) -> Span {
    let span = spanned.span();
    Span::new(span.start, span.end)
}
