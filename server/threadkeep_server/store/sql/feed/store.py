"""The feed of the SQL store."""

from __future__ import annotations

from collections.abc import Sequence

from ....domain.feed import Change, ChangePage, FeedEvent, FeedScope, FeedState, Incarnations, Position
from ....domain.model import SessionRef
from ...notifier import CommitNotifier
from ..log.unit_runner import FEW_ROWS, UnitRunner
from ..schema.incarnations import SeenIncarnations
from . import positions
from .event_queries import added_events
from .page_queries import read_changes
from .read_statements import PageQuery

_FEW_BYTES = 256 << 10
"""Largest number of bytes of a short read of events."""


class SqlFeed:
    """FeedStore on a database. `indexed`: whether a search index follows the feed."""

    def __init__(self, units: UnitRunner, commits: CommitNotifier, incarnations: SeenIncarnations, *, indexed: bool) -> None:
        self._units = units
        self._incarnations = incarnations
        self._engine = units.engine
        self._indexed = indexed
        self.on_change = commits.subscribe
        self.on_incarnation = incarnations.subscribe

    async def changes(
        self, after: Position, limit: int, scope: FeedScope | None = None, upto: Position | None = None
    ) -> ChangePage:
        query = PageQuery(after, limit, scope, upto)
        short = limit <= FEW_ROWS and not query.windowed
        return await self._units.scan(lambda scanner: read_changes(scanner, query, self._incarnations), short=short)

    async def change_events(self, changes: Sequence[Change], *, with_text: bool) -> Sequence[Sequence[FeedEvent]]:
        few = sum(change.last - change.first + 1 for change in changes) <= FEW_ROWS
        short = few and sum(change.size for change in changes) <= _FEW_BYTES
        units = self._units.of(*(change.tenant for change in changes))
        return await units.scan(lambda scanner: added_events(scanner, changes, with_text=with_text), short=short)

    async def feed_head(self) -> Position:
        return (await self.feed_state()).head

    async def feed_floor(self) -> Position:
        return (await self.feed_state()).floor

    async def locate(self, tenant: str, ref: SessionRef, after_seq: int) -> Position:
        seen = self._incarnations
        return await self._units.scan(lambda scanner: positions.locate(scanner, seen, tenant, ref, after_seq), snapshot=True)

    async def trim_feed(self, before: int, limit: int) -> int:
        # Read first, because SQLite's writer has no derived tables. Indexed changes stay indexed.
        keep = await self._units.read(positions.indexed_up_to) if self._indexed else None
        return await self._units.write(lambda connection: positions.trim(connection, self._engine, before, limit, keep))

    def incarnations(self) -> Incarnations:
        return self._incarnations.current

    async def feed_state(self) -> FeedState:
        return await self._units.scan(lambda scanner: positions.read_ends(scanner, self._incarnations))
