"""Notices that PostgreSQL was started again, perhaps from a backup or on a standby, before anything is read from it or written.

Each new connection reads it, and connections do not survive a restart. Behind a pooler such as PgBouncer they may.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from .base import Unit

T = TypeVar("T")

_STARTED = "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text"
RUN: Final = f"{_STARTED} || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())::text"  # noqa: S608 - constants
"""Identifies a run of the database: it is another one after a physical restore, a failover and for a copy of the database, but
also after any restart."""


class PostgresRestarts:
    """Runs a unit after each restart. `separate` makes connections of its own, because all of the pool's may be waiting."""

    def __init__(self, pool: AsyncEngine, separate: AsyncEngine) -> None:
        self._separate = separate
        self._unit: Unit[Any] | None = None
        self._then: Callable[[Any], None]
        self._run: str | None = None
        self._restarts = self._handled = 0
        self._handling = asyncio.Lock()
        sa.event.listen(pool.sync_engine, "connect", self._connected)

    def run_after(self, unit: Unit[T], then: Callable[[T], None]) -> None:
        self._unit, self._then, self._handled = unit, then, self._restarts

    def _connected(self, connection: Any, _record: object) -> None:
        run, replica = connection.run_async(lambda driver: driver.fetchrow(f"SELECT {RUN}, pg_is_in_recovery()"))
        if replica:  # a name or a proxy that still leads to the primary of before
            raise asyncpg.ReadOnlySQLTransactionError("the host is a replica")
        self._restarts += run != self._run
        self._run = run

    async def handle(self) -> None:
        """Returns once the unit has run after the last restart that was noticed."""
        if self._handled == self._restarts or self._unit is None:
            return
        async with self._handling:
            restarts = self._restarts
            if self._handled != restarts:
                async with self._separate.begin() as connection:
                    result = await connection.run_sync(self._unit)
                self._then(result)
                self._handled = restarts
