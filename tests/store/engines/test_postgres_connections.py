"""Connections of PostgreSQL's pool that a unit of work leaves in an unknown state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa

from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.engine.postgres import LeftInTransaction, PostgresEngine

pytestmark = pytest.mark.postgres


@pytest_asyncio.fixture
async def engine(postgres_url: str) -> AsyncIterator[PostgresEngine]:
    opened = PostgresEngine(postgres_url, SqlOptions(postgres_pool_size=1))
    yield opened
    await opened.aclose()


def backend(connection: sa.Connection) -> Any:
    return connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()


@pytest.mark.parametrize("snapshot", [False, True])
async def test_a_canceled_read_closes_its_connection(engine: PostgresEngine, snapshot: bool) -> None:
    before = await engine.read(backend)
    began = asyncio.Event()

    def unit(connection: sa.Connection) -> None:
        connection.exec_driver_sql("SELECT 1")
        began.set()
        engine.fetch(connection, "SELECT pg_sleep(30)", ())

    reading = asyncio.create_task(engine.read(unit, snapshot=snapshot))
    await began.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert await engine.read(backend) != before


@pytest.mark.parametrize("alone", [False, True])
async def test_a_connection_within_a_transaction_is_refused_and_closed(engine: PostgresEngine, alone: bool) -> None:
    async with engine._pool.engine.connect() as connection:  # no unit of work does this on purpose
        raw = await connection.get_raw_connection()
        assert raw.driver_connection is not None
        await raw.driver_connection.execute("BEGIN; SELECT 1")
    with pytest.raises(LeftInTransaction) as refused:
        await engine.write(backend, alone=alone)
    assert engine.problem(refused.value) == "the connection to the database failed"
    await engine.write(lambda connection: connection.exec_driver_sql("CREATE TABLE kept (n int)"), alone=alone)
    async with engine._pool.engine.connect() as connection:
        await connection.invalidate()
    assert await engine.read(lambda connection: connection.exec_driver_sql("SELECT count(*) FROM kept").scalar()) == 0


async def test_a_write_does_not_wait_behind_reads(postgres_url: str) -> None:
    engine = PostgresEngine(postgres_url, SqlOptions(postgres_pool_size=3))
    reads = [asyncio.create_task(engine.read(lambda c: engine.fetch(c, "SELECT pg_sleep(5)", ()))) for _ in range(4)]
    await asyncio.sleep(0)
    await engine.write(backend)
    assert not any(read.done() for read in reads)
    for read in reads:
        read.cancel()
    await asyncio.gather(*reads, return_exceptions=True)
    await engine.aclose()
