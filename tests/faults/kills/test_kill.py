"""G1 to G4 with kill -9: a ledger of acknowledged appends while the server is killed repeatedly under load.

THREADKEEP_KILLS sets the number of kills on each engine.
"""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import KILLS
from tests.support.servers.server_process import url_settings

from ..conftest import ServerMaker
from ..harness.ledger import Ledger, Load, connect

SESSIONS = ("one", "two", "three")


@pytest.mark.timeout(600 + 20 * KILLS)
async def test_kills_lose_or_duplicate_no_acknowledged_append(
    make_server: ServerMaker, database_url: str | None, say: Say
) -> None:
    ledger = Ledger()
    server = make_server(**url_settings(database_url)).start()
    async with connect(server.address) as client:
        async with Load(ledger, client, SESSIONS) as load:
            for kill in range(KILLS):
                await load.until_acknowledged(30)
                await asyncio.sleep(random.uniform(0, 0.2))
                server.kill()
                if kill < KILLS - 1:
                    await asyncio.to_thread(server.start)
        await asyncio.to_thread(server.start)
        stored = await ledger.check(server.address)
    engine = "sqlite" if database_url is None else "postgresql"
    say(f"{engine}: kills={KILLS} acknowledged={ledger.acknowledged} stored={stored} replays={ledger.replays}")
    assert stored >= ledger.acknowledged
    # Calls were in flight at each kill, so some retries must have found their events stored.
    assert KILLS < 10 or ledger.replays
    assert set(ledger.problems) <= {"UNAVAILABLE", "DEADLINE_EXCEEDED"}, ledger.problems
