"""A fork with kill -9: it is there as a whole or not at all, and a repeated call makes it."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.support.runs.thoroughness import LONG, size
from tests.support.servers.server_process import url_settings
from threadkeep import AsyncClient, user
from threadkeep.errors import SessionNotFound, Unavailable

from ..conftest import Look, ServerMaker
from ..harness.ledger import connect

EVENTS, KILLS = size(20_000, 600), size(20, 3)
# Small parts, and a removal that does not wait for other servers to end.
SLOWLY = """
import time
from threadkeep_server.store.contract import forks
from threadkeep_server.store.sql.forks import beginnings, copying, store
forks.COPIED_AT_ONCE = copying.COPIED_AT_ONCE = 50
store.LEASE_NS, store._POLL_S = 1_000_000_000, 0.2
copy = store.copy_events
def slowly(*arguments, **options):
    time.sleep(0.01)
    return copy(*arguments, **options)
store.copy_events = slowly
"""


@pytest.mark.timeout(1800 if LONG else 300)
async def test_a_fork_interrupted_by_kills_is_whole_or_absent(
    make_server: ServerMaker, database_url: str | None, look: Look
) -> None:
    server = await asyncio.to_thread(make_server(prelude=SLOWLY, **url_settings(database_url)).start)
    async with connect(server.address) as client:
        await client.create_session("s1")
        for start in range(0, EVENTS, 200):
            await client.append("s1", [user(f"hello {number}") for number in range(start, min(start + 200, EVENTS))])
        killed = 0
        for number in range(KILLS):
            forking = asyncio.create_task(client.fork("s1", f"f{number}", operation_id=f"o{number}"))
            await asyncio.sleep(random.uniform(0.02, 0.15))
            await asyncio.to_thread(server.kill)
            try:
                await forking
            except Unavailable:
                killed += 1
            await asyncio.to_thread(server.start)
            await _whole_or_absent(client, f"f{number}")
            made = await client.fork("s1", f"f{number}", operation_id=f"o{number}")
            assert made.ref.session_id == f"f{number}"
            assert await _length(client, f"f{number}") == EVENTS
        assert killed
        async with asyncio.timeout(60):
            while look("SELECT count(*) FROM events") != (1 + KILLS) * EVENTS:  # noqa: ASYNC110 - the server sends no signal
                await asyncio.sleep(0.1)
        assert look("SELECT count(*) FROM unfinished_forks") == 0


async def _whole_or_absent(client: AsyncClient, name: str) -> None:
    try:
        made = await client.get_session(name)
    except SessionNotFound:
        assert await _length(client, name) == 0
        return
    assert made.last_seq == await _length(client, name) == EVENTS


async def _length(client: AsyncClient, name: str) -> int:
    return len([event async for event in client.events(name)])
