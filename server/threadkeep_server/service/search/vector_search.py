"""Finding documents by meaning: the cosine of the query's embedding and theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from cachetools import LRUCache

from ...domain.filters import EventFilter
from ...domain.memories import Memory, MemoryFilter, MemoryScope
from ...domain.model import Caller, SessionRef
from ...domain.scopes import EventScope
from ...domain.search import SearchMode
from ...providers.embedders.base import Vectors
from ...search.vectors import BestRows, top
from ...store.contract.memories import MemoriesStore
from ...store.contract.search import FoundEvent, SearchStore
from ...store.contract.sessions import SessionStore
from ...store.contract.vectors import Source, VectorStore
from ..run_in_thread import run_in_thread
from .embedding_backlog import EmbeddingBacklog
from .vector_cache import BLOCK_ROWS, Read, VectorCache
from .vector_model import VectorModel

_DEEPEST = 16_384
_DEEPER = 8
_QUERIES_KEPT = 256
# Numbers of a matrix that are gone through while the event loop waits, for some milliseconds: 20,000 vectors of 384.
_MOST_AT_ONCE = 8_000_000

_Keys = list[tuple[int, float]]
_T = TypeVar("_T", FoundEvent, Memory)


class Near(NamedTuple, Generic[_T]):
    """A document and its cosine."""

    document: _T
    cosine: float


@dataclass(frozen=True, slots=True)
class _Place:
    """Where is searched, and how its vectors are read."""

    source: Source
    tenant: str
    scope: EventScope | MemoryScope
    model: int
    read: Read


class VectorSearchStore(SessionStore, SearchStore, VectorStore, MemoriesStore, Protocol):
    """The part of the store that vector search uses."""


class VectorSearch:
    """Searches by vectors. What was embedded before the call is found, as `VectorCache` says. `waiting`: what is not yet."""

    def __init__(self, store: VectorSearchStore, model: VectorModel, matrices: VectorCache, waiting: EmbeddingBacklog) -> None:
        self._store = store
        self._model = model
        self._matrices = matrices
        self._waiting = waiting
        self._queries: LRUCache[str, Vectors] = LRUCache(_QUERIES_KEPT)

    async def events(
        self, tenant: str, scope: EventScope, text: str, wanted: EventFilter, count: int, min_score: float | None = None
    ) -> Sequence[Near[FoundEvent]]:
        """The `count` events of the scope nearest to the text that satisfy the filter, best first. Fewer where the filter
        leaves fewer of the nearest 16,384. Raises EmbedFailed, SessionNotFound, AmbiguousSession."""
        if isinstance(scope, SessionRef) and scope.is_bare:  # the id alone may come to mean another session
            scope = (await self._store.get_session(tenant, scope)).ref
        query, model = await self._query(text), await self._model.number()
        read = partial(self._store.event_vectors, tenant, scope, model)
        place = _Place(Source.EVENTS, tenant, scope, model, read)

        async def check(keys: Sequence[int]) -> Sequence[FoundEvent]:
            return await self._store.events_by_key(tenant, scope, keys, wanted)

        return await self._search(place, query, check, count, min_score)

    async def memories(
        self, tenant: str, scope: MemoryScope, text: str, wanted: MemoryFilter, count: int, min_score: float | None = None
    ) -> Sequence[Near[Memory]]:
        """The same of memories."""
        query, model = await self._query(text), await self._model.number()
        read = partial(self._store.memory_vectors, tenant, scope, model)
        place = _Place(Source.MEMORIES, tenant, scope, model, read)

        async def check(keys: Sequence[int]) -> Sequence[Memory]:
            return await self._store.memories_by_key(tenant, scope, keys, wanted)

        return await self._search(place, query, check, count, min_score)

    async def relevance(self, mode: SearchMode, cosines: Sequence[float]) -> Sequence[float]:
        """What is reported of cosines: with SEMANTIC they themselves, with HYBRID where they are on the scale of
        `recall.relevance`. Raises EmbedFailed."""
        if mode is SearchMode.SEMANTIC:
            return cosines
        scale = await self._model.scale()
        return [scale.relevance(cosine) for cosine in cosines]

    async def lag(self, source: Source, caller: Caller) -> int:
        """How many documents that the caller's credential reaches still wait for their embedding, or did a second ago."""
        return await self._waiting.recent(caller, source)

    async def _query(self, text: str) -> Vectors:
        """The query's embedding."""
        known = self._queries.get(text)
        if known is None:
            known = (await self._model.embedder.embed([text], query=True))[0]
            self._queries[text] = known
        return known

    async def _search(
        self,
        place: _Place,
        query: Vectors,
        check: Callable[[Sequence[int]], Awaitable[Sequence[_T]]],
        count: int,
        min_score: float | None,
    ) -> list[Near[_T]]:
        """What `check` leaves of the nearest, looking deeper as long as that is too little."""
        found: list[Near[_T]] = []
        seen: set[int] = set()
        depth = count
        while query.any():
            near = await self._nearest(place, query, depth)
            # What was embedded since the last look may have moved the others.
            fresh = [(key, score) for key, score in near if key not in seen]
            scores = {key: score for key, score in fresh if min_score is None or score >= min_score}
            if scores:
                found += [Near(each, scores[each.key]) for each in await check(list(scores))]
            exhausted = len(near) < depth or len(scores) < len(fresh)
            if len(found) >= count or exhausted or depth >= _DEEPEST:
                break
            seen.update(scores)
            depth = min(depth * _DEEPER, _DEEPEST)
        return found[:count]

    async def _nearest(self, place: _Place, query: Vectors, k: int) -> _Keys:
        """Keys and cosines of the nearest, best first. By the store's own index where it has one."""
        answer = await self._store.nearest(place.source, place.tenant, place.scope, place.model, query, k)
        if answer is not None:
            return answer
        entry = await self._matrices.get((place.source, place.tenant, place.scope, place.model), place.read)
        if entry is None:
            return await _streamed(place.read, query, k)
        rows = await run_in_thread(entry.vectors.size, _MOST_AT_ONCE, top, entry.vectors, query, k)
        return [(int(entry.keys[row]), score) for row, score in rows]


async def _streamed(read: Read, query: Vectors, k: int) -> _Keys:
    """Of a scope that is larger than memory is to hold."""
    best, keys = BestRows(query, k), []
    after = 0
    while True:
        block = await read(after, BLOCK_ROWS)
        if len(block.keys):
            keys.append(block.keys)
            await asyncio.to_thread(best.add, block.vectors)
            after = int(block.keys[-1])
        if len(block.keys) < BLOCK_ROWS:
            break
    every = np.concatenate(keys) if keys else np.zeros(0, np.int64)
    return [(int(every[row]), score) for row, score in best.result()]
