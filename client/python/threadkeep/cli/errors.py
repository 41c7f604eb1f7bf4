"""Errors, each printed in one line with the next step, and the exit codes."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Mapping
from enum import IntEnum

from ..errors import (
    AmbiguousSession,
    AuditLogUnavailable,
    ConsumerNotFound,
    DeadlineExceeded,
    EmbedderFailed,
    EmbedderNotConfigured,
    EncryptionKeyDestroyed,
    EventNotFound,
    HistoryUnknown,
    InvalidField,
    MemoryNotConfigured,
    PermissionDenied,
    ResumePositionExpired,
    RetentionNotConfigured,
    SearchDisabled,
    SessionNotFound,
    SummarizerNotConfigured,
    ThreadkeepError,
    Unauthenticated,
    Unavailable,
)


class Exit(IntEnum):
    """The exit codes."""

    OK = 0
    FAILED = 1  # the server rejected the call, or a file cannot be read or written
    USAGE = 2  # the command line is wrong
    NOT_FOUND = 3  # no such session, event, consumer, memory or key of state
    UNAVAILABLE = 4  # no server responds, it is unavailable, or the call timed out
    INTERRUPTED = 130  # Ctrl-C


class CliError(Exception):
    """An expected failure; its message contains the next step."""

    def __init__(
        self, message: str, code: Exit = Exit.FAILED, *, reason: str = "", metadata: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.metadata = dict(metadata or {})


# What to do in terms of the command line, instead of the server's advice to programs.
_NEXT: Mapping[type[ThreadkeepError], str] = {
    SessionNotFound: "`threadkeep sessions list` lists sessions; `events append --create` creates one",
    EventNotFound: "`threadkeep events list SESSION` lists events",
    ConsumerNotFound: "`threadkeep consumers list` lists consumers",
    ResumePositionExpired: "read the sessions again; `watch --from-beginning` then follows from the oldest change",
    AmbiguousSession: "give --user and --app",
    PermissionDenied: "give a --token that reaches it",
    Unauthenticated: "give --token, or set THREADKEEP_TOKEN",
    SummarizerNotConfigured: (
        "start the server with THREADKEEP_SUMMARIZER, THREADKEEP_SUMMARIZER_MODEL and, for a vendor's own endpoint, "
        "THREADKEEP_SUMMARIZER_API_KEY set; or use another strategy, or --dry-run"
    ),
    MemoryNotConfigured: "start the server with THREADKEEP_MEMORY=true",
    EmbedderNotConfigured: "use --mode ranked, or start the server with THREADKEEP_EMBEDDER set (`hashing` needs nothing else)",
    EmbedderFailed: "use --mode ranked, which needs no model",
    EncryptionKeyDestroyed: "use another tenant; the texts of this one are erased",
    HistoryUnknown: "give a later --as-of-version",
    SearchDisabled: "list the events with `threadkeep events list`, or start the server with THREADKEEP_ENCRYPTED_SEARCH=true",
    RetentionNotConfigured: "start the server with THREADKEEP_RETENTION_POLICIES_FILE and THREADKEEP_RETENTION_ARCHIVE set",
    AuditLogUnavailable: "start the server with THREADKEEP_AUDIT_LOG set to a file that it may read",
    DeadlineExceeded: "run it again; no event is appended twice",
}


# Options of the command line by the server's names of fields.
_OPTIONS: Mapping[str, str] = {
    "session.user_id": "give --user",
    "scope.user_id": "give --user",
    "user.user_id": "give --user",
    "memories[0].metadata_json": """give --metadata as in '{"kind": "taste"}'""",
}


def from_server(error: ThreadkeepError) -> CliError:
    """Returns the message of a server's error, for the user of the command."""
    reason = error.reason or error.code.name
    if isinstance(error, Unavailable) and not error.reason:
        message = one_line(error.message) + (", or give --address" if error.message.endswith("`threadkeep serve`") else "")
        return CliError(message, Exit.UNAVAILABLE, reason=reason, metadata=error.metadata)
    code = Exit.FAILED
    if isinstance(error, (SessionNotFound, EventNotFound, ConsumerNotFound)):
        code = Exit.NOT_FOUND
    elif isinstance(error, (Unavailable, DeadlineExceeded)):
        code = Exit.UNAVAILABLE
    message = one_line(error.message) or reason
    step = _NEXT.get(type(error)) or (
        _OPTIONS.get(error.metadata.get("field", "")) if isinstance(error, InvalidField) else None
    )
    if step:
        message = f"{message.partition(';')[0]}; {step}"
    return CliError(message, code, reason=reason, metadata=error.metadata)


def from_system(error: OSError) -> CliError:
    """Returns the message of an error of a file or a device."""
    name = f"{error.filename}: " if error.filename else ""
    return CliError(f"{name}{error.strerror or error}", reason=errno.errorcode.get(error.errno or 0, "OS_ERROR"))


def report(error: CliError, *, as_json: bool) -> int:
    """Prints a failure on standard error; returns the exit code."""
    if as_json:
        facts = {"reason": error.reason, "message": error.message, "metadata": error.metadata, "exit_code": int(error.code)}
        print(json.dumps({"error": facts}), file=sys.stderr)
    else:
        print(f"error: {error.message}", file=sys.stderr)
    return int(error.code)


def debugging() -> bool:
    """Returns whether tracebacks are enabled."""
    return os.environ.get("THREADKEEP_DEBUG", "") not in ("", "0")


def counted(number: int, noun: str, plural: str = "") -> str:
    """Returns a number with its noun: "1 event", "5,308 events"; `plural`: for an irregular plural."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def one_line(text: str) -> str:
    """Returns the text without line breaks and control characters."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())
