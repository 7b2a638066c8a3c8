//! What can go wrong, and what the caller can do about it.
//!
//! "Redis is down" never looks like "no such thing": an absent key is an `Option`, everything here is a failure.

use std::fmt;
use std::time::Duration;

use crate::reply::{ServerError, UnexpectedReply};

/// An operation that did not end well.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    operation: Operation,
    cause: Cause,
    applied: Applied,
}

/// What was to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// The command or script.
    pub name: &'static str,
    /// The pattern of the key, without the namespace; of a script, that of its first key.
    pub pattern: &'static str,
    /// Whether it would change anything.
    pub writes: bool,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.pattern)
    }
}

/// Whether the operation took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It did not.
    No,
    /// Nobody can say: it was sent, and the answer is missing.
    Maybe,
}

/// Why it failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The component may not do that. Fix the program or the contract.
    #[error("the contract does not let {component} do that")]
    NotGranted {
        /// The component.
        component: String,
    },
    /// The handle is for reading.
    #[error("this handle is read-only")]
    ReadOnlyHandle,
    /// The key belongs to another contract, or the contract has changed since this was compiled.
    #[error("the key is not in the contract {contract}")]
    ForeignKey {
        /// The contract of the handle.
        contract: String,
    },
    /// The id has an old shape, which may be read and never written.
    #[error("the key holds an id of an old shape, which may only be read")]
    LegacyId,
    /// A limit of the contract. Nothing was written.
    #[error("over the limit of the contract: at most {most} {what}, this would be {would_be}")]
    Limit {
        /// `bytes`, `fields` or `members`.
        what: &'static str,
        /// The limit.
        most: u64,
        /// What it would have become.
        would_be: u64,
    },
    /// The key lives as long as another one, which was not named: `linked_to`.
    #[error("the key lives as long as its {parent}; name that with linked_to")]
    NeedsParent {
        /// The other key's name.
        parent: &'static str,
    },
    /// The key that this one's life is linked to is not there. Nothing was written.
    #[error("{parent} is not there, so this key would have no end")]
    NoParent {
        /// The other key's name.
        parent: &'static str,
    },
    /// A TTL that the contract does not allow.
    #[error("a TTL of {wanted:?} is not in the contract: {rule}")]
    Ttl {
        /// The TTL asked for.
        wanted: Duration,
        /// What the contract says.
        rule: String,
    },
    /// A blocking command needs a connection of its own: `dedicated`.
    #[error("a blocking command would hold up all others on this connection; use dedicated()")]
    Blocking,
    /// The keys of one step lie on different slots.
    #[error("the keys of one step lie on slots {0} and {1}")]
    CrossSlot(u16, u16),

    /// No connection in time. Nothing was sent.
    #[error("{address} cannot be reached: {why}")]
    Unreachable {
        /// The server.
        address: String,
        /// What the last attempt met.
        why: String,
    },
    /// The server does not let us in: a wrong password, a missing certificate. Nothing was sent.
    #[error("{address} cannot be reached: {why}")]
    Refused {
        /// The server.
        address: String,
        /// What it says.
        why: String,
    },
    /// All connections for blocking operations are in use.
    #[error("all {size} connections of the pool are in use; waited {waited:?}")]
    PoolExhausted {
        /// `pool_size`.
        size: usize,
        /// How long.
        waited: Duration,
    },
    /// No answer within the deadline.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The connection ended before the answer came.
    #[error("the connection was lost before the answer came: {0}")]
    ConnectionLost(String),

    /// The server is a replica, and no other was found in time.
    #[error("the server is a replica and takes no writes")]
    ReadOnlyServer,
    /// The server is at its memory limit.
    #[error("the server is out of memory (maxmemory): {0}")]
    OutOfMemory(String),
    /// The server cannot answer now: it loads, fails over, reshards, or lacks replicas.
    #[error("the server cannot answer now: {0}")]
    NotNow(ServerError),
    /// The server's ACL refuses, or the login is wrong.
    #[error("the server refuses: {0}")]
    Denied(ServerError),
    /// Another type is stored there.
    #[error("the key holds another type than the contract says")]
    WrongType,
    /// A script that the server no longer knows, in the middle of a pipeline. It was not run; send it again.
    #[error("the server has forgotten the script; it was not run")]
    ScriptForgotten,
    /// A script that stopped in the middle. What it wrote before stays.
    #[error("the script failed: {0}")]
    Script(ServerError),
    /// Any other error of the server.
    #[error("the server answered: {0}")]
    Server(ServerError),
    /// The answer is of another shape.
    #[error(transparent)]
    Reply(#[from] UnexpectedReply),
}

impl Error {
    /// Nothing was applied.
    pub(crate) fn refused(operation: Operation, cause: Cause) -> Self {
        Self(Box::new(Inner { operation, cause, applied: Applied::No }))
    }

    /// Sent, and the outcome is open where it writes.
    pub(crate) fn open(operation: Operation, cause: Cause) -> Self {
        let applied = if operation.writes { Applied::Maybe } else { Applied::No };
        Self(Box::new(Inner { operation, cause, applied }))
    }

    /// The same, after an attempt that may have been applied.
    pub(crate) fn open_too(mut self) -> Self {
        if self.0.operation.writes {
            self.0.applied = Applied::Maybe;
        }
        self
    }

    /// An error that the server answered with.
    pub(crate) fn answered(operation: Operation, error: ServerError, is_script: bool) -> Self {
        let busy = |error: &ServerError| error.message.contains("is busy running a script");
        let cause = match error.code.as_str() {
            "HALFDONE" => Cause::Script(error),
            _ if error.is_passing(is_script) => Cause::NotNow(error),
            "BUSY" if !is_script || busy(&error) => Cause::NotNow(error),
            "READONLY" => Cause::ReadOnlyServer,
            "OOM" => Cause::OutOfMemory(error.message),
            "NOREPLICAS" | "MISCONF" if !is_script => Cause::NotNow(error),
            "NOPERM" if is_script && !error.message.contains("evalsha") => Cause::Script(error),
            "NOPERM" | "NOAUTH" | "WRONGPASS" => Cause::Denied(error),
            "NOSCRIPT" => Cause::ScriptForgotten,
            _ if is_script => Cause::Script(error),
            "WRONGTYPE" => Cause::WrongType,
            _ => Cause::Server(error),
        };
        // A script that stops in the middle keeps what it has written.
        if matches!(cause, Cause::Script(_)) {
            Self::open(operation, cause)
        } else {
            Self::refused(operation, cause)
        }
    }

    /// The same failure of another operation.
    pub(crate) fn about(mut self, operation: Operation) -> Self {
        self.0.operation = operation;
        self
    }

    /// What was to be done.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.0.operation
    }

    /// Why it failed.
    #[must_use]
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// Whether no server answered at all.
    pub(crate) fn is_unanswered(&self) -> bool {
        matches!(
            self.0.cause,
            Cause::Unreachable { .. } | Cause::Refused { .. } | Cause::TimedOut(_) | Cause::ConnectionLost(_)
        )
    }

    /// Whether it may have taken effect nevertheless.
    #[must_use]
    pub fn maybe_applied(&self) -> bool {
        self.0.applied == Applied::Maybe
    }

    /// Whether the same may succeed later without a change to program, contract or server settings. Where it also
    /// [`maybe_applied`](Self::maybe_applied), only an operation that is safe to repeat should be.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.0.cause,
            Cause::Unreachable { .. }
                | Cause::PoolExhausted { .. }
                | Cause::TimedOut(_)
                | Cause::ConnectionLost(_)
                | Cause::NotNow(_)
                | Cause::OutOfMemory(_)
                | Cause::ScriptForgotten
                | Cause::ReadOnlyServer
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.operation, self.0.cause)?;
        match (self.0.applied, self.is_retryable()) {
            (Applied::Maybe, _) => f.write_str(" (it may have been applied)"),
            (Applied::No, true) => f.write_str(" (not applied; may be retried)"),
            (Applied::No, false) => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.cause {
            Cause::Reply(reply) => Some(reply),
            _ => None,
        }
    }
}
