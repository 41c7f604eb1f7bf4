"""The indexer: follows the log in the background and derives the data of searches.

Its position is stored with the derived data in one transaction, so a crash loses nothing and repeats nothing. Each of several
servers may run an indexer; they take turns.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row, Select

from ....domain.model import POSITION_STEP
from ...contract.codec import Codec
from ..encryption.vault import is_encrypted
from ..engine.base import Engine
from ..engine.statements import Statements
from ..log.change_order import added_events, beyond
from ..log.markers import markers
from ..log.slices.removals import has_event
from ..schema.tables import (
    ADDING,
    APPENDED,
    DELETED,
    INSERTED,
    INSERTING,
    MOVED,
    changes,
    event_text,
    event_words,
    events,
    feed_floor,
    index_progress,
    sessions,
)
from ..vectors import maintenance
from . import renewal
from .deriver import Deriver, EventText
from .renewal import Renewal
from .rescoping import Gave, Reached, Rescoping, affordable
from .term_index import TermRow
from .text_index import TextIndex, TextRow, scope_of

_log = logging.getLogger(__name__)

_EVENTS_AT_ONCE = 128
_EVENTS_AT_ONCE_BUSY = 32
_POLL_S = 1.0
_RETRY_S = 5.0
# During appends the indexer rests this many times as long as it worked: it may lag, appends must not.
_REST_FACTOR = 9
_REST_FACTOR_OF_PROCESS = 4
_LONGEST_REST_S = 2.0
# New events come first, but appends that never pause do not stop a renewal: it has one transaction after so many others.
_BATCHES_BEFORE_RENEWAL = 8
# A server that is frozen while it indexes keeps others from indexing for so long, and from starting. Analyzing 16 MiB takes ten
# seconds or more without a statement.
_LONGEST_PAUSE_S = 180

# The name that an indexing transaction locks; no tenant has an empty name. A lock on a row would assign the transaction's xid
# on PostgreSQL before the analysis, and the feed would wait for the analysis (see Dialect.visible).
_TURN = ("", "the index of words")

# The columns of a change, without its detail, which is the largest.
_CHANGE = [changes.c[name] for name in ("id", "xid", "kind", "session", "time", "first", "last")]


@dataclass(frozen=True, slots=True)
class _Step:
    """The result of one transaction. `full`: more is left; `done`: nothing is. `rescoped`: how far a change of an owner is
    done, if it is not finished."""

    full: bool
    done: bool
    rescoped: Reached | None = None


class Indexer:
    """Follows the log until canceled. `gave`: that of the database's own vector index, if it has one. `busy` returns
    whether there were appends recently."""

    def __init__(
        self, statements: Statements, index: TextIndex, codec: Codec, gave: Gave | None, *, busy: Callable[[], bool]
    ) -> None:
        self._engine = engine = statements.engine
        self._statements = statements
        self._index = index
        self._deriver = Deriver(engine, codec, with_words=index.words is not None)
        self._rescoping = Rescoping(index, gave)
        self._rescoped: Reached | None = None
        self._renewal = Renewal(engine, index, self._deriver, codec.words_version)
        self._words_version = codec.words_version
        self._indexed = 0
        """Transactions since one had to renew terms."""
        self._busy = busy
        self._hint = asyncio.Event()

    def hint(self) -> None:
        """Called after commits."""
        self._hint.set()

    async def run(self) -> None:
        try:
            await self._run()
        finally:
            self._deriver.close()

    async def _run(self) -> None:
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
            self._deriver.close_idle()

    async def _catch_up(self) -> None:
        far = False
        while True:
            busy = self._busy()
            by_process = far and self._deriver.has_process
            most = _EVENTS_AT_ONCE_BUSY if busy and not by_process else _EVENTS_AT_ONCE
            if by_process and not busy:
                most = self._index.most_at_once
            renews = self._indexed >= _BATCHES_BEFORE_RENEWAL
            started = time.monotonic()
            step = await self._engine.index(partial(self.step, most=most, by_process=by_process, renews=renews))
            self._rescoped = step.rescoped  # only now: what is rolled back is done again
            if step.done:
                return
            self._indexed = 0 if renews else self._indexed + 1
            far = step.full
            rest = (time.monotonic() - started) * (_REST_FACTOR_OF_PROCESS if by_process else _REST_FACTOR) if busy else 0
            await asyncio.sleep(min(rest, _LONGEST_REST_S))

    def step(self, connection: Connection, *, most: int, by_process: bool = False, renews: bool = False) -> _Step:
        """Indexes the next events or changes, about `most`, or renews terms if all are indexed; a unit of work.
        `by_process`: another process analyzes them. `renews`: renews terms first, if any are left."""
        if not self._engine.locks.try_acquire(connection, {_TURN}, longest_pause_s=_LONGEST_PAUSE_S):
            return _Step(full=False, done=True)  # another server is indexing
        at = connection.execute(sa.select(index_progress)).one()
        if self._renewal.yields(connection, at):
            return _Step(full=False, done=True)
        # `full` stays as it was: whether more is left to index is not known.
        if renews and self._renewal.step(connection, most, self._deriver.has_process) is not None:
            step = _Step(full=by_process, done=False, rescoped=self._rescoped)
        else:
            step = (self._fill if at.filled < at.fill else self._follow)(connection, at, most, by_process)
            if step.done and (more := self._renewal.step(connection, most, by_process)) is not None:
                step = _Step(full=more, done=False)
        self._renewal.sign(connection)
        return step

    def _fill(self, connection: Connection, at: Row[Any], most: int, by_process: bool) -> _Step:
        """Reads the next events that existed when the index was created. If a session is deleted after its events were read,
        the deletion is followed later and removes them, because it comes after the change where following begins."""
        within = sa.and_(events.c.id > at.filled, events.c.id <= at.fill)
        sizes = connection.execute(sa.select(events.c.id, events.c.size).where(within).order_by(events.c.id).limit(most)).all()
        count = affordable([row.size for row in sizes])
        reached = sizes[count - 1].id if count == most or count < len(sizes) else at.fill
        found = connection.execute(_texts().where(within, events.c.id <= reached)).all()
        self._derive(connection, [EventText(*row) for row in found], by_process)
        maintenance.keep_known(connection, at.filled, reached)
        connection.execute(index_progress.update().values(filled=reached))
        return _Step(full=reached < at.fill, done=False)

    def _follow(self, connection: Connection, at: Row[Any], most: int, by_process: bool) -> _Step:
        """Indexes some of the next changes."""
        ahead = beyond(self._engine, sa.literal(at.xid), sa.literal(at.change))
        query = sa.select(*_CHANGE).where(ahead, self._engine.sql.visible()).order_by(*self._engine.sql.change_order)
        found = connection.execute(query.limit(most)).all()
        rows = list(accumulate(change.last - change.first + 1 if change.kind in ADDING else 1 for change in found))
        batch = found[: bisect_left(rows, most) + 1]
        arrival = next((place for place, change in enumerate(batch) if change.kind == MOVED), None)
        if arrival == 0 and not self._is_trimmed_beyond(connection, at):
            rescoped = self._rescoping.step(connection, batch[0], self._rescoped, most)
            if rescoped is not None:
                return _Step(full=True, done=False, rescoped=rescoped)
            batch = batch[:1]
        elif arrival:
            batch = batch[:arrival]
        if len(batch) > 1:
            batch = batch[: affordable(_sizes(connection, self._statements, batch))]
        # Creations and updates need no indexing: their data is read from the sessions.
        self._derive(
            connection, [row for kind in ADDING for row in _added(connection, self._statements, batch, kind)], by_process
        )
        for change in batch:
            if change.kind == DELETED:
                self._remove(connection, change)
        if self._is_trimmed_beyond(connection, at):
            # A server without an index trimmed it. The missed changes are unknown, so the index is rebuilt.
            self._index.prepare(connection, self._engine, self._words_version)
            return _Step(full=False, done=False)
        if not batch:
            return _Step(full=False, done=True)
        last = batch[-1]
        reached = {"xid": last.xid, "change": last.id, "session": last.session, "time": last.time}
        connection.execute(index_progress.update().values(reached))
        return _Step(full=len(batch) < len(found) or len(found) == most, done=False)

    def _is_trimmed_beyond(self, connection: Connection, at: Row[Any]) -> bool:
        """Checked after each read of changes, because the feed may be trimmed between two statements."""
        floor = connection.execute(sa.select(feed_floor.c.xid, feed_floor.c.change)).one()
        return tuple(floor) > (at.xid, at.change)

    def _derive(self, connection: Connection, found: Sequence[EventText], by_process: bool) -> None:
        # The index would contain the words of encrypted events.
        found = sorted((row for row in found if not is_encrypted(row.body)), key=lambda row: row.id)
        for chunk, derived in self._deriver.derive(found, by_process=by_process):
            each = list(zip(chunk, derived, strict=True))
            texts = [(row.id, scope_of(row.tenant, row.user_id), derived.text) for row, derived in each]
            words = [_term_row(row, derived.words) for row, derived in each if derived.words is not None]
            self._index.add(connection, texts, words)
        if found:
            maintenance.indexed(connection, found[0].id)

    def _remove(self, connection: Connection, change: Row[Any]) -> None:
        """Removes derived data of a deleted session: rows in its span of ids without an event."""
        _remove(connection, self._index, event_text.c.id.between(change.first, change.last), ~has_event(event_text.c.id))
        maintenance.deleted(connection, change.first, change.last)


def remove_derived(connection: Connection, engine: Engine, index: TextIndex, keys: Sequence[int]) -> bool:
    """Removes the derived data of these events. Returns whether it could: not while a server is indexing."""
    if not engine.locks.try_acquire(connection, {_TURN}):
        return False
    _remove(connection, index, event_text.c.id.in_(keys))
    return True


def _remove(connection: Connection, index: TextIndex, *which: ColumnElement[bool]) -> None:
    query = sa.select(event_text, event_words.c.markers, event_words.c.words)
    gone = connection.execute(query.outerjoin(event_words, event_words.c.id == event_text.c.id).where(*which)).all()
    if gone:
        texts: list[TextRow] = [(row.id, row.scope, row.text) for row in gone]
        words = [TermRow(row.id, row.markers, row.words) for row in gone if row.words is not None]
        index.remove(connection, texts, words)


def _added(connection: Connection, statements: Statements, batch: Sequence[Row[Any]], kind: int) -> list[EventText]:
    """Returns the events of the changes of this kind, without those that the index contains: events of the first changes may
    have existed when it was created."""
    fresh = ~sa.exists().where(event_text.c.id == events.c.id)
    found = _events_of(
        connection, statements, batch, kind, (events.c.id, events.c.session, events.c.time, events.c.body), fresh
    )
    s = sessions.c
    named = sa.select(s.id, s.tenant, s.app, s.user_id).where(s.id.in_({session for _, _, session, *_ in found}))
    names: dict[int, Sequence[Any]] = {row.id: row[1:] for row in connection.execute(named)} if found else {}
    # A session that is deleted meanwhile has no name.
    return [EventText(key, session, *rest, *names[session]) for _, key, session, *rest in found if session in names]


def _events_of(
    connection: Connection,
    statements: Statements,
    batch: Sequence[Row[Any]],
    kind: int,
    columns: Sequence[ColumnElement[Any]],
    *where: ColumnElement[bool],
) -> Sequence[Sequence[Any]]:
    """Returns rows of the events that the changes of this kind added, each after the id of its change."""
    step = POSITION_STEP if kind == APPENDED else 1
    spans = [(change.id, change.session, change.first * step, change.last * step) for change in batch if change.kind == kind]
    return added_events(statements, connection, kind, spans, columns, *where) if spans else []


def _term_row(row: EventText, words: str) -> TermRow:
    return TermRow(row.id, markers(row.tenant, row.app, row.user_id, row.session), words)


def _sizes(connection: Connection, statements: Statements, batch: Sequence[Row[Any]]) -> list[int]:
    """Returns the bytes of the events of each change."""
    sizes: Counter[int] = Counter()
    for kind in ADDING:
        for change, size in _events_of(connection, statements, batch, kind, (events.c.size,)):
            sizes[change] += size
    return [sizes[change.id] for change in batch]


def _texts() -> Select[Any]:
    """Selects events with the data from which their texts are derived."""
    joined = sa.join(events, sessions, sessions.c.id == events.c.session)
    of_session = (sessions.c.tenant, sessions.c.app, sessions.c.user_id)
    return sa.select(events.c.id, events.c.session, events.c.time, events.c.body, *of_session).select_from(joined)


def added_by(kind: int) -> ColumnElement[bool]:
    """Joins a change of this kind with the events that it added. Written so that an index of the events serves it,
    and none of the changes by session: SQLite would read all changes of a session for each of its events.

    Events that a compaction inserted later between those of an append belong to the compaction; otherwise they would be indexed
    twice.
    """
    first, last = changes.c.first, changes.c.last
    within = {
        APPENDED: sa.and_(events.c.position.between(first * POSITION_STEP, last * POSITION_STEP), sa.text(f"NOT ({INSERTED})")),
    } | dict.fromkeys(INSERTING, events.c.id.between(first, last))
    return sa.and_(changes.c.kind == kind, sa.text("events.session = +changes.session"), within[kind])


def unfilled() -> ColumnElement[bool]:
    """Selects events that existed when the index was created and that it does not contain yet."""
    filled, fill = (sa.select(column).scalar_subquery() for column in (index_progress.c.filled, index_progress.c.fill))
    return sa.and_(events.c.id > filled, events.c.id <= fill)


def lag(connection: Connection, engine: Engine, words_version: int) -> int:
    """Returns the number of committed change batches that are not indexed. During a rebuild it includes the number of events
    still to be read or renewed, estimated by their ids; it is 0 at the end."""
    at = connection.execute(sa.select(index_progress)).one()
    ahead = beyond(engine, sa.literal(at.xid), sa.literal(at.change))
    count = connection.execute(sa.select(sa.func.count()).select_from(changes).where(ahead)).scalar_one()
    return int(count + at.fill - at.filled) + renewal.left(connection, words_version)
