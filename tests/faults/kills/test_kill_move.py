"""A change of owner with kill -9: it happened as a whole or not at all, and no append is lost or under both names."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from tests.support.runs.thoroughness import LONG, size
from tests.support.servers.server_process import url_settings
from threadkeep import AsyncClient, user
from threadkeep.errors import SessionNotFound, ThreadkeepError, Unavailable
from threadkeep.v1.session_pb2 import SessionRef

from ..conftest import Look, ServerMaker
from ..harness.ledger import connect

EVENTS, KILLS = size(20_000, 1_000), size(30, 4)
USERS = ("alice", "bob")


def _of(user_id: str) -> SessionRef:
    return SessionRef(app="kills", user_id=user_id, session_id="s1")


@pytest.mark.timeout(1800 if LONG else 300)
async def test_a_move_interrupted_by_kills_is_whole_or_absent(
    make_server: ServerMaker, database_url: str | None, look: Look
) -> None:
    server = await asyncio.to_thread(make_server(**url_settings(database_url)).start)
    async with connect(server.address) as client:
        await client.create_session(_of("alice"))
        for _ in range(EVENTS // 200):
            await client.append(_of("alice"), [user("an apple") for _ in range(200)])
        owner, acknowledged = "alice", EVENTS
        for number in range(KILLS):
            other = USERS[owner == "alice"]
            moving = asyncio.create_task(client.move_session(_of(owner), other, operation_id=f"m{number}"))
            writing = [asyncio.create_task(_append(client, who, number)) for who in USERS]
            await asyncio.sleep(random.uniform(0.0, 0.05))
            await asyncio.to_thread(server.kill)
            with contextlib.suppress(Unavailable):
                await moving
            written = sum(await asyncio.gather(*writing))
            await asyncio.to_thread(server.start)
            made = await client.move_session(_of(owner), other, operation_id=f"m{number}")
            assert made.ref.user_id == other
            owner, acknowledged = other, acknowledged + written
            with pytest.raises(SessionNotFound):
                await client.get_session(_of(USERS[owner == "alice"]))
            assert made.last_seq == len([event async for event in client.events(_of(owner))]) >= acknowledged
            acknowledged = made.last_seq
        hits = await client.search_page("apple", user_id=owner, app="kills", page_size=1)
        assert [hit.session.user_id for hit in hits.hits] == [owner]
        gone = await client.search_page("apple", user_id=USERS[owner == "alice"], app="kills")
        assert list(gone.hits) == []
        assert look("SELECT count(*) FROM sessions") == 1
        assert look("SELECT count(*) FROM changes WHERE kind = 9") == KILLS


async def _append(client: AsyncClient, user_id: str, number: int) -> int:
    """Appends until an error. Returns the number of acknowledged events."""
    done = 0
    with contextlib.suppress(ThreadkeepError):
        while True:
            await client.append(_of(user_id), user(f"apple {user_id} {number} {done}"), timeout=2)
            done += 1
    return done
