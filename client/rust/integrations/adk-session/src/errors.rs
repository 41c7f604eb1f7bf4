//! Errors of the client as those of adk-rust.

use adk_core::{AdkError, ErrorCategory, ErrorComponent};
use threadkeep::{ErrorReason, tonic::Code};

/// Returns the error with the category that adk-rust decides by, such as whether a call can be repeated, and the message of the
/// server.
pub(crate) fn failed(error: threadkeep::Error) -> AdkError {
    let (category, code) = match (error.reason(), error.code()) {
        (Some(ErrorReason::SessionNotFound), _) => (ErrorCategory::NotFound, "session.not_found"),
        (Some(ErrorReason::SessionAlreadyExists), _) => (ErrorCategory::InvalidInput, "session.already_exists"),
        (Some(ErrorReason::EventIdConflict), _) => (ErrorCategory::InvalidInput, "session.event_id_conflict"),
        (_, Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange) => {
            (ErrorCategory::InvalidInput, "session.invalid_input")
        }
        (_, Code::NotFound) => (ErrorCategory::NotFound, "session.event_not_found"),
        (_, Code::Unauthenticated) => (ErrorCategory::Unauthorized, "session.unauthorized"),
        (_, Code::PermissionDenied) => (ErrorCategory::Forbidden, "session.forbidden"),
        (_, Code::ResourceExhausted) => (ErrorCategory::RateLimited, "session.rate_limited"),
        (_, Code::DeadlineExceeded) => (ErrorCategory::Timeout, "session.timeout"),
        (_, Code::Unavailable) => (ErrorCategory::Unavailable, "session.unavailable"),
        _ => (ErrorCategory::Internal, "session.failed"),
    };
    AdkError::new(ErrorComponent::Session, category, code, error.to_string())
}

/// Returns the error for an argument that no server has seen.
pub(crate) fn invalid(message: impl Into<String>) -> AdkError {
    AdkError::new(ErrorComponent::Session, ErrorCategory::InvalidInput, "session.invalid_input", message)
}
