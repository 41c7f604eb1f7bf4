"""Search: literal search, the candidates of ranked search, and events by key; part of the Store contract."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...domain.filters import ALL, EventFilter
from ...domain.model import SessionRef, StoredEvent
from ...domain.scopes import EventScope
from ...domain.search import Candidate, Candidates, Field, WordQuery


@dataclass(frozen=True, slots=True)
class SearchCursor:
    """Continues after this hit, in the order (time, session, position). `left`: remaining hits of a numbered page."""

    time: int
    session: int
    position: int
    left: int | None = None

    @classmethod
    def after(cls, time: int, session: int, position: int, *, query: SearchQuery, taken: int) -> SearchCursor | None:
        """Returns the cursor of `query` after `taken` more hits; None if its numbered page is complete."""
        window = query.filter.page_size if query.cursor is None else query.cursor.left
        left = None if window is None else window - taken
        return None if left == 0 else cls(time, session, position, left)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A literal search. `filter` has at least one text condition; its window may be a numbered page, not last_n."""

    scope: EventScope
    filter: EventFilter
    limit: int = 10
    max_bytes: int = 1 << 62
    cursor: SearchCursor | None = None

    @property
    def most(self) -> int:
        """Maximum number of hits of this call."""
        window = self.filter.page_size if self.cursor is None else self.cursor.left
        return self.limit if window is None else min(self.limit, window)


@dataclass(frozen=True, slots=True)
class SearchHit:
    ref: SessionRef
    event: StoredEvent


@dataclass(frozen=True, slots=True)
class SearchPage:
    """`incomplete`: the store did not read on, because events that are not indexed take long; the cursor continues there."""

    hits: Sequence[SearchHit]
    cursor: SearchCursor | None = None
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class FoundEvent:
    """An event with its key and its session. `turn` is the key of the event that starts its turn, 0 before the first turn.
    `before` and `after` are its neighbors in window order, oldest first."""

    key: int
    session: int
    ref: SessionRef
    event: StoredEvent
    time: int
    turn: int
    before: Sequence[StoredEvent] = ()
    after: Sequence[StoredEvent] = ()


def most_counted(documents: int, limit: int) -> int:
    """Returns the number up to which a store counts the documents that have a term. A term of so many documents is common: it
    alone selects no candidate while rarer terms select enough."""
    return max(1024, min(documents // 8, 1 << 16), limit + 1)


def rarity(frequency: int, documents: int) -> float:
    """Returns the weight of a term when candidates are selected: its inverse document frequency, above 0."""
    return math.log1p((documents + 0.5) / (frequency + 0.5))


def neighbor_filter(wanted: EventFilter) -> EventFilter:
    """Returns the conditions on the neighbors of an event that matches the filter."""
    return EventFilter(exclude_archived=wanted.exclude_archived, branch=wanted.branch, exact_branch=wanted.exact_branch)


class SearchStore(Protocol):
    """Searches events. Keys are the store's numbers of events; they are never reused."""

    async def search(self, tenant: str, query: SearchQuery) -> SearchPage:
        """Returns the events of the scope that match, including everything committed before the call. One session: in window
        order; a user's or an app's: by (time, session creation, position). An incomplete page may have fewer hits, even none; a
        numbered one without hits has no cursor. Raises SessionNotFound, AmbiguousSession for a session scope."""
        ...

    async def word_candidates(self, tenant: str, scope: EventScope, query: WordQuery, wanted: EventFilter = ALL) -> Candidates:
        """Returns the best events of the scope, by a coarse measure, that have any of the terms and match the filter
        (conditions and keywords; no window), and those of `query.also` that match it. Everything committed before the call is
        searched, except `unsearched` events that are not indexed: those that are not the newest, if there are too many to read.
        If no more than `query.limit` match, all are returned, the same in every store; otherwise the store chooses which ones
        to leave out. Frequencies are those of the whole scope in the selected fields, without the filter; they are counted up
        to `most_counted`, and may include events deleted a moment ago, or of a common term some minutes ago. Raises
        SessionNotFound, AmbiguousSession for a session scope."""
        ...

    async def neighbor_candidates(
        self, tenant: str, scope: EventScope, keys: Sequence[int], fields: Field, wanted: EventFilter = ALL
    ) -> Sequence[Candidate]:
        """Returns the event before and the one after each of these in window order, among those of the filter's view and
        branch, if it is in the scope and matches the filter. Each once, unordered."""
        ...

    async def events_by_key(
        self, tenant: str, scope: EventScope, keys: Sequence[int], wanted: EventFilter = ALL, *, neighbors: int = 0
    ) -> Sequence[FoundEvent]:
        """Returns the events that are (still) in the scope and match the filter, in the order of `keys`. Neighbors match
        `neighbor_filter`. Raises SessionNotFound, AmbiguousSession for a session scope."""
        ...

    async def event_keys(self, tenant: str, places: Sequence[tuple[SessionRef, int]]) -> Sequence[int]:
        """Returns the keys of events given by full session ref and seq, in the order of `places`, without deleted ones."""
        ...
