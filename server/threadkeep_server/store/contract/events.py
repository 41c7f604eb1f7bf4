"""Events: appending, listing and selecting contexts; part of the Store contract."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...domain.context import Context, ContextSpec
from ...domain.filters import ALL, EventFilter
from ...domain.model import NO_COUNTERS, NOWHERE, Counters, EventDraft, NewSession, SessionRef, StoredEvent, Versions
from ...domain.removals import Operation, Outcome
from ...domain.state.state import StateDelta
from .history import AsOf


@dataclass(slots=True)  # not frozen: one for each append
class AppendRequest:
    """One atomic append. At most one of the two expectations is set. Ids differ within `drafts`."""

    tenant: str
    ref: SessionRef
    drafts: Sequence[EventDraft]
    now: int
    expected_log_version: int | None = None
    expected_last_event_id: str | None = None
    ignore_existing: bool = False
    create: NewSession | None = None
    operation: Operation | None = None
    state: StateDelta | None = None
    """Changes of state, committed with the events unless all of them are replays. With a bare ref, of the session only."""

    @property
    def size(self) -> int:
        events = sum(len(draft.body) for draft in self.drafts)
        return events if self.state is None else events + sum(patch.size for patch in self.state.values())


@dataclass(slots=True)  # not frozen: one for each event appended
class AppendedEvent:
    event_id: str
    seq: int
    replayed: bool


@dataclass(slots=True)
class Appended:
    """The result of an append; counters are those after it."""

    events: Sequence[AppendedEvent]
    log_version: int
    last_seq: int
    window: Counters
    session_created: bool = False

    @property
    def outcome(self) -> Outcome:
        """What is remembered of it, with its operation id."""
        added = tuple((event.event_id, event.seq, event.replayed) for event in self.events)
        return Outcome(added=added, versions=Versions(self.log_version, 0, self.last_seq, self.window))


def replayed_append(outcome: Outcome) -> Appended:
    """Returns the result of an append whose operation id is known."""
    events = [AppendedEvent(event_id, seq, replayed=True) for event_id, seq, _ in outcome.added]
    versions = outcome.versions
    return Appended(events, versions.log_version, versions.last_seq, versions.window)


AppendListener = Callable[[AppendRequest, Appended], None]
"""Called after each committed append."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a list of events continues: after `position`, up to `stop` if a window has fixed its end."""

    position: int
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Selects events, of the log as of a moment if there is one. `cursor` replaces the filter's window."""

    filter: EventFilter = ALL
    descending: bool = False
    limit: int = 100
    max_bytes: int = 1 << 62
    cursor: Cursor | None = None
    as_of: AsOf | None = None


@dataclass(frozen=True, slots=True)
class EventPage:
    """`cursor` is set when more events of the query (of its window, if it has one) remain."""

    events: Sequence[StoredEvent]
    cursor: Cursor | None = None
    log_version: int = 0
    last_seq: int = 0


@dataclass(frozen=True, slots=True)
class ContextPage:
    """The result of GetContext: the fields of domain.context.Context, with the events as stored."""

    events: Sequence[StoredEvent] = ()
    truncated: bool = False
    first_seq: int = 0
    last_seq: int = 0
    over_budget: bool = False
    context: Counters = NO_COUNTERS
    versions: Versions = NOWHERE
    compactable_through_seq: int = 0
    max_bytes: int = 0


def budgeted(spec: ContextSpec, context_bytes: int, default_bytes: int) -> ContextSpec:
    """Returns the spec with its effective max_bytes: its own, else the session's, else the server's."""
    return spec if spec.max_bytes is not None else replace(spec, max_bytes=context_bytes or default_bytes)


def context_page(context: Context[Any], events: Sequence[StoredEvent], versions: Versions, spec: ContextSpec) -> ContextPage:
    """Returns the page of a context. `events`: those of the context, as stored; `spec`: with its effective max_bytes."""
    return ContextPage(
        events,
        context.truncated,
        context.first_seq,
        context.last_seq,
        context.over_budget,
        context.window,
        versions,
        context.compactable_through(versions.last_seq),
        (spec.max_bytes or 0) if spec.reads else 0,
    )


class EventStore(Protocol):
    """Appends and reads events."""

    def append(self, request: AppendRequest) -> Awaitable[Appended]:
        """Appends all drafts or none, durably. The caller awaits the result; requests run in the order of the calls. seq is
        last_seq+1.. without gaps, in commit order.

        A draft whose id is stored with the same body is a replay: nothing is stored, its seq is returned. With another body it
        raises EventIdConflict, unless ignore_existing; a conflict is reported before a mismatch. A request of replays only
        increases no version, changes no state and ignores expectations. So does one whose operation is known: its outcome is
        returned. Raises SessionNotFound (unless `create`), AmbiguousSession, VersionMismatch, EventIdConflict,
        OperationConflict, StateTooLarge, RateLimited, StoreUnavailable. A failed request never affects another.
        """
        ...

    async def get_event(self, tenant: str, ref: SessionRef, event_id: str) -> StoredEvent:
        """Raises SessionNotFound, AmbiguousSession, EventNotFound."""
        ...

    async def list_events(self, tenant: str, ref: SessionRef, query: EventQuery) -> EventPage:
        """Returns what `domain.filters.select` selects, in window order (or the reverse); an empty page for an unknown session.

        With `as_of` it returns what it returned then. A page ends early rather than exceed max_bytes (of the bodies as they
        were sent), but holds at least one event if any remains.
        """
        ...

    async def get_context(
        self, tenant: str, ref: SessionRef, spec: ContextSpec, default_bytes: int, as_of: AsOf | None = None
    ) -> ContextPage:
        """Returns what `domain.context.select_context` selects of the active events; the cost does not grow with the log, nor
        with archived events. A spec without max_bytes has the session's context_bytes, or else `default_bytes`. An unknown
        session gives an empty page. With `as_of` it returns what it returned then, at about the same cost; the session's
        context_bytes are those of now. Raises AmbiguousSession; with `as_of` InvalidField for the future and
        HistoryUnknown, as does list_events."""
        ...

    def on_append(self, listener: AppendListener) -> None:
        """Subscribes to the appends of this server. The listener is called after each commit, before the caller of the append
        gets its result; also, perhaps, for an append of replays only. It must be quick and must not raise."""
        ...
