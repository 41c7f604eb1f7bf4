"""Memory, search and embeddings with kill -9: acknowledged data is stored once, found once and embedded once.

The number of kills on each engine is half of THREADKEEP_KILLS.
"""

from __future__ import annotations

import asyncio
import random
from functools import partial

import pytest

from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import KILLS as ALL_KILLS
from tests.support.servers.server_process import url_settings

from ..conftest import Look, ServerMaker
from ..harness.background_tasks import background
from ..harness.facts import FactLedger, add_each, come_and_go, forget_each, ingest, ingest_each, search_each
from ..harness.ledger import append_each, connect
from ..harness.search_invariants import caught_up, check_found, check_memories, check_tables, events_of, texts_in

KILLS = max(2, ALL_KILLS // 2)
SESSIONS = ("one", "two", "three")
SETTINGS = {"embedder": "hashing", "embedder_dimensions": 64, "embedder_batch": 3}
MODEL = "hashing-v1-64"


@pytest.mark.timeout(600 + 20 * KILLS)
async def test_kills_lose_or_duplicate_no_memory(
    make_server: ServerMaker, database_url: str | None, look: Look, say: Say
) -> None:
    ledger = FactLedger()
    server = await asyncio.to_thread(make_server(**SETTINGS, **url_settings(database_url)).start)
    async with connect(server.address) as client:
        for session in SESSIONS:
            await client.create_session(session, never_expires=True)
        work = [append_each(ledger, client, session, f"w{n}") for session in SESSIONS for n in range(2)]
        work += [ingest_each(ledger, client, session) for session in SESSIONS]
        work += [add_each(ledger, client, "a"), add_each(ledger, client, "b"), forget_each(ledger, client)]
        work += [search_each(ledger, client), come_and_go(ledger, client)]
        async with background(*work) as working:
            for kill in range(KILLS):
                await working.until(partial(_reached, ledger, ledger.acknowledged + 10, len(ledger.added) + 5))
                await asyncio.sleep(random.uniform(0, 0.2))
                server.kill()
                if kill < KILLS - 1:
                    await asyncio.to_thread(server.start)
        await asyncio.to_thread(server.start)
        for session in SESSIONS:
            await ingest(ledger, client, session)
        await ledger.check(server.address)
        entries = await check_memories(ledger, client)
        await caught_up(client)
        logs = await events_of(client, [session.ref.session_id async for session in client.sessions()])
        check_tables(look, MODEL, texts=texts_in(logs))
        found = await check_found(client, logs, entries)
    engine = "sqlite" if database_url is None else "postgresql"
    say(f"{engine}: kills={KILLS} events={ledger.acknowledged} memories={len(entries)} found={found} {dict(ledger.done)}")
    assert KILLS < 10 or ledger.done["forgotten"]
    assert set(ledger.problems) <= {"UNAVAILABLE", "DEADLINE_EXCEEDED"}, ledger.problems


def _reached(ledger: FactLedger, said: int, added: int) -> bool:
    return ledger.acknowledged >= said and len(ledger.added) >= added and ledger.done["searched"] > 0
