//! Errors of the client as those of adk-rs.

use adk_rs::error::{Error, ServiceError};
use threadkeep::ErrorReason;

/// Returns what the caller handles: a session that does not exist, an id that is taken, a field that is invalid; and otherwise the
/// message, as an error of the storage.
pub(crate) fn failed(error: threadkeep::Error) -> Error {
    let message = error.to_string();
    match error.reason() {
        Some(ErrorReason::SessionNotFound) => ServiceError::SessionNotFound(message).into(),
        Some(ErrorReason::SessionAlreadyExists | ErrorReason::EventIdConflict) => Error::already_exists(message),
        Some(ErrorReason::InvalidField) => Error::invalid_input(message),
        _ => ServiceError::Backend(message).into(),
    }
}
