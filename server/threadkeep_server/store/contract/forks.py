"""Forks: copies of sessions as of a moment; part of the Store contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...domain.errors import InvalidField
from ...domain.model import NO_USAGE, Counters, Parent, Session, SessionRef, Versions
from ...domain.removals import Operation, Outcome
from ...domain.validation import MAX_LABELS
from .history import AsOf, LogPoint
from .removals import fitting_count

COPIED_AT_ONCE = 500
"""Events of one change, and of one transaction of a copy."""
COPIED_BYTES = 1 << 20
"""Bytes of these events, as sent; one event may be larger."""


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """A fork to make. `at`: None is the present; see LogPoint. The metadata, None, and the labels, unless `without_labels`, are
    those of the origin. `admit` is called once with the number of events to copy, and may raise."""

    tenant: str
    origin: SessionRef
    session_id: str
    uid: str
    now: int
    operation: Operation
    at: AsOf | None = None
    expire_time: int | None = None
    metadata_json: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    without_labels: bool = False
    context_bytes: int | None = None
    admit: Callable[[int], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Forked:
    """`replayed`: an earlier call with the operation id made the fork; this is the session as it is now."""

    session: Session
    replayed: bool = False


class ForkStore(Protocol):
    """Copies sessions."""

    async def fork(self, request: ForkRequest) -> Forked:
        """Makes a session of the same owner that answers what the origin answers as of the point: events with their ids, seqs
        and times, the archived ones included; the window; compactions; the session's state with its earlier values; and every
        read as of an earlier moment. Events that were erased since are tombstones, and leave the window by the fork: it is a
        change of its own, after that of the point.

        Appends and other writes continue while it is copied, in parts of COPIED_AT_ONCE events. Nobody reads any of it before
        all of it is there; what a server left is removed. Of concurrent calls with one operation or one id, one makes it.

        The feed reports it as CREATED, then the state as STATE, then the events as COPIED. A known operation is a replay:
        SessionNotFound if that fork is gone. Raises SessionNotFound, AmbiguousSession, SessionAlreadyExists, OperationConflict,
        InvalidField for the future and for too many labels, HistoryUnknown, StoreUnavailable.
        """
        ...


# --- rules that all stores share


def fork_of(request: ForkRequest, origin: Session, point: LogPoint, window: Counters, content: int = 0) -> Session:
    """Returns the fork as it begins. `window`, `content`: the counters and the content bytes of its active events. Raises
    InvalidField."""
    labels = ({} if request.without_labels else dict(origin.labels)) | dict(request.labels)
    if len(labels) > MAX_LABELS:
        raise InvalidField(
            "labels", f"must be at most {MAX_LABELS} together with those of the session; set without_parent_labels"
        )
    return Session(
        ref=fork_ref(request, origin.ref),
        uid=request.uid,
        create_time=request.now,
        update_time=request.now,
        expire_time=request.expire_time,
        metadata_json=origin.metadata_json if request.metadata_json is None else request.metadata_json,
        labels=labels,
        log_version=point.log_version + 1,
        window_version=point.window_version + 1,
        last_seq=point.seq,
        window=window,
        usage=NO_USAGE,
        context_bytes=origin.context_bytes if request.context_bytes is None else request.context_bytes,
        content_bytes=content,
        parent=Parent(origin.ref.session_id, origin.uid, point.seq, point.log_version),
    )


def fork_ref(request: ForkRequest, origin: SessionRef) -> SessionRef:
    return origin._replace(session_id=request.session_id)


def fork_outcome(fork: Session) -> Outcome:
    """Returns what is remembered with the operation id."""
    return Outcome(
        versions=Versions(fork.log_version, fork.window_version, fork.last_seq, fork.window), fork=fork.ref.session_id
    )


def copied_count(sizes: Sequence[int]) -> int:
    """Returns how many of the next events are copied at once; at least one if there are any."""
    return fitting_count(sizes[:COPIED_AT_ONCE], COPIED_BYTES)
