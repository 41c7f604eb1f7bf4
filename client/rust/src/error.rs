//! Errors of calls.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::LazyLock;
use std::time::Duration;

use tonic::codegen::Bytes;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, ErrorInfo, FieldViolation, StatusExt};

use crate::v1::ErrorReason;

/// The domain of the server's reasons; those of proxies differ.
pub(crate) const DOMAIN: &str = "threadkeep.dev";

/// The error of a failed call.
///
/// ```
/// # use threadkeep::{Error, ErrorReason};
/// fn is_missing(error: &Error) -> bool {
///     error.is(ErrorReason::SessionNotFound)
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server rejected the call, could not serve it, or was not reached.
    #[error("{}: {}", named(.status.code(), .details), .status.message())]
    Call {
        /// The gRPC status.
        #[source]
        status: Status,
        /// The decoded details of the status; the methods of this type read them.
        details: Box<ErrorDetails>,
    },
    /// The arguments contradict each other, or the client is misconfigured; nothing was sent.
    #[error("{0}")]
    Usage(String),
    /// The caller's summarizer failed; the session is unchanged.
    #[error("the summary failed: {0}")]
    Summary(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Returns the reason. None if no server sent one, and for reasons of a newer server, which have a
    /// [`reason_name`](Self::reason_name).
    pub fn reason(&self) -> Option<ErrorReason> {
        ErrorReason::from_str_name(&format!("ERROR_REASON_{}", self.reason_name()))
            .filter(|reason| *reason != ErrorReason::Unspecified)
    }

    /// Returns the reason as the server sent it, for example "SESSION_NOT_FOUND"; empty if there is none.
    pub fn reason_name(&self) -> &str {
        let Self::Call { status, details } = self else { return "" };
        of_server(details).map_or(reason_of(status.code()), |info| &info.reason)
    }

    /// Returns whether this is the reason.
    pub fn is(&self, reason: ErrorReason) -> bool {
        self.reason() == Some(reason)
    }

    /// Returns the message of the server without the reason and the code, which the text of the error has.
    pub fn message(&self) -> &str {
        match self {
            Self::Call { status, .. } => status.message(),
            Self::Usage(problem) => problem,
            Self::Summary(_) => "the summary failed",
        }
    }

    /// Returns the id of the request in the server's log, if it sent one; it does so with INTERNAL.
    pub fn request_id(&self) -> Option<&str> {
        self.metadata().get("request_id").map(String::as_str)
    }

    /// Returns the gRPC status code; `InvalidArgument` for [`Error::Usage`], `Aborted` for [`Error::Summary`].
    pub fn code(&self) -> Code {
        match self {
            Self::Call { status, .. } => status.code(),
            Self::Usage(_) => Code::InvalidArgument,
            Self::Summary(_) => Code::Aborted,
        }
    }

    /// Returns the metadata of the reason as texts, for example "expected" and "actual" of VERSION_MISMATCH.
    pub fn metadata(&self) -> &HashMap<String, String> {
        static NONE: LazyLock<HashMap<String, String>> = LazyLock::new(HashMap::new);
        self.info().map_or(&NONE, |info| &info.metadata)
    }

    /// Returns the invalid fields of the request, with descriptions.
    pub fn violations(&self) -> &[FieldViolation] {
        self.details().and_then(ErrorDetails::bad_request).map_or(&[], |bad| &bad.field_violations)
    }

    /// Returns the delay that the server specifies before a retry of the same call.
    pub fn retry_after(&self) -> Option<Duration> {
        self.details().and_then(ErrorDetails::retry_info).and_then(|info| info.retry_delay)
    }

    /// Returns whether a retry of the same call can succeed: the server did not respond, was unavailable, or specified a delay.
    pub fn is_transient(&self) -> bool {
        self.code() == Code::Unavailable || self.retry_after().is_some()
    }

    /// Returns the details from the server itself, without those of proxies.
    fn info(&self) -> Option<&ErrorInfo> {
        self.details().and_then(of_server)
    }

    /// Returns the error that the server would return for this request.
    pub(crate) fn refused(code: Code, reason: ErrorReason, message: &str) -> Self {
        let name = reason.as_str_name().trim_start_matches("ERROR_REASON_");
        Status::with_error_details(code, message, ErrorDetails::with_error_info(name, DOMAIN, [])).into()
    }

    fn details(&self) -> Option<&ErrorDetails> {
        if let Self::Call { details, .. } = self { Some(details) } else { None }
    }
}

/// The source of the status of calls that closing the client ended.
#[derive(Debug, thiserror::Error)]
#[error("the client is closed")]
pub(crate) struct Closed;

impl From<Status> for Error {
    /// A call that an overloaded server or a proxy canceled is UNAVAILABLE: the caller cancels by dropping it.
    fn from(status: Status) -> Self {
        let is_own = status.source().is_some_and(|source| source.is::<Closed>());
        let status = if status.code() == Code::Cancelled && !is_own {
            let message = format!("the server canceled the call: {}", status.message());
            Status::with_details(Code::Unavailable, message, Bytes::copy_from_slice(status.details()))
        } else {
            status
        };
        Self::Call { details: Box::new(status.get_error_details()), status }
    }
}

fn of_server(details: &ErrorDetails) -> Option<&ErrorInfo> {
    details.error_info().filter(|info| info.domain == DOMAIN)
}

/// Returns the reason, the code, and the id of the request, as far as they say something.
fn named(code: Code, details: &ErrorDetails) -> String {
    let words = format!("{code:?}");
    let words = words.char_indices().map(|(n, c)| if n > 0 && c.is_uppercase() { format!("_{c}") } else { c.to_string() });
    let code = words.collect::<String>().to_uppercase();
    match of_server(details) {
        Some(info) if info.reason != code => format!("{} ({code})", info.reason),
        Some(info) if info.metadata.contains_key("request_id") => format!("{code} (request {})", info.metadata["request_id"]),
        _ => code,
    }
}

/// Returns the reason that a code implies. Server and client may end a call; both cases must match the same reason.
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
    use super::*;

    fn refused(reason: &str) -> Status {
        let mut details = ErrorDetails::with_error_info(reason, DOMAIN, [("actual".to_owned(), "9".to_owned())]);
        details.set_retry_info(Some(Duration::from_millis(1500)));
        details.add_bad_request_violation("events[0].event_id", "is too long");
        Status::with_error_details(Code::Aborted, "the log moved", details)
    }

    #[test]
    fn a_status_keeps_the_servers_details() {
        let error = Error::from(refused("VERSION_MISMATCH"));
        assert_eq!(error.reason(), Some(ErrorReason::VersionMismatch));
        assert_eq!(error.reason_name(), "VERSION_MISMATCH");
        assert_eq!((error.code(), error.message()), (Code::Aborted, "the log moved"));
        assert_eq!(error.to_string(), "VERSION_MISMATCH (ABORTED): the log moved");
        assert!(std::error::Error::source(&error).is_some() && error.is(ErrorReason::VersionMismatch));
        assert_eq!(error.metadata()["actual"], "9");
        assert_eq!(error.violations()[0].field, "events[0].event_id");
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
    fn the_text_of_an_internal_error_has_the_id_of_its_request() {
        let info = ErrorDetails::with_error_info("INTERNAL", DOMAIN, [("request_id".to_owned(), "r7".to_owned())]);
        let error = Error::from(Status::with_error_details(Code::Internal, "oops", info));
        assert_eq!((error.to_string().as_str(), error.request_id()), ("INTERNAL (request r7): oops", Some("r7")));
    }

    #[test]
    fn a_reason_of_another_domain_is_ignored() {
        let info = ErrorDetails::with_error_info("SESSION_NOT_FOUND", "proxy.example", [("zone".to_owned(), "eu".to_owned())]);
        let error = Error::from(Status::with_error_details(Code::PermissionDenied, "no", info));
        assert_eq!((error.reason_name(), error.metadata().len()), ("PERMISSION_DENIED", 0), "the code's own");
        let info = ErrorDetails::with_error_info("QUOTA_EXCEEDED", "", []);
        assert_eq!(Error::from(Status::with_error_details(Code::ResourceExhausted, "no", info)).reason(), None);
    }

    #[test]
    fn a_status_with_missing_or_malformed_details_is_converted() {
        let bare = Error::from(Status::not_found("gone"));
        assert_eq!((bare.reason(), bare.reason_name(), bare.retry_after()), (None, "", None));
        assert!(!bare.is_transient());
        assert_eq!(bare.to_string(), "NOT_FOUND: gone");
        let broken = Error::from(Status::with_details(Code::Unavailable, "away", vec![0xff, 0x01].into()));
        assert_eq!((broken.reason_name(), broken.code()), ("", Code::Unavailable));
        assert!(broken.is_transient());
    }

    #[test]
    fn a_deadline_has_one_reason_on_both_sides() {
        let local = Error::from(Status::deadline_exceeded("no answer"));
        assert_eq!(local.reason(), Some(ErrorReason::DeadlineExceeded));
    }

    #[test]
    fn an_error_without_a_call_has_no_reason() {
        let usage = Error::Usage("give one".into());
        assert_eq!((usage.reason(), usage.code(), usage.to_string().as_str()), (None, Code::InvalidArgument, "give one"));
        assert!(usage.metadata().is_empty() && usage.violations().is_empty() && usage.retry_after().is_none());
    }
}
