//! Every setting with its value and source, for `config show`.

use crate::config::Config;
use crate::given::Source;
use crate::section::Section;
use crate::table::SETTINGS;

/// One line of `config show`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// Whose setting.
    pub section: Section,
    /// Its name.
    pub name: String,
    /// Its value as text; a secret is `(set)`, what is accepted in vain is `(no effect)`.
    pub value: String,
    /// Where the value comes from.
    pub source: Source,
    /// What it means, or why it has no effect.
    pub doc: &'static str,
}

impl Row {
    pub(crate) fn without_effect(section: Section, name: &str, source: Source, doc: &'static str) -> Self {
        Self { section, name: name.to_owned(), value: "(no effect)".to_owned(), source, doc }
    }
}

impl Config {
    /// Every setting of every section, in the order of the reference. A system has a row for a setting of the store when
    /// something was said for that system alone.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for section in Section::ALL {
            for setting in SETTINGS.iter().filter(|setting| setting.stands_in(section)) {
                let settings = self.section(section);
                if !setting.is_told_in(section) && !settings.has_own(setting.name) {
                    continue;
                }
                let (value, source) = settings
                    .effective(setting.name)
                    .unwrap_or_else(|| ("(not set)".to_owned(), Source::Default));
                rows.push(Row { section, name: setting.name.to_owned(), value, source, doc: setting.doc });
            }
            rows.extend(self.inert.iter().filter(|row| row.section == section).cloned());
        }
        rows
    }
}
