"""Removes deleted content from the files of SQLite, behind the deletions.

SQLite overwrites deleted rows (secure_delete). Their terms remain in the search indexes, and their former pages in the
write-ahead logs, until this merges the indexes and empties the logs. Merging rewrites an index, so deletions are gathered, and
a hundredth of the time is spent on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from ..engine.base import Unit
from ..log.slices.worker import Slices
from ..log.unit_runner import UnitRunner
from ..schema.tables import meta
from .fts5 import Fts5Table
from .unindexed import behind

_GATHER_S = 60.0
_REST_FACTOR = 100
_POLL_S = 0.05
_RETRY_S = 60.0
_MOST_TRIES = 50
_STOPS_WITHIN_S = 5.0
_NOTE = "cleaning"
_PUT = sa.text("INSERT INTO threadkeep_meta (key, value) VALUES (:key, '') ON CONFLICT (key) DO NOTHING")
_log = logging.getLogger(__name__)


class Merged(NamedTuple):
    """FTS5 tables, and what runs the units that write them."""

    run: Callable[[Unit[bool]], Awaitable[bool]]
    tables: Sequence[Fts5Table]


class Cleaner:
    """`run` must be running. `removal` removes the events of deleted sessions. `indexed`: an indexer follows the log."""

    def __init__(self, units: UnitRunner, removal: Slices, merged: Sequence[Merged], *, indexed: bool) -> None:
        self._units = units
        self._removal = removal
        self._merged = merged
        self._indexed = indexed
        self._wanted = self._done = 0
        self._changed = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()

    def hint(self) -> None:
        """Something was deleted."""
        self._wanted += 1
        self._changed.set()

    async def run(self) -> None:
        """Cleans until canceled. A server that starts continues what another one left."""
        noted = sa.select(meta.c.value).where(meta.c.key == _NOTE)
        if await self._units.read(lambda connection: connection.execute(noted).scalar()) is not None:
            self.hint()
        took = 0.0
        while True:
            await self._changed.wait()
            try:
                await self._units.write(lambda connection: connection.execute(_PUT, {"key": _NOTE}))
                await asyncio.sleep(max(_GATHER_S, took * _REST_FACTOR))
                began = time.monotonic()
                await self.clean()
                took = time.monotonic() - began
            except Exception as exc:  # a full disk, a lost database, a defect: the task must keep running
                _log.warning("cleaning up after deletions failed (%s), retrying in %g s", type(exc).__name__, _RETRY_S)
                await asyncio.sleep(_RETRY_S)

    async def finish(self) -> None:
        """Cleans now if something was deleted, for a few seconds at most: the next server continues."""
        if self._done < self._wanted:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(_STOPS_WITHIN_S):
                    await self.clean()

    async def clean(self) -> None:
        """Returns once nothing of what was deleted before is left. Raises TimeoutError if readers hold the files for long."""
        async with self._one_at_a_time:
            self._changed.clear()
            wanted = self._wanted
            while await self._units.read(self._is_behind):  # noqa: ASYNC110 - other tasks do the work
                await asyncio.sleep(_POLL_S)
            for run, tables in self._merged:
                for table in tables:
                    await _merge(run, table)
            for _ in range(_MOST_TRIES):
                if await self._units.engine.empty_logs():
                    break
                await asyncio.sleep(_POLL_S)
            else:
                raise TimeoutError("readers hold the write-ahead log")
            self._done = wanted
            if self._wanted == wanted:
                await self._units.write(lambda connection: connection.execute(meta.delete().where(meta.c.key == _NOTE)))

    def _is_behind(self, connection: Connection) -> bool:
        """Whether rows of what was deleted are left."""
        if self._removal.waits(connection):
            return True
        if not self._indexed:
            return False  # what an earlier server has indexed stays
        row = connection.execute(sa.select(*behind(self._units.engine))).one()
        return bool(row.changes or row.events)


async def _merge(run: Callable[[Unit[bool]], Awaitable[bool]], table: Fts5Table) -> None:
    """Rests for as long as each part took, so that others have half of the time."""
    begin = more = True
    while more:
        began = time.monotonic()
        more = await run(lambda connection, begin=begin: table.merge(connection, begin=begin))  # type: ignore[misc]
        begin = False
        await asyncio.sleep(time.monotonic() - began)
