"""G1 to G4 with kill -9: a ledger of acknowledged appends, and writers that change sessions, state and memory in every other
way, while the server is killed repeatedly under load.

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
from ..harness.background_tasks import background
from ..harness.editing import Claimer, Editor, Writer, check_claims, check_shared
from ..harness.ledger import Ledger, Load, connect

SESSIONS = ("one", "two", "three")
EDITED, CLAIMED = ("edited-1", "edited-2"), "claimed"


@pytest.mark.timeout(600 + 20 * KILLS)
async def test_kills_lose_duplicate_or_tear_nothing_acknowledged(
    make_server: ServerMaker, database_url: str | None, say: Say
) -> None:
    ledger = Ledger()
    server = make_server(**url_settings(database_url)).start()
    async with connect(server.address) as client:
        for session in (*EDITED, CLAIMED):
            await client.create_session(session, never_expires=True)
        editors = [Editor(client, session, ledger.problems) for session in EDITED]
        claimers = [Claimer(client, CLAIMED, ledger.problems) for _ in range(2)]
        writers: list[Writer] = [*editors, *claimers]
        async with Load(ledger, client, SESSIONS) as load, background(*(each.run() for each in writers)) as editing:
            for kill in range(KILLS):
                await load.until_acknowledged(30)
                await asyncio.sleep(random.uniform(0, 0.2))
                server.kill()
                editing.check()
                if kill < KILLS - 1:
                    await asyncio.to_thread(server.start)
        await asyncio.to_thread(server.start)
        for each in writers:
            await each.finish()
        stored = await ledger.check(server.address)
        for editor in editors:
            await editor.check()
        await check_shared(editors)
        await check_claims(claimers)
    engine = "sqlite" if database_url is None else "postgresql"
    repeated = sum(each.replays for each in writers)
    replays = f"replays={ledger.replays} edits={_answered(writers)} repeated={repeated}"
    say(f"{engine}: kills={KILLS} acknowledged={ledger.acknowledged} stored={stored} {replays}")
    assert stored >= ledger.acknowledged
    # Calls were in flight at each kill, so some retries must have found their events stored.
    assert KILLS < 10 or (ledger.replays and repeated)
    assert set(ledger.problems) <= {"UNAVAILABLE", "DEADLINE_EXCEEDED"}, ledger.problems


def _answered(writers: list[Writer]) -> int:
    return sum(each.answered for each in writers)
