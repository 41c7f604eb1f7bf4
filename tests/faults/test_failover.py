"""PostgreSQL comes back with an earlier state, as after a failover that lost commits, while a server runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import pytest

import threadkeep
from tests.support.databases.postgres import PostgresCluster
from threadkeep import errors

from .conftest import ServerMaker
from .harness.ledger import connect

WITHIN = 200.0
"""Seconds for what takes a lease and a few pauses, on a busy machine."""


@pytest.mark.postgres
async def test_a_subscriber_of_what_was_lost_is_not_led_past_what_comes_instead(
    make_server: ServerMaker, durable_url: str, durable_postgres: PostgresCluster
) -> None:
    server = make_server(database_url=durable_url).start()
    async with connect(server.address) as client:
        await client.create_session("one")
        await asyncio.to_thread(durable_postgres.back_up)
        async with aclosing(client.watch("one", after_seq=0)) as changes:
            await anext(changes)
            await say(client, "lost", 5)
            for _ in range(5):
                await anext(changes)
            await asyncio.to_thread(durable_postgres.bring_back)
            await say(client, "instead", 20)
            with pytest.raises(errors.InvalidResumeToken):
                await anext(changes)


@pytest.mark.postgres
async def test_a_consumer_handles_what_comes_instead_of_what_it_had_handled(
    make_server: ServerMaker, durable_url: str, durable_postgres: PostgresCluster
) -> None:
    server = make_server(database_url=durable_url, consumer_lease="5s").start()
    handled: list[str] = []
    async with connect(server.address) as client:
        await client.create_session("one")

        async def handle(delivery: threadkeep.Delivery) -> None:
            handled.extend(event.text for event in getattr(delivery.change, "events", ()))

        consuming = asyncio.create_task(client.consumer("index").run(handle, from_beginning=True))
        try:
            await say(client, "before", 1)
            await until(lambda: len(handled) == 1)
            await asyncio.to_thread(durable_postgres.back_up)
            await say(client, "lost", 5)
            await until(lambda: len(handled) == 6)
            await asyncio.to_thread(durable_postgres.bring_back)
            await say(client, "instead", 20)
            await until(lambda: "instead 19" in handled)
        finally:
            consuming.cancel()
            await asyncio.wait([consuming])
    assert set(handled) >= {f"instead {number}" for number in range(20)}


async def say(client: threadkeep.AsyncClient, word: str, times: int) -> None:
    """Appends, and again while the connections of before the restart fail."""
    for number in range(times):
        event = threadkeep.user(f"{word} {number}")
        async with asyncio.timeout(WITHIN):
            while not await said(client, event):  # noqa: ASYNC110 - the database comes back by itself
                await asyncio.sleep(0.05)


async def said(client: threadkeep.AsyncClient, event: threadkeep.SessionEvent) -> bool:
    try:
        await client.append("one", event)
    except errors.StoreUnavailable:
        return False
    return True


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN):
        while not reached():  # noqa: ASYNC110 - the consumer sets it
            await asyncio.sleep(0.02)
