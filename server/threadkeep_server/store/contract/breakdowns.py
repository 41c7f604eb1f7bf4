"""What a log consists of: its branches, and the usage of its turns. Part of the Store contract."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ...domain.filters import EventFilter
from ...domain.model import NO_USAGE, SessionRef, Usage

MOST_BRANCHES = 100
"""Branches of one page."""
MOST_COUNTED = 10_000
"""More events of a branch are not counted; and so many are passed to find the first and the last of the root."""
MOST_OTHERS = 100_000
"""With more events on branches, those of the root are not counted."""
MOST_BYTES = 16 << 20
"""Of the events of one page of usage."""


class Place(NamedTuple):
    """An event, by its seq and time."""

    seq: int
    time: int


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch that has events. `events`: their number, at most MOST_COUNTED + 1; None: not counted. `first` and `last`: in
    window order; None: not found."""

    name: str
    events: int | None
    first: Place | None
    last: Place | None


@dataclass(frozen=True, slots=True)
class BranchPage:
    """`cursor`: the name of the last branch, if more remain."""

    branches: Sequence[Branch]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """Selects events of exactly one branch (None: of all), after a seq and before one. `limit`: events that a page reads.
    `cursor`: the position that was reached."""

    branch: str | None = None
    after_seq: int | None = None
    before_seq: int | None = None
    limit: int = 1000
    cursor: int | None = None

    @property
    def read(self) -> EventFilter:
        """The events that pages read. For the root, those on branches too: it has no index, and a page would not be bounded."""
        on_branch = bool(self.branch)
        return EventFilter(
            after_seq=self.after_seq, before_seq=self.before_seq, branch=self.branch or "", exact_branch=on_branch
        )


class Spent(NamedTuple):
    """An event for sums of usage."""

    seq: int
    turn_seq: int
    branch: str
    invocation_id: str
    usage: Usage


@dataclass(slots=True)
class UsageEntry:
    """The usage of the events of one turn, invocation and branch."""

    turn_seq: int
    invocation_id: str
    branch: str
    seqs: list[int] = field(default_factory=list)
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class UsagePage:
    """`cursor` is set when more events remain."""

    entries: Sequence[UsageEntry]
    cursor: int | None = None


class BreakdownStore(Protocol):
    """Reads what a log consists of."""

    async def list_branches(self, tenant: str, ref: SessionRef, limit: int, after: str | None) -> BranchPage:
        """Returns the branches after a name (None: all): the root first, the others by code point. Raises SessionNotFound,
        AmbiguousSession."""
        ...

    async def list_usage(self, tenant: str, ref: SessionRef, query: UsageQuery) -> UsagePage:
        """Returns the usage of the next events in window order, archived or not. Reads at most `limit` events, and MOST_BYTES
        but at least one. Raises SessionNotFound, AmbiguousSession."""
        ...


# --- rules that all stores share


def summed(events: Iterable[Spent], query: UsageQuery) -> list[UsageEntry]:
    """Returns the usage by turn, invocation and branch, in the order of the first event of each with usage."""
    entries: dict[tuple[int, str, str], UsageEntry] = {}
    for event in events:
        if event.usage == NO_USAGE or query.branch not in (None, event.branch):
            continue
        key = (event.turn_seq, event.invocation_id, event.branch)
        entry = entries.setdefault(key, UsageEntry(*key))
        entry.seqs.append(event.seq)
        entry.usage += event.usage
    return list(entries.values())


def root_branch(last_seq: int, others: int, first: Place | None, last: Place | None) -> Branch | None:
    """Returns the root of a log of `last_seq` events; None if it has none. `others`: the events on branches, counted up to
    MOST_OTHERS + 1."""
    if others > MOST_OTHERS:
        return Branch("", None, first, last)
    return Branch("", min(last_seq - others, MOST_COUNTED + 1), first, last) if last_seq > others else None
