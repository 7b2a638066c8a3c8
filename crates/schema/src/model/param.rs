//! Placeholders and what they accept.

use std::sync::Arc;

use crate::dfa::Dfa;
use crate::units::IntRange;

/// A typed placeholder.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Param {
    /// Its name, as in `<name>`.
    pub name: String,
    /// What it accepts.
    pub kind: ParamKind,
    /// Whether a value may hold `:`.
    pub colons: bool,
    /// Words it never takes.
    pub except: Vec<String>,
    /// The shape of old ids, accepted on reading only.
    pub legacy: Option<String>,
    /// What it is.
    pub doc: String,
    /// A value that passes.
    pub example: Option<String>,
    pub(crate) check: Arc<Dfa>,
    pub(crate) read_check: Arc<Dfa>,
}

/// What a placeholder accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParamKind {
    /// Any text without `:`, braces, white space and control characters.
    Text,
    /// Text of that shape.
    Like(String),
    /// Known words; `open` admits others.
    OneOf {
        /// The words.
        words: Vec<String>,
        /// Whether other text passes.
        open: bool,
    },
    /// A decimal number.
    Int(IntRange),
    /// That many bytes in lowercase hex.
    Hex(u32),
    /// That many raw bytes: for names of hash fields, never in a key.
    Bytes(u32),
}

impl Param {
    /// Whether a key with this value may be written.
    #[must_use]
    pub fn accepts(&self, value: &str) -> bool {
        self.check.accepts(value.as_bytes())
    }

    /// Whether a key with this value may be read: new or legacy.
    #[must_use]
    pub fn accepts_for_reading(&self, value: &str) -> bool {
        self.read_check.accepts(value.as_bytes())
    }

    /// The automaton of values that may be written, for generated code.
    #[must_use]
    pub fn automaton(&self) -> &Dfa {
        &self.check
    }

    /// The automaton of values that may be read.
    #[must_use]
    pub fn read_automaton(&self) -> &Dfa {
        &self.read_check
    }

    /// A value that passes: the example, or one made up.
    #[must_use]
    pub fn sample(&self) -> String {
        let known = match &self.kind {
            ParamKind::OneOf { words, .. } => words.iter().find(|word| self.accepts(word)).cloned(),
            _ => None,
        };
        let made_up = || String::from_utf8_lossy(&self.check.shortest().unwrap_or_default()).into_owned();
        self.example.clone().or(known).unwrap_or_else(made_up)
    }
}
