"""What is asked of a store, and answered, about windows, compactions and policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

from ...domain.context import Context, ContextSpec
from ...domain.errors import NothingToCompact, VersionMismatch
from ...domain.model import (
    NO_COUNTERS,
    NO_USAGE,
    NOWHERE,
    Compaction,
    Counters,
    EventDraft,
    Session,
    SessionRef,
    StoredEvent,
    Usage,
    Versions,
    WindowEvent,
)


@dataclass(frozen=True, slots=True)
class ContextPage:
    """What GetContext hands out; the fields are those of domain.windows.Context, the events as stored."""

    events: Sequence[StoredEvent] = ()
    truncated: bool = False
    first_seq: int = 0
    last_seq: int = 0
    over_budget: bool = False
    context: Counters = NO_COUNTERS
    versions: Versions = NOWHERE
    compactable_through_seq: int = 0


@dataclass(frozen=True, slots=True)
class WindowRead:
    """Every active event in window order, with its sealed bytes, and where the session stood when they were read."""

    events: Sequence[WindowEvent]
    bodies: Sequence[bytes]
    session: Session


@dataclass(frozen=True, slots=True)
class Placed:
    """New events and the active event, by id, that they go before; None: the end of the window. One for each such place."""

    before: str | None
    drafts: Sequence[EventDraft]


@dataclass(frozen=True, slots=True)
class CompactionRequest:
    """Events to archive and to insert, in one transaction. `usage` is what was spent on it; it is added to the session's."""

    tenant: str
    ref: SessionRef
    compaction_id: str
    now: int
    archive: Sequence[str]
    inserts: Sequence[Placed]
    expected_window_version: int | None
    expected_log_version: int | None = None
    strategy: str = "custom"
    actor: str = ""
    branch: str = ""
    usage: Usage = NO_USAGE
    dry_run: bool = False

    @property
    def drafts(self) -> list[EventDraft]:
        """Everything that is inserted, in order."""
        return [draft for placed in self.inserts for draft in placed.drafts]


@dataclass(frozen=True, slots=True)
class Compacted:
    """`replayed`: it had been applied before, and nothing was changed now."""

    compaction: Compaction
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class CompactionPage:
    compactions: Sequence[Compaction]
    cursor: int | None = None


class PolicyScope(IntEnum):
    """What a policy is for, narrowest first."""

    SESSION = 1
    USER_OF_APP = 2
    USER = 3
    APP = 4
    SERVER = 5


class PolicyKey(NamedTuple):
    """Names a policy; the parts of the name that the scope does not need are empty."""

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
    """`body` is the caller's encoding; None: it was removed."""

    key: PolicyKey
    body: bytes | None
    time: int


# --- rules that every store shares

_SPACING = 1024


def budgeted(spec: ContextSpec, context_bytes: int, default_bytes: int) -> ContextSpec:
    """The spec with the size that holds for it: its own, else the session's, else the server's."""
    return spec if spec.max_bytes is not None else replace(spec, max_bytes=context_bytes or default_bytes)


def context_page(context: Context, events: Sequence[StoredEvent], versions: Versions) -> ContextPage:
    """`events`: those of the context, as stored."""
    return ContextPage(
        events,
        context.truncated,
        context.first_seq,
        context.last_seq,
        context.over_budget,
        context.window,
        versions,
        context.compactable_through(versions.last_seq),
    )


def check_versions(request: CompactionRequest, log_version: int, window_version: int) -> None:
    """Raises VersionMismatch, or NothingToCompact where there is nothing to check it for."""
    if not request.archive and not request.drafts:
        raise NothingToCompact(request.ref)
    for expected, actual in (
        (request.expected_window_version, window_version),
        (request.expected_log_version, log_version),
    ):
        if expected is not None and expected != actual:
            raise VersionMismatch(request.ref, expected=str(expected), actual=str(actual))


class Archived(NamedTuple):
    """What is asked of the events that a compaction archives."""

    seqs: Sequence[int]
    counters: Counters


def compaction_of(request: CompactionRequest, versions: Versions, archived: Archived) -> Compaction:
    """The record of a request on a session that stands there."""
    drafts = request.drafts
    return Compaction(
        compaction_id=request.compaction_id,
        time=request.now,
        strategy=request.strategy,
        actor=request.actor,
        branch=request.branch,
        archived=len(archived.seqs),
        first_seq=min(archived.seqs, default=0),
        last_seq=max(archived.seqs, default=0),
        inserted=tuple(draft.event_id for draft in drafts),
        before=versions.window,
        after=sum((draft.counters for draft in drafts), versions.window - archived.counters),
        log_version=versions.log_version + 1,
        window_version=versions.window_version + 1,
        usage=request.usage,
    )


def spread(low: int, high: int, count: int) -> list[int] | None:
    """Positions for `count` events between two others; None if there is no room. Near to the first and apart from each other,
    so that room remains both behind and between."""
    step = min((high - low) // (count + 1), _SPACING)
    return [low + step * place for place in range(1, count + 1)] if step else None


def parted(before: int, behind: int, size: int) -> list[int]:
    """Offsets into a range of that size for events to move to: those before a place into the first quarter, those behind it
    into the last. What is left free between them grows not with each insertion but with many, so moving stays rare."""
    quarter = size // 4
    ahead = [quarter * place // (before + 1) for place in range(1, before + 1)]
    return ahead + [size - quarter + quarter * place // (behind + 1) for place in range(1, behind + 1)]
