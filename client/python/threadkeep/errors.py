"""The errors of calls: one class for each value of `ErrorReason`, all of them `ThreadkeepError`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import grpc

from ._error_fields import Number as _Number
from ._error_fields import Seconds as _Seconds
from ._error_fields import Text as _Text
from .v1.event_service_pb2 import AppendStreamResult


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """An invalid field of a request. `field`: its path, such as "events[3].message"; `description`: for people."""

    field: str
    description: str


class ThreadkeepError(Exception):
    """Base of all errors of calls; raised itself for codes and reasons without a class.

    `reason` is the name in ErrorReason without its prefix, empty if no Threadkeep server gave one; `code` gRPC's; `message` for
    people. `metadata` is that of the reason, as texts. `violations`: the invalid fields of the request. `retry_after`: the
    seconds after which the same request can succeed; None if the server gave none. `request_id`: the id under which the server
    logged the failure; empty if it sent none. The text of an error holds reason, code, message and request id.
    """

    reason: str = ""
    request_id = _Text()

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        code: grpc.StatusCode = grpc.StatusCode.UNKNOWN,
        metadata: Mapping[str, str] | None = None,
        violations: Iterable[FieldViolation] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason or type(self).reason
        self.code = code
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)
        self.retry_after = retry_after

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed later: the server is unavailable, or gave a retry delay."""
        return self.code is grpc.StatusCode.UNAVAILABLE or self.retry_after is not None

    def __str__(self) -> str:
        named = f"{self.reason} ({self.code.name})" if self.reason else self.code.name
        return f"{named}: {self.message}{f' [request {self.request_id}]' if self.request_id else ''}"


class Unavailable(ThreadkeepError):
    """No server answered, or it could not serve now. Nothing was acknowledged; retry with the same event ids."""

    @property
    def is_transient(self) -> bool:
        """Always true."""
        return True


class InvalidField(ThreadkeepError):
    """`field` of the request is not valid, `problem` says why. A retry fails again."""

    reason = "INVALID_FIELD"
    field, problem = _Text(), _Text()


class InvalidPageToken(ThreadkeepError):
    """The page token belongs to another request. Start again from the first page."""

    reason = "INVALID_PAGE_TOKEN"
    field, problem = _Text(), _Text()


class EventTooLarge(ThreadkeepError):
    """`field` has `size` bytes, the server's limit is `limit`. Send media by URI."""

    reason = "EVENT_TOO_LARGE"
    field, size, limit = _Text(), _Number(), _Number()


class BatchTooLarge(ThreadkeepError):
    """The batch has `size` of `unit` ("events", "entries" or "bytes"), the server's limit is `limit`. Send several."""

    reason = "BATCH_TOO_LARGE"
    field, size, limit, unit = _Text(), _Number(), _Number(), _Text()


class StateTooLarge(ThreadkeepError):
    """A scope of state would have `size` of `unit` ("bytes" or "keys"), the limit is `limit`. Remove keys."""

    reason = "STATE_TOO_LARGE"
    field, size, limit, unit = _Text(), _Number(), _Number(), _Text()


class SessionNotFound(ThreadkeepError):
    """No such session. Create it, or append with `create_if_missing`."""

    reason = "SESSION_NOT_FOUND"
    app, user_id, session_id = _Text(), _Text(), _Text()


class EventNotFound(ThreadkeepError):
    """No event `event_id` in the session."""

    reason = "EVENT_NOT_FOUND"
    session_id, event_id = _Text(), _Text()


class SessionAlreadyExists(ThreadkeepError):
    """The session exists already. Use it, or create with `return_existing`."""

    reason = "SESSION_ALREADY_EXISTS"
    app, user_id, session_id = _Text(), _Text(), _Text()


class EventIdConflict(ThreadkeepError):
    """`event_id` is stored, at `seq`, with other content. Give new content a new id."""

    reason = "EVENT_ID_CONFLICT"
    event_id, field, seq = _Text(), _Text(), _Number()


class OperationConflict(ThreadkeepError):
    """`operation_id` was used in the session by a request with other content. Repeat that request, or use a new id."""

    reason = "OPERATION_CONFLICT"
    operation_id = _Text()


class VersionMismatch(ThreadkeepError):
    """The log is at `actual`, not at `expected`; both are text: a log_version, an event id or an etag, as in the request. Of
    a memory `id` is set in place of `session_id`."""

    reason = "VERSION_MISMATCH"
    session_id, expected, actual, id = _Text(), _Text(), _Text(), _Text()


class AmbiguousSession(ThreadkeepError):
    """The session id is ambiguous. Specify app and user."""

    reason = "AMBIGUOUS_SESSION"
    session_id = _Text()


class Unauthenticated(ThreadkeepError):
    """The token is missing or unknown."""

    reason = "UNAUTHENTICATED"


class PermissionDenied(ThreadkeepError):
    """The token does not permit the value of `field`, or lacks the `role` that the call needs; the other is empty."""

    reason = "PERMISSION_DENIED"
    field = _Text()
    role = _Text()


class ServerDraining(Unavailable):
    """The server is shutting down. Retry after `retry_after`."""

    reason = "SERVER_DRAINING"


class NothingToCompact(ThreadkeepError):
    """The compaction would change nothing."""

    reason = "NOTHING_TO_COMPACT"
    session_id = _Text()


class BrokenToolPair(ThreadkeepError):
    """The compaction would separate a tool call from its result: `event_id` from `tied_to`. Archive both or keep both."""

    reason = "BROKEN_TOOL_PAIR"
    session_id, event_id, tied_to = _Text(), _Text(), _Text()


class SummarizerNotConfigured(ThreadkeepError):
    """The strategy requires a model and the server has none. Configure one, or summarize with your own model."""

    reason = "SUMMARIZER_NOT_CONFIGURED"


class SummarizerFailed(Unavailable):
    """The server's model failed, as `problem` says, and the session is unchanged. Retry later."""

    reason = "SUMMARIZER_FAILED"
    problem = _Text()


class WebhookFailed(Unavailable):
    """The webhook `webhook` returned no valid plan, as `problem` says, and the session is unchanged. Retry later."""

    reason = "WEBHOOK_FAILED"
    webhook, problem = _Text(), _Text()


class MemoryNotConfigured(ThreadkeepError):
    """Long-term memory is disabled on the server. Enable it there."""

    reason = "MEMORY_NOT_CONFIGURED"


class MemoryIdConflict(ThreadkeepError):
    """A memory `id` is stored with other content; `field` is the request's. Give new content a new id."""

    reason = "MEMORY_ID_CONFLICT"
    id, field = _Text(), _Text()


class EmbedderNotConfigured(ThreadkeepError):
    """The search requires an embedder and the server has none. Configure one, or search with mode="ranked"."""

    reason = "EMBEDDER_NOT_CONFIGURED"
    field = _Text()


class EmbedderFailed(Unavailable):
    """The query could not be embedded, as `problem` says. Retry later, or search with mode="ranked" or "hybrid"."""

    reason = "EMBEDDER_FAILED"
    problem = _Text()


class EncryptionKeyDestroyed(ThreadkeepError):
    """The key that encrypted the tenant's texts was destroyed: they are erased, and none can be added. Use another tenant."""

    reason = "ENCRYPTION_KEY_DESTROYED"


class SearchDisabled(ThreadkeepError):
    """The tenant's texts are encrypted, and the server does not search them. List the events with a filter."""

    reason = "SEARCH_DISABLED"


class AuditLogUnavailable(ThreadkeepError):
    """The audit log cannot be read; `metadata["problem"]` is the cause. Set `audit_log` on the server to a file."""

    reason = "AUDIT_LOG_UNAVAILABLE"


class RetentionNotConfigured(ThreadkeepError):
    """The server has no retention policies. Set `retention_policies_file` and `retention_archive` on it."""

    reason = "RETENTION_NOT_CONFIGURED"


class ArchiveFailed(ThreadkeepError):
    """The archive of retention cannot be used; `metadata["problem"]` is the cause: its storage failed, an archive is gone or
    was changed, or the session cannot be restored from it."""

    reason = "ARCHIVE_FAILED"


class HistoryUnknown(ThreadkeepError):
    """An older server wrote this part of the session and did not record what was active. Read as of `from_log_version` or
    later."""

    reason = "HISTORY_UNKNOWN"
    session_id, from_log_version = _Text(), _Number()


class StoreUnavailable(Unavailable):
    """The database does not respond, is full or rejects writes; see `problem`."""

    reason = "STORE_UNAVAILABLE"
    problem = _Text()


class InvalidResumeToken(ThreadkeepError):
    """The resume token belongs to another scope, filter or server. Start without it."""

    reason = "INVALID_RESUME_TOKEN"
    field, problem = _Text(), _Text()


class ResumePositionExpired(ThreadkeepError):
    """The feed no longer contains the next changes. Read the sessions again, then start at the oldest.

    `oldest_resume_token` is where the feed begins; `oldest_seq`, of one session, the seq after which it can be followed.
    """

    reason = "RESUME_POSITION_EXPIRED"
    oldest_resume_token, oldest_seq = _Text(), _Number()


class WatchTooSlow(ThreadkeepError):
    """A member of a consumer did not acknowledge within `ack_timeout_s` seconds, and its work was assigned to others."""

    reason = "WATCH_TOO_SLOW"
    ack_timeout_s = _Seconds()


class QuotaExceeded(ThreadkeepError):
    """The caller has reached `limit`, its maximum of `quota`. Close some, or raise the limit on the server."""

    reason = "QUOTA_EXCEEDED"
    quota, limit = _Text(), _Number()


class ConsumerNotFound(ThreadkeepError):
    """No consumer `name`. The first member that joins creates it."""

    reason = "CONSUMER_NOT_FOUND"
    name = _Text()


class ConsumerMismatch(ThreadkeepError):
    """The consumer `name` exists with another `field`. Join with its value, use another name, or delete it."""

    reason = "CONSUMER_MISMATCH"
    name, field = _Text(), _Text()


class RateLimited(ThreadkeepError):
    """Too many calls wait at the server; `limit` names the limit. Retry after `retry_after`."""

    reason = "RATE_LIMITED"
    limit = _Text()


class DeadlineExceeded(ThreadkeepError):
    """The timeout passed. An append may or may not be committed; retry it with the same event ids to learn which."""

    reason = "DEADLINE_EXCEEDED"


class Internal(ThreadkeepError):
    """The server failed; its log has the details under `request_id`."""

    reason = "INTERNAL"


BY_REASON: Mapping[str, type[ThreadkeepError]] = {
    cls.reason: cls for base in (ThreadkeepError, Unavailable) for cls in base.__subclasses__() if cls.reason
}
_CODES: Mapping[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


def error_of(result: AppendStreamResult) -> ThreadkeepError | None:
    """The typed error of one result of `append_stream`, None when its batch was appended."""
    error, code = result.error, _CODES.get(result.error.code, grpc.StatusCode.UNKNOWN)
    if not result.HasField("error"):
        return None
    kind = BY_REASON.get(error.reason, ThreadkeepError)
    return kind(error.message, reason=error.reason, code=code, metadata=error.metadata)
