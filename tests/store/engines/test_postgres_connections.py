"""Connections of PostgreSQL's pool that a unit of work leaves in an unknown state, and those to hosts that vanish."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa

from tests.support.servers.black_hole import BlackHole
from threadkeep_server.store.sql.engine import postgres_hosts
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.engine.postgres import LeftInTransaction, PostgresEngine

pytestmark = pytest.mark.postgres
_SOON = {"TCP_USER_TIMEOUT": 1000, "TCP_KEEPIDLE": 1, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": 1}
"""What is 30 s, or of 30 s, in a server."""
_WITHIN = 25.0
"""On a busy machine; less than 30 s."""


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


@pytest_asyncio.fixture
async def network(postgres_url: str) -> AsyncIterator[BlackHole]:
    async with BlackHole(sa.make_url(postgres_url).port or 0) as network:
        yield network


@pytest_asyncio.fixture
async def far_engine(postgres_url: str, network: BlackHole) -> AsyncIterator[PostgresEngine]:
    url = sa.make_url(postgres_url).set(port=network.port).render_as_string(hide_password=False)
    opened = PostgresEngine(url, SqlOptions(postgres_pool_size=1))
    yield opened
    await opened.aclose()


def sleep(connection: sa.Connection) -> None:
    connection.exec_driver_sql("SELECT pg_sleep(60)")


def one(connection: sa.Connection) -> object:
    return connection.exec_driver_sql("SELECT 1").scalar()


def vanish(network: BlackHole) -> None:
    try:
        network.drop()
    except OSError as exc:
        pytest.skip(f"this system has no socket filters, which drop the packets: {exc}")


async def problem_of(engine: PostgresEngine, writing: asyncio.Task[Any]) -> str | None:
    """Returns why a write failed, which it must do soon."""
    done, _ = await asyncio.wait([writing], timeout=_WITHIN)
    assert done, "it waits for a host that vanished"
    error = writing.exception()
    assert error is not None
    return engine.problem(error)


async def test_what_waits_for_a_host_that_vanished_fails_and_the_pool_recovers(
    far_engine: PostgresEngine, network: BlackHole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_hosts, "_KEEPALIVE", _SOON)
    monkeypatch.setattr(postgres_hosts, "_TIMEOUT_S", 1.0)
    waiting = asyncio.create_task(far_engine.write(sleep))
    await asyncio.sleep(1)
    vanish(network)
    # It has sent everything, and waits for the answer.
    assert await problem_of(far_engine, waiting) == "the connection to the database failed"
    connecting = asyncio.create_task(far_engine.write(one))
    assert await problem_of(far_engine, connecting) == "the database does not answer"
    network.pass_again()
    assert await far_engine.read(one) == 1
    vanish(network)
    # On the pooled connection, where what it sends is not acknowledged.
    assert await problem_of(far_engine, asyncio.create_task(far_engine.write(one))) == "the connection to the database failed"
    network.pass_again()
    assert await far_engine.write(one) == 1


async def test_connections_of_the_pool_end_thirty_seconds_after_their_peer_vanished(far_engine: PostgresEngine) -> None:
    async with far_engine._pool.engine.connect() as connection:
        raw = await connection.get_raw_connection()
        assert raw.driver_connection is not None
        peer = raw.driver_connection._transport.get_extra_info("socket")
        assert peer.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        found = {name: peer.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in _SOON}
    assert found.pop("TCP_USER_TIMEOUT") == 30_000
    assert found["TCP_KEEPIDLE"] + found["TCP_KEEPINTVL"] * found["TCP_KEEPCNT"] == 30
