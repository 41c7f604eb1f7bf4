"""Ingestion by policy with kill -9: nothing expires before it is ingested, and nothing is ingested twice.

The number of kills on each engine and for each policy is an eighth of THREADKEEP_KILLS.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

import threadkeep
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import KILLS as ALL_KILLS
from tests.support.runs.thoroughness import with_long
from tests.support.servers.server_process import url_settings
from threadkeep import compaction

from ..conftest import ServerMaker
from ..harness.background_tasks import background
from ..harness.facts import FactLedger, Place, fact
from ..harness.ledger import connect

KILLS = max(2, ALL_KILLS // 8)
EVENTS = 8
SOON = timedelta(seconds=1)
# Ingestion is slow enough for kills during it, and the lease of a dead server is short.
SLOWLY = """
import time
from threadkeep_server.service.memory import ingestion, memories
ingestion._LEASE_NS, ingestion._SAVED_EVERY_NS = 10**9, 10**8
ingestion._POLL_S, ingestion._GATHER_S = 0.2, 0.05
memories._EVENTS_AT_ONCE = 2
drafts = memories.MemoryService._drafts
def slowly(self, *arguments):
    time.sleep(0.01)
    return drafts(self, *arguments)
memories.MemoryService._drafts = slowly
"""


@dataclass
class IngestionLedger(FactLedger):
    """`sure`: acknowledged events, which must be ingested; `asked_for`: all events that may be."""

    sure: set[Place] = field(default_factory=set)
    asked_for: set[Place] = field(default_factory=set)

    def batch(self, session: str) -> list[threadkeep.SessionEvent]:
        events = [threadkeep.user(fact(f"{session}/e{n}"), event_id=f"e{n}") for n in range(EVENTS)]
        self.asked_for |= {(session, event.event_id) for event in events}
        return events

    def acknowledge(self, session: str) -> None:
        self.sure |= {(session, f"e{n}") for n in range(EVENTS)}


Work = Callable[[IngestionLedger, threadkeep.AsyncClient, str], Coroutine[Any, Any, None]]


async def expire(ledger: IngestionLedger, client: threadkeep.AsyncClient, name: str) -> None:
    """Does not retry after a lost response: the session might be gone, and a retry would create another."""
    for number in count():
        session = f"{name}-{number}"
        try:
            await client.append(session, *ledger.batch(session), create_if_missing={"ttl": SOON})
        except threadkeep.ThreadkeepError:
            await asyncio.sleep(0.05)
            continue
        ledger.acknowledge(session)
        await asyncio.sleep(0.1)


async def fall_idle(ledger: IngestionLedger, client: threadkeep.AsyncClient, name: str) -> None:
    for number in count():
        session = f"{name}-{number}"
        batch = ledger.batch(session)
        for some in (batch[:3], batch[3:]):
            await ledger.until_answered(partial(client.append, session, *some, create_if_missing=True))
        ledger.acknowledge(session)
        await asyncio.sleep(0.1)


async def be_compacted(ledger: IngestionLedger, client: threadkeep.AsyncClient, name: str) -> None:
    """The complete session is ingested, including events outside its window."""
    for number in count():
        session = f"{name}-{number}"
        await ledger.until_answered(partial(client.append, session, *ledger.batch(session), create_if_missing=True))
        await ledger.until_answered(partial(client.compact, session, compaction.sliding_window(2)))
        ledger.acknowledge(session)
        await asyncio.sleep(0.1)


WORK: Mapping[str, Work] = {"on_expiry": expire, "on_idle": fall_idle, "on_compaction": be_compacted}


@pytest.mark.timeout(600 + 20 * KILLS)
@pytest.mark.parametrize(
    ("database_url", "policy"),
    with_long(
        [("sqlite", "on_expiry"), ("postgresql", "on_idle"), ("sqlite", "on_compaction")],
        *[("postgresql", "on_expiry"), ("sqlite", "on_idle"), ("postgresql", "on_compaction")],
    ),
    indirect=["database_url"],
)
async def test_policy_ingestion_stores_each_event_once_despite_kills(
    make_server: ServerMaker, database_url: str | None, policy: str, say: Say
) -> None:
    settings = {"memory_ingest": policy, "memory_idle": "1s", "sweep_interval": "500ms", **url_settings(database_url)}
    ledger, counts = IngestionLedger(), []
    server = await asyncio.to_thread(make_server(prelude=SLOWLY, **settings).start)
    async with connect(server.address) as client:
        async with background(*(WORK[policy](ledger, client, name) for name in ("a", "b"))) as working:
            for _ in range(KILLS):
                wanted = len(ledger.sure) + 5 * EVENTS
                await working.until(lambda wanted=wanted: len(ledger.sure) >= wanted)  # type: ignore[misc]
                await asyncio.sleep(random.uniform(0.3, 1.6))
                server.kill()
                await asyncio.to_thread(server.start)
                counts.append(len(await _remembered(ledger, client)))
        server.kill()  # canceled ingestions are not checked
        await asyncio.to_thread(server.start)
        await _until_settled(ledger, client, every_session_goes=policy == "on_expiry")
        places = await _remembered(ledger, client)
    assert places <= ledger.asked_for
    engine = "sqlite" if database_url is None else "postgresql"
    say(f"{engine} {policy}: kills={KILLS} acknowledged={len(ledger.sure)} remembered={len(places)} at the kills {counts}")


async def _until_settled(ledger: IngestionLedger, client: threadkeep.AsyncClient, *, every_session_goes: bool) -> None:
    async with asyncio.timeout(180):
        while True:
            missing = ledger.sure - await _remembered(ledger, client)
            if not missing and not (every_session_goes and await _there(ledger, client)):
                return
            await asyncio.sleep(0.1)


async def _remembered(ledger: IngestionLedger, client: threadkeep.AsyncClient) -> set[Place]:
    """Returns the ingested events, each once. Acknowledged events without a memory must still exist."""
    sure, there = set(ledger.sure), await _there(ledger, client)

    async def read() -> list[Place]:
        return [(entry.session_id, entry.event_id) async for entry in client.memory().list(page_size=1000)]

    places = await ledger.until_answered(read)
    assert len(places) == len(set(places)), "no event twice"
    lost = {place for place in sure - set(places) if place[0] not in there}
    assert not lost, f"gone before it was remembered: {sorted(lost)[:5]}"
    return set(places)


async def _there(ledger: IngestionLedger, client: threadkeep.AsyncClient) -> set[str]:
    async def read() -> set[str]:
        return {session.ref.session_id async for session in client.sessions(page_size=1000)}

    return await ledger.until_answered(read)
