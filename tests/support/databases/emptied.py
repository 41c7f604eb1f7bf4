"""One store on PostgreSQL for the tests of a module, emptied before each, because opening a store is slower than most tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import sqlalchemy as sa

from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.search.indexer import _TURN
from threadkeep_server.store.sql.store import SqlStore, open_store

from ..codec import CODEC

_PRISTINE = "pristine"
_MODELS = "SELECT setval(pg_get_serial_sequence('vector_models', 'number'), 1, false)"
_TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname"


class Emptied:
    """Made by `open_emptied`. `store` is as after opening, except that ids and the feed continue.

    The store sees it as if another server had deleted everything, so it must work although its caches stay.
    """

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._listeners = list(store._commits._listeners)
        self._sql = ""

    async def keep(self) -> None:
        await self._store._engine.index(self._keep)

    async def store(self) -> SqlStore:
        while not await self._store._engine.index(self._empty):  # noqa: ASYNC110 - the indexer announces nothing
            await asyncio.sleep(0.001)
        self._store._commits._append_listeners.clear()
        self._store._commits._listeners[:] = self._listeners
        return self._store

    def _keep(self, connection: sa.Connection) -> None:
        tables = connection.exec_driver_sql(_TABLES).scalars().all()
        connection.exec_driver_sql(f"CREATE SCHEMA {_PRISTINE}")
        statements = [f'DELETE FROM public."{table}";' for table in tables]
        for table in tables:
            if connection.exec_driver_sql(f'SELECT EXISTS (SELECT FROM public."{table}")').scalar_one():
                connection.exec_driver_sql(f'CREATE TABLE {_PRISTINE}."{table}" AS TABLE public."{table}"')
                statements.append(f'INSERT INTO public."{table}" SELECT * FROM {_PRISTINE}."{table}";')
        self._sql = f"DO $$ BEGIN {' '.join(statements)} END $$"

    def _empty(self, connection: sa.Connection) -> bool:
        """Waits until the indexer is idle: otherwise it could index rows that are gone."""
        if not self._store._engine.locks.try_acquire(connection, {_TURN}):
            return False
        connection.exec_driver_sql(self._sql)
        connection.exec_driver_sql(_MODELS)
        return True


@asynccontextmanager
async def open_emptied(url: str, options: SqlOptions | None = None) -> AsyncIterator[Emptied]:
    async with open_store(url, CODEC, options=options) as store:
        emptied = Emptied(store)
        await emptied.keep()
        yield emptied
