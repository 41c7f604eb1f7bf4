"""G8 with kill -9: subscribers of a server that is killed repeatedly under load receive every change once and in order.

THREADKEEP_KILLS sets the number of kills on each engine.
"""

from __future__ import annotations

import asyncio
import random
import sys

import pytest

import threadkeep
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import KILLS
from tests.support.servers.server_process import url_settings

from ..conftest import ServerMaker
from ..harness.background_tasks import background
from ..harness.followers import Follower, logged, until_received
from ..harness.ledger import Ledger, Load, connect

SESSIONS = ("one", "two", "three")
WORD = "w0-1"
"""Contained in some events of every session."""


def followers() -> list[Follower]:
    some = threadkeep.event_filter(keyword=WORD)
    return [
        Follower("all", {"from_beginning": True}),
        Follower("all that hold a word", {"from_beginning": True, "filter": some}),
        Follower("one session", {"session": "one", "from_beginning": True}),
        Follower("all, cut off", {"from_beginning": True}, cuts=60),
        Follower("all that hold a word, cut off", {"from_beginning": True, "filter": some}, cuts=20),
        Follower("one session, cut off", {"session": "one", "from_beginning": True}, cuts=40),
    ]


@pytest.mark.timeout(600 + 20 * KILLS)
async def test_every_change_is_delivered_once_despite_kills(
    make_server: ServerMaker, database_url: str | None, say: Say
) -> None:
    ledger, watching = Ledger(), followers()
    server = await asyncio.to_thread(make_server(**url_settings(database_url)).start)
    async with connect(server.address) as client:
        async with background(*(each.follow(server.address) for each in watching)) as following:
            async with Load(ledger, client, SESSIONS) as load:
                for _ in range(KILLS):
                    await load.until_acknowledged(30)
                    await asyncio.sleep(random.uniform(0, 0.2))
                    following.check()
                    server.kill()
                    await asyncio.to_thread(server.start)
                await load.until_acknowledged(30)
            for session in SESSIONS:
                last = f"last-{WORD}-{session}"
                await client.append(session, threadkeep.user(f"the last {WORD}", event_id=last))
            await until_received([each for each in watching if "session" not in each.options], "three", "last-w0-1-three")
            await until_received(watching, "one", "last-w0-1-one")
        received = {each.name: await _check(client, each) for each in watching}
    engine = "sqlite" if database_url is None else "postgresql"
    lives = sum(each.lives for each in watching if each.cuts)
    say(f"{engine}: kills={KILLS} acknowledged={ledger.acknowledged} received={received} subscribers cut off={lives}")
    assert received["all"] >= ledger.acknowledged
    assert 0 < received["all that hold a word"] < received["all"]


async def _check(client: threadkeep.AsyncClient, follower: Follower) -> int:
    """Returns the number of received events of all its sessions."""
    sessions = [follower.options["session"]] if "session" in follower.options else SESSIONS
    wanted = {"keyword": WORD} if "filter" in follower.options else {}
    count = 0
    for session in sessions:
        count += follower.check(session, await logged(client, session, **wanted))
    return count


async def test_a_killed_subscriber_resumes_from_its_token(make_server: ServerMaker, database_url: str | None) -> None:
    """The next subscriber starts at the stored token: no change is lost or repeated."""
    server = await asyncio.to_thread(make_server(**url_settings(database_url)).start)
    ledger, seen, token = Ledger(), [], ""
    async with connect(server.address) as client, Load(ledger, client, ["one"]) as load:
        for _ in range(5):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", SCRIPT, server.address, token), stdout=asyncio.subprocess.PIPE
            )
            assert process.stdout is not None
            for _ in range(20):
                line = await asyncio.wait_for(process.stdout.readline(), 60)
                version, token = line.decode().split()
                seen.append(int(version))
            process.kill()
            await process.communicate()
            await load.until_acknowledged(10)
    assert seen == list(range(1, 101))


SCRIPT = """
import sys, threadkeep
with threadkeep.Client(sys.argv[1], app="faults", user_id="ledger") as client:
    start = {"resume_token": sys.argv[2]} if sys.argv[2] else {"after_seq": 0}
    for change in client.watch("one", **start):
        if change.HasField("batch"):
            print(change.versions.log_version, change.resume_token, flush=True)
"""
