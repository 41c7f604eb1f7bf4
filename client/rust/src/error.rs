//! Every way a call can fail.

use std::collections::HashMap;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::{FieldViolation, StatusExt};

use crate::v1::{AppendError, ErrorReason};

/// What went wrong with a call.
///
/// ```
/// # use recollect::{Error, ErrorReason};
/// fn is_missing(error: &Error) -> bool {
///     matches!(error.reason(), Some(ErrorReason::SessionNotFound))
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused the call, could not serve it, or was not reached.
    #[error("{}", .0.status.message())]
    Call(Box<CallError>),
    /// The arguments contradict each other, or the client is misconfigured; nothing was sent.
    #[error("{0}")]
    Usage(String),
    /// The caller's own summariser failed; the session is as it was.
    #[error("the summary was not written: {0}")]
    Summary(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// What is known of a call that failed; read it by the methods of [`Error`].
#[derive(Debug)]
pub struct CallError {
    status: Status,
    reason: String,
    metadata: HashMap<String, String>,
    fields: Vec<FieldViolation>,
    retry_after: Option<Duration>,
}

impl Error {
    /// The reason, for matching. None when no server gave one, and for reasons that this version does not know: these have a
    /// [`reason_name`](Self::reason_name).
    pub fn reason(&self) -> Option<ErrorReason> {
        ErrorReason::from_str_name(&format!("ERROR_REASON_{}", self.reason_name()))
            .filter(|reason| *reason != ErrorReason::Unspecified)
    }

    /// The reason as the server wrote it, for example "SESSION_NOT_FOUND"; empty when none was given.
    pub fn reason_name(&self) -> &str {
        self.call().map_or("", |call| &call.reason)
    }

    /// The gRPC status code; `InvalidArgument` for [`Error::Usage`], `Aborted` for [`Error::Summary`].
    pub fn code(&self) -> Code {
        match self {
            Self::Call(call) => call.status.code(),
            Self::Usage(_) => Code::InvalidArgument,
            Self::Summary(_) => Code::Aborted,
        }
    }

    /// The facts that belong to the reason, for example "expected" and "actual" of a VERSION_MISMATCH. Always text.
    pub fn metadata(&self) -> &HashMap<String, String> {
        static NONE: std::sync::LazyLock<HashMap<String, String>> = std::sync::LazyLock::new(HashMap::new);
        self.call().map_or(&NONE, |call| &call.metadata)
    }

    /// The request's fields that are not valid, and why.
    pub fn fields(&self) -> &[FieldViolation] {
        self.call().map_or(&[], |call| &call.fields)
    }

    /// How long the server asks to wait before the same call is made again.
    pub fn retry_after(&self) -> Option<Duration> {
        self.call().and_then(|call| call.retry_after)
    }

    /// Whether the same call may succeed later: no server answered, it could not serve now, or it said when to come back.
    pub fn is_transient(&self) -> bool {
        self.code() == Code::Unavailable || self.retry_after().is_some()
    }

    /// The gRPC status, if a call failed.
    pub fn status(&self) -> Option<&Status> {
        self.call().map(|call| &call.status)
    }

    fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(call) => Some(call),
            _ => None,
        }
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        let details = status.get_error_details();
        let (reason, metadata) = match details.error_info() {
            Some(info) => (info.reason.clone(), info.metadata.clone()),
            None => (reason_of(status.code()).to_owned(), HashMap::new()),
        };
        Self::Call(Box::new(CallError {
            reason,
            metadata,
            fields: details.bad_request().map(|bad| bad.field_violations.clone()).unwrap_or_default(),
            retry_after: details.retry_info().and_then(|info| info.retry_delay),
            status,
        }))
    }
}

/// The error of one batch of `AppendStream`.
impl From<AppendError> for Error {
    fn from(error: AppendError) -> Self {
        Self::Call(Box::new(CallError {
            status: Status::new(Code::from(error.code), error.message),
            reason: error.reason,
            metadata: error.metadata,
            fields: Vec::new(),
            retry_after: None,
        }))
    }
}

/// The reason that a bare code stands for: who ended a call, its server or this client, must not matter to who matches on it.
fn reason_of(code: Code) -> &'static str {
    match code {
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::Unauthenticated => "UNAUTHENTICATED",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::Internal => "INTERNAL",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use tonic_types::ErrorDetails;

    use super::*;

    fn refused(reason: &str) -> Status {
        let mut details = ErrorDetails::with_error_info(reason, "recollect.dev", [("actual".to_owned(), "9".to_owned())]);
        details.set_retry_info(Some(Duration::from_millis(1500)));
        details.add_bad_request_violation("events[0].event_id", "is too long");
        Status::with_error_details(Code::Aborted, "the log moved", details)
    }

    #[test]
    fn a_status_keeps_what_the_server_said() {
        let error = Error::from(refused("VERSION_MISMATCH"));
        assert_eq!(error.reason(), Some(ErrorReason::VersionMismatch));
        assert_eq!(error.reason_name(), "VERSION_MISMATCH");
        assert_eq!((error.code(), error.to_string().as_str()), (Code::Aborted, "the log moved"));
        assert_eq!(error.metadata()["actual"], "9");
        assert_eq!(error.fields()[0].field, "events[0].event_id");
        assert_eq!(error.retry_after(), Some(Duration::from_millis(1500)));
        assert!(error.is_transient());
    }

    #[test]
    fn a_reason_of_a_newer_server_is_kept_as_text() {
        let error = Error::from(refused("SOMETHING_NEW"));
        assert_eq!((error.reason(), error.reason_name()), (None, "SOMETHING_NEW"));
        assert_eq!(Error::from(refused("UNSPECIFIED")).reason(), None);
    }

    #[test]
    fn a_status_without_details_or_with_broken_ones_is_no_failure_of_its_own() {
        let bare = Error::from(Status::not_found("gone"));
        assert_eq!((bare.reason(), bare.reason_name(), bare.retry_after()), (None, "", None));
        assert!(!bare.is_transient());
        let broken = Error::from(Status::with_details(Code::Unavailable, "away", vec![0xff, 0x01].into()));
        assert_eq!((broken.reason_name(), broken.code()), ("", Code::Unavailable));
        assert!(broken.is_transient());
    }

    #[test]
    fn a_deadline_is_the_same_reason_whoever_noticed_it() {
        let local = Error::from(Status::deadline_exceeded("no answer"));
        assert_eq!(local.reason(), Some(ErrorReason::DeadlineExceeded));
    }

    #[test]
    fn an_error_of_a_streamed_batch_is_like_that_of_a_call() {
        let told = AppendError {
            code: 10,
            message: "stale".into(),
            reason: "VERSION_MISMATCH".into(),
            metadata: HashMap::from([("expected".to_owned(), "1".to_owned())]),
        };
        let error = Error::from(told);
        assert_eq!((error.reason(), error.code()), (Some(ErrorReason::VersionMismatch), Code::Aborted));
        assert_eq!(error.metadata()["expected"], "1");
    }

    #[test]
    fn what_no_server_was_asked_has_no_reason() {
        let usage = Error::Usage("give one".into());
        assert_eq!((usage.reason(), usage.code(), usage.to_string().as_str()), (None, Code::InvalidArgument, "give one"));
        assert!(usage.metadata().is_empty() && usage.fields().is_empty() && usage.status().is_none());
    }
}
