"""The part of the SQL store that reads the feed: store.feed.FeedStore."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....domain.feed import Change, ChangePage, FeedEvent, FeedScope, FeedState, Position
from ....domain.model import SessionRef
from ...contract.codec import Codec
from ..engine.base import Engine
from ..engine.unit_runner import FEW_ROWS, Running
from . import positions
from .event_queries import added_events
from .page_queries import read_changes
from .read_statements import PageQuery

_FEW_BYTES = 256 << 10
"""Events of so many bytes are a short read, if they are few."""


class SqlFeed(Running):
    """FeedStore on a database. `indexed`: whether a text index follows the feed."""

    def __init__(self, engine: Engine, codec: Codec, *, indexed: bool) -> None:
        super().__init__(engine, codec)
        self._indexed = indexed
        self._hearers: list[Callable[[], None]] = []

    async def changes(
        self, after: Position, limit: int, scope: FeedScope | None = None, upto: Position | None = None
    ) -> ChangePage:
        query = PageQuery(after, limit, scope, upto)
        short = limit <= FEW_ROWS and not query.windowed
        return await self._scan(lambda scanner: read_changes(scanner, query), short=short)

    async def change_events(self, changes: Sequence[Change], *, with_text: bool) -> Sequence[Sequence[FeedEvent]]:
        few = sum(change.last - change.first + 1 for change in changes) <= FEW_ROWS
        short = few and sum(change.size for change in changes) <= _FEW_BYTES
        return await self._scan(lambda scanner: added_events(scanner, changes, with_text=with_text), short=short)

    async def feed_head(self) -> Position:
        return (await self.feed_state()).head

    async def feed_floor(self) -> Position:
        return (await self.feed_state()).floor

    async def locate(self, tenant: str, ref: SessionRef, after_seq: int) -> Position:
        return await self._scan(lambda scanner: positions.locate(scanner, tenant, ref, after_seq), snapshot=True)

    async def trim_feed(self, before: int, limit: int) -> int:
        # Read before, for the writer of SQLite does not have the derived tables. What is indexed stays so.
        keep = await self._read(positions.indexed_up_to) if self._indexed else None
        return await self._write(lambda connection: positions.trim(connection, self._engine, before, limit, keep))

    async def feed_state(self) -> FeedState:
        return await self._scan(positions.read_ends)

    def on_change(self, heard: Callable[[], None]) -> None:
        self._hearers.append(heard)

    def _hear(self) -> None:
        """Something may have been committed, here or by another server."""
        for heard in self._hearers:
            heard()
