//! Why an operation was not carried out, the same at every door.

use std::borrow::Cow;
use std::fmt::Display;

use keyplane_kit::index::DrainError;
use keyplane_kit::lease::LeaseError;
use keyplane_kit::record::{CommitError, FieldProblem};
use keyplane_store::{Cause, Error};
use serde_json::{Value, json};

use super::param::Param;
use crate::keys::Status;
use crate::state::{ImportError, OpError, ReadError};

/// Of a message.
const MOST_LETTERS: usize = 400;

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
#[non_exhaustive]
pub struct Refused {
    /// Whose doing it is; from this follow the status of HTTP and the exit code of a command.
    pub blame: Blame,
    /// For programs: a word that stays, such as `held`.
    pub code: &'static str,
    /// For people and models: what happened, to what.
    pub message: String,
    /// What the caller can do.
    pub help: Cow<'static, str>,
}

/// Whose doing a refusal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blame {
    /// What was asked makes no sense.
    Input,
    /// What was given is too much.
    Size,
    /// There is no such thing.
    Absence,
    /// What is there stands against it.
    State,
    /// The store is away, or too busy.
    Store,
    /// Somebody has damaged what is kept, or this program is wrong.
    Inside,
}

impl Blame {
    /// The exit code of a command: 1 refused, 2 bad input, 3 no answer from the store.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Absence | Self::State | Self::Inside => 1,
            Self::Input | Self::Size => 2,
            Self::Store => 3,
        }
    }
}

impl Refused {
    pub(super) fn new(
        blame: Blame,
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<Cow<'static, str>>,
    ) -> Self {
        let mut message = message.into();
        // Whoever sent too much does not get it back.
        if let Some((end, _)) = message.char_indices().nth(MOST_LETTERS) {
            message.truncate(end);
            message.push('…');
        }
        Self { blame, code, message, help: help.into() }
    }

    /// What was given for a parameter will not do, or is missing.
    pub(super) fn bad_parameter(param: &Param, why: &str) -> Self {
        let help = format!("{} For example {}.", param.doc, param.example);
        let (blame, code) = match why.starts_with("has ") {
            true => (Blame::Size, "too_large"),
            false => (Blame::Input, "bad_parameter"),
        };
        Self::new(blame, code, format!("`{}` {why}", param.name), help)
    }

    /// What was given for a parameter will not do.
    pub(super) fn bad_argument(name: &str, why: &dyn Display) -> Self {
        Self::new(Blame::Input, "bad_parameter", format!("`{name}`: {why}"), "correct it, and ask again")
    }

    /// A parameter of which the table says that it may be left out, and the function that it may not.
    pub(super) fn no_argument(name: &str) -> Self {
        Self::new(Blame::Input, "bad_parameter", format!("`{name}` is missing"), "give it, and ask again")
    }

    pub(super) fn unknown_parameter(op: &str, name: &str, known: &[&str]) -> Self {
        let help = match keyplane_schema::closest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "it takes none".to_owned(),
            None => format!("it takes {}", known.join(", ")),
        };
        Self::new(Blame::Input, "unknown_parameter", format!("{op} has no parameter `{name}`"), help)
    }

    /// A change that names nothing to change.
    pub(super) fn nothing_to_change(names: &str) -> Self {
        Self::new(
            Blame::Input,
            "bad_parameter",
            "nothing is to be changed",
            format!("give at least one of {names}"),
        )
    }

    /// As JSON: the one error body.
    #[must_use]
    pub fn told(&self) -> Value {
        json!({ "error": { "code": self.code, "message": self.message, "help": self.help } })
    }
}

impl From<OpError> for Refused {
    fn from(error: OpError) -> Self {
        let message = error.to_string();
        let absent = |code, help| (Blame::Absence, code, help);
        let stands = |code, help| (Blame::State, code, help);
        let (blame, code, help) = match &error {
            OpError::NoSwarm { .. } => absent(
                "no_swarm",
                "check the id; a swarm ends an hour after its last activity, and swarm_recover brings back one that was saved",
            ),
            OpError::Unknown { .. } => absent("unknown", "check the id; swarm_status lists agents and tasks"),
            OpError::Over { status, .. } if status == Status::Failed.as_str() => {
                stands("over", "let it go on with swarm_recover")
            }
            OpError::Over { .. } => {
                stands("over", "create another swarm, or begin one where this one ended with checkpoint_fork")
            }
            OpError::Waits { status, .. } if status == Status::Recovering.as_str() => stands(
                "not_running",
                "wait until it is recovered; if whoever did that has died, begin again with swarm_recover",
            ),
            OpError::Waits { .. } => stands("not_running", "set it running with swarm_update, or wait"),
            OpError::Remains { .. } => stands(
                "remains",
                "choose another id, or recover it; what is left of it runs out by itself, its checkpoints after seven days",
            ),
            OpError::Exists { .. } => stands("exists", "choose another id, or look at what is there"),
            OpError::Conflict { .. } => stands("conflict", "read it again and decide anew"),
            OpError::Move { from, to, .. }
                if from == Status::Failed.as_str() && to == Status::Running.as_str() =>
            {
                stands("no_such_move", "let it go on with swarm_recover")
            }
            OpError::Move { .. } => {
                stands("no_such_move", "look at its status; the contract lists the moves")
            }
            OpError::Busy { .. } => {
                stands("busy", "finish or fail that task first; task_claim without `task` tells its fence")
            }
            OpError::TakesNone { .. } => stands("takes_none", "set the agent idle with agent_update"),
            OpError::Lost { .. } => {
                stands("lost", "stop working on it: somebody else has it, or it is finished")
            }
            OpError::Held { .. } => stands(
                "held",
                "take another task, or wait until its holder gives it up or its lease runs out",
            ),
            OpError::NotListed { .. } => stands(
                "not_listed",
                "ask again if it has just come back; one that was written by hand is handed out by nobody, task_create makes one that is",
            ),
            OpError::Open { .. } => stands("open_tasks", "complete them, or call them off with task_cancel"),
            OpError::Unmet { .. } => stands("unmet", "meet the criteria and name them in `met`"),
            OpError::Runs { .. } => stands("too_many_runs", "ask a person: it does not converge"),
            OpError::NoValidator { .. } => {
                stands("no_validator", "only agents that were registered with type validator vote")
            }
            OpError::LeftVoter { .. } => {
                stands("no_validator", "set the agent idle with agent_update if it is there after all")
            }
            OpError::Full { .. } => stands(
                "full",
                "who has voted may change its vote; close the round, or open another with more `eligible`",
            ),
            OpError::Crowded { .. } => stands(
                "full",
                "finish or call off some of what is there, or begin another swarm for the rest",
            ),
            OpError::Late { .. } => stands("closed", "close it, and open another round"),
            OpError::Closed { .. } => stands("closed", "open another round"),
            OpError::Early { .. } => stands("early", "wait for the votes that are missing, or for that time"),
            OpError::Fenced { .. } => stands("fenced", "take the lock again before you go on"),
            OpError::Locked { .. } => {
                stands("locked", "wait until it is given back, 30 seconds at most if nobody renews it")
            }
            OpError::Lock(LeaseError::Store(error)) => return Self::of_store(error),
            OpError::Lock(_) => (Blame::Store, "unavailable", "ask again"),
            OpError::Index(DrainError::Store(error)) => return Self::of_store(error),
            OpError::Unsaved { .. } => stands("unsaved", "make a checkpoint first"),
            OpError::NoSeries { .. } => {
                stands("no_series", "look at the key with redis-cli; once it is gone, values can be recorded")
            }
            OpError::TooOld { .. } => (Blame::Input, "too_old", "leave `at` out for a value of now"),
            OpError::Layout { why, .. } if why.starts_with("has ") => {
                (Blame::Size, "too_large", "shorten it, or keep it elsewhere and name it")
            }
            OpError::Layout { .. } => (Blame::Input, "bad_parameter", "correct it, and ask again"),
            OpError::NoNumber { .. } => (Blame::Input, "bad_parameter", "give a finite number"),
            OpError::Damaged { .. } => {
                stands("damaged", "use an earlier checkpoint; checkpoint_list lists them")
            }
            OpError::TooLarge { .. } => {
                (Blame::Size, "too_large", "shorten it, or keep it elsewhere and name it")
            }
            OpError::Contended { .. } => (Blame::Store, "contended", "ask again"),
            OpError::Field(error) => return Self::of_field(error, message),
            OpError::Store(error) => return Self::of_store(error),
            OpError::Read(_) => (Blame::Inside, "damaged", "look at the key with redis-cli"),
            OpError::NoOutbox
            | OpError::NoLock
            | OpError::Index(_)
            | OpError::Kit(_)
            | OpError::Unreadable(_) => {
                (Blame::Inside, "internal", "is another version of this program at work on the same store?")
            }
        };
        Self::new(blame, code, message, help)
    }
}

impl From<ImportError> for Refused {
    fn from(error: ImportError) -> Self {
        let help = match error {
            ImportError::Other { .. } => "recover the swarm that it is of",
            _ => "export it again",
        };
        Self::new(Blame::Input, "bad_export", format!("the export cannot be used: {error}"), help)
    }
}

impl From<ReadError> for Refused {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Store(error) => Self::of_store(&error),
            error @ ReadError::Damaged { .. } => {
                Self::new(Blame::Inside, "damaged", error.to_string(), "look at the key with redis-cli")
            }
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::of_store(&error)
    }
}

impl Refused {
    fn of_field(error: &CommitError, message: String) -> Self {
        match error {
            CommitError::Field { problem: FieldProblem::TooLong { .. }, .. }
            | CommitError::TooLarge { .. } => {
                Self::new(Blame::Size, "too_large", message, "shorten it, or keep it elsewhere and name it")
            }
            CommitError::Store(error) => Self::of_store(error),
            _ => Self::new(
                Blame::Input,
                "bad_parameter",
                message,
                "keyplane keys show tells what a field may hold",
            ),
        }
    }

    fn of_store(error: &Error) -> Self {
        let message = error.to_string();
        match error.cause() {
            Cause::Limit { .. } => {
                Self::new(Blame::Size, "too_large", message, "shorten it, or keep it elsewhere and name it")
            }
            Cause::LegacyId => Self::new(
                Blame::Input,
                "bad_parameter",
                message,
                "what has an id of that shape can only be read",
            ),
            Cause::WrongType => {
                Self::new(Blame::Inside, "damaged", message, "look at the key with redis-cli")
            }
            _ if error.maybe_applied() => Self::new(
                Blame::Store,
                "unavailable",
                message,
                "it may have been carried out: look before you ask again",
            ),
            _ => Self::new(Blame::Store, "unavailable", message, "nothing was changed: ask again later"),
        }
    }
}
