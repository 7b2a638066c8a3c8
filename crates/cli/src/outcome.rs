//! How a command ends: exit codes and errors that say what to do.

use std::process::ExitCode;

/// A command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit code 0.
    Fine,
    /// Exit code 1: it looked and found something wrong.
    Finding,
}

impl Outcome {
    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Fine => 0,
            Self::Finding => 1,
        })
    }
}

/// A command that could not do its work. Exit code 2: the input is at fault.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What, where, why: one line.
    pub(crate) what: String,
    /// What to do: one line.
    pub(crate) help: Option<String>,
    broken_pipe: bool,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), help: None, broken_pipe: false }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(2)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self {
            what: format!("cannot write the output: {error}"),
            help: None,
            broken_pipe: error.kind() == std::io::ErrorKind::BrokenPipe,
        }
    }
}
