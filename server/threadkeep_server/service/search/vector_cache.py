"""The vectors of searched scopes, cached and updated by each search."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np
from cachetools import FIFOCache

from ...domain.model import SECOND_NS
from ...search.vectors import Entry, MatrixCache
from ...store.contract.vectors import Embedded

BLOCK_ROWS = 4_096
_MARKS_KEPT = 10_000

# Documents are embedded nearly in the order of their keys: with several servers or late commits, a document may get its vector
# after others with greater keys. The vectors of the last one to two minutes are therefore read again, at most once per second.
_LATE_NS = 60 * SECOND_NS
_AGAIN_NS = SECOND_NS

Read = Callable[[int, int], Awaitable[Embedded]]
"""Reads up to `limit` (second argument) vectors with keys greater than the first argument."""


@dataclass(slots=True)
class _Mark:
    """The progress of reading a scope. `settled`: the last key read at least a minute ago; `settling` replaces it next.
    `arrivals`: see Embedded."""

    arrivals: int = 0
    last: int = 0
    settled: int = 0
    settling: int = 0
    turned: int = 0
    looked: int = 0

    def start(self, now: int) -> int:
        """Returns the key after which to read."""
        if now - self.turned >= _LATE_NS:
            self.settled, self.settling, self.turned = self.settling, self.last, now
        if now - self.looked < _AGAIN_NS:
            return self.last
        self.looked = now
        return self.settled


class VectorCache:
    """The vectors of scopes in a MatrixCache. `clock` in nanoseconds."""

    def __init__(self, cache: MatrixCache, clock: Callable[[], int]) -> None:
        self._cache = cache
        self._clock = clock
        self._marks: FIFOCache[Hashable, _Mark] = FIFOCache(_MARKS_KEPT)
        self._large: FIFOCache[Hashable, None] = FIFOCache(_MARKS_KEPT)
        """Scopes larger than the whole cache."""
        self._growing: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def get(self, scope: Hashable, read: Read) -> Entry | None:
        """Returns all vectors of the scope that were stored before the call; None if they exceed the cache.

        A vector with a smaller key than earlier ones of its scope may be missing for one second. Rows of deleted documents may
        be included.
        """
        if scope in self._large:
            return None
        growing = self._growing.setdefault(scope, asyncio.Lock())
        async with growing:
            mark = self._marks.get(scope)
            if mark is None or self._cache.get(scope) is None:
                mark = _Mark(turned=self._clock(), looked=self._clock())
            entry = await self._grow(scope, read, mark)
            if entry is not None:  # without a mark, the scope is read again from its beginning
                self._marks[scope] = mark
            return entry

    async def _grow(self, scope: Hashable, read: Read, mark: _Mark) -> Entry | None:
        begun = mark.last > 0
        after = mark.start(self._clock()) if begun else 0
        while True:
            block = await read(after, BLOCK_ROWS)
            if begun and block.arrivals != mark.arrivals:
                self._cache.forget(scope)  # read again from the beginning
                begun, after, mark.last, mark.arrivals = False, 0, 0, block.arrivals
                continue
            mark.arrivals = block.arrivals
            entry = self._cache.get(scope)
            if entry is None and begun:
                return None  # evicted meanwhile: the concurrently searched scopes exceed the cache
            if entry is None and not len(block.keys):
                return Entry(block.keys, block.sessions, block.vectors)
            if not self._add(scope, entry, after, block):
                self._large[scope] = None
                return None
            begun = True
            if len(block.keys):
                after = int(block.keys[-1])
                mark.last = max(mark.last, after)
            if len(block.keys) < BLOCK_ROWS:
                return self._cache.get(scope)

    def _add(self, scope: Hashable, entry: Entry | None, after: int, block: Embedded) -> bool:
        """Adds the new rows. Returns False if the scope exceeds the cache."""
        if entry is None:
            return self._cache.extend(scope, block.keys, block.sessions, block.vectors)
        fresh = ~np.isin(block.keys, entry.keys[entry.keys > after])
        if not fresh.any():
            return True
        return self._cache.extend(scope, block.keys[fresh], block.sessions[fresh], block.vectors[fresh])
