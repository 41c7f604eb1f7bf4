"""Windows, compactions, policies and leases: part of the Store contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

from ...domain.errors import NothingToCompact, VersionMismatch
from ...domain.model import (
    NO_USAGE,
    POSITION_STEP,
    Compaction,
    Counters,
    EventDraft,
    Session,
    SessionRef,
    Usage,
    Versions,
    WindowEvent,
)


@dataclass(frozen=True, slots=True)
class WindowRead:
    """Every active event in window order, and the session at the time of the read. `bodies`: sealed bytes by event id."""

    events: Sequence[WindowEvent]
    bodies: Mapping[str, bytes]
    session: Session


Inserts = Mapping[str | None, Sequence[EventDraft]]
"""New events by the id of the active event to insert them before; None: the end of the window."""


@dataclass(frozen=True, slots=True)
class CompactionRequest:
    """Events to archive and to insert, in one transaction. `usage`: the cost of the compaction, added to the session's."""

    tenant: str
    ref: SessionRef
    compaction_id: str
    now: int
    archive: Sequence[str]
    inserts: Inserts
    expected_window_version: int | None
    expected_log_version: int | None = None
    strategy: str = "custom"
    actor: str = ""
    branch: str = ""
    usage: Usage = NO_USAGE
    dry_run: bool = False

    @property
    def drafts(self) -> list[EventDraft]:
        """The inserted events, in order."""
        return [draft for drafts in self.inserts.values() for draft in drafts]


@dataclass(frozen=True, slots=True)
class Compacted:
    """`replayed`: the compaction was applied by an earlier call; this call changed nothing."""

    compaction: Compaction
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class CompactionPage:
    compactions: Sequence[Compaction]
    cursor: int | None = None


class PolicyScope(IntEnum):
    """The level that a policy is set for, narrowest first."""

    SESSION = 1
    USER_OF_APP = 2
    USER = 3
    APP = 4
    SERVER = 5


class PolicyKey(NamedTuple):
    """Identifies a policy; parts that the scope does not need are empty."""

    tenant: str
    scope: PolicyScope
    app: str = ""
    user_id: str = ""
    session_id: str = ""

    @property
    def ref(self) -> SessionRef:
        return SessionRef(self.app, self.user_id, self.session_id)


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """`body` is the caller's encoding; None: the policy was removed."""

    key: PolicyKey
    body: bytes | None
    time: int


class CompactionStore(Protocol):
    """Reads and compacts windows; stores policies and leases."""

    async def read_window(self, tenant: str, ref: SessionRef, *, with_text: bool = True) -> WindowRead:
        """Returns every active event. Without text there may be no prompt texts, and no bodies but those of events with tool
        calls or results. Raises SessionNotFound, AmbiguousSession."""
        ...

    async def compact(self, request: CompactionRequest) -> Compacted:
        """Archives events and inserts others, all or nothing; the cost depends on these, not on the log. Archiving changes no
        position, seq or body; inserted events get the next seqs. Both versions grow by one. A dry run checks everything,
        returns the record, and changes nothing.

        A compaction_id that the session has is a replay: its record is returned, and the rest of the request is ignored. Raises
        SessionNotFound, AmbiguousSession, VersionMismatch, NothingToCompact, EventNotFound for an event to archive or to insert
        before that is not active (or is to be archived), EventIdConflict for the id of a stored event, StoreUnavailable.
        """
        ...

    async def get_compaction(self, tenant: str, ref: SessionRef, compaction_id: str) -> Compaction | None:
        """Returns the record; None if the session has no such compaction. Raises SessionNotFound, AmbiguousSession."""
        ...

    async def list_compactions(self, tenant: str, ref: SessionRef, limit: int, cursor: int | None) -> CompactionPage:
        """Returns records, newest first; `cursor` is the previous page's. Raises SessionNotFound, AmbiguousSession."""
        ...

    async def put_policy(self, policy: StoredPolicy) -> None:
        """Sets or (without a body) removes a policy. A session's policy is removed with the session. Raises SessionNotFound for
        the policy of an unknown session."""
        ...

    async def policies(self, since: int) -> Sequence[StoredPolicy]:
        """Returns the policies of every tenant that were set or removed at or after `since`; removed ones without a body."""
        ...

    async def lease(self, tenant: str, ref: SessionRef, owner: str, now: int, until: int) -> bool:
        """Takes or extends the lease on compacting a session. Returns False while another owner's lease is valid. Raises
        SessionNotFound, AmbiguousSession."""
        ...

    async def release(self, tenant: str, ref: SessionRef, owner: str) -> None:
        """Releases the lease; does nothing if it is not the owner's."""
        ...


# --- rules that all stores share

_SPACING = 1024


def check_versions(request: CompactionRequest, log_version: int, window_version: int) -> None:
    """Raises VersionMismatch; NothingToCompact if the request archives and inserts nothing."""
    if not request.archive and not request.drafts:
        raise NothingToCompact(request.ref)
    for expected, actual in (
        (request.expected_window_version, window_version),
        (request.expected_log_version, log_version),
    ):
        if expected is not None and expected != actual:
            raise VersionMismatch(request.ref, expected=str(expected), actual=str(actual))


def compaction_of(request: CompactionRequest, versions: Versions, seqs: Sequence[int], archived: Counters) -> Compaction:
    """Returns the record of a request on a session with these versions. `seqs`, `archived`: the seqs and the counters of the
    events to archive."""
    drafts = request.drafts
    return Compaction(
        compaction_id=request.compaction_id,
        time=request.now,
        strategy=request.strategy,
        actor=request.actor,
        branch=request.branch,
        archived=len(seqs),
        first_seq=min(seqs, default=0),
        last_seq=max(seqs, default=0),
        inserted=tuple(draft.event_id for draft in drafts),
        before=versions.window,
        after=sum((draft.counters for draft in drafts), versions.window - archived),
        log_version=versions.log_version + 1,
        window_version=versions.window_version + 1,
        usage=request.usage,
    )


def floor_of(position: int) -> int:
    """Returns the last position of an appended event before this one, whether or not there is such an event. Inserted events
    may be moved, but not past it."""
    return (position - 1) // POSITION_STEP * POSITION_STEP


def spread(low: int, high: int, count: int) -> list[int] | None:
    """Returns positions for `count` events between two others; None if there is no room. They are near the first position,
    with gaps, so that room remains between and after them."""
    step = min((high - low) // (count + 1), _SPACING)
    return [low + step * place for place in range(1, count + 1)] if step else None


def parted(before: int, behind: int, size: int) -> list[int]:
    """Returns offsets in a range of this size for events to move to: events before an insertion into the first quarter, events
    after it into the last. The half between them stays free for many insertions, so moves are rare."""
    quarter = size // 4
    ahead = [quarter * place // (before + 1) for place in range(1, before + 1)]
    return ahead + [size - quarter + quarter * place // (behind + 1) for place in range(1, behind + 1)]
