"""Long work in slices, between which others write.

What is left is rows of a table, so a server that starts continues what another one left.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

import sqlalchemy as sa
from sqlalchemy import Connection, Table

from ...engine.base import Unit
from ..unit_runner import UnitRunner

_POLL_S = 60.0
_log = logging.getLogger(__name__)


class Slices:
    """Runs `work`, a unit that returns whether it did something, in the background while `table` has rows. `run` must be
    running; `name` is for the log."""

    def __init__(self, units: UnitRunner, name: str, table: Table, work: Unit[bool]) -> None:
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
                await self._finish()
            except Exception as exc:  # a full disk, a lost database, a defect: the task must keep running
                _log.warning("%s failed (%s), retrying in %g s", self._name, type(exc).__name__, _POLL_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._wake.wait()

    async def _finish(self) -> None:
        while await self._units.read(self._waits):
            began = time.monotonic()
            if not await self._units.write(self._work):
                return
            await asyncio.sleep(time.monotonic() - began)

    def _waits(self, connection: Connection) -> bool:
        return connection.execute(sa.select(self._table.c.session).limit(1)).scalar() is not None
