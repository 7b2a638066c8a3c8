//! Environment variables: ours by rule, and those of the docket's first description by name.

use keyplane_schema::Code;

use crate::definition::{Meaning, Older, Part, Setting, Via};
use crate::error::Fault;
use crate::given::{Given, Level, Source};
use crate::parts::Parts;
use crate::rows::Row;
use crate::section::Section;
use crate::table::{SETTINGS, by_older_name, is_for_tools};
use crate::unknown;
use crate::value::Raw;

/// What the environment says.
#[derive(Default)]
pub(crate) struct EnvReader {
    pub(crate) given: Vec<Given>,
    pub(crate) faults: Vec<Fault>,
    /// Parts of a url, which count only when nothing else gives one.
    parts: Vec<(&'static Older, Part, String)>,
}

impl EnvReader {
    /// Reads all variables. An empty one is not set.
    pub(crate) fn read(variables: &[(String, String)]) -> Self {
        let mut reader = Self::default();
        for (name, text) in variables.iter().filter(|(_, text)| !text.is_empty()) {
            if let Some((setting, older)) = by_older_name(Via::Environment, name) {
                match older.meaning {
                    Meaning::Part(part) => reader.parts.push((older, part, text.clone())),
                    meaning => reader.give(older.section, setting, meaning, name, text),
                }
            } else if name.starts_with("KEYPLANE_") && !is_for_tools(name) {
                match known(name) {
                    Some((section, setting)) => reader.give(section, setting, Meaning::Same, name, text),
                    // Never its value: a misspelt KEYPLANE_PASSWORD has a password.
                    None => reader.faults.push(
                        Fault::new(Code::UnknownWord, format!("the variable {name} is not a setting"))
                            .help(unknown::variable(name)),
                    ),
                }
            }
        }
        reader
    }

    fn give(
        &mut self,
        section: Section,
        setting: &'static Setting,
        meaning: Meaning,
        name: &str,
        text: &str,
    ) {
        let raw = Raw::of_text(text, &setting.kind, meaning);
        match setting.kind.read_as(meaning, setting.name, setting.default, &raw) {
            Ok(value) => self.given.push(Given {
                setting,
                section,
                value,
                level: Level::Environment,
                source: Source::Variable(name.to_owned()),
                word: name.to_owned(),
                at: None,
            }),
            Err(problem) => self.faults.push(problem.of(&setting.kind, &format!("{name}="), text)),
        }
    }

    /// The docket's url from `REDIS_HOST` and its companions, when `others` give none.
    ///
    /// Containers set these variables for many programs (Kubernetes sets `REDIS_PORT` to `tcp://…` for any service named
    /// redis). So they are the weakest of what can be said, and without `REDIS_HOST` they say nothing.
    pub(crate) fn url_from_parts(&mut self, others: &[Given]) -> Result<Option<Given>, Vec<Row>> {
        let section = Section::Docket;
        let host = self.parts.iter().any(|(_, part, _)| *part == Part::Host);
        let given = others.iter().any(|given| {
            given.setting.name == "url" && given.speaks_for(section) && given.level > Level::Default
        });
        if given || !host {
            let why = if given { "The url is given elsewhere." } else { "REDIS_HOST is not set." };
            let row = |(older, ..): &(&'static Older, Part, String)| {
                Row::without_effect(section, older.name, Source::Variable(older.name.to_owned()), why)
            };
            return Err(self.parts.iter().map(row).collect());
        }
        let mut parts = Parts::default();
        // The host first: it speaks for all.
        self.parts.sort_by_key(|(_, part, _)| *part != Part::Host);
        for (older, part, text) in &self.parts {
            let kind = part.kind();
            match kind.read(part.word(), &Raw::of_text(text, &kind, Meaning::Same)) {
                Ok(value) => parts.add(*part, value, Source::Variable(older.name.to_owned()), None),
                Err(problem) => self.faults.push(problem.of(&kind, &format!("{}=", older.name), text)),
            }
        }
        Ok(parts.url(section, Level::Fallback))
    }
}

fn known(variable: &str) -> Option<(Section, &'static Setting)> {
    Section::ALL.into_iter().find_map(|section| {
        let setting = SETTINGS
            .iter()
            .find(|setting| setting.stands_in(section) && setting.variable(section) == variable)?;
        Some((section, setting))
    })
}
