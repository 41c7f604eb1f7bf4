"""Pools of connections to PostgreSQL."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool, QueuePool

from ...contract.maintenance import PoolUse
from ..schema.tables import DERIVED
from .base import SqlOptions
from .postgres_hosts import PostgresHosts

AUTOCOMMIT = "AUTOCOMMIT"
SNAPSHOT = "REPEATABLE READ"
READS = "READ COMMITTED"
# PostgresHosts connects.
_URL = "postgresql+asyncpg://"


class Pool:
    """A pool that replaces connections which were closed while they were idle."""

    def __init__(self, hosts: PostgresHosts, options: SqlOptions) -> None:
        self.engine = create_async_engine(
            _URL,
            pool_size=options.postgres_pool_size,
            max_overflow=0,
            pool_timeout=options.statement_timeout,
            **_connecting(hosts, options),
        )
        sa.event.listen(self.engine.sync_engine, "checkout", _not_closed)
        isolated: dict[str | None, AsyncEngine] = {
            each: self.engine.execution_options(isolation_level=each) for each in (AUTOCOMMIT, SNAPSHOT, READS)
        }
        self._engines = {None: self.engine, **isolated}

    def connection(self, isolation: str | None = None) -> AbstractAsyncContextManager[AsyncConnection]:
        """Returns a connection in a transaction, or in none for AUTOCOMMIT. In READ COMMITTED each statement sees an instant
        of its own."""
        engine = self._engines[isolation]
        return engine.connect() if isolation == AUTOCOMMIT else engine.begin()

    def use(self) -> PoolUse:
        pool = self.engine.sync_engine.pool
        assert isinstance(pool, QueuePool)  # noqa: S101 - the kind that SQLAlchemy makes
        return PoolUse(pool.checkedout(), pool.size())


def without_pool(hosts: PostgresHosts, options: SqlOptions) -> AsyncEngine:
    """Returns what makes a connection for each use."""
    return create_async_engine(_URL, poolclass=NullPool, **_connecting(hosts, options))


def _connecting(hosts: PostgresHosts, options: SqlOptions) -> dict[str, Any]:
    arguments: dict[str, Any] = {**hosts.of_sqlalchemy, "async_creator_fn": hosts.connect}
    settings = {"application_name": "threadkeep"}
    if options.postgres_pooler:
        # The next transaction may have another connection of the pooler, so a statement is prepared for one execution only.
        # The pooler refuses settings of a connection: they are those of the role.
        arguments |= {"statement_cache_size": 0, "prepared_statement_cache_size": 0, "prepared_statement_name_func": _unnamed}
    else:
        # Compiling a statement takes longer than running any statement of the store.
        settings |= {"jit": "off", "statement_timeout": str(int(options.statement_timeout * 1000))}
    return {
        "connect_args": {**arguments, "server_settings": settings},
        "execution_options": {"schema_translate_map": {DERIVED: None}},
    }


def _unnamed() -> str:
    return ""


def _not_closed(connection: Any, _record: object, _proxy: object) -> None:
    """Has the pool replace a closed connection, without a round trip."""
    if connection.driver_connection.is_closed():
        raise sa.exc.DisconnectionError
