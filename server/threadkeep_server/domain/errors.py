"""The errors of calls. The class names are those of `error_reason.proto`; a test compares the two sets."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from .model import SessionRef


class Kind(Enum):
    """The canonical code of a failure; the values are those of google.rpc.Code."""

    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    INTERNAL = 13
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


class ThreadkeepError(Exception):
    """The base class. `metadata` is sent in ErrorInfo; it contains only what the caller sent or may know."""

    reason: ClassVar[str]
    kind: ClassVar[Kind]

    def __init__(self, message: str, **metadata: str) -> None:
        super().__init__(message)
        self.message = message
        self.metadata = metadata


class InvalidField(ThreadkeepError):
    reason, kind = "INVALID_FIELD", Kind.INVALID_ARGUMENT

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field} {problem}", field=field, problem=problem)


class InvalidPageToken(ThreadkeepError):
    reason, kind = "INVALID_PAGE_TOKEN", Kind.INVALID_ARGUMENT

    def __init__(self, problem: str) -> None:
        message = f"page_token {problem}; start again from the first page"
        super().__init__(message, field="page_token", problem=problem)


class InvalidResumeToken(ThreadkeepError):
    reason, kind = "INVALID_RESUME_TOKEN", Kind.INVALID_ARGUMENT

    def __init__(self, problem: str) -> None:
        message = f"resume_token {problem}; start a new subscription, from the beginning or live"
        super().__init__(message, field="resume_token", problem=problem)


class ResumePositionExpired(ThreadkeepError):
    """`oldest` identifies the oldest position: oldest_resume_token, oldest_seq."""

    reason, kind = "RESUME_POSITION_EXPIRED", Kind.OUT_OF_RANGE

    def __init__(self, **oldest: str) -> None:
        message = (
            "the feed no longer contains the position, so changes would be skipped; read the sessions again with ListEvents, "
            "then continue from the oldest position"
        )
        super().__init__(message, **oldest)


class WatchTooSlow(ThreadkeepError):
    reason, kind = "WATCH_TOO_SLOW", Kind.RESOURCE_EXHAUSTED

    def __init__(self, ack_timeout_s: float) -> None:
        message = (
            f"a delivery was not acknowledged within {ack_timeout_s:g} s, and the member's partitions are assigned to others; "
            "join again with a smaller max_outstanding, or create the consumer again with a longer ack_timeout"
        )
        super().__init__(message, ack_timeout_s=f"{ack_timeout_s:g}")


class QuotaExceeded(ThreadkeepError):
    reason, kind = "QUOTA_EXCEEDED", Kind.RESOURCE_EXHAUSTED

    def __init__(self, quota: str, limit: int) -> None:
        message = f"the limit of {limit} {quota.replace('_', ' ')} is reached; close or delete some, or have the limit raised"
        super().__init__(message, quota=quota, limit=str(limit))


class ConsumerNotFound(ThreadkeepError):
    reason, kind = "CONSUMER_NOT_FOUND", Kind.NOT_FOUND

    def __init__(self, name: str) -> None:
        super().__init__(f"no consumer {name!r}; the first member that joins makes it", name=name)


class ConsumerMismatch(ThreadkeepError):
    reason, kind = "CONSUMER_MISMATCH", Kind.FAILED_PRECONDITION

    def __init__(self, name: str, field: str) -> None:
        message = f"consumer {name!r} exists with another {field}; join with the same, take another name, or delete it"
        super().__init__(message, name=name, field=field)


class EventTooLarge(ThreadkeepError):
    reason, kind = "EVENT_TOO_LARGE", Kind.INVALID_ARGUMENT

    def __init__(self, field: str, size: int, limit: int) -> None:
        message = f"{field} has {size} bytes, the limit is {limit}; send media by URI or raise THREADKEEP_MAX_EVENT_BYTES"
        super().__init__(message, field=field, size=str(size), limit=str(limit))


class BatchTooLarge(ThreadkeepError):
    reason, kind = "BATCH_TOO_LARGE", Kind.INVALID_ARGUMENT

    def __init__(self, field: str, size: int, limit: int, unit: str) -> None:
        message = f"{field} has {size} {unit}, the limit is {limit}; send several batches"
        super().__init__(message, field=field, size=str(size), limit=str(limit), unit=unit)


class StateTooLarge(ThreadkeepError):
    reason, kind = "STATE_TOO_LARGE", Kind.INVALID_ARGUMENT

    def __init__(self, field: str, size: int, limit: int, unit: str) -> None:
        message = (
            f"{field} would leave state of {size} {unit}, the limit is {limit}; remove keys, or store large values elsewhere"
        )
        super().__init__(message, field=field, size=str(size), limit=str(limit), unit=unit)


def _named(ref: SessionRef) -> dict[str, str]:
    return {"app": ref.app, "user_id": ref.user_id, "session_id": ref.session_id}


class SessionNotFound(ThreadkeepError):
    reason, kind = "SESSION_NOT_FOUND", Kind.NOT_FOUND

    def __init__(self, ref: SessionRef) -> None:
        where = "" if ref.is_bare else f" of app {ref.app!r} and user {ref.user_id!r}"
        message = f"no session {ref.session_id!r}{where}; create it, or append with create_if_missing"
        super().__init__(message, **_named(ref))


class EventNotFound(ThreadkeepError):
    reason, kind = "EVENT_NOT_FOUND", Kind.NOT_FOUND

    def __init__(self, ref: SessionRef, event_id: str) -> None:
        message = f"no event {event_id!r} in session {ref.session_id!r}"
        super().__init__(message, session_id=ref.session_id, event_id=event_id)


class SessionAlreadyExists(ThreadkeepError):
    reason, kind = "SESSION_ALREADY_EXISTS", Kind.ALREADY_EXISTS

    def __init__(self, ref: SessionRef) -> None:
        message = f"session {ref.session_id!r} exists; use it, or create with return_existing"
        super().__init__(message, **_named(ref))


class EventIdConflict(ThreadkeepError):
    reason, kind = "EVENT_ID_CONFLICT", Kind.ALREADY_EXISTS

    def __init__(self, field: str, event_id: str, seq: int) -> None:
        message = f"{field}: event {event_id!r} is stored at seq {seq} with other content; give new content a new id"
        super().__init__(message, field=field, event_id=event_id, seq=str(seq))


class VersionMismatch(ThreadkeepError):
    reason, kind = "VERSION_MISMATCH", Kind.ABORTED

    def __init__(self, ref: SessionRef, *, expected: str, actual: str) -> None:
        what = f"session {ref.session_id!r}" if ref.session_id else "the state"
        message = f"{what} is at {actual!r}, not at {expected!r}; read it again and retry"
        super().__init__(message, session_id=ref.session_id, expected=expected, actual=actual)


class MemoryVersionMismatch(VersionMismatch):
    """Of an entry of long-term memory. `actual` is empty if there is none."""

    def __init__(self, memory_id: str, field: str, *, expected: str, actual: str) -> None:
        at = f"is at {actual!r}" if actual else "does not exist"
        wanted = f"not at {expected!r}" if expected else "and should not exist"
        message = f"the memory {memory_id!r} {at}, {wanted}; read it again and retry"
        ThreadkeepError.__init__(self, message, id=memory_id, field=field, expected=expected, actual=actual)


class OperationConflict(ThreadkeepError):
    reason, kind = "OPERATION_CONFLICT", Kind.ALREADY_EXISTS

    def __init__(self, operation_id: str) -> None:
        message = f"operation {operation_id!r} was used in this session by a request with other content; use a new id"
        super().__init__(message, operation_id=operation_id)


class AmbiguousSession(ThreadkeepError):
    reason, kind = "AMBIGUOUS_SESSION", Kind.FAILED_PRECONDITION

    def __init__(self, session_id: str) -> None:
        message = f"the session id {session_id!r} is ambiguous; specify session.app and session.user_id"
        super().__init__(message, session_id=session_id)


class NothingToCompact(ThreadkeepError):
    reason, kind = "NOTHING_TO_COMPACT", Kind.FAILED_PRECONDITION

    def __init__(self, ref: SessionRef) -> None:
        super().__init__(f"session {ref.session_id!r} would not change", session_id=ref.session_id)


class BrokenToolPair(ThreadkeepError):
    reason, kind = "BROKEN_TOOL_PAIR", Kind.FAILED_PRECONDITION

    def __init__(self, ref: SessionRef, event_id: str, tied_to: str) -> None:
        message = (
            f"event {event_id!r} and event {tied_to!r} are a tool call and its result; archive both or keep both"
            if tied_to
            else f"event {event_id!r} holds a result of a tool call that would not be in the window before it"
        )
        super().__init__(message, session_id=ref.session_id, event_id=event_id, tied_to=tied_to)


class SummarizerNotConfigured(ThreadkeepError):
    reason, kind = "SUMMARIZER_NOT_CONFIGURED", Kind.FAILED_PRECONDITION

    def __init__(self) -> None:
        super().__init__("the server has no summarizer; configure one, or plan and apply with a model of your own")


class SummarizerFailed(ThreadkeepError):
    reason, kind = "SUMMARIZER_FAILED", Kind.UNAVAILABLE

    def __init__(self, problem: str) -> None:
        super().__init__(f"the summarizer failed: {problem}; the session is unchanged, retry later", problem=problem)


class WebhookFailed(ThreadkeepError):
    reason, kind = "WEBHOOK_FAILED", Kind.UNAVAILABLE

    def __init__(self, webhook: str, problem: str) -> None:
        message = f"the webhook {webhook!r} {problem}; the session is unchanged, retry later"
        super().__init__(message, webhook=webhook, problem=problem)


class MemoryNotConfigured(ThreadkeepError):
    reason, kind = "MEMORY_NOT_CONFIGURED", Kind.FAILED_PRECONDITION

    def __init__(self) -> None:
        super().__init__("long-term memory is switched off on this server; set memory = true, or do without")


class MemoryIdConflict(ThreadkeepError):
    reason, kind = "MEMORY_ID_CONFLICT", Kind.ALREADY_EXISTS

    def __init__(self, memory_id: str, field: str) -> None:
        super().__init__(
            f"a memory {memory_id!r} with other content is stored; use a new id for new content", id=memory_id, field=field
        )


class EmbedderNotConfigured(ThreadkeepError):
    reason, kind = "EMBEDDER_NOT_CONFIGURED", Kind.FAILED_PRECONDITION

    def __init__(self) -> None:
        super().__init__("the server has no embedder; configure one, or search by RANKED", field="mode")


class EmbedderFailed(ThreadkeepError):
    reason, kind = "EMBEDDER_FAILED", Kind.UNAVAILABLE

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"the query could not be embedded: {problem}; retry later, or search by RANKED or HYBRID", problem=problem
        )


class EncryptionKeyDestroyed(ThreadkeepError):
    reason, kind = "ENCRYPTION_KEY_DESTROYED", Kind.FAILED_PRECONDITION

    def __init__(self) -> None:
        super().__init__("the key that encrypted the tenant's texts was destroyed; they are erased, and none can be added")


class SearchDisabled(ThreadkeepError):
    reason, kind = "SEARCH_DISABLED", Kind.FAILED_PRECONDITION

    def __init__(self) -> None:
        super().__init__("the tenant's texts are encrypted and this server does not search them; list the events and filter")


class AuditLogUnavailable(ThreadkeepError):
    reason, kind = "AUDIT_LOG_UNAVAILABLE", Kind.FAILED_PRECONDITION

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"the audit log cannot be read: {problem}; set audit_log on the server to a file that it may read", problem=problem
        )


class RetentionNotConfigured(ThreadkeepError):
    reason, kind = "RETENTION_NOT_CONFIGURED", Kind.FAILED_PRECONDITION

    def __init__(self) -> None:
        super().__init__("the server has no retention policies; set retention_policies_file and retention_archive on it")


class ArchiveFailed(ThreadkeepError):
    reason, kind = "ARCHIVE_FAILED", Kind.FAILED_PRECONDITION

    def __init__(self, problem: str) -> None:
        super().__init__(f"the archive of retention cannot be used: {problem}", problem=problem)


class HistoryUnknown(ThreadkeepError):
    reason, kind = "HISTORY_UNKNOWN", Kind.FAILED_PRECONDITION

    def __init__(self, ref: SessionRef, from_log_version: int) -> None:
        message = (
            f"an older server wrote this part of session {ref.session_id!r} and did not record what was active; read as of log "
            f"version {from_log_version} or later"
        )
        super().__init__(message, session_id=ref.session_id, from_log_version=str(from_log_version))


class Unauthenticated(ThreadkeepError):
    reason, kind = "UNAUTHENTICATED", Kind.UNAUTHENTICATED

    def __init__(self) -> None:
        super().__init__("send 'authorization: Bearer <token>' with a token that this server knows")


class PermissionDenied(ThreadkeepError):
    """A caller bound to a user or an app requested data beyond it, which need not exist. `instead`: what to do about `field`;
    empty: nothing. `bound`: to what. Or, with `role`, a call needs a role that the credential lacks."""

    reason, kind = "PERMISSION_DENIED", Kind.PERMISSION_DENIED

    def __init__(self, field: str = "", instead: str = "leave it empty", *, bound: str = "user", role: str = "") -> None:
        if role:
            super().__init__(f"this needs the role {role}, which the credential lacks; use a credential with it", role=role)
            return
        what = f"{instead}, or use" if instead else "use"
        why = f"the credential is bound to one {bound}, and this is beyond that {bound}"
        super().__init__(f"{field}: {why}; {what} a credential that reaches it", field=field)


class ServerDraining(ThreadkeepError):
    reason, kind = "SERVER_DRAINING", Kind.UNAVAILABLE

    def __init__(self) -> None:
        super().__init__("the server is shutting down; reconnect and retry")


class StoreUnavailable(ThreadkeepError):
    reason, kind = "STORE_UNAVAILABLE", Kind.UNAVAILABLE

    def __init__(self, problem: str) -> None:
        super().__init__(f"the store refused: {problem}; nothing was acknowledged, retry with the same ids", problem=problem)


class RateLimited(ThreadkeepError):
    reason, kind = "RATE_LIMITED", Kind.RESOURCE_EXHAUSTED

    def __init__(self, limit: str, *, retry_after_s: float = 1.0) -> None:
        super().__init__(f"too many {limit.replace('_', ' ')}; slow down and retry", limit=limit)
        self.retry_after_s = retry_after_s


class DeadlineExceeded(ThreadkeepError):
    reason, kind = "DEADLINE_EXCEEDED", Kind.DEADLINE_EXCEEDED

    def __init__(self) -> None:
        super().__init__("the deadline passed; an append may be committed, retry it with the same ids to learn")


class Internal(ThreadkeepError):
    reason, kind = "INTERNAL", Kind.INTERNAL

    def __init__(self, request_id: str) -> None:
        super().__init__(f"a fault of the server; its log has the details under {request_id}", request_id=request_id)
