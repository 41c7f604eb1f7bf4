"""Finding documents by meaning: the cosine of the query's embedding and theirs."""

from __future__ import annotations

from collections.abc import Sequence

from ..domain.filters import EventFilter
from ..domain.memories import MemoryFilter, MemoryScope
from ..domain.recall import Scored
from ..recall.vectors import VectorCache
from ..store.base import EventScope, Store
from ..store.recall import Source
from .vector_model import VectorModel


class VectorSearch:
    """Searches by vectors. Everything that was embedded before the call is found."""

    def __init__(self, store: Store, model: VectorModel, cache: VectorCache) -> None:
        self._store = store
        self._model = model
        self._cache = cache

    async def events(
        self, tenant: str, scope: EventScope, text: str, wanted: EventFilter, count: int, min_score: float | None = None
    ) -> Sequence[Scored]:
        """The `count` events of the scope nearest to the text that satisfy the filter, best first, scored by the cosine. Fewer
        where the filter leaves fewer of the nearest 16,384. Raises EmbedFailed, SessionNotFound, AmbiguousSession."""
        raise NotImplementedError

    async def memories(
        self, tenant: str, scope: MemoryScope, text: str, wanted: MemoryFilter, count: int, min_score: float | None = None
    ) -> Sequence[Scored]:
        """The same of memories."""
        raise NotImplementedError

    async def lag(self, source: Source) -> int:
        """How many documents still wait for their embedding. Raises EmbedFailed while the model is not known."""
        raise NotImplementedError
