//! What an operation takes.

use keyplane_schema::Contract;
use serde_json::{Value, json};

use super::kind::Kind;

/// A parameter of an operation.
#[derive(Debug)]
#[non_exhaustive]
pub struct Param {
    /// Its name, as the contract spells it where it has one.
    pub name: &'static str,
    /// What it may hold.
    pub kind: Kind,
    /// Whether it must be given.
    pub need: Need,
    /// What it means.
    pub doc: &'static str,
    /// A value, as it is typed on a command line.
    pub example: &'static str,
}

/// Whether a parameter must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It says what is worked on: it must be given, and a command line has it without a name.
    Subject,
    /// It must be given.
    Required,
    /// It may be left out.
    Optional,
    /// It may be left out, and is this then.
    Default(&'static str),
}

impl Param {
    /// What is worked on.
    #[must_use]
    pub const fn subject(name: &'static str, kind: Kind, doc: &'static str, example: &'static str) -> Self {
        Self { name, kind, need: Need::Subject, doc, example }
    }

    /// One that must be given.
    #[must_use]
    pub const fn required(name: &'static str, kind: Kind, doc: &'static str, example: &'static str) -> Self {
        Self { name, kind, need: Need::Required, doc, example }
    }

    /// One that may be left out.
    #[must_use]
    pub const fn optional(name: &'static str, kind: Kind, doc: &'static str, example: &'static str) -> Self {
        Self { name, kind, need: Need::Optional, doc, example }
    }

    /// One that has a value when it is left out.
    #[must_use]
    pub const fn with_default(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        doc: &'static str,
        example: &'static str,
    ) -> Self {
        Self { name, kind, need: Need::Default(default), doc, example }
    }

    /// Whether the operation refuses without it.
    #[must_use]
    pub fn is_required(&self) -> bool {
        matches!(self.need, Need::Subject | Need::Required)
    }

    /// As a command line names it: `loopLevel` is `loop-level`.
    #[must_use]
    pub fn flag(&self) -> String {
        let mut flag = String::new();
        for letter in self.name.chars() {
            if letter.is_ascii_uppercase() {
                flag.push('-');
            }
            flag.push(letter.to_ascii_lowercase());
        }
        flag
    }

    /// Its JSON schema, with what the contract says about ids.
    #[must_use]
    pub fn schema(&self, contract: &Contract) -> Value {
        let mut schema = self.kind.schema(contract);
        schema["description"] = json!(self.doc);
        schema["examples"] = json!([self.kind.from_text(self.example)]);
        if let Need::Default(default) = self.need {
            schema["default"] = json!(self.kind.from_text(default));
        }
        schema
    }

    /// The example, as a shell takes it.
    pub(super) fn on_a_command_line(&self) -> String {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.,:/".contains(letter);
        let value = match self.example.chars().all(plain) {
            true => self.example.to_owned(),
            false => format!("'{}'", self.example),
        };
        match (self.need, &self.kind) {
            (Need::Subject, _) => value,
            (_, Kind::Flag) => format!("--{}", self.flag()),
            _ => format!("--{} {value}", self.flag()),
        }
    }
}
