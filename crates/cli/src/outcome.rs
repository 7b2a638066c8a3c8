//! How a command ends: exit codes and errors that say what to do.

use std::process::ExitCode;

use serde_json::Value;

/// A command that ran to its end, or as far as it was let.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit code 0.
    Fine,
    /// Exit code 1: it looked and found something wrong.
    Finding,
    /// Exit code 4: it was stopped, and has shown what it had by then.
    Interrupted,
}

impl Outcome {
    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Fine => 0,
            Self::Finding => 1,
            Self::Interrupted => Kind::Interrupted.code(),
        })
    }
}

/// Who is at fault when a command could not do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The input: arguments, settings, contracts.
    Input,
    /// The store: it is not there, or does not let us in.
    Unreachable,
    /// Nobody: the user stopped it before there was anything to show.
    Interrupted,
}

impl Kind {
    fn code(self) -> u8 {
        match self {
            Self::Input => 2,
            Self::Unreachable => 3,
            Self::Interrupted => 4,
        }
    }
}

/// A command that could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What, where, why: one line.
    pub(crate) what: String,
    /// For programs: a word that stays, where there is one.
    pub(crate) code: Option<&'static str>,
    /// What to do: one line.
    pub(crate) help: Option<String>,
    /// Every finding, for a command whose task is to show them all.
    pub(crate) details: Option<Box<Details>>,
    kind: Kind,
    broken_pipe: bool,
}

/// More than fits on a line.
#[derive(Debug)]
pub(crate) struct Details {
    /// For people; ends without a line break.
    pub(crate) text: String,
    /// For machines.
    pub(crate) findings: Value,
}

impl Failure {
    /// The input is at fault.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            code: None,
            help: None,
            details: None,
            kind: Kind::Input,
            broken_pipe: false,
        }
    }

    pub(crate) fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    #[cfg(feature = "swarm")]
    pub(crate) fn code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn details(mut self, text: String, findings: Value) -> Self {
        self.details = Some(Box::new(Details { text, findings }));
        self
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.code())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let broken_pipe = error.kind() == std::io::ErrorKind::BrokenPipe;
        Self { broken_pipe, ..Self::new(format!("cannot write the output: {error}")) }
    }
}
