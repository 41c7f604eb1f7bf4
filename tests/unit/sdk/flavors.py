"""Both clients behind one asynchronous face, so that every case runs on both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

import threadkeep

ITERATORS = (
    "sessions",
    "users",
    "audit_records",
    "retention_receipts",
    "events",
    "search",
    "append_stream",
    "compactions",
    "watch",
    "watch_all",
    "user_events",
    "consumers",
    "parked",
    "branches",
    "usage",
)
OF_MEMORY = (
    "list",
    "namespaces",
)
HANDLES = (
    "session",
    "with_memory",
    "state",
    "user_state",
    "app_state",
    "consumer",
    "policy",
    "user_policy",
    "app_policy",
    "server_policy",
)
FLAVORS = ("async", "sync")
_END = object()


class Bridge:
    """The synchronous client, called in threads."""

    iterators: tuple[str, ...] = ITERATORS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.client: Any = threadkeep.Client(*args, **kwargs)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.client.__exit__(None, None, None)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.client, name)
        if name == "memory":
            return lambda *args, **kwargs: MemoryBridge(method(*args, **kwargs))
        if name in HANDLES:
            return lambda *args, **kwargs: HandleBridge(method(*args, **kwargs))
        if not callable(method):
            return method
        if name in self.iterators:
            return lambda *args, **kwargs: self._iterate(method(*args, **kwargs))
        return lambda *args, **kwargs: asyncio.to_thread(method, *args, **kwargs)

    @staticmethod
    async def _iterate(items: Iterator[Any]) -> AsyncIterator[Any]:
        try:
            while (item := await asyncio.to_thread(next, items, _END)) is not _END:
                yield item
        finally:
            await asyncio.to_thread(items.close)  # type: ignore[attr-defined]


class MemoryBridge(Bridge):
    """The same for what a client's `memory` makes."""

    iterators = OF_MEMORY

    def __init__(self, memory: threadkeep.UserMemory) -> None:
        self.client = memory


class HandleBridge(Bridge):
    """The same for a handle."""

    def __init__(self, handle: Any) -> None:
        self.client = handle


def make(flavor: str, *args: Any, **kwargs: Any) -> Any:
    """A client of this flavor."""
    return (threadkeep.AsyncClient if flavor == "async" else Bridge)(*args, **kwargs)
