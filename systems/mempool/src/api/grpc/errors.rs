//! Statuses: what happened, in the words of gRPC.

use keyplane_store::Error;
use tonic::Status;

use crate::state::{ReadError, ReceiveError};

/// Comes back by itself; trying again is safe.
pub(super) fn away(error: &Error) -> Status {
    Status::unavailable(format!("the store does not answer: {error}"))
}

pub(super) fn unread(error: &ReadError) -> Status {
    match error {
        ReadError::Store(error) => away(error),
        ReadError::Damaged { .. } => {
            tracing::error!(%error, "cannot read the store");
            Status::internal("the store holds what does not belong there; the log of the node says what")
        }
    }
}

pub(super) fn refused(error: &ReceiveError) -> Status {
    let message = error.to_string();
    match error {
        ReceiveError::Duplicate { .. } => Status::already_exists(message),
        ReceiveError::Conflict { .. } => Status::failed_precondition(message),
        ReceiveError::Full { .. } => Status::resource_exhausted(message),
        ReceiveError::TooLarge { .. } => Status::invalid_argument(message),
        ReceiveError::Store(error) => away(error),
        ReceiveError::Unanswered => Status::unavailable(error.to_string()),
    }
}
