"""Stores that do no work in slices, and the rows of their tables."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
import sqlalchemy as sa

from threadkeep_server.store.sql.log.slices.worker import Slices
from threadkeep_server.store.sql.store import SqlStore

Opener = Callable[..., AbstractAsyncContextManager[SqlStore]]


def stop_slices(patch: pytest.MonkeyPatch) -> None:
    """Stores that are opened from now on do nothing behind their deletions and compactions."""

    async def idle(_: Slices) -> None:
        """Nothing."""

    patch.setattr(Slices, "run", idle)


@asynccontextmanager
async def without_slices(opener: Opener) -> AsyncIterator[SqlStore]:
    with pytest.MonkeyPatch.context() as patch:
        stop_slices(patch)
        async with opener() as store:
            yield store


async def rows(store: SqlStore, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
    query = sa.select(sa.func.count()).select_from(table).where(*where)
    return await store._units.read(lambda connection: connection.execute(query).scalar_one())


async def emptied(store: SqlStore, table: sa.Table) -> None:
    """Waits until the table is empty."""
    async with asyncio.timeout(60):
        while await rows(store, table):  # noqa: ASYNC110 - the store sends no signal
            await asyncio.sleep(0.01)
