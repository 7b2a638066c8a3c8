//! All settings, resolved: flag before environment before file before default.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use keyplane_url::Secret;

use crate::credentials::{Credential, credential};
use crate::given::{Given, Source};
use crate::rows::Row;
use crate::section::Section;
use crate::table::SETTINGS;
use crate::url::StoreUrl;
use crate::value::Value;

/// The settings of one start. Prints as its rows, without secrets.
#[derive(Clone)]
pub struct Config {
    /// Everything that was said, defaults included.
    pub(crate) given: Vec<Given>,
    /// What was said in vain.
    pub(crate) inert: Vec<Row>,
}

impl Config {
    /// The settings as that section sees them.
    #[must_use]
    pub fn section(&self, section: Section) -> Settings<'_> {
        Settings { config: self, section }
    }
}

/// The settings of one section, those of the store included where the system says nothing of its own.
///
/// A getter answers `None` for what is not set and for a name or kind that the section does not have.
#[derive(Clone, Copy)]
pub struct Settings<'c> {
    pub(crate) config: &'c Config,
    pub(crate) section: Section,
}

impl<'c> Settings<'c> {
    /// A text: a word of a choice, a name, a namespace.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&'c str> {
        match self.value(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Count(count) => Some(*count),
            _ => None,
        }
    }

    /// A duration; `None` also when it is off.
    #[must_use]
    pub fn duration(&self, name: &str) -> Option<Duration> {
        match self.value(name)? {
            Value::Duration(duration) => Some(*duration),
            _ => None,
        }
    }

    /// True or false.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.value(name)? {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    /// A list of words.
    #[must_use]
    pub fn words(&self, name: &str) -> Option<&'c [String]> {
        match self.value(name)? {
            Value::Words(words) => Some(words),
            _ => None,
        }
    }

    /// The path of a file. One that stands in the file is relative to the file's folder.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<&'c Path> {
        match self.value(name)? {
            Value::Path(path) => Some(path),
            _ => None,
        }
    }

    /// A url; its user and password count only as far as nothing stronger gives them.
    #[must_use]
    pub fn url(&self, name: &str) -> Option<&'c StoreUrl> {
        match self.value(name)? {
            Value::Url(url) => Some(url),
            _ => None,
        }
    }

    /// Where the value comes from; `Default` also for what is not set.
    #[must_use]
    pub fn source(&self, name: &str) -> Source {
        self.effective(name).map_or(Source::Default, |(_, source)| source)
    }

    fn value(&self, name: &str) -> Option<&'c Value> {
        self.given(name).map(|given| &given.value)
    }

    /// The strongest of what was said.
    /// A secret, if it was given.
    pub(crate) fn secret(&self, name: &str) -> Option<Secret> {
        match self.given(name).map(|given| &given.value) {
            Some(Value::Secret(secret)) => Some(secret.clone()),
            _ => None,
        }
    }

    pub(crate) fn given(&self, name: &str) -> Option<&'c Given> {
        let said = self.config.given.iter().filter(|given| given.setting.name == name);
        said.filter(|given| given.speaks_for(self.section)).max_by_key(|given| given.rank())
    }

    /// Whether anything was said for this section alone, also by the way of its url.
    pub(crate) fn has_own(&self, name: &str) -> bool {
        let own = |given: &&Given| given.section == self.section;
        let said = self.config.given.iter().filter(own).any(|given| given.setting.name == name);
        said || credential(*self, name).is_some_and(|found| found.given().section == self.section)
    }

    /// The value as it is shown, with its source.
    pub(crate) fn effective(&self, name: &str) -> Option<(String, Source)> {
        match credential(*self, name) {
            Some(found) => Some((found.shown(), found.given().source.clone())),
            None if Credential::is_one(name) => None,
            None => self.given(name).map(|given| (given.value.shown(), given.source.clone())),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let rows = rows.iter().map(|row| (format!("{}.{}", row.section.word(), row.name), &row.value));
        f.debug_map().entries(rows).finish()
    }
}

impl fmt::Debug for Settings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = SETTINGS.iter().filter(|setting| setting.stands_in(self.section));
        let values = own.filter_map(|setting| Some((setting.name, self.effective(setting.name)?.0)));
        f.debug_map().entries(values).finish()
    }
}
