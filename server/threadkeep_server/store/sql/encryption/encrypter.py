"""Encrypts what was stored before its tenant was to be encrypted, in the background.

A note in the database says how far it is, so a server that starts continues. Several servers may do the same work.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row, Select

from ....domain.errors import EncryptionKeyDestroyed
from ....domain.memories import MemoryScope
from ..log.markers import memory_marker
from ..log.unit_runner import UnitRunner
from ..memories.memory_queries import encrypted_columns
from ..schema import versions
from ..schema.encryption import ENCRYPTED
from ..schema.memories import memories, memory_vectors
from ..schema.tables import events, sessions
from ..search.indexer import remove_derived
from ..search.term_index import TermIndex, TermRow
from ..search.text_index import TextIndex
from ..vectors.tables import event_vectors
from .stored_state import STATE_COLUMNS, StateColumn
from .vault import is_encrypted

_log = logging.getLogger(__name__)

NOTE: Final = "encrypting"
_AT_ONCE: Final = 64
_RETRY_S: Final = 60.0

_e, _m = events.c, memories.c


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: the ids of the last event and memory that are done, and of the last ones to do; and the same of each of
    STATE_COLUMNS. `tenants`: whose, empty for all. `metadata`: the metadata of memories is encrypted as well; older servers
    kept it plain."""

    tenants: Sequence[str]
    events: int = 0
    last_event: int = 0
    memories: int = 0
    last_memory: int = 0
    metadata: bool = False
    states: Sequence[Sequence[int]] = ()

    def is_done(self) -> bool:
        waiting = any(done < last for done, last in self.states)
        return self.events >= self.last_event and self.memories >= self.last_memory and not waiting


def progress_of(connection: Connection) -> Progress | None:
    """Returns the note; None if nothing was ever encrypted."""
    stored = versions.get(connection, NOTE)
    return None if stored is None else Progress(**json.loads(stored))


class Encrypter:
    """`index` and `memory_index` lose the words of what is encrypted. `deleted`: called when plain text was overwritten."""

    def __init__(
        self,
        units: UnitRunner,
        tenants: Collection[str],
        index: TextIndex,
        memory_index: TermIndex | None,
        deleted: Iterable[Callable[[], None]],
    ) -> None:
        self._units = units
        self._codec = units.codec
        self._tenants = sorted(tenants)
        self._index = index
        self._memory_index = memory_index
        self._deleted = list(deleted)

    async def run(self) -> None:
        """Returns when all is encrypted."""
        while True:
            try:
                return await self._all()
            except Exception as exc:  # a full disk, a lost database, a defect: the task must keep running
                _log.warning("encrypting stored texts failed (%s), retrying in %g s", type(exc).__name__, _RETRY_S)
                await asyncio.sleep(_RETRY_S)

    async def _all(self) -> None:
        progress = await self._units.write(self._begin)
        if progress.is_done():
            return
        _log.info("encrypting the texts that were stored before")
        while not progress.is_done():
            began = time.monotonic()
            progress = await self._step(progress)
            await self._note(progress)
            await asyncio.sleep(time.monotonic() - began)
        for hint in self._deleted:
            hint()
        _log.info("all stored texts are encrypted")

    def _begin(self, connection: Connection) -> Progress:
        known = progress_of(connection)
        mine = known is not None and list(known.tenants) == self._tenants
        if known is not None and mine and known.metadata:
            return known
        tables = (events, memories, *(each.table for each in STATE_COLUMNS))
        ends = (sa.select(sa.func.coalesce(sa.func.max(table.c.id), 0)).scalar_subquery() for table in tables)
        last_event, last_memory, *last = connection.execute(sa.select(*ends)).one()
        states = [[0, end] for end in last]
        progress = Progress(self._tenants, last_event=last_event, last_memory=last_memory, metadata=True, states=states)
        if known is not None and mine:
            progress = replace(progress, events=known.events, last_event=known.last_event)
        versions.put(connection, NOTE, _stored(progress))
        return progress

    async def _note(self, progress: Progress) -> None:
        await self._units.write(partial(versions.put, key=NOTE, value=_stored(progress)))

    async def _step(self, progress: Progress) -> Progress:
        """Encrypts the next rows."""
        if progress.events < progress.last_event:
            of_event = sa.select(_e.id, _e.body, sessions.c.tenant).join(sessions, sessions.c.id == _e.session)
            rows, reached = await self._rows(of_event, _e.id, progress.events, progress.last_event)
            plain = [row for row in rows if not is_encrypted(row.body)]
            await self._units.write(lambda connection: self._write_events(connection, plain))
            await self._remove_derived([row.id for row in rows])
            return replace(progress, events=reached)
        for number, (done, last) in enumerate(progress.states):
            if done < last:
                reached = await self._encrypt_state(STATE_COLUMNS[number], done, last)
                states = [[reached, last] if i == number else each for i, each in enumerate(progress.states)]
                return replace(progress, states=states)
        rows, reached = await self._rows(sa.select(_m.id, _m.tenant), _m.id, progress.memories, progress.last_memory)
        await self._units.write(lambda connection: self._write_memories(connection, [row.id for row in rows]))
        return replace(progress, memories=reached)

    async def _encrypt_state(self, column: StateColumn, done: int, last: int) -> int:
        rows, reached = await self._rows(column.rows(), column.table.c.id, done, last)
        await self._units.write(lambda connection: column.write(connection, self._codec, rows))
        return reached

    async def _rows(self, query: Select[Any], key: ColumnElement[int], after: int, last: int) -> tuple[Sequence[Row[Any]], int]:
        """Returns the next rows, encrypted ones too, because a server may have stopped before it was done with them, and the id
        that is then reached."""
        if self._tenants:
            query = query.where(query.selected_columns.tenant.in_(self._tenants))
        query = query.where(key > after, key <= last).order_by(key).limit(_AT_ONCE)
        rows = await self._units.read(lambda connection: connection.execute(query).all())
        ready = {tenant for tenant in {row.tenant for row in rows} if await self._ready(tenant)}
        return [row for row in rows if row.tenant in ready], rows[-1].id if rows else last

    async def _ready(self, tenant: str) -> bool:
        try:
            await self._codec.ready(tenant)
        except EncryptionKeyDestroyed:
            return False
        return True

    def _write_events(self, connection: Connection, rows: Sequence[Row[Any]]) -> None:
        for row in rows:
            body = self._codec.encrypt(row.tenant, row.body)
            connection.execute(events.update().where(_e.id == row.id).values(body=body))

    async def _remove_derived(self, keys: Sequence[int]) -> None:
        """After the events were encrypted: the indexer does not add them again."""

        def unit(connection: Connection) -> bool:
            if not remove_derived(connection, self._units.engine, self._index, keys):
                return False
            connection.execute(event_vectors.delete().where(event_vectors.c.id.in_(keys)))
            return True

        while not await self._units.index(unit):  # noqa: ASYNC110 - a server is indexing
            await asyncio.sleep(0.01)

    def _write_memories(self, connection: Connection, keys: Sequence[int]) -> None:
        # Locked, so that no more data is derived from them.
        rows = connection.execute(sa.select(memories).where(_m.id.in_(keys)).order_by(_m.id).with_for_update()).all()
        half = [row for row in rows if is_encrypted(row.content) and row.metadata_json and not is_encrypted(row.metadata_json)]
        for row in half:
            values = {"metadata_json": self._codec.encrypt(row.tenant, row.metadata_json)}
            connection.execute(memories.update().where(_m.id == row.id).values(values))
        rows = [row for row in rows if not is_encrypted(row.content)]
        indexed = [
            TermRow(row.id, memory_marker(row.tenant, MemoryScope(row.app, row.user_id)), row.words)
            for row in rows
            if 0 < row.analyzer < ENCRYPTED
        ]
        if self._memory_index is not None and indexed:
            self._memory_index.remove(connection, indexed)
        for row in rows:
            values = encrypted_columns(self._codec, row.tenant, row.content, row.text, row.metadata_json)
            connection.execute(memories.update().where(_m.id == row.id).values(values))
        connection.execute(memory_vectors.delete().where(memory_vectors.c.id.in_([row.id for row in rows])))


def _stored(progress: Progress) -> str:
    return json.dumps(asdict(progress))
