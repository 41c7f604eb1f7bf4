"""Candidates and events of searches: every event of the scope is scanned."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from ...domain.filters import ALL, EventFilter, matches
from ...domain.model import SessionRef
from ...domain.scopes import EventScope, UserScope
from ...domain.search import Candidate, Candidates, Field, WordQuery
from ..contract.search import FoundEvent, neighbor_filter
from ..contract.terms import as_text, choose, selected
from .logs import Entry, InMemoryLogs, Log


class InMemorySearch(InMemoryLogs):
    """SearchStore in memory, without literal search."""

    async def word_candidates(self, tenant: str, scope: EventScope, query: WordQuery, wanted: EventFilter = ALL) -> Candidates:
        logs = self._within(tenant, scope)
        every = (
            (_candidate(entry, as_text(self._codec.words(entry.sealed, entry.time))), matches(entry, wanted))
            for log in logs
            for entry in log.entries
        )
        return choose(every, sum(log.session.last_seq for log in logs), query)

    async def neighbor_candidates(
        self, tenant: str, scope: EventScope, keys: Sequence[int], fields: Field, wanted: EventFilter = ALL
    ) -> Sequence[Candidate]:
        found: dict[int, Candidate] = {}
        for log in self._within(tenant, scope):
            seen = [entry for entry in log.entries if entry.key in keys or matches(entry, neighbor_filter(wanted))]
            for earlier, later in pairwise(seen):
                for hit, near in ((earlier, later), (later, earlier)):
                    if hit.key in keys and matches(near, wanted):
                        found[near.key] = _candidate(near, selected(as_text(self._codec.words(near.sealed, near.time)), fields))
        return list(found.values())

    async def events_by_key(
        self, tenant: str, scope: EventScope, keys: Sequence[int], wanted: EventFilter = ALL, *, neighbors: int = 0
    ) -> Sequence[FoundEvent]:
        places = {entry.key: (log, entry) for log in self._within(tenant, scope) for entry in log.entries}
        found = [places[key] for key in keys if key in places and matches(places[key][1], wanted)]
        return [_found(log, entry, neighbor_filter(wanted), neighbors) for log, entry in found]

    async def event_keys(self, tenant: str, places: Sequence[tuple[SessionRef, int]]) -> Sequence[int]:
        logs = {ref: self._logs.get((tenant, ref)) for ref, _ in places}
        keys = {(ref, entry.seq): entry.key for ref, log in logs.items() if log for entry in log.entries}
        return [keys[place] for place in places if place in keys]

    def _within(self, tenant: str, scope: EventScope) -> list[Log]:
        """Returns the sessions of a scope. Raises SessionNotFound, AmbiguousSession."""
        if isinstance(scope, SessionRef):
            return [self._existing(tenant, scope)]
        if isinstance(scope, UserScope):
            owned = [log for log in self._of(tenant) if log.session.ref.user_id == scope.user_id]
            return [log for log in owned if scope.app in (None, log.session.ref.app)]
        return [log for log in self._of(tenant) if log.session.ref.app == scope.app]


def _candidate(entry: Entry, words: str) -> Candidate:
    return Candidate(entry.key, entry.session, entry.position, entry.time, int(entry.role), entry.author, words)


def _found(log: Log, entry: Entry, near: EventFilter, neighbors: int) -> FoundEvent:
    starts = [each.key for each in log.entries if each.turn_start and each.position <= entry.position]
    others = [each for each in log.entries if each is entry or matches(each, near)]
    at = bisect_left(others, entry.position, key=lambda each: each.position)
    return FoundEvent(
        key=entry.key,
        session=log.number,
        ref=log.session.ref,
        event=entry.stored,
        time=entry.time,
        turn=starts[-1] if starts else 0,
        before=[each.stored for each in others[max(0, at - neighbors) : at]],
        after=[each.stored for each in others[at + 1 : at + 1 + neighbors]],
    )
