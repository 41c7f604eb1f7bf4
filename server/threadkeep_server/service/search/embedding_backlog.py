"""How many documents wait for their embedding: counting costs as much as there are."""

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

_Key = tuple[str, str | None, Source]


class _Count(NamedTuple):
    documents: int
    until: float


class EmbeddingBacklog:
    """Counts what waits for an embedding by the `model` of that name, of what a caller's credential reaches: its tenant's, or
    its user's. `monotonic` in seconds. Keeps the counts of 10,000 credentials and sources."""

    def __init__(self, store: VectorStore, model: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.model = model
        self._store = store
        self._monotonic = monotonic
        self._counts: FIFOCache[_Key, _Count] = FIFOCache(_COUNTS_KEPT)
        self._counting: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()

    async def recent(self, caller: Caller, source: Source) -> int:
        """As it was within the last second. Who asks while it is counted waits for that count."""
        return await self._count((caller.tenant, caller.user_id, source), kept=True)

    async def current(self, caller: Caller, sources: Iterable[Source]) -> int:
        """Counted anew, for who waits until nothing waits. `recent` tells nothing older from then on."""
        return sum([await self._count((caller.tenant, caller.user_id, source), kept=False) for source in set(sources)])

    async def _count(self, key: _Key, *, kept: bool) -> int:
        async with self._counting.setdefault(key, asyncio.Lock()):
            count = self._counts.get(key) if kept else None
            if count is None or self._monotonic() >= count.until:
                tenant, user_id, source = key
                documents = await self._store.waiting_for(self.model, [source], Caller(tenant, user_id))
                # From its end on: what took longer than a second would otherwise be counted without a pause.
                count = self._counts[key] = _Count(documents, self._monotonic() + _KEPT_S)
            return count.documents
