//! What is wrong with the settings: all of it at once, in the looks of contract errors, and without secrets.

use std::fmt;

use keyplane_schema::{Broken, Code, Diagnostic, Span};

use crate::definition::Kind;

/// Longer values are cut in messages.
const SHOWN: usize = 60;

/// Everything that is wrong with the settings of one start.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// Findings in the file. Passwords in its text are blotted out.
    pub file: Option<Broken>,
    /// Findings in the environment, on the command line, and between several places.
    pub faults: Vec<Fault>,
}

/// A finding outside of the file. The message names the variable or flag.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The kind of finding.
    pub code: Code,
    /// What is wrong, and where.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Fault {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.code, self.message)?;
        match &self.help {
            Some(help) => write!(f, "\n  = help: {help}"),
            None => Ok(()),
        }
    }
}

impl Error {
    /// All findings as text, those of the file first.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let file = self.file.iter().map(|broken| broken.render(colour));
        let blocks: Vec<String> = file.chain(self.faults.iter().map(Fault::to_string)).collect();
        blocks.join("\n\n")
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self { file: None, faults: vec![fault] }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Error {}

/// What is wrong with a value, before it is known where the value stands.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    /// Complete without the label: a variable has no place to point at.
    pub(crate) message: String,
    /// What to see at the place in the file.
    pub(crate) label: String,
    pub(crate) help: Option<String>,
}

impl Problem {
    pub(crate) fn value(message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { code: Code::BadValue, message: message.into(), label: label.into(), help: None }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    pub(crate) fn at(self, at: Span) -> Diagnostic {
        let found = Diagnostic::error(self.code, self.message, at, self.label);
        match self.help {
            Some(help) => found.help(help),
            None => found,
        }
    }

    /// The same for a variable or flag: `given` is its name with what stands before the value, such as
    /// `KEYPLANE_POOL_SIZE=`. The value is repeated where it cannot be a secret.
    pub(crate) fn of(self, kind: &Kind, given: &str, text: &str) -> Fault {
        let mut shown = given.to_owned();
        match kind.is_open() {
            true => shown.extend(text.chars().take(SHOWN).flat_map(char::escape_debug)),
            false => shown.truncate(given.trim_end_matches(['=', ' ']).len()),
        }
        if kind.is_open() && text.chars().nth(SHOWN).is_some() {
            shown.push('…');
        }
        Fault { code: self.code, message: format!("{shown}: {}", self.message), help: self.help }
    }
}
