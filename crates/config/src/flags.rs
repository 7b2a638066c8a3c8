//! Flags of the command line.

use std::fmt;

use keyplane_schema::Code;

use crate::definition::Meaning;
use crate::error::Fault;
use crate::given::{Given, Level, Source};
use crate::section::Section;
use crate::table::setting;
use crate::value::{Raw, Value};

/// A flag that sets a setting.
#[derive(Clone, PartialEq, Eq)]
pub struct Flag {
    flag: String,
    section: Section,
    setting: String,
    value: String,
}

impl Flag {
    /// `flag` is what the user typed, such as `--url`; it sets `setting` of `section` to `value`.
    pub fn new(
        flag: impl Into<String>,
        section: Section,
        setting: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        Self { flag: flag.into(), section, setting: setting.into(), value: value.into() }
    }

    pub(crate) fn read(&self) -> Result<Given, Fault> {
        let Some(setting) = setting(self.section, &self.setting) else {
            let message =
                format!("{} is for `{}`, which {} does not have", self.flag, self.setting, self.section);
            return Err(Fault::new(Code::UnknownName, message));
        };
        let raw = Raw::of_text(&self.value, &setting.kind, Meaning::Same);
        let value = setting
            .kind
            .read(setting.name, &raw)
            .map_err(|problem| problem.of(&setting.kind, &format!("{} ", self.flag), &self.value))?;
        if has_password(&value) {
            let message = format!(
                "{} carries a password, and every user of this machine can read a command line",
                self.flag
            );
            return Err(Fault::new(Code::BadValue, message)
                .help("set KEYPLANE_PASSWORD, or name a file (chmod 600) in KEYPLANE_PASSWORD_FILE"));
        }
        Ok(Given {
            setting,
            section: self.section,
            value,
            level: Level::Flag,
            source: Source::Flag(self.flag.clone()),
            word: self.flag.clone(),
            at: None,
        })
    }
}

fn has_password(value: &Value) -> bool {
    match value {
        Value::Secret(_) => true,
        Value::Url(url) => url.password.is_some(),
        _ => false,
    }
}

/// Without the value, which may hold what it should not.
impl fmt::Debug for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flag")
            .field("flag", &self.flag)
            .field("section", &self.section)
            .field("setting", &self.setting)
            .finish_non_exhaustive()
    }
}
