"""The number of documents without an embedding, cached, since the cost of a count grows with it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple
from weakref import WeakValueDictionary

from cachetools import FIFOCache

from ...domain.model import Caller
from ...store.contract.vectors import Source, VectorStore

_KEPT_S = 1.0
_COUNTS_KEPT = 10_000

_Key = tuple[Caller, Source]


class _Count(NamedTuple):
    documents: int
    until: float


class EmbeddingBacklog:
    """Counts the documents of a caller's tenant, or of its user, without an embedding of `model`. `monotonic` in seconds. Keeps
    the counts of 10,000 callers and sources."""

    def __init__(self, store: VectorStore, model: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.model = model
        self._store = store
        self._monotonic = monotonic
        self._counts: FIFOCache[_Key, _Count] = FIFOCache(_COUNTS_KEPT)
        self._counting: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()

    async def recent(self, caller: Caller, source: Source) -> int:
        """Returns a count of at most one second ago. Concurrent calls share one count."""
        return await self._count((_reach(caller), source), kept=True)

    async def current(self, caller: Caller, sources: Iterable[Source]) -> int:
        """Returns a new count; `recent` returns no older one from then on."""
        return sum([await self._count((_reach(caller), source), kept=False) for source in set(sources)])

    async def _count(self, key: _Key, *, kept: bool) -> int:
        async with self._counting.setdefault(key, asyncio.Lock()):
            count = self._counts.get(key) if kept else None
            if count is None or self._monotonic() >= count.until:
                whose, source = key
                documents = await self._store.waiting_for(self.model, [source], whose)
                # From the end of the count: a count of more than a second would otherwise expire at once.
                count = self._counts[key] = _Count(documents, self._monotonic() + _KEPT_S)
            return count.documents


def _reach(caller: Caller) -> Caller:
    """Returns the same for all callers that reach the same documents."""
    return Caller(caller.tenant, caller.user_id, app=caller.app)
