"""Embeddings, by the keys of events and of memories."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...domain.memories import MemoryScope
from ...domain.model import Caller
from ...domain.scopes import EventScope, UserScope
from ..contract.codec import Codec
from ..contract.vectors import Embedded, Floats, Source, Unembedded, check_dimension, check_vectors
from .memories import InMemoryMemories
from .search import InMemorySearch


class _Done(NamedTuple):
    """The model that embedded an event; without a vector the event has no text."""

    model: int
    vector: Floats | None


class InMemoryVectors(InMemorySearch, InMemoryMemories):
    """VectorStore in memory."""

    def __init__(self, codec: Codec, clock: Callable[[], int] = time.time_ns) -> None:
        super().__init__(codec, clock)
        self._dimensions: dict[str, int] = {}
        """Dimensions by model name, in the order of the models' numbers, which start at 1."""
        self._present = 0
        self._events_done: dict[int, _Done] = {}
        self._arrivals: Counter[tuple[str, str]] = Counter()
        """How many sessions have come to a user from other ones."""

    async def vector_model(self, name: str, dimension: int) -> int:
        check_dimension(name, dimension, self._dimensions.get(name))
        self._dimensions[name] = dimension
        self._present = list(self._dimensions).index(name) + 1
        return self._present

    async def unembedded(self, source: Source, model: int, limit: int) -> Sequence[Unembedded]:
        if model != self._present:
            return []
        return sorted(self._waiting(source, model))[:limit]

    async def put_embeddings(self, source: Source, model: int, keys: Sequence[int], vectors: Floats | None) -> int:
        if vectors is not None:
            check_vectors(vectors, len(keys), self._dimension(model))
        if model != self._present:
            return 0
        rows = dict(zip(keys, [None] * len(keys) if vectors is None else vectors.copy(), strict=True))
        waiting = {document.key for document in self._waiting(source, model)}
        stored = {key: _Done(model, vector) for key, vector in rows.items() if key in waiting}
        if source is Source.EVENTS:
            self._events_done |= stored
        else:
            for each in self._memories:
                if each.memory.key in stored:
                    each.model, each.vector = stored[each.memory.key]
        return len(stored)

    async def waiting_for(self, name: str, sources: Sequence[Source], whose: Caller | None = None) -> int:
        model = list(self._dimensions).index(name) + 1 if name in self._dimensions else -1
        return sum(1 for source in set(sources) for _ in self._waiting(source, model, whose))

    async def event_vectors(self, tenant: str, scope: EventScope, model: int, after: int, limit: int) -> Embedded:
        found = [
            (entry.key, entry.session, done.vector)
            for log in self._within(tenant, scope)
            for entry in log.entries
            if (done := self._events_done.get(entry.key)) and done.model == model and done.vector is not None
        ]
        arrivals = self._arrivals[tenant, scope.user_id] if isinstance(scope, UserScope) else 0
        return self._embedded(found, model, after, limit)._replace(arrivals=arrivals)

    async def memory_vectors(self, tenant: str, scope: MemoryScope, model: int, after: int, limit: int) -> Embedded:
        found = [
            (each.memory.key, 0, each.vector)
            for each in self._remembered(tenant, scope)
            if each.model == model and each.vector is not None
        ]
        return self._embedded(found, model, after, limit)

    async def nearest(
        self, source: Source, tenant: str, scope: EventScope | MemoryScope, model: int, vector: Floats, limit: int
    ) -> list[tuple[int, float]] | None:
        return None

    def _waiting(self, source: Source, model: int, whose: Caller | None = None) -> Iterator[Unembedded]:
        def reached(tenant: str, app: str, user_id: str) -> bool:
            if whose is None:
                return True
            return whose.tenant == tenant and whose.user_id in (None, user_id) and whose.app in (None, app)

        if source is Source.MEMORIES:
            mine = (each for each in self._memories if reached(each.tenant, *each.memory.scope))
            yield from (Unembedded(each.memory.key, each.memory.draft.text) for each in mine if each.model != model)
            return
        logs = (log for (tenant, ref), log in self._logs.items() if reached(tenant, ref.app, ref.user_id))
        for entry in (entry for log in logs for entry in log.entries):
            done = self._events_done.get(entry.key)
            if done is None or done.model != model:
                yield Unembedded(entry.key, self._codec.texts(entry.sealed).of())

    def _embedded(self, found: list[tuple[int, int, Floats]], model: int, after: int, limit: int) -> Embedded:
        page = sorted((row for row in found if row[0] > after), key=lambda row: row[0])[:limit]
        keys, sessions = (np.array([row[i] for row in page], np.int64) for i in (0, 1))
        vectors = np.array([row[2] for row in page], np.float32)
        return Embedded(keys, sessions, vectors.reshape(len(page), self._dimension(model)))

    def _dimension(self, model: int) -> int:
        return list(self._dimensions.values())[model - 1]
