"""A cache of the terms of unindexed events, for repeated searches."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock

MOST_KEPT = 32 << 20
"""Largest number of characters of cached terms."""

_Key = tuple[bytes, int]


class AnalysisCache:
    """Caches what `make` returns for an event's sealed bytes and its time. Each is computed once, even if several threads need
    it at the same time. Keyed by content, so that no entry can be outdated."""

    def __init__(self, make: Callable[[bytes, int], str], most: int = MOST_KEPT) -> None:
        self._make = make
        self._most = most
        self._lock = Lock()
        self._kept: OrderedDict[_Key, str] = OrderedDict()
        self._size = 0
        self._making: dict[_Key, Future[str]] = {}

    def words(self, body: bytes, time: int) -> str:
        key = (hashlib.blake2b(body, digest_size=16).digest(), time)
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
            making = self._making.get(key)
            if making is None:
                mine = self._making[key] = Future()
        return self._made(key, mine, body, time) if making is None else making.result()

    def _made(self, key: _Key, mine: Future[str], body: bytes, time: int) -> str:
        try:
            words = self._make(body, time)
        except BaseException as exc:
            mine.set_exception(exc)
            with self._lock:
                del self._making[key]
            raise
        with self._lock:
            self._kept[key] = words
            self._size += len(words)
            while self._size > self._most:
                self._size -= len(self._kept.popitem(last=False)[1])
            del self._making[key]
        mine.set_result(words)
        return words
