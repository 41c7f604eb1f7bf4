"""Erasing events: a tombstone takes the place of the content, and the search index loses its terms.

A transaction writes the tombstones and lists the events in `erased_events`; then their terms and embeddings are removed, and
they leave the list. A server that stops in between continues when it starts. A log that was cleared is erased in slices, behind
the change that cleared it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

import sqlalchemy as sa
from sqlalchemy import BigInteger, Connection

from ....domain.model import Tools
from ..encryption.codec import StoredCodec
from ..log.unit_runner import UnitRunner
from ..schema.removals import erased_events, log_erasures
from ..schema.tables import events, sessions
from ..search.indexer import remove_derived
from ..search.text_index import TextIndex
from ..vectors.tables import event_vectors

_AT_ONCE = 500
_POLL_S, _RETRY_S = 5.0, 60.0
_log = logging.getLogger(__name__)
_e = events.c
_BURY = (
    events.update()
    .where(_e.id == sa.bindparam("row"))
    .values(
        body=sa.bindparam("tombstone", type_=_e.body.type),
        author="",
        author_role="",
        tools=int(Tools.ERASED),
        archived_version=sa.case((_e.archived, _e.archived_version), else_=sa.bindparam("version", type_=BigInteger)),
        archived=True,
    )
)


def bury(connection: Connection, codec: StoredCodec, tenant: str, session: int, keys: Sequence[int], version: int) -> None:
    """Leaves only tombstones of the events with these row ids, and lists them. Their sizes stay: reads as of an earlier moment
    select by them. `version`: the log version with it."""
    for start in range(0, len(keys), _AT_ONCE):
        some = _e.id.in_(keys[start : start + _AT_ONCE])
        found = connection.execute(sa.select(_e.id, _e.body).where(some, _e.tools != int(Tools.ERASED))).all()
        rows = []
        for row in found:
            tombstone = codec.plain.tombstone(codec.decrypt(row.body))
            rows.append({"row": row.id, "tombstone": codec.encrypt(tenant, tombstone), "version": version})
        if rows:
            connection.execute(_BURY, rows)
            connection.execute(erased_events.insert(), [{"event": row["row"], "session": session} for row in rows])


def bury_slice(connection: Connection, codec: StoredCodec, session: int) -> bool:
    """Buries the next events of a cleared log. Returns whether more may be left."""
    query = sa.select(log_erasures, sessions.c.tenant).join(sessions, sessions.c.id == log_erasures.c.session)
    row = connection.execute(query.where(log_erasures.c.session == session).with_for_update()).one_or_none()
    mine = log_erasures.c.session == session
    if row is None:
        return False
    cleared = (_e.session == session, _e.seq <= row.through)
    ahead = sa.select(_e.id, _e.position).where(*cleared, _e.position > row.reached).order_by(_e.position)
    some = connection.execute(ahead.limit(_AT_ONCE)).all()
    if not some:
        # A compaction may have moved some back.
        missed = connection.execute(sa.select(_e.id).where(*cleared, _e.tools != int(Tools.ERASED)).limit(_AT_ONCE)).scalars()
        left = missed.all()
        bury(connection, codec, row.tenant, session, left, row.version)
        if not left:
            connection.execute(log_erasures.delete().where(mine))
        return bool(left)
    bury(connection, codec, row.tenant, session, [each.id for each in some], row.version)
    connection.execute(log_erasures.update().where(mine).values(reached=some[-1].position))
    return True


class Eraser:
    """Finishes erasures. `index`: what earlier servers may have filled. `deleted`: called when content was overwritten."""

    def __init__(self, units: UnitRunner, index: TextIndex, deleted: Sequence[Callable[[], None]]) -> None:
        self._units = units
        self._index = index
        self._deleted = deleted
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Continues until canceled what a server left."""
        while True:
            pause = _POLL_S
            try:
                for session in await self._units.read(self._waiting):
                    await self.finish(session)
            except Exception as exc:  # a full disk, a lost database, a defect: the task must keep running
                _log.warning("erasing events failed (%s), retrying in %g s", type(exc).__name__, _RETRY_S)
                pause = _RETRY_S
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            self._wake.clear()

    def hint(self) -> None:
        """A call may end before it has finished its erasure."""
        self._wake.set()

    async def finish(self, session: int) -> None:
        """Returns when nothing is left of what was erased in a session."""
        codec = self._units.codec
        if codec.vault is not None and (tenant := await self._units.read(lambda connection: _tenant(connection, session))):
            await codec.ready(tenant)
        while await self._units.write(lambda connection: bury_slice(connection, codec, session)):
            await self._unlist(session)
        await self._unlist(session)
        for hint in self._deleted:
            hint()

    async def settle(self, session: int) -> None:
        """Finishes the erasure of a cleared log, if there is one: nobody else may move its events."""
        if await self._units.read(lambda connection: _is_erasing(connection, session)):
            await self.finish(session)

    @staticmethod
    def _waiting(connection: Connection) -> Sequence[int]:
        waiting = sa.union(*(sa.select(table.c.session) for table in (log_erasures, erased_events)))
        return connection.execute(waiting.limit(_AT_ONCE)).scalars().all()

    async def _unlist(self, session: int) -> None:
        """Removes terms and embeddings of the listed events: the indexer does not add them again."""
        listed = erased_events.c
        some = sa.select(listed.event).where(listed.session == session).limit(_AT_ONCE)
        while keys := await self._units.read(lambda connection: connection.execute(some).scalars().all()):
            await self._remove_derived(keys)
            gone = erased_events.delete().where(listed.event.in_(keys))
            await self._units.write(lambda connection, gone=gone: connection.execute(gone))  # type: ignore[misc]

    async def _remove_derived(self, keys: Sequence[int]) -> None:
        def unit(connection: Connection) -> bool:
            if not remove_derived(connection, self._units.engine, self._index, keys):
                return False
            connection.execute(event_vectors.delete().where(event_vectors.c.id.in_(keys)))
            return True

        while not await self._units.index(unit):  # noqa: ASYNC110 - a server is indexing
            await asyncio.sleep(0.01)


def _tenant(connection: Connection, session: int) -> str | None:
    return connection.execute(sa.select(sessions.c.tenant).where(sessions.c.id == session)).scalar()


def _is_erasing(connection: Connection, session: int) -> bool:
    return connection.execute(sa.select(log_erasures.c.session).where(log_erasures.c.session == session)).scalar() is not None


def erase_log(connection: Connection, session: int, through: int, version: int) -> None:
    """Erases what the log contains up to a seq, behind the transaction."""
    running = log_erasures.update().where(log_erasures.c.session == session).values(through=through, version=version)
    if not connection.execute(running).rowcount:
        connection.execute(log_erasures.insert(), {"session": session, "through": through, "reached": 0, "version": version})
