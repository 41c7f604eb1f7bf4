"""The indexer: follows the log in the background and derives the data of searches.

Its position is stored with the derived data in one transaction, so a crash loses nothing and repeats nothing. Each of several
servers may run an indexer; they take turns.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row, Select

from ....domain.model import POSITION_STEP
from ....domain.text import fold
from ...contract.codec import Codec
from ..engine.base import Engine
from ..log.change_order import beyond
from ..log.markers import markers
from ..log.slices.removals import has_event
from ..schema.tables import (
    ADDING,
    APPENDED,
    COMPACTED,
    DELETED,
    INSERTED,
    changes,
    event_text,
    event_words,
    events,
    feed_floor,
    index_progress,
    sessions,
)
from ..vectors import maintenance
from .term_index import TermRow, terms_text
from .text_index import TextIndex, TextRow, scope_of

_log = logging.getLogger(__name__)

_EVENTS_AT_ONCE = 128
_EVENTS_AT_ONCE_BUSY = 32
_POLL_S = 1.0
_RETRY_S = 5.0
# During appends the indexer rests this many times as long as it worked: it may lag, appends must not.
_REST_FACTOR = 9
_LONGEST_REST_S = 2.0


# The name that an indexing transaction locks; no tenant has an empty name. A lock on a row would assign the transaction's xid
# on PostgreSQL before the analysis, and the feed would wait for the analysis (see Dialect.visible).
_TURN = ("", "the index of words")

# The columns of a change, without its detail, which is the largest.
_CHANGE = [changes.c[name] for name in ("id", "xid", "kind", "session", "time", "first", "last")]


@dataclass(frozen=True, slots=True)
class _Step:
    """The result of one transaction."""

    rows: int
    done: bool


class Indexer:
    """Follows the log until canceled. `busy` returns whether there were appends recently."""

    def __init__(self, engine: Engine, index: TextIndex, codec: Codec, *, busy: Callable[[], bool]) -> None:
        self._engine = engine
        self._index = index
        self._codec = codec
        self._busy = busy
        self._hint = asyncio.Event()

    def hint(self) -> None:
        """Called after commits."""
        self._hint.set()

    async def run(self) -> None:
        while True:
            try:
                await self._catch_up()
            except Exception as exc:  # a full disk, a lost database, a defect: the indexer must keep running
                _log.warning("search indexing failed (%s); searches scan, retrying in %g s", type(exc).__name__, _RETRY_S)
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
        """Indexes the next events or changes; a unit of work."""
        if not self._engine.locks.try_acquire(connection, {_TURN}):
            return _Step(0, True)  # another server is indexing
        at = connection.execute(sa.select(index_progress)).one()
        most = _EVENTS_AT_ONCE_BUSY if busy else _EVENTS_AT_ONCE
        return self._fill(connection, at, most) if at.filled < at.fill else self._follow(connection, at, most)

    def _fill(self, connection: Connection, at: Row[Any], most: int) -> _Step:
        """Reads the next events that existed when the index was created. If a session is deleted after its events were read,
        the deletion is followed later and removes them, because it comes after the change where following begins."""
        ids = _texts().where(events.c.id > at.filled, events.c.id <= at.fill).order_by(events.c.id).limit(most)
        found = connection.execute(ids).all()
        self._derive(connection, found)
        reached = found[-1].id if len(found) == most else at.fill
        maintenance.keep_known(connection, at.filled, reached)
        connection.execute(index_progress.update().values(filled=reached))
        return _Step(len(found), False)

    def _follow(self, connection: Connection, at: Row[Any], most: int) -> _Step:
        """Indexes some of the next changes."""
        ahead = beyond(self._engine, sa.literal(at.xid), sa.literal(at.change))
        query = sa.select(*_CHANGE).where(ahead, self._engine.sql.visible()).order_by(*self._engine.sql.change_order)
        batch, rows = [], 0
        for change in connection.execute(query.limit(most)):
            batch.append(change)
            rows += change.last - change.first + 1 if change.kind in ADDING else 1
            if rows >= most:
                break
        # Creations and updates need no indexing: their data is read from the sessions.
        for kind in ADDING:
            self._add(connection, kind, [change.id for change in batch if change.kind == kind])
        for change in batch:
            if change.kind == DELETED:
                self._remove(connection, change)
        if self._is_trimmed_beyond(connection, at):
            # A server without an index trimmed it. The missed changes are unknown, so the index is rebuilt.
            self._index.prepare(connection, self._engine, self._codec.words_version)
            return _Step(rows, False)
        if not batch:
            return _Step(0, True)
        last = batch[-1]
        reached = {"xid": last.xid, "change": last.id, "session": last.session, "time": last.time}
        connection.execute(index_progress.update().values(reached))
        return _Step(rows, False)

    def _is_trimmed_beyond(self, connection: Connection, at: Row[Any]) -> bool:
        """Checked after each read of changes, because the feed may be trimmed between two statements."""
        floor = connection.execute(sa.select(feed_floor.c.xid, feed_floor.c.change)).one()
        return tuple(floor) > (at.xid, at.change)

    def _add(self, connection: Connection, kind: int, batch: list[int]) -> None:
        if batch:
            # Events of the first changes may have existed when the index was created.
            fresh = ~sa.exists().where(event_text.c.id == events.c.id)
            query = _texts().join(changes, added_by(kind)).where(changes.c.id.in_(batch), fresh)
            self._derive(connection, connection.execute(query).all())

    def _derive(self, connection: Connection, found: Sequence[Row[Any]]) -> None:
        if not found:
            return
        found = sorted(found, key=lambda row: row.id)
        texts, words = self._engine.run_in_thread(lambda: self._derived(found))
        self._index.add(connection, texts, words)
        maintenance.indexed(connection, found[0].id)

    def _derived(self, found: Sequence[Row[Any]]) -> tuple[list[TextRow], list[TermRow]]:
        texts = [(row.id, scope_of(row.tenant, row.user_id), fold(self._codec.text(row.body))) for row in found]
        return texts, [] if self._index.words is None else [self._words(row) for row in found]

    def _words(self, row: Row[Any]) -> TermRow:
        scopes = markers(row.tenant, row.app, row.user_id, row.session)
        return TermRow(row.id, scopes, terms_text(self._codec.words(row.body, row.time)))

    def _remove(self, connection: Connection, change: Row[Any]) -> None:
        """Removes derived data of a deleted session: rows in its span of ids without an event."""
        query = sa.select(event_text, event_words.c.markers, event_words.c.words)
        query = query.outerjoin(event_words, event_words.c.id == event_text.c.id)
        gone = connection.execute(
            query.where(event_text.c.id.between(change.first, change.last), ~has_event(event_text.c.id))
        ).all()
        if gone:
            texts: list[TextRow] = [(row.id, row.scope, row.text) for row in gone]
            words = [TermRow(row.id, row.markers, row.words) for row in gone if row.words is not None]
            self._index.remove(connection, texts, words)
        maintenance.deleted(connection, change.first, change.last)


def _texts() -> Select[Any]:
    """Selects events with the data from which their texts are derived."""
    joined = sa.join(events, sessions, sessions.c.id == events.c.session)
    of_session = (sessions.c.tenant, sessions.c.app, sessions.c.user_id)
    return sa.select(events.c.id, events.c.session, events.c.time, events.c.body, *of_session).select_from(joined)


def added_by(kind: int) -> ColumnElement[bool]:
    """Joins a change of this kind with the events that it added. Written so that an index of the events serves it.

    Events that a compaction inserted later between those of an append belong to the compaction; otherwise they would be indexed
    twice.
    """
    first, last = changes.c.first, changes.c.last
    within = {
        APPENDED: sa.and_(events.c.position.between(first * POSITION_STEP, last * POSITION_STEP), sa.text(f"NOT ({INSERTED})")),
        COMPACTED: events.c.id.between(first, last),
    }
    return sa.and_(changes.c.kind == kind, changes.c.session == events.c.session, within[kind])


def unfilled() -> ColumnElement[bool]:
    """Selects events that existed when the index was created and that it does not contain yet."""
    filled, fill = (sa.select(column).scalar_subquery() for column in (index_progress.c.filled, index_progress.c.fill))
    return sa.and_(events.c.id > filled, events.c.id <= fill)


def lag(connection: Connection, engine: Engine) -> int:
    """Returns the number of committed change batches that are not indexed. During a rebuild it includes the number of events
    still to be read, estimated by their ids; it is 0 at the end."""
    at = connection.execute(sa.select(index_progress)).one()
    ahead = beyond(engine, sa.literal(at.xid), sa.literal(at.change))
    count = connection.execute(sa.select(sa.func.count()).select_from(changes).where(ahead)).scalar_one()
    return int(count + at.fill - at.filled)
