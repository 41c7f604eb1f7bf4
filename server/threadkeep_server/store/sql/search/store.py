"""The part of the SQL store that ranked searches read: candidates by words, and events by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ....domain.filters import ALL, EventFilter
from ....domain.scopes import EventScope
from ....domain.search import Candidate, Candidates, Field, WordQuery
from ...contract.search import FoundEvent
from ..engine.unit_runner import Running
from ..log.event_lookup import events_by_key, of_one_moment
from .term_queries import neighbor_candidates, word_candidates
from .text_index import TextIndex


class SqlRecall(Running):
    """Of RecallStore what is about words and events, on a database."""

    _index: TextIndex | None

    async def word_candidates(self, tenant: str, scope: EventScope, query: WordQuery, wanted: EventFilter = ALL) -> Candidates:
        index = None if self._index is None else self._index.words
        unit = partial(word_candidates, index=index, tenant=tenant, scope=scope, query=query, wanted=wanted)
        return await self._scan(unit, snapshot=True)

    async def neighbor_candidates(
        self, tenant: str, scope: EventScope, keys: Sequence[int], fields: Field, wanted: EventFilter = ALL
    ) -> Sequence[Candidate]:
        unit = partial(neighbor_candidates, tenant=tenant, scope=scope, keys=keys, fields=fields, wanted=wanted)
        return await self._scan(unit, snapshot=True)

    async def events_by_key(
        self, tenant: str, scope: EventScope, keys: Sequence[int], wanted: EventFilter = ALL, *, neighbors: int = 0
    ) -> Sequence[FoundEvent]:
        unit = partial(events_by_key, tenant=tenant, scope=scope, keys=keys, wanted=wanted, neighbors=neighbors)
        return await self._scan(unit, snapshot=not of_one_moment(wanted, neighbors))
