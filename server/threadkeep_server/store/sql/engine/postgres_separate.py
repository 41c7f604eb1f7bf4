"""Connections to PostgreSQL that serve one unit each, outside transactions: what is done on them needs the same connection for
every statement, as no pooler of transactions gives it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import asyncpg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from .base import SqlOptions
from .postgres_hosts import PostgresHosts
from .postgres_pool import AUTOCOMMIT, without_pool

# As long as PostgreSQL can limit a statement: 23 days. No limit would be 0, which may also be what a role has.
_LONGEST_S = 2_000_000
_PROTOCOL_VIOLATION = "08P01"


class PooledConnection(RuntimeError):
    """The URL leads to a pooler, which ignores or refuses the settings of a connection."""

    def __init__(self) -> None:
        super().__init__(
            "a pooler leads to the database, and this needs a URL past it: database_listen_url of a server, database_url of a "
            "command"
        )


class SeparateConnections:
    """Makes a connection for each use. `hosts` are those of the database itself, past any pooler."""

    def __init__(self, hosts: PostgresHosts, options: SqlOptions) -> None:
        engine = without_pool(hosts, replace(options, postgres_pooler=False, statement_timeout=_LONGEST_S))
        self._engine = engine.execution_options(isolation_level=AUTOCOMMIT)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[AsyncConnection]:
        """Yields a connection. Raises PooledConnection."""
        try:
            connection = await self._engine.connect()
        except (sa.exc.DBAPIError, asyncpg.PostgresError) as exc:
            if getattr(getattr(exc, "orig", exc), "sqlstate", None) == _PROTOCOL_VIOLATION:
                raise PooledConnection from exc
            raise
        try:
            setting = sa.text("SELECT setting FROM pg_settings WHERE name = 'statement_timeout'")
            if int((await connection.execute(setting)).scalar_one()) != _LONGEST_S * 1000:
                raise PooledConnection
            yield connection
        finally:
            await connection.close()
