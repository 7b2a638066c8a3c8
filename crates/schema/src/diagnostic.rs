//! What is wrong with a contract or a script, where, why, and what to do.

use std::fmt;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// A range of bytes in the source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// From the first byte to one past the last.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }
}

/// What kind of thing is wrong. Stable: tools may rely on the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// Not TOML; in a script, not Lua 5.1.
    Syntax,
    /// A word the language does not have.
    UnknownWord,
    /// A word that must be there.
    Missing,
    /// A value of the wrong shape, or that does not parse.
    BadValue,
    /// A name outside the allowed alphabet, or used twice.
    BadName,
    /// A reference to something the contract does not declare.
    UnknownName,
    /// A pattern that is not well formed.
    BadPattern,
    /// A placeholder check that lets through what no key may hold.
    LooseCheck,
    /// Two patterns that can match one key.
    Overlap,
    /// Keys of one operation on different slots.
    CrossSlot,
    /// A TTL that refers to nothing, or to itself.
    TtlLink,
    /// Limits that contradict each other.
    Limits,
    /// Owners that contradict each other.
    Owners,
    /// A verb that the key's type does not have.
    Verb,
    /// An ACL pattern that reaches a stranger's keys.
    AclReach,
    /// A command that no component may have.
    AclCommand,
    /// Life-cycle words that contradict each other.
    LifeCycle,
    /// An example that its own pattern does not match.
    Example,
    /// A script's header that is missing, not well formed or about another script.
    ScriptHeader,
    /// A script whose keys or accesses are not those of its operation.
    ScriptAccess,
    /// A command that a script may not run, or not on that key.
    ScriptCommand,
    /// A key in a script that does not come from KEYS, or from a place there that the header does not declare.
    KeyOrigin,
    /// A key that a script leaves without its end, or gives another.
    ScriptExpiry,
    /// A global name that scripts do not have.
    ScriptGlobal,
    /// A function or a name in a script that cannot be followed.
    ScriptFunction,
    /// A list of any length on Lua's stack.
    ScriptUnpack,
    /// A clock other than the server's.
    ScriptTime,
    /// Something that a script's header declares and the script does not use.
    ScriptUnused,
}

impl Code {
    /// The word shown in brackets.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::UnknownWord => "unknown-word",
            Self::Missing => "missing",
            Self::BadValue => "bad-value",
            Self::BadName => "bad-name",
            Self::UnknownName => "unknown-name",
            Self::BadPattern => "bad-pattern",
            Self::LooseCheck => "loose-check",
            Self::Overlap => "overlap",
            Self::CrossSlot => "cross-slot",
            Self::TtlLink => "ttl-link",
            Self::Limits => "limits",
            Self::Owners => "owners",
            Self::Verb => "verb",
            Self::AclReach => "acl-reach",
            Self::AclCommand => "acl-command",
            Self::LifeCycle => "life-cycle",
            Self::Example => "example",
            Self::ScriptHeader => "script-header",
            Self::ScriptAccess => "script-access",
            Self::ScriptCommand => "script-command",
            Self::KeyOrigin => "key-origin",
            Self::ScriptExpiry => "script-expiry",
            Self::ScriptGlobal => "script-global",
            Self::ScriptFunction => "script-function",
            Self::ScriptUnpack => "script-unpack",
            Self::ScriptTime => "script-time",
            Self::ScriptUnused => "script-unused",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A place in the source with a word about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub at: Span,
    /// What to see there; may be empty.
    pub text: String,
}

/// One finding. The first label is where it is; others are context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The kind of finding.
    pub code: Code,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where; never empty.
    pub labels: Vec<Label>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A finding of that kind at that place.
    #[must_use]
    pub fn error(code: Code, message: impl Into<String>, at: Span, label: impl Into<String>) -> Self {
        Self { code, message: message.into(), labels: vec![Label { at, text: label.into() }], help: None }
    }

    /// Another place to look at.
    #[must_use]
    pub fn also(mut self, at: Span, label: impl Into<String>) -> Self {
        self.labels.push(Label { at, text: label.into() });
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Where it is.
    #[must_use]
    pub fn span(&self) -> Span {
        self.labels.first().map(|label| label.at).unwrap_or_default()
    }

    /// Line and column of the finding, both from 1; the column counts characters.
    #[must_use]
    pub fn line_column(&self, source: &str) -> (usize, usize) {
        let mut end = self.span().start.min(source.len());
        while !source.is_char_boundary(end) {
            end -= 1;
        }
        let before = &source[..end];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        (line, column)
    }

    /// The finding as text: what, file:line:column, the source line with marks, what to do.
    #[must_use]
    pub fn render(&self, file: &str, source: &str, colour: bool) -> String {
        let mut snippet = Snippet::source(source).path(file).fold(true);
        for (index, label) in self.labels.iter().enumerate() {
            let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
            let at = clamp(label.at, source);
            let mark = kind.span(at.start..at.end);
            snippet = snippet.annotation(if label.text.is_empty() { mark } else { mark.label(&*label.text) });
        }
        let title = Level::ERROR.primary_title(&*self.message).id(self.code.word());
        let mut report: Vec<Group<'_>> = vec![title.element(snippet)];
        if let Some(help) = &self.help {
            let main = report.remove(0);
            report.push(main.element(Level::HELP.message(&**help)));
        }
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        renderer.decor_style(DecorStyle::Ascii).render(&report)
    }
}

fn clamp(at: Span, source: &str) -> Span {
    let floor = |mut index: usize| {
        index = index.min(source.len());
        while !source.is_char_boundary(index) {
            index -= 1;
        }
        index
    };
    Span::new(floor(at.start), floor(at.end))
}

/// Everything that is wrong with one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The name of the file, as given by the caller.
    pub file: String,
    /// Its text, for the source lines.
    pub source: String,
    /// The findings, in the order of the file; never empty.
    pub diagnostics: Vec<Diagnostic>,
}

impl Broken {
    /// All findings as text.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let blocks: Vec<String> =
            self.diagnostics.iter().map(|found| found.render(&self.file, &self.source, colour)).collect();
        blocks.join("\n\n")
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Broken {}
