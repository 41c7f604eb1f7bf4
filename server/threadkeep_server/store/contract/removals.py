"""Removals of events, and operation ids: part of the Store contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...domain.errors import InvalidField, OperationConflict, VersionMismatch
from ...domain.filters import EventFilter
from ...domain.model import EventDraft, SessionRef, StoredEvent, Versions
from ...domain.removals import MOST_REWOUND, Added, Operation, Outcome, RemovalKind
from .events import Appended, AppendedEvent
from .history import AsOf


@dataclass(frozen=True, slots=True)
class Pop:
    """The newest `count` active events, of exactly one branch (None: of all); fewer if their bodies exceed `max_bytes`, but at
    least one."""

    count: int
    branch: str | None = None
    max_bytes: int = 1 << 62


@dataclass(frozen=True, slots=True)
class Clear:
    """Every active event; if they are erased, the archived ones too."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """These events, active or not. Ids differ."""

    event_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class Suffix:
    """The newest active events, of exactly one branch (None: of all), which must be exactly these; and events that take their
    place, which may have their ids."""

    expected: Sequence[str]
    drafts: Sequence[EventDraft]
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class Upsert:
    """Events to append, each in place of the stored one with its id. Ids differ."""

    drafts: Sequence[EventDraft]
    expected_last_event_id: str | None = None


@dataclass(frozen=True, slots=True)
class Rewind:
    """Every active event after a point; if they are erased, the archived ones after it too. `always`: it is a change also if it
    removes and restores nothing."""

    at: AsOf
    always: bool = False


What = Pop | Clear | Chosen | Suffix | Upsert | Rewind


@dataclass(frozen=True, slots=True)
class RemovalRequest:
    """A removal. `erase`: the content of the events is erased; otherwise they are archived."""

    tenant: str
    ref: SessionRef
    now: int
    what: What
    erase: bool = False
    expected_log_version: int | None = None
    operation: Operation | None = None

    @property
    def drafts(self) -> Sequence[EventDraft]:
        """The events to add."""
        return self.what.drafts if isinstance(self.what, Suffix | Upsert) else ()

    @property
    def always_changes(self) -> bool:
        """Whether it is a change also if it removes and adds nothing."""
        return isinstance(self.what, Clear) or (isinstance(self.what, Rewind) and self.what.always)

    @property
    def kind(self) -> RemovalKind:
        kinds = {
            Pop: RemovalKind.POPPED,
            Clear: RemovalKind.CLEARED,
            Chosen: RemovalKind.ERASED,
            Rewind: RemovalKind.REWOUND,
        }
        return kinds.get(type(self.what), RemovalKind.REPLACED)


@dataclass(frozen=True, slots=True)
class Removed:
    """`events`: those that were popped, in window order, as they were; empty for other removals. `replayed`: an earlier call
    with the operation id did it; of erased events only tombstones are left then."""

    outcome: Outcome
    events: Sequence[StoredEvent] = ()
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Erasable:
    """Events that may be erased, by their callers' ids, in window order. `cursor` is set unless the log was read to its end."""

    event_ids: Sequence[str]
    cursor: int | None = None


class RemovalStore(Protocol):
    """Removes and replaces events."""

    async def erasable(
        self, tenant: str, ref: SessionRef, wanted: EventFilter, limit: int, cursor: int | None = None
    ) -> Erasable:
        """Returns up to `limit` events that match and are not erased, archived or not, after the position `cursor`. A page may
        be empty and not be the last. Raises SessionNotFound, AmbiguousSession."""
        ...

    async def remove(self, request: RemovalRequest) -> Removed:
        """Removes events in one transaction, which appends wait for; one change in the feed. Of concurrent pops each event is
        returned once. Both versions grow by one; a request that removes and adds nothing changes nothing. Added events get the
        next seqs.

        An archived event stays readable and searchable. Of an erased one a tombstone stays: id, seq, times, role and branch;
        its content is gone from the log, the search index and the embeddings when this returns. A large log is erased in parts,
        behind the change that clears it, also after a restart.

        An event that replaces another one takes its id; the earlier version stays in the history, next to the newer one. A
        draft of an Upsert whose id is stored with the same body is a replay; one whose stored version is not active is
        appended. A clear is a change also of an empty window: it refuses later writers that expect an earlier version.

        A rewind brings back the window of the point: events that were active then and are not erased are active again, with the
        ids that they had, and the session's state has the values of then. Its changes are one commit: REMOVED, then STATE if
        the state changed. It concerns at most MOST_REWOUND events.

        A known operation is a replay: its outcome is returned. Raises SessionNotFound, AmbiguousSession, OperationConflict,
        VersionMismatch (also for another suffix), EventNotFound, EventIdConflict, InvalidField and HistoryUnknown of a rewind,
        StoreUnavailable.
        """
        ...


# --- rules that all stores share


def check_operation(operation: Operation, fingerprint: bytes) -> None:
    """Raises OperationConflict if the stored fingerprint is another one."""
    if fingerprint != operation.fingerprint:
        raise OperationConflict(operation.operation_id)


def check_log_version(request: RemovalRequest, versions: Versions) -> None:
    expected = request.expected_log_version
    if expected is not None and expected != versions.log_version:
        raise VersionMismatch(request.ref, expected=str(expected), actual=str(versions.log_version))


def check_rewound(at: AsOf, events: int) -> None:
    """`events`: those that the rewind concerns. Raises InvalidField."""
    if events > MOST_REWOUND:
        field = f"{at.prefix}{'log_version' if at.seq is None else 'seq'}"
        raise InvalidField(field, f"is more than {MOST_REWOUND:,} events ago; fork the session instead")


def check_suffix(ref: SessionRef, expected: Sequence[str], actual: Sequence[str]) -> None:
    """`actual`: ids of as many of the newest events as are expected, in window order. Raises VersionMismatch with the newest
    ids that differ."""
    if list(expected) == list(actual):
        return
    for wanted, found in zip(reversed(expected), [*reversed(actual), *[""] * len(expected)], strict=False):
        if wanted != found:
            raise VersionMismatch(ref, expected=wanted, actual=found)


def in_order(drafts: Sequence[EventDraft], seqs: Mapping[str, int], replays: Mapping[str, int]) -> tuple[Added, ...]:
    """Returns Outcome.added for the drafts of a request, in their order. `seqs`: of new events, by id."""
    return tuple(
        (draft.event_id, replays[draft.event_id], True)
        if draft.event_id in replays
        else (draft.event_id, seqs[draft.event_id], False)
        for draft in drafts
    )


def appended_of(removed: Removed) -> Appended:
    """Returns the result of an Upsert as that of an append."""
    outcome = removed.outcome
    events = [AppendedEvent(event_id, seq, replayed or removed.replayed) for event_id, seq, replayed in outcome.added]
    return Appended(events, outcome.versions.log_version, outcome.versions.last_seq, outcome.versions.window)


def fitting_count(sizes: Sequence[int], most: int) -> int:
    """Returns how many of the first events have at most `most` bytes together; at least one if there are any."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if count and total > most:
            return count
    return len(sizes)
