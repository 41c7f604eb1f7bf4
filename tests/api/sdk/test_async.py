"""Tests of only the asynchronous client: concurrent calls on one connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

import threadkeep


async def test_concurrent_appends_all_succeed_and_leave_no_gap(address: str) -> None:
    async with threadkeep.AsyncClient(address, user_id="alice") as client:
        session = await client.create_session()
        await asyncio.gather(*(client.append(session, threadkeep.user(str(n))) for n in range(40)))
        events = [event async for event in client.events(session)]
    assert [event.seq for event in events] == list(range(1, 41))


async def test_batches_may_come_from_an_asynchronous_source(address: str) -> None:
    async with threadkeep.AsyncClient(address, user_id="alice") as client:
        session = await client.create_session()

        async def source() -> AsyncIterator[tuple[threadkeep.Session, list[threadkeep.SessionEvent]]]:
            for n in range(5):
                await asyncio.sleep(0)
                yield session, [threadkeep.user(str(n))]

        results = [result async for result in client.append_stream(source())]
    assert [result.appended.last_seq for result in results] == [1, 2, 3, 4, 5]


async def test_a_canceled_call_leaves_the_client_usable(address: str) -> None:
    async with threadkeep.AsyncClient(address, user_id="alice") as client:
        session = await client.create_session()
        task = asyncio.create_task(client.append(session, threadkeep.user("x")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await client.append(session, threadkeep.user("y"))).last_seq in (1, 2)
