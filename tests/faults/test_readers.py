"""Reads during writes on both engines: complete batches (G4), and one log without gaps (G3)."""

from __future__ import annotations

import asyncio

import threadkeep
from tests.support.servers.server_process import url_settings

from .conftest import ServerMaker
from .harness.ledger import connect

BATCH = 5


async def test_readers_never_see_a_partial_batch(make_server: ServerMaker, database_url: str | None) -> None:
    server = make_server(**url_settings(database_url)).start()
    done = asyncio.Event()
    seen: list[int] = []

    async def write(client: threadkeep.AsyncClient, writer: int) -> None:
        for n in range(40):
            batch = [threadkeep.user(f"{writer}-{n}", event_id=f"{writer}-{n}-{k}", author=f"w{writer}") for k in range(BATCH)]
            await client.append("s", *batch)

    async def read(client: threadkeep.AsyncClient) -> None:
        """Page sizes and windows are not multiples of a batch, so only atomic visibility keeps a batch complete."""
        while not done.is_set():
            page = await client.events_page("s", page_size=1000)
            ids = [event.event_id.rsplit("-", 1) for event in page.events]
            assert len(ids) % BATCH == 0, "half a batch is visible"
            assert [k for _, k in ids] == [str(k) for k in range(BATCH)] * (len(ids) // BATCH)
            assert all(len({name for name, _ in ids[at : at + BATCH]}) == 1 for at in range(0, len(ids), BATCH))
            session = await client.get_session("s")
            assert session.last_seq % BATCH == session.window.events % BATCH == 0
            assert session.last_seq == session.window.events == session.log_version * BATCH
            found = await client.search_page("-", session="s", page_size=1000)
            assert len(found.hits) % BATCH == 0, "half a batch is found"
            newest = await client.events_page("s", order="descending", page_size=7)
            assert not newest.events or newest.events[0].seq % BATCH == 0
            seen.append(len(ids))

    async with connect(server.address, timeout=30) as client, connect(server.address, timeout=30) as other:
        await client.create_session("s")
        async with asyncio.TaskGroup() as readers:
            for _ in range(3):
                readers.create_task(read(other))
            async with asyncio.TaskGroup() as writers:
                for writer in range(4):
                    writers.create_task(write(client, writer))
            done.set()
        assert (await client.get_session("s")).last_seq == 4 * 40 * BATCH
    assert len(set(seen)) > 3, "the readers read while the log grew"


async def test_64_writers_leave_no_gap(make_server: ServerMaker, database_url: str | None) -> None:
    server = make_server(**url_settings(database_url)).start()
    async with connect(server.address, timeout=60) as client:
        await client.create_session("s")

        async def write(writer: int) -> list[tuple[str, int]]:
            result = []
            for n in range(8):
                answer = await client.append("s", threadkeep.user("x", event_id=f"{writer}-{n}"))
                result += [(event.event_id, event.seq) for event in answer.events]
            return result

        result = dict(pair for pairs in await asyncio.gather(*map(write, range(64))) for pair in pairs)
        events = [event async for event in client.events("s")]
    assert [event.seq for event in events] == list(range(1, 64 * 8 + 1))
    assert {event.event_id: event.seq for event in events} == result
    for writer in range(64):
        own = [result[f"{writer}-{n}"] for n in range(8)]
        assert own == sorted(own), "an acknowledged append precedes later ones"
