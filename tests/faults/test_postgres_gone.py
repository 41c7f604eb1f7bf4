"""PostgreSQL is killed under load and restarted: calls fail with an error, nothing acknowledged is lost, the server keeps
running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

import threadkeep
from tests.support.databases.postgres import PostgresCluster
from tests.support.servers.server_process import free_port
from threadkeep import errors

from .conftest import ServerMaker
from .harness.ledger import Ledger, Load, connect

ROUNDS = 3


@pytest.mark.postgres
async def test_a_killed_database_loses_no_acknowledged_append(
    make_server: ServerMaker, durable_url: str, durable_postgres: PostgresCluster
) -> None:
    ledger = Ledger()
    server = make_server(database_url=durable_url).start()
    pid = server.pid
    async with connect(server.address) as client:
        async with Load(ledger, client, ("one", "two")) as load:
            for _ in range(ROUNDS):
                await load.until_acknowledged(50)
                await asyncio.to_thread(durable_postgres.kill)
                await load.until_each_failed()  # responses in flight have arrived
                result = ledger.acknowledged
                await asyncio.sleep(0.2)
                assert ledger.acknowledged == result, "nothing is acknowledged without a database"
                await asyncio.to_thread(durable_postgres.start)
            await load.until_acknowledged(50)
        assert await ledger.check(server.address) >= ledger.acknowledged
    assert set(ledger.problems) == {"STORE_UNAVAILABLE"}, ledger.problems
    assert server.pid == pid
    assert server.terminate() == 0, server.log


@pytest.mark.postgres
async def test_every_call_without_a_database_reports_store_unavailable(
    make_server: ServerMaker, durable_url: str, durable_postgres: PostgresCluster
) -> None:
    server = make_server(database_url=durable_url).start()
    async with connect(server.address) as client:
        await client.create_session("one")
        event = threadkeep.user("kept", event_id="e1")
        await client.append("one", event)
        await asyncio.to_thread(durable_postgres.kill)
        try:
            calls: list[Callable[[], Awaitable[object]]] = [
                lambda: client.append("one", threadkeep.user("not yet", event_id="e2")),
                lambda: client.create_session("two"),
                lambda: client.get_session("one"),
                lambda: client.events_page("one"),
                lambda: client.get_event("one", "e1"),
                lambda: client.search_page("kept", user_id="ledger"),
                client.sessions_page,
                client.info,
            ]
            for call in calls:
                with pytest.raises(errors.StoreUnavailable) as result:
                    await call()
                assert result.value.problem
                assert result.value.retry_after == 1
                assert "127.0.0.1" not in str(result.value), "no address of the database reaches a client"
        finally:
            await asyncio.to_thread(durable_postgres.start)
        appended = await client.append("one", threadkeep.user("not yet", event_id="e2"))
        assert (appended.last_seq, appended.events[0].replayed) == (2, False)
        assert [e.event_id async for e in client.events("one")] == ["e1", "e2"]
        assert [hit.event.event_id async for hit in client.search("kept", user_id="ledger")] == ["e1"]


@pytest.mark.postgres
def test_a_database_that_does_not_answer_prevents_the_start(make_server: ServerMaker) -> None:
    server = make_server(database_url=f"postgresql://test:secret@127.0.0.1:{free_port()}/nowhere")
    server.launch()
    assert server.wait() == 1
    last = server.log.strip().splitlines()[-1]
    assert "cannot serve: " in last
    assert "secret" not in server.log
    assert "Traceback" not in server.log
