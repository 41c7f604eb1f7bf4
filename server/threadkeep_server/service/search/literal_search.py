"""Substring search of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...domain.errors import InvalidField
from ...domain.model import Caller, SessionRef, StoredEvent
from ...domain.search import Field, SearchMode
from ...domain.validation import Limits
from ...store.contract.search import SearchCursor, SearchHit, SearchQuery, SearchStore, neighbor_filter
from ..access import own_scope
from .search_pipeline import Events, Highlights, TextsOf, check_neighbors, check_no_newest, fitting, marked_literally
from .search_slots import UNLIMITED, SearchSlots

_LOADED_AT_ONCE = 32

Place = tuple[SessionRef, int]
"""A complete session ref and a seq."""


@dataclass(frozen=True, slots=True)
class LiteralHit:
    """An event with the text. Neighbors are in window order, oldest first."""

    ref: SessionRef
    event: StoredEvent
    highlights: Highlights = ()
    before: Sequence[StoredEvent] = ()
    after: Sequence[StoredEvent] = ()


@dataclass(frozen=True, slots=True)
class LiteralPage:
    """`incomplete`: see store.contract.search.SearchPage."""

    hits: Sequence[LiteralHit]
    cursor: SearchCursor | None = None
    incomplete: bool = False


class LiteralSearch:
    """Searches of events by SUBSTRING. `texts` reads sealed bytes; without it hits have no highlights. `slots`: the searches
    that may run at a time."""

    def __init__(
        self, store: SearchStore, limits: Limits, texts: TextsOf | None = None, slots: SearchSlots = UNLIMITED
    ) -> None:
        self._store = store
        self._slots = slots
        self._limits = limits
        self._texts = texts

    async def search(self, caller: Caller, query: SearchQuery, neighbors: int = 0) -> LiteralPage:
        """Returns hits in the order of the store, each with up to `neighbors` events before and after it; fewer if the response
        would exceed max_response_bytes. Raises InvalidField, PermissionDenied, SessionNotFound, AmbiguousSession,
        RateLimited."""
        if not query.filter.terms:
            raise InvalidField("query", "must not be blank, unless filter has keywords")
        check_no_newest(query.filter)
        check_neighbors(neighbors)
        scope = own_scope(caller, query.scope)
        limit = min(query.filter.page_size or query.limit, self._limits.max_page_size)
        wanted = query.filter if query.filter.page_size is None else replace(query.filter, page_size=limit)
        bounded = replace(query, scope=scope, filter=wanted, limit=limit, max_bytes=self._limits.max_response_bytes)
        with self._slots.search(caller, "events", SearchMode.SUBSTRING):
            page = await self._store.search(caller.tenant, bounded)
            around = await self._around(caller.tenant, bounded, page.hits, neighbors) if neighbors else {}
        return LiteralPage([self._hit(each, query, around) for each in page.hits], page.cursor, page.incomplete)

    async def _around(
        self, tenant: str, query: SearchQuery, hits: Sequence[SearchHit], neighbors: int
    ) -> Mapping[Place, tuple[Events, Events]]:
        """Returns the neighbors of hits that fit into the response."""
        room = self._limits.max_response_bytes - sum(len(hit.event.body) for hit in hits)
        around: dict[Place, tuple[Events, Events]] = {}
        near = neighbor_filter(query.filter)
        for start in range(0, len(hits), _LOADED_AT_ONCE):
            if room <= 0:
                break
            places = [(hit.ref, hit.event.seq) for hit in hits[start : start + _LOADED_AT_ONCE]]
            keys = await self._store.event_keys(tenant, places)
            for found in await self._store.events_by_key(tenant, query.scope, keys, near, neighbors=neighbors):
                before, after = fitting(found.before, found.after, room)
                room -= sum(len(each.body) for each in (*before, *after))
                around[found.ref, found.event.seq] = before, after
        return around

    def _hit(self, hit: SearchHit, query: SearchQuery, around: Mapping[Place, tuple[Events, Events]]) -> LiteralHit:
        before, after = around.get((hit.ref, hit.event.seq), ((), ()))
        highlights: Highlights = ()
        if self._texts is not None:
            highlights = marked_literally(self._texts(hit.event.body), Field.TEXT, query.filter.terms)
        return LiteralHit(hit.ref, hit.event, highlights, before, after)
