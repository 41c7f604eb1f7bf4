"""On PostgreSQL a later commit may sort before an earlier one: subscribers wait for it, and servers notify each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import asyncpg
import pytest
import sqlalchemy as sa

from tests.support.databases.postgres import PostgresCluster
from threadkeep.v1 import subscription_pb2 as pb
from threadkeep_server.store.sql.engine.postgres_listener import APPLICATION_NAME

from .conftest import ServerMaker
from .facts import facts_of
from .scene import Scene, opened
from .streams import Stream

pytestmark = pytest.mark.postgres

BEATS = 2
"""Longer than the polling interval of a server."""
AT_ONCE = 30.0
BACK_WITHIN = 60.0
# Assigns a transaction id, as any writer of the cluster does.
HOLDERS = {
    "an id": "SELECT pg_current_xact_id()",
    "a write to another table": "CREATE TABLE other AS SELECT 1",
    "a lock on a row": "SELECT 1 FROM sessions LIMIT 1 FOR UPDATE",
}


@pytest.fixture
async def pair(make_server: ServerMaker, postgres_url: str) -> AsyncIterator[tuple[Scene, Scene]]:
    """Two servers on one database that poll every half second."""
    async with AsyncExitStack() as stack:
        scenes = []
        for _ in range(2):
            server = make_server(database_url=postgres_url, feed_poll_interval="500ms", watch_heartbeat="1s").start()
            scenes.append(await stack.enter_async_context(opened(server.address)))
        yield scenes[0], scenes[1]


@asynccontextmanager
async def held(url: str, statement: str, how: str) -> AsyncIterator[None]:
    """A transaction that runs this, stays open until the context ends, and ends with `end`."""
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        await connection.execute("BEGIN")
        await connection.execute(statement)
        yield
        await connection.execute(how)
    finally:
        await connection.close()


class TestAnOpenTransaction:
    @pytest.mark.parametrize(
        ("holder", "how"), [("an id", "COMMIT"), ("a write to another table", "ROLLBACK"), ("a lock on a row", "COMMIT")]
    )
    async def test_subscribers_wait_for_an_open_transaction_and_receive_changes_in_order(
        self, pair: tuple[Scene, Scene], postgres_url: str, holder: str, how: str
    ) -> None:
        one, other = pair
        await one.create("locked")
        await one.create()
        async with one.live(one.view()) as here, other.live(one.view()) as there, other.live(one.session_view()) as narrow:
            async with held(postgres_url, HOLDERS[holder], how):
                for number in range(10):
                    await (one, other)[number % 2].say(str(number))
                await asyncio.gather(*(stream.silent(BEATS) for stream in (here, there, narrow)))
                async with asyncio.timeout(AT_ONCE):
                    assert await one.tap.read(one.session_view(), after_seq=0)  # a new subscriber is not blocked
            for stream in (here, there, narrow):
                assert await _versions(stream, 10) == list(range(1, 11))
        assert [fact.version for fact in facts_of(await one.replay(one.session_view()))] == list(range(11))

    async def test_a_subscriber_that_starts_during_appends_misses_nothing(
        self, pair: tuple[Scene, Scene], postgres_url: str
    ) -> None:
        one, other = pair
        await one.create()
        await one.say("before")
        await one.settle()
        async with AsyncExitStack() as stack:
            async with held(postgres_url, HOLDERS["an id"], "COMMIT"):
                await one.say("meanwhile")
                late = [
                    await stack.enter_async_context(scene.tap.watch(scene.session_view(), after_seq=0))
                    for scene in (one, other)
                ]
                for stream in late:
                    read = await stream.until(pb.CHECKPOINT_KIND_CAUGHT_UP)
                    assert [fact.version for fact in facts_of(read)] == [0, 1]
                tokens = [change.resume_token for change in read]
                await other.say("later")
            for stream in late:
                assert await _versions(stream, 2) == [2, 3]
            await one.settle()
            rest = facts_of(await one.tap.read(one.session_view(), resume_token=tokens[-1]))
            assert [fact.version for fact in rest] == [2, 3]

    async def test_a_large_change_after_a_small_one_is_resumed_completely(
        self, pair: tuple[Scene, Scene], postgres_url: str
    ) -> None:
        """Both arrive together; the parts of the large change lead back to the small one."""
        one, _ = pair
        await one.create()
        async with one.live(one.view()) as stream:
            async with held(postgres_url, HOLDERS["an id"], "COMMIT"):
                await one.say("small")
                await one.say(*("x" * (1 << 19) for _ in range(5)))
                await stream.silent(1)
            small, *parts = await stream.changes(6)  # two of its events are larger than a message
        assert [part.batch.continues for part in parts] == [True] * 4 + [False]
        assert {part.resume_token for part in parts[:-1]} == {small.resume_token}
        assert [fact.version for fact in facts_of([small, *parts])] == [1, 2]


class TestTellingEachOther:
    async def test_an_append_on_one_server_reaches_subscribers_of_the_other(self, pair: tuple[Scene, Scene]) -> None:
        one, other = pair
        await one.create()
        async with one.live(one.view()) as here, other.live(one.view()) as there:
            for number in range(1, 21):
                await (one, other)[number % 2].say(str(number))
                async with asyncio.timeout(AT_ONCE):
                    assert await _versions(here, 1) == await _versions(there, 1) == [number]

    async def test_a_disconnected_listener_reconnects(
        self, make_server: ServerMaker, postgres: PostgresCluster, postgres_url: str
    ) -> None:
        """Without notifications the servers poll once in ten minutes."""
        async with AsyncExitStack() as stack:
            one, other = [
                await stack.enter_async_context(
                    opened(make_server(database_url=postgres_url, feed_poll_interval="10m").start().address)
                )
                for _ in range(2)
            ]
            await one.create()
            async with other.live(one.view()) as there:
                version = 0
                await _until_listening(postgres, postgres_url)
                for _ in range(3):
                    assert await asyncio.to_thread(_cut, postgres, postgres_url) == 2
                    for _ in range(5):
                        await one.say("hello")
                    async with asyncio.timeout(BACK_WITHIN):
                        assert await _versions(there, 5) == list(range(version + 1, version + 6))
                    version += 5
                    await _until_listening(postgres, postgres_url)

    async def test_a_server_that_cannot_listen_polls(self, make_server: ServerMaker, postgres_url: str) -> None:
        deaf = {"database_listen_url": "postgresql://nobody@127.0.0.1:1/none", "feed_poll_interval": "300ms"}
        async with AsyncExitStack() as stack:
            one = await stack.enter_async_context(opened(make_server(database_url=postgres_url).start().address))
            other = await stack.enter_async_context(opened(make_server(database_url=postgres_url, **deaf).start().address))
            await one.create()
            async with other.live(one.view()) as there:
                for number in range(1, 4):
                    await one.say(str(number))
                    async with asyncio.timeout(AT_ONCE):
                        assert await _versions(there, 1) == [number]


async def _versions(stream: Stream, count: int) -> list[int]:
    return [change.versions.log_version for change in await stream.changes(count)]


def _listeners(url: str) -> str:
    return f"FROM pg_stat_activity WHERE application_name = '{APPLICATION_NAME}' AND datname = '{sa.make_url(url).database}'"


def _cut(cluster: PostgresCluster, url: str) -> int:
    """Closes every listener connection to the database, waits until they are gone, and returns their number."""
    return int(cluster.execute(f"SELECT count(pg_terminate_backend(pid, 60000)) {_listeners(url)}"))


async def _until_listening(cluster: PostgresCluster, url: str) -> None:
    async with asyncio.timeout(BACK_WITHIN):
        while await asyncio.to_thread(cluster.execute, f"SELECT count(*) {_listeners(url)}") != "2":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
