"""Semantic search: the documents with the highest cosine to the query's embedding."""

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
from ...search.ranking.fusion import Strength
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
_SAMPLE = 512
_FEWEST = 16
# Matrix elements that are searched on the event loop, in a few milliseconds: 20,000 vectors of 384.
_MOST_AT_ONCE = 8_000_000

_Keys = list[tuple[int, float]]
_T = TypeVar("_T", FoundEvent, Memory)


class Near(NamedTuple, Generic[_T]):
    """A document and its cosine."""

    document: _T
    cosine: float


class Nearest(NamedTuple, Generic[_T]):
    """The nearest documents, best first, and the median cosine of the scope; None if the store's index or blocks of it were
    searched, or if the query says nothing."""

    found: Sequence[Near[_T]]
    usual: float | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """A searched scope and the reader of its vectors."""

    source: Source
    tenant: str
    scope: EventScope | MemoryScope
    model: int
    read: Read


class VectorSearchStore(SessionStore, SearchStore, VectorStore, MemoriesStore, Protocol):
    """The part of the store that vector search uses."""


class VectorSearch:
    """Searches by vectors. Finds documents embedded before the call, see `VectorCache.get`. `backlog` counts the others."""

    def __init__(self, store: VectorSearchStore, model: VectorModel, matrices: VectorCache, backlog: EmbeddingBacklog) -> None:
        self._store = store
        self._model = model
        self._matrices = matrices
        self._backlog = backlog
        self._queries: LRUCache[str, Vectors] = LRUCache(_QUERIES_KEPT)

    async def events(
        self, tenant: str, scope: EventScope, text: str, wanted: EventFilter, count: int, min_score: float | None = None
    ) -> Nearest[FoundEvent]:
        """Returns the `count` events of the scope nearest to the text that match the filter, best first; fewer if fewer of the
        nearest 16,384 match. Raises EmbedFailed, SessionNotFound, AmbiguousSession."""
        if isinstance(scope, SessionRef) and scope.is_bare:  # the id alone may refer to another session later
            scope = (await self._store.get_session(tenant, scope)).ref
        query, model = await self._query(text), await self._model.number()
        read = partial(self._store.event_vectors, tenant, scope, model)
        place = _Place(Source.EVENTS, tenant, scope, model, read)

        async def check(keys: Sequence[int]) -> Sequence[FoundEvent]:
            return await self._store.events_by_key(tenant, scope, keys, wanted)

        return await self._search(place, query, check, count, min_score)

    async def memories(
        self, tenant: str, scope: MemoryScope, text: str, wanted: MemoryFilter, count: int, min_score: float | None = None
    ) -> Nearest[Memory]:
        """Returns the nearest memories, like `events`."""
        query, model = await self._query(text), await self._model.number()
        read = partial(self._store.memory_vectors, tenant, scope, model)
        place = _Place(Source.MEMORIES, tenant, scope, model, read)

        async def check(keys: Sequence[int]) -> Sequence[Memory]:
            return await self._store.memories_by_key(tenant, scope, keys, wanted)

        return await self._search(place, query, check, count, min_score)

    async def relevance(self, mode: SearchMode, cosines: Sequence[float]) -> Sequence[float]:
        """Returns the reported scores of cosines: the cosines with SEMANTIC, their relevance with HYBRID. Raises
        EmbedFailed."""
        if mode is SearchMode.SEMANTIC:
            return cosines
        scale = await self._model.scale()
        return [scale.relevance(cosine) for cosine in cosines]

    async def strength(self, text: str, usual: float | None) -> Strength:
        """Returns what likeness to the query `text` counts, see `VectorModel.strength`. Raises EmbedFailed."""
        return await self._model.strength(await self._query(text), usual)

    async def lag(self, source: Source, caller: Caller) -> int:
        """Returns the number of the caller's documents without an embedding, at most one second old."""
        return await self._backlog.recent(caller, source)

    async def _query(self, text: str) -> Vectors:
        """Returns the embedding of the query."""
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
    ) -> Nearest[_T]:
        """Returns the nearest that `check` accepts, and searches deeper while there are fewer than `count`."""
        found: list[Near[_T]] = []
        seen: set[int] = set()
        depth, usual = count, None
        while query.any():
            near, usual = await self._nearest(place, query, depth)
            # New embeddings may have moved the others since the last search.
            fresh = [(key, score) for key, score in near if key not in seen]
            scores = {key: score for key, score in fresh if min_score is None or score >= min_score}
            if scores:
                found += [Near(each, scores[each.key]) for each in await check(list(scores))]
            exhausted = len(near) < depth or len(scores) < len(fresh)
            if len(found) >= count or exhausted or depth >= _DEEPEST:
                break
            seen.update(scores)
            depth = min(depth * _DEEPER, _DEEPEST)
        return Nearest(found[:count], usual)

    async def _nearest(self, place: _Place, query: Vectors, k: int) -> tuple[_Keys, float | None]:
        """Returns keys and cosines of the nearest, best first, and the median of the scope, see Nearest. Uses the vector index
        of the store if it has one."""
        answer = await self._store.nearest(place.source, place.tenant, place.scope, place.model, query, k)
        if answer is not None:
            return answer, None
        entry = await self._matrices.get((place.source, place.tenant, place.scope, place.model), place.read)
        if entry is None:
            return await _streamed(place.read, query, k), None
        rows = await run_in_thread(entry.vectors.size, _MOST_AT_ONCE, top, entry.vectors, query, k)
        return [(int(entry.keys[row]), score) for row, score in rows], _usual(entry.vectors, query)


def _usual(vectors: Vectors, query: Vectors) -> float | None:
    """Returns the median of the cosines, by a sample of them; None of few, which may all be related."""
    sample = vectors[:: max(len(vectors) // _SAMPLE, 1)]
    return float(np.median(sample @ query)) if len(sample) >= _FEWEST else None


async def _streamed(read: Read, query: Vectors, k: int) -> _Keys:
    """Searches a scope that exceeds the cache."""
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
