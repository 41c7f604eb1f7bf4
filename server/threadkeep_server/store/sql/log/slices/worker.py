"""Long work in slices, between which others write.

What is left is rows of a table, so a server that starts continues what another one left.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row, Table

from ..unit_runner import UnitRunner

_POLL_S = 60.0
_log = logging.getLogger(__name__)

Work = Callable[[Connection, Row[Any]], bool]
"""Does the next slice of a row. Returns whether more may be left."""


class Slices:
    """Does the work of the rows of `table`, one per session, in the background. `run` must be running; `name`: for the log."""

    def __init__(self, units: UnitRunner, name: str, table: Table, work: Work) -> None:
        self._units = units
        self._name = name
        self._table = table
        self._work = work
        self._wake = asyncio.Event()

    def hint(self) -> None:
        """There may be something to do."""
        self._wake.set()

    async def run(self) -> None:
        """Works until canceled. Rests after each slice for as long as it took, so that others have half of the time."""
        while True:
            self._wake.clear()
            try:
                await self._work_off()
            except Exception as exc:  # a full disk, a lost database, a defect: the task must keep running
                _log.warning("%s failed (%s), retrying in %g s", self._name, type(exc).__name__, _POLL_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._wake.wait()

    async def finish(self, session: int) -> None:
        """Does what is left for a session, in slices too."""
        while await self._units.write(lambda connection: self._slice(connection, session)):
            pass

    async def settle(self, tenant: str, find: Callable[[Connection], int | None]) -> int | None:
        """Does what is left for the session that `find` returns, before a transaction that would have to do it at once. Returns
        the session."""

        def unit(connection: Connection) -> tuple[int | None, bool]:
            session = find(connection)
            return session, session is not None and self.waits(connection, session)

        session, waits = await self._units.of(tenant).read(unit)
        if session is not None and waits:
            await self.finish(session)
        return session

    def waits(self, connection: Connection, session: int | None = None) -> bool:
        """Whether something is left, for the session or for any."""
        query = sa.select(self._table.c.session).limit(1)
        if session is not None:
            query = query.where(self._table.c.session == session)
        return connection.execute(query).scalar() is not None

    async def _work_off(self) -> None:
        while await self._units.read(self.waits):
            began = time.monotonic()
            if not await self._units.write(self._slice):
                return
            await asyncio.sleep(time.monotonic() - began)

    def _slice(self, connection: Connection, session: int | None = None) -> bool:
        """Returns whether there was one; of any session, whether there was one that no other server is doing."""
        query = sa.select(self._table).order_by(self._table.c.session).limit(1).with_for_update(skip_locked=session is None)
        if session is not None:
            query = query.where(self._table.c.session == session)
        row = connection.execute(query).one_or_none()
        if row is None:
            return False
        if not self._work(connection, row):
            connection.execute(self._table.delete().where(self._table.c.session == row.session))
        return True
