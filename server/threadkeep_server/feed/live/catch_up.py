"""Reads a part of the feed from the log, one chunk ahead of the subscriber."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from ...domain.feed import Change, FeedEvent, FeedScope, Position
from ...store.contract.feed import FeedStore
from ..limits import CHANGES_PER_READ, MOST_FRAME_BYTES


class Chunk(NamedTuple):
    """Changes with all their events. `reached` is the position after them; `more` is set if more can be read."""

    found: Sequence[tuple[Change, Sequence[FeedEvent]]]
    reached: Position
    more: bool


class CatchUp:
    """Reads from a position to `upto`, or to the settled end of the feed. Prefetches the next chunk."""

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
        """Returns the next chunk. Raises FeedTrimmed. Must not be called after a chunk without `more`."""
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
            page = await self._store.changes(self._position, CHANGES_PER_READ, self._scope, self._upto)
            self._changes, self._page_reached, self._page_more = page.changes, page.reached, page.more
            if self._upto is not None:
                self._page_more = page.reached < self._upto
        taken = _first_frame(self._changes)
        left = self._changes[len(taken) :]
        events = await self._store.change_events(taken, with_text=self._with_text) if taken else ()
        self._changes = left
        self._position = taken[-1].position if left else self._page_reached
        return Chunk(list(zip(taken, events, strict=True)), self._position, bool(left) or self._page_more)


def _first_frame(changes: Sequence[Change]) -> Sequence[Change]:
    """Returns the changes that fit into one message, at least one."""
    size = 0
    for count, change in enumerate(changes):
        size += change.size
        if count and size > MOST_FRAME_BYTES:
            return changes[:count]
    return changes
