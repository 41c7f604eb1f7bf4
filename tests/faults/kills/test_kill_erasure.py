"""An erasure with kill -9: a repeated request continues, and its receipt has everything that was erased."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.servers.server_process import url_settings
from threadkeep import user
from threadkeep.errors import Unavailable
from threadkeep_server.domain.erasure import digest_of

from ..conftest import ServerMaker
from ..harness.ledger import connect

SESSIONS, KILLS = 60, 3
# Small parts, between which the server can be killed.
SLOWLY = """
import time
from threadkeep_server.store.sql.erasure import erasure_queries
erasure_queries._SESSIONS_AT_ONCE = 3
erase = erasure_queries.erase_sessions
def slowly(*arguments):
    time.sleep(0.02)
    return erase(*arguments)
erasure_queries.erase_sessions = slowly
"""


async def test_an_erasure_interrupted_by_kills_is_continued(make_server: ServerMaker, database_url: str | None) -> None:
    server = await asyncio.to_thread(make_server(prelude=SLOWLY, **url_settings(database_url)).start)
    async with connect(server.address) as client:
        for number in range(SESSIONS):
            await client.append(f"s{number:02}", user("hello"), create_if_missing={})
        owner, app = client.user_id, client.app
        for _ in range(KILLS):
            erasing = asyncio.create_task(client.delete_user(owner, request_id="r1"))
            await asyncio.sleep(0.15)
            await asyncio.to_thread(server.kill)
            with pytest.raises(Unavailable):
                await erasing
            await asyncio.to_thread(server.start)
        receipt = await client.delete_user(owner, request_id="r1")
        lines = [f"session\t{app}\t{owner}\ts{number:02}" for number in range(SESSIONS)]
        assert (receipt.deleted_sessions, receipt.deleted_events) == (SESSIONS, SESSIONS)
        assert receipt.ids_digest == digest_of(lines)
        assert [each async for each in client.sessions()] == []
