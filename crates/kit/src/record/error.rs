//! Why a change was not made.

use keyplane_store::Error;

use crate::error::SetupError;

use super::Committed;
use super::change::Change;

/// Why a change was not made. Unless it is the store's, nothing was written.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Another change came first. Read again and decide anew.
    #[error("the record is at version {found}, not at {expected}")]
    Conflict {
        /// The version that was expected.
        expected: u64,
        /// The version that it has.
        found: u64,
    },
    /// There is no such record.
    #[error("there is no such record")]
    Missing,
    /// It was to be created and is there.
    #[error("the record is there already, at version {version}")]
    Exists {
        /// The version that it has.
        version: u64,
    },
    /// The fence is not the current one: somebody else leads now. Stop.
    #[error("the fence is not the current one: somebody else holds the lease")]
    Fenced,
    /// The record that it belongs to is gone.
    #[error("the record that it belongs to is gone")]
    Orphan,
    /// The contract has no such move.
    #[error("`{field}` cannot move from `{from}` to `{to}`")]
    Move {
        /// The field.
        field: String,
        /// What it holds.
        from: String,
        /// What it was to become.
        to: String,
    },
    /// A condition of the change does not hold.
    #[error("`{field}` holds `{found}`")]
    Unmet {
        /// The field.
        field: String,
        /// What it holds; empty when it is absent.
        found: String,
    },
    /// The record would have more fields than the contract allows.
    #[error("the record would have {would_be} fields, and the contract allows {most}")]
    TooManyFields {
        /// So many.
        would_be: u64,
        /// The limit.
        most: u64,
    },
    /// The change brings more than the contract allows.
    #[error("the change brings {bytes} bytes, and the contract allows {most}")]
    TooLarge {
        /// So many.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// A field that the contract does not allow this change to write.
    #[error("`{field}` {problem}")]
    Field {
        /// The field.
        field: String,
        /// What is wrong with it.
        problem: FieldProblem,
    },
    /// Records of this family live as long as another one, which the change does not name.
    #[error("the record lives as long as its {parent}; name that with `under`")]
    NeedsParent {
        /// The other key's name in the contract.
        parent: &'static str,
    },
    /// The record has no outbox for a note to an index on another slot.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The store failed. It may have been applied: see the error.
    #[error(transparent)]
    Store(#[from] Error),
}

/// What is wrong with a field of a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldProblem {
    /// The contract does not name it.
    #[error("is not a field of this record")]
    Unknown,
    /// The value is not of its type.
    #[error("cannot hold {value:?}: it is {kind}")]
    Value {
        /// The value.
        value: String,
        /// Its type in the contract.
        kind: String,
    },
    /// The value is longer than the contract allows.
    #[error("is longer than {most}")]
    TooLong {
        /// The limit.
        most: String,
    },
    /// Another component owns it.
    #[error("is written by {owners} only")]
    NotOwned {
        /// They own it.
        owners: String,
    },
    /// The primitive itself keeps it.
    #[error("is kept by the record itself")]
    Kept,
    /// The record must have it.
    #[error("must be there")]
    Required,
}

/// What the script told.
pub(super) fn outcome(change: &Change, told: &[String]) -> Result<Committed, CommitError> {
    let text = |at: usize| told.get(at).cloned().unwrap_or_default();
    let number = |at: usize| told.get(at).and_then(|text| text.parse().ok()).unwrap_or(0);
    match told.first().map(String::as_str) {
        Some("ok") => Ok(Committed { version: number(1), horizon_is_near: number(2) == 1 }),
        Some("exists") => Err(CommitError::Exists { version: number(1) }),
        Some("conflict") => {
            Err(CommitError::Conflict { expected: change.expected.unwrap_or(0), found: number(1) })
        }
        Some("fenced") => Err(CommitError::Fenced),
        Some("orphan") => Err(CommitError::Orphan),
        Some("moved") => {
            Err(CommitError::Move { to: change.value_of(&text(1)), field: text(1), from: text(2) })
        }
        Some("unmet") => Err(CommitError::Unmet { field: text(1), found: text(2) }),
        Some("full") => Err(CommitError::TooManyFields { would_be: number(1), most: number(2) }),
        _ => Err(CommitError::Missing),
    }
}
