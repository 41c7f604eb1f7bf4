"""Notifications between servers on one PostgreSQL database: fast, coalesced, and restored after a lost connection."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa

from tests.support.codec import CODEC, draft
from tests.support.databases.postgres import PostgresCluster
from tests.support.servers.server_process import free_port
from tests.support.sessions import append, create
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.engine.postgres_hosts import PostgresHosts
from threadkeep_server.store.sql.engine.postgres_listener import APPLICATION_NAME, CHANNEL, PostgresListener
from threadkeep_server.store.sql.store import SqlStore, open_store

pytestmark = pytest.mark.postgres

AT_ONCE = 30.0
"""A store does not poll, so only a notification can come; on an idle machine it takes a few milliseconds."""
BACK_WITHIN = 30.0


class Ear:
    """Counts notifications and waits for more."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._heard = asyncio.Event()

    def __call__(self) -> None:
        self.times.append(time.monotonic())
        self._heard.set()

    async def hears(self, within: float) -> None:
        """Waits for a notification since the last call."""
        async with asyncio.timeout(within):
            await self._heard.wait()
        self._heard.clear()

    async def hears_nothing(self, during: float) -> None:
        with pytest.raises(TimeoutError):
            await self.hears(during)


@dataclass
class Server:
    """The parts of a server under test: its store and its change listener."""

    store: SqlStore
    ear: Ear


@asynccontextmanager
async def servers(*urls: str) -> AsyncIterator[list[Server]]:
    """Servers that listen. Each has one notification at the start, because it may have missed some before."""
    async with AsyncExitStack() as stack:
        opened = []
        for url in urls:
            store = await stack.enter_async_context(open_store(url, CODEC))
            store.on_change(ear := Ear())
            await ear.hears(BACK_WITHIN)
            opened.append(Server(store, ear))
        yield opened


@pytest.fixture
async def raw(postgres_url: str) -> AsyncIterator[list[float]]:
    """Records when each notification of the database arrives."""
    connection = await asyncpg.connect(postgres_url.replace("+asyncpg", ""))
    times: list[float] = []
    await connection.add_listener(CHANNEL, lambda *_: times.append(time.monotonic()))
    yield times
    await connection.close()


@pytest.fixture
def cut(postgres: PostgresCluster, postgres_url: str) -> Callable[[], int]:
    """Closes every listener connection to the test database, waits until they are gone, and returns their number."""
    return lambda: int(postgres.execute(f"SELECT count(pg_terminate_backend(pid, 60000)) {listeners(postgres_url)}"))


def listeners(url: str) -> str:
    return f"FROM pg_stat_activity WHERE application_name = '{APPLICATION_NAME}' AND datname = '{sa.make_url(url).database}'"


async def test_an_append_on_one_server_notifies_the_other_at_once(postgres_url: str) -> None:
    async with servers(postgres_url, postgres_url) as (one, other):
        await create(one.store)
        await other.ear.hears(AT_ONCE)
        for _ in range(5):
            await asyncio.sleep(0.02)
            await append(one.store, draft())
            await other.ear.hears(AT_ONCE)


async def test_a_closed_connection_is_reopened(
    postgres_url: str, cut: Callable[[], int], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "threadkeep_server.store.sql.engine.postgres_listener")
    async with servers(postgres_url, postgres_url) as (one, other):
        await create(one.store)
        await other.ear.hears(AT_ONCE)
        for _ in range(2):
            caplog.clear()
            assert await asyncio.to_thread(cut) == 2
            await append(one.store, draft())
            await other.ear.hears(BACK_WITHIN)  # it has reconnected or was notified of the append; both cause a read
            await until(lambda: levels(caplog).count(logging.INFO) == 2)
            assert levels(caplog).count(logging.WARNING) == 2, "one line for each server's outage"
            await asyncio.sleep(0.1)
            heard = len(other.ear.times)
            await append(one.store, draft())
            await until(lambda heard=heard: len(other.ear.times) > heard, AT_ONCE)  # type: ignore[misc]


async def test_a_restarted_database_is_reconnected(durable_url: str, durable_postgres: PostgresCluster) -> None:
    async with servers(durable_url, durable_url) as (one, other):
        await create(one.store)
        await other.ear.hears(AT_ONCE)
        await asyncio.to_thread(durable_postgres.kill)
        before = len(one.ear.times), len(other.ear.times)
        await asyncio.sleep(0.5)
        await asyncio.to_thread(durable_postgres.start)
        await until(lambda: len(one.ear.times) > before[0] and len(other.ear.times) > before[1])
        await one.store.ping()  # the pool notices too
        await asyncio.sleep(0.1)
        heard = len(other.ear.times)
        await append(one.store, draft())
        await until(lambda: len(other.ear.times) > heard, AT_ONCE)


async def test_a_burst_of_appends_sends_fewer_notifications_including_the_last(postgres_url: str, raw: list[float]) -> None:
    async with servers(postgres_url, postgres_url) as (one, other):
        await create(one.store)
        await other.ear.hears(AT_ONCE)
        await asyncio.sleep(0.05)
        raw.clear()
        await asyncio.gather(*(append(one.store, draft()) for _ in range(199)))
        last = time.monotonic()
        await append(one.store, draft())
        await until(lambda: bool(raw) and raw[-1] > last and other.ear.times[-1] > last)
        assert len(raw) < 200


async def test_simultaneous_announcements_are_one_notification(postgres_url: str, raw: list[float]) -> None:
    async with announcing(postgres_url) as listener:
        for _ in range(200):
            listener.announce()
        await until(lambda: bool(raw))
        await asyncio.sleep(0.1)
        assert len(raw) == 1


async def test_notifications_have_a_minimum_interval(postgres_url: str, raw: list[float]) -> None:
    async with announcing(postgres_url) as listener:
        began = time.monotonic()
        for _ in range(200):
            listener.announce()
            await asyncio.sleep(0.0005)
        took = time.monotonic() - began
        await until(lambda: len(raw) >= 2)
        await asyncio.sleep(0.1)
        assert len(raw) <= took / 0.002 + 2


async def test_an_announcement_during_a_notification_is_in_the_next(
    postgres_url: str, raw: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = asyncpg.Connection.execute
    sent = 0

    async def announcing_meanwhile(connection: asyncpg.Connection, query: str, **options: Any) -> str:
        nonlocal sent
        status: str = await execute(connection, query, **options)
        sent += 1
        if sent == 1:
            listener.announce()
        return status

    async with announcing(postgres_url) as listener:
        monkeypatch.setattr(asyncpg.Connection, "execute", announcing_meanwhile)
        listener.announce()
        await until(lambda: len(raw) == 2)
        await asyncio.sleep(0.1)
        assert (sent, len(raw)) == (2, 2)


async def test_an_announcement_without_a_connection_is_sent_after_connecting(
    postgres_url: str, raw: list[float], cut: Callable[[], int]
) -> None:
    async with announcing(postgres_url) as listener:
        assert await asyncio.to_thread(cut) == 1
        listener.announce()
        await until(lambda: len(raw) == 1)


async def test_a_notification_on_a_broken_connection_is_sent_again(
    postgres_url: str, raw: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = asyncpg.Connection.execute

    async def breaking(connection: asyncpg.Connection, query: str, **options: Any) -> str:
        monkeypatch.setattr(asyncpg.Connection, "execute", execute)
        connection.terminate()
        status: str = await execute(connection, query, **options)
        return status

    async with announcing(postgres_url) as listener:
        monkeypatch.setattr(asyncpg.Connection, "execute", breaking)
        listener.announce()
        await until(lambda: len(raw) == 1)


async def test_a_server_that_cannot_listen_works_and_logs_once(postgres_url: str, caplog: pytest.LogCaptureFixture) -> None:
    nowhere = f"postgresql://test:hush@127.0.0.1:{free_port()}/nowhere"
    async with open_store(postgres_url, CODEC, options=SqlOptions(postgres_listen_url=nowhere)) as store:
        store.on_change(ear := Ear())
        await create(store)
        await ear.hears(AT_ONCE)  # a server notices its own changes without a connection
        await append(store, draft())
        await until(lambda: logging.WARNING in levels(caplog))
        await asyncio.sleep(1)  # several attempts
    (line,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert line.startswith("changes of other servers are found by polling")
    assert line.endswith("the database does not answer")
    assert "hush" not in caplog.text


async def test_a_server_that_stops_closes_its_connection(postgres_url: str, postgres: PostgresCluster) -> None:
    async with servers(postgres_url, postgres_url):
        pass
    async with asyncio.timeout(BACK_WITHIN):  # the process of a closed connection ends a little later
        while await asyncio.to_thread(postgres.execute, f"SELECT count(*) {listeners(postgres_url)}") != "0":  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@asynccontextmanager
async def announcing(url: str) -> AsyncIterator[PostgresListener]:
    """A separate, connected listener."""
    listener, ear = PostgresListener(PostgresHosts(url), lambda _: None), Ear()
    task = asyncio.create_task(listener.run(ear))
    try:
        await ear.hears(BACK_WITHIN)
        yield listener
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def levels(caplog: pytest.LogCaptureFixture) -> list[int]:
    return [record.levelno for record in caplog.records]


async def until(happened: Callable[[], bool], within: float = BACK_WITHIN) -> None:
    for _ in range(round(within / 0.002)):
        if happened():
            return
        await asyncio.sleep(0.002)
    pytest.fail("it did not happen in time")
