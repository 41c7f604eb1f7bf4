"""The indexer: follows the log behind the appends and derives what searches need.

Its position is stored with what it derived, in one transaction, so a crash loses nothing and repeats nothing. Several
servers may run one each; a row lock lets one work at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row

from ...domain.text import fold
from ..base import Codec
from .engine import Engine
from .schema import (
    ADDING,
    APPENDED,
    COMPACTED,
    DELETED,
    INSERTED,
    POSITION_STEP,
    changes,
    event_text,
    events,
    index_progress,
    sessions,
)
from .text_index import TextIndex, TextRow, scope_of

_log = logging.getLogger(__name__)

_EVENTS_AT_ONCE = 256
_EVENTS_AT_ONCE_BUSY = 64
_POLL_S = 1.0
_RETRY_S = 5.0
# While appends come in, the indexer rests this many times as long as it worked: it may lag, they may not.
_REST_FACTOR = 9
_LONGEST_REST_S = 0.5


@dataclass(frozen=True, slots=True)
class _Step:
    """What one transaction did."""

    rows: int
    done: bool


class Indexer:
    """Runs until cancelled. `busy` tells whether appends came in lately."""

    def __init__(self, engine: Engine, index: TextIndex, codec: Codec, *, busy: Callable[[], bool]) -> None:
        self._engine = engine
        self._index = index
        self._codec = codec
        self._busy = busy
        self._hint = asyncio.Event()

    def hint(self) -> None:
        """Something was committed."""
        self._hint.set()

    async def run(self) -> None:
        while True:
            try:
                await self._catch_up()
            except Exception as exc:  # a full disk, a lost database, a fault of ours: the log goes on, so must we
                _log.warning(
                    "the search index cannot go on (%s); searches scan, next try in %g s", type(exc).__name__, _RETRY_S
                )
                await asyncio.sleep(_RETRY_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._hint.wait()
            self._hint.clear()

    async def _catch_up(self) -> None:
        while True:
            busy = self._busy()
            started = time.monotonic()
            step = await self._engine.index(lambda connection, busy=busy: self.step(connection, busy=busy))  # type: ignore[misc]
            if step.done:
                return
            rest = (time.monotonic() - started) * _REST_FACTOR if busy else 0
            await asyncio.sleep(min(rest, _LONGEST_REST_S))

    def step(self, connection: Connection, *, busy: bool = False) -> _Step:
        """Indexes some of what is next; a unit of work."""
        at = connection.execute(sa.select(index_progress).with_for_update(skip_locked=True)).one_or_none()
        if at is None:
            return _Step(0, True)  # another server is at it
        most = _EVENTS_AT_ONCE_BUSY if busy else _EVENTS_AT_ONCE
        ahead = beyond(self._engine, sa.literal(at.xid), sa.literal(at.change))
        query = sa.select(changes).where(ahead, self._engine.settled()).order_by(*self._engine.change_order)
        batch, rows = [], 0
        for change in connection.execute(query.limit(most)):
            batch.append(change)
            rows += change.last - change.first + 1 if change.kind in ADDING else 1
            if rows >= most:
                break
        if not batch:
            return _Step(0, True)
        for kind in ADDING:
            self._add(connection, kind, [change.id for change in batch if change.kind == kind])
        for change in batch:
            if change.kind == DELETED:
                self._remove(connection, change)
        last = batch[-1]
        reached = {"xid": last.xid, "change": last.id, "session": last.session, "time": last.time}
        connection.execute(index_progress.update().values(reached))
        return _Step(rows, False)

    def _add(self, connection: Connection, kind: int, batch: list[int]) -> None:
        if not batch:
            return
        columns = (events.c.id, events.c.body, sessions.c.tenant, sessions.c.user_id)
        joined = sa.join(changes, events, added_by(kind)).join(sessions, sessions.c.id == events.c.session)
        query = sa.select(*columns).select_from(joined).where(changes.c.id.in_(batch))
        found: list[TextRow] = [
            (row.id, scope_of(row.tenant, row.user_id), fold(self._codec.text(row.body))) for row in connection.execute(query)
        ]
        if found:
            self._index.add(connection, sorted(found))

    def _remove(self, connection: Connection, change: Row[Any]) -> None:
        """Drops what was derived from a deleted session: in its span of ids, what no event is left for."""
        left = sa.exists().where(events.c.id == event_text.c.id)
        query = sa.select(event_text).where(event_text.c.id.between(change.first, change.last), ~left)
        gone: list[TextRow] = [(row.id, row.scope, row.text) for row in connection.execute(query)]
        if gone:
            self._index.remove(connection, gone)


def added_by(kind: int) -> ColumnElement[bool]:
    """Joins a change of this kind with the events that it added. Spelled for an index of the events to serve it.

    What was inserted later between the events of an append is its compaction's, or it would be indexed twice.
    """
    first, last = changes.c.first, changes.c.last
    within = {
        APPENDED: sa.and_(events.c.position.between(first * POSITION_STEP, last * POSITION_STEP), sa.text(f"NOT ({INSERTED})")),
        COMPACTED: events.c.id.between(first, last),
    }
    return sa.and_(changes.c.kind == kind, changes.c.session == events.c.session, within[kind])


def beyond(engine: Engine, xid: ColumnElement[int], change: ColumnElement[int]) -> ColumnElement[bool]:
    """Changes that come after this one. Spelled by the engine's order, for an index to serve it."""
    values = {changes.c.xid: xid, changes.c.id: change}
    if len(engine.change_order) == 1:
        return engine.change_order[0] > values[engine.change_order[0]]
    return sa.tuple_(*engine.change_order) > sa.tuple_(*(values[column] for column in engine.change_order))


def lag(connection: Connection, engine: Engine) -> int:
    """Change batches that are committed and not indexed."""
    at = connection.execute(sa.select(index_progress)).one()
    ahead = beyond(engine, sa.literal(at.xid), sa.literal(at.change))
    return int(connection.execute(sa.select(sa.func.count()).select_from(changes).where(ahead)).scalar_one())
