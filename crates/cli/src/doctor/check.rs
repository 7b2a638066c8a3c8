//! One question about a server, answered.

use serde_json::{Value, json};

use crate::members::NoAnswer;

/// How it stands; later is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Good,
    /// Not good, and the settings say that this is known.
    Accepted,
    /// The server does not say, mostly because the user may not ask.
    Unknown,
    Warning,
    /// The store cannot keep its promises, or anybody is let in.
    Bad,
}

impl State {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Accepted => "accepted",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Bad => "bad",
        }
    }
}

/// A question, its answer, and what to change.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) state: State,
    /// What was found.
    pub(super) fact: String,
    /// What to change; for what is unknown, how to know it.
    pub(super) advice: Option<String>,
    /// What was measured or read, for machines.
    pub(super) numbers: Value,
}

impl Check {
    fn new(name: &'static str, state: State, fact: impl Into<String>) -> Self {
        Self { name, state, fact: fact.into(), advice: None, numbers: json!({}) }
    }

    pub(super) fn good(name: &'static str, fact: impl Into<String>) -> Self {
        Self::new(name, State::Good, fact)
    }

    pub(super) fn warning(name: &'static str, fact: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..Self::new(name, State::Warning, fact) }
    }

    pub(super) fn bad(name: &'static str, fact: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..Self::new(name, State::Bad, fact) }
    }

    /// There was no answer to use. `command` is what was asked; its ACL rule is made from it.
    pub(super) fn unknown(name: &'static str, command: &str, why: &NoAnswer) -> Self {
        match why {
            NoAnswer::NotPermitted => {
                let rule = command.to_lowercase().replace(' ', "|");
                let advice = format!("run doctor as a user with +{rule}");
                let fact = format!("this user may not ask {command}");
                Self { advice: Some(advice), ..Self::new(name, State::Unknown, fact) }
            }
            why => Self::new(name, State::Unknown, format!("{command}: {why}")),
        }
    }

    pub(super) fn numbers(self, numbers: Value) -> Self {
        Self { numbers, ..self }
    }
}
