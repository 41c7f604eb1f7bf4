"""Reading a part of the feed from the log, one chunk ahead of whoever takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from ...domain.feed import Change, FeedEvent, FeedScope, Position
from ...store.contract.feed import FeedStore
from ..encoder import MOST_FRAME_BYTES

_CHANGES_AT_ONCE = 512


class Chunk(NamedTuple):
    """Changes with all their events, and where whoever has taken them stands. `more`: there is more to be read."""

    found: Sequence[tuple[Change, Sequence[FeedEvent]]]
    reached: Position
    more: bool


class LogReader:
    """From a position on, to `upto` or to the settled end of the feed. While one chunk is worked on, the next is read."""

    def __init__(
        self, store: FeedStore, scope: FeedScope, position: Position, *, upto: Position | None = None, with_text: bool = False
    ) -> None:
        self._store = store
        self._scope = scope
        self._position = position
        self._upto = upto
        self._with_text = with_text
        self._changes: Sequence[Change] = ()
        self._page_reached = position
        self._page_more = True
        self._ahead: asyncio.Task[Chunk] | None = None

    async def next(self) -> Chunk:
        """Raises FeedTrimmed. Not to be called again once there is no more."""
        ahead, self._ahead = self._ahead, None
        chunk = await (self._load() if ahead is None else ahead)
        if chunk.more:
            self._ahead = asyncio.ensure_future(self._load())
        return chunk

    def close(self) -> None:
        if self._ahead is not None:
            self._ahead.cancel()

    async def _load(self) -> Chunk:
        if not self._changes:
            page = await self._store.changes(self._position, _CHANGES_AT_ONCE, self._scope, self._upto)
            self._changes, self._page_reached, self._page_more = page.changes, page.reached, page.more
            if self._upto is not None:
                self._page_more = page.reached < self._upto
        taken = _fitting(self._changes)
        left = self._changes[len(taken) :]
        events = await self._store.change_events(taken, with_text=self._with_text) if taken else ()
        self._changes = left
        self._position = taken[-1].position if left else self._page_reached
        return Chunk(list(zip(taken, events, strict=True)), self._position, bool(left) or self._page_more)


def _fitting(changes: Sequence[Change]) -> Sequence[Change]:
    """As many of the first as a message should hold, one at least."""
    size = 0
    for count, change in enumerate(changes):
        size += change.size
        if count and size > MOST_FRAME_BYTES:
            return changes[:count]
    return changes
