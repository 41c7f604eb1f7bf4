"""How adapters write: an outcome that outlives a cancellation, and a repeated append that stores nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from ..errors import Unavailable
from ..v1.event_pb2 import SessionEvent

T = TypeVar("T")

MOST_EVENTS = 1_000
"""Events of one append: the server's default limit."""
_MOST_BYTES = 16 * 1024 * 1024
_MOST_FAILED = 64
_PAUSE = 0.5


async def settled(change: Awaitable[T]) -> T:
    """Awaits a change. A cancellation is raised once the outcome is known, so that nothing is in flight when it is repeated."""
    task = asyncio.ensure_future(change)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # a cancellation is what the caller waits for
        raise cancelled
    return task.result()


async def patiently(seconds: float, change: Callable[[], Awaitable[T]]) -> T:
    """Makes a change, which may be repeated, again and again while the server is unavailable, for these seconds at most."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        try:
            return await change()
        except Unavailable:
            if loop.time() >= end:
                raise
            await asyncio.sleep(_PAUSE)


class Repeats:
    """Recognizes an append that is repeated after a failure, when nobody knows whether the first one was stored: the same items
    for the same key. It sends the events of the first one again, whose ids make it a replay."""

    def __init__(self) -> None:
        self._failed: dict[str, list[SessionEvent]] = {}

    async def append(self, key: str, events: list[SessionEvent], send: Callable[[list[SessionEvent]], Awaitable[T]]) -> T:
        """Sends events with ids, or those of the failed append that they repeat."""
        failed = self._failed.pop(key, [])
        if [event.native for event in failed] == [event.native for event in events]:
            events = failed
        try:
            return await send(events)
        except BaseException:
            self._failed[key] = events
            if len(self._failed) > _MOST_FAILED:
                del self._failed[next(iter(self._failed))]
            raise

    def forget(self, key: str) -> None:
        """Forgets a failed append: what follows is no repetition of it."""
        self._failed.pop(key, None)


def batches(events: Sequence[SessionEvent]) -> Iterator[Sequence[SessionEvent]]:
    """The events in appends that the server accepts, by its default limits."""
    start, size = 0, 0
    for end, event in enumerate(events):
        if end > start and (end - start == MOST_EVENTS or size + event.ByteSize() > _MOST_BYTES):
            yield events[start:end]
            start, size = end, 0
        size += event.ByteSize()
    if events[start:]:
        yield events[start:]
