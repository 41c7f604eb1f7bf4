"""Embedding again with kill -9: a new model, and a rebuilt index; searches work meanwhile.

The number of kills on each engine is a quarter of THREADKEEP_KILLS.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

import threadkeep
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import KILLS as ALL_KILLS
from tests.support.servers.server_process import url_settings
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.search_pb2 import SEARCH_MODE_HYBRID, SEARCH_MODE_SEMANTIC

from ..conftest import Look, ServerMaker
from ..harness.background_tasks import background
from ..harness.facts import FactLedger, fact, word_of
from ..harness.ledger import connect
from ..harness.search_invariants import caught_up, check_found, check_tables
from ..harness.searching import BATCH, EMBEDDED, append_facts, embedding_with, embeddings, remember

KILLS = max(2, ALL_KILLS // 4)
FEW_KILLS = max(1, KILLS // 2)
SESSIONS = ("one", "two", "three")
EVENTS, MEMORIES = 30, 40

SLOWLY = """
import asyncio
from threadkeep_server.providers.embedders.hashing import HashingEmbedder
embed = HashingEmbedder.embed
async def slowly(self, texts, *, query=False):
    if not query:
        await asyncio.sleep(0.04)
    return await embed(self, texts, query=query)
HashingEmbedder.embed = slowly
"""
INDEX_SLOWLY = """
import os, time
from threadkeep_server.store.sql.search import indexer
indexer._EVENTS_AT_ONCE = indexer._EVENTS_AT_ONCE_BUSY = 4
indexer._POLL_S = 0.05
step = indexer.Indexer.step
def slowly(self, *arguments, **how):
    if os.path.exists("held"):
        return indexer._Step(0, True)
    time.sleep(0.05)
    return step(self, *arguments, **how)
indexer.Indexer.step = slowly
"""
DONE = (
    "SELECT (SELECT count(*) FROM event_vectors v WHERE v.model = n.number) + "
    "(SELECT count(*) FROM memory_vectors v WHERE v.model = n.number) FROM vector_models n WHERE n.name = '{model}'"
)
KNOWN = "SELECT count(*) FROM vector_models WHERE name = '{model}'"


@pytest.mark.timeout(600 + 10 * KILLS)
async def test_a_new_model_embeds_everything_once_despite_kills(
    make_server: ServerMaker, database_url: str | None, look: Look, say: Say
) -> None:
    settings = {"embedder": "hashing", "embedder_batch": 3, **url_settings(database_url)}
    first = await asyncio.to_thread(make_server(embedder_dimensions=64, **settings).start)
    async with connect(first.address) as client:
        logs = {session: await append_facts(client, session, EVENTS) for session in SESSIONS}
        await remember(client, "known", MEMORIES)
        await caught_up(client)
    check_tables(look, "hashing-v1-64", texts=len(SESSIONS) * EVENTS)
    assert first.terminate() == 0, first.log

    second, ledger, reached = make_server(embedder_dimensions=128, prelude=SLOWLY, **settings), FactLedger(), [0]
    await asyncio.to_thread(second.start)
    async with connect(second.address) as client:
        async with background(_search_each(ledger, client, logs), _remember_of(ledger, client)) as searching:
            for _ in range(KILLS):
                searched = ledger.done["events"]
                await searching.until(lambda searched=searched: ledger.done["events"] > searched)  # type: ignore[misc]
                await asyncio.sleep(random.uniform(0, 0.2))
                second.kill()
                reached.append(_embedded(look, "hashing-v1-128"))
                await asyncio.to_thread(second.start)
        await caught_up(client)
        entries = [entry async for entry in client.memory().list()]
        assert len(entries) == MEMORIES
        check_tables(look, "hashing-v1-128", texts=len(SESSIONS) * EVENTS)
        await check_found(client, logs, entries)
    engine = "sqlite" if database_url is None else "postgresql"
    say(f"{engine}: kills={KILLS} embedded={reached} searches={dict(ledger.done)}")
    assert reached == sorted(reached), "what was embedded is not embedded again"
    texts = len(SESSIONS) * EVENTS + MEMORIES
    assert any(0 < count < texts for count in reached), "the server died in the middle of it"
    assert KILLS < 5 or ledger.done["waited"], "no search ran while something waited for its embedding"
    assert set(ledger.problems) <= {"UNAVAILABLE", "DEADLINE_EXCEEDED"}, ledger.problems


def _embedded(look: Look, model: str) -> int:
    return look(DONE.format(model=model)) if look(KNOWN.format(model=model)) else 0


async def _search_each(ledger: FactLedger, client: threadkeep.AsyncClient, logs: dict[str, list[SessionEvent]]) -> None:
    """Ranked and hybrid search find everything; semantic search finds exactly what is embedded."""
    places = [(session, event.event_id) for session, log in logs.items() for event in log]
    while True:
        session, event_id = random.choice(places)
        name = f"{session}/{event_id}"
        for mode in ("ranked", "hybrid", "semantic"):
            page = await ledger.until_answered(partial(client.search_page, word_of(name), mode=mode))
            found = [(hit.session.session_id, hit.event.event_id) for hit in page.hits]
            assert len(set(found)) == len(found), "nothing is found twice"
            assert mode != "ranked" or found == [(session, event_id)]
            assert mode != "hybrid" or (page.mode == SEARCH_MODE_HYBRID and (session, event_id) in found)
            assert mode != "semantic" or page.mode == SEARCH_MODE_SEMANTIC
            ledger.done["waited"] += page.semantic_lag > 0
        ledger.done["events"] += 1


async def _remember_of(ledger: FactLedger, client: threadkeep.AsyncClient) -> None:
    while True:
        id_ = f"known-{random.randrange(MEMORIES)}"
        for mode in ("ranked", "hybrid"):
            found = await ledger.until_answered(partial(client.memory().search, word_of(id_), mode=mode))
            assert id_ in [entry.id for entry in found.entries]
        ledger.done["memories"] += 1


@pytest.mark.timeout(600 + 10 * KILLS)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_rebuilt_index_finds_everything_and_embeds_only_events(
    make_server: ServerMaker, look: Look, tmp_path: Path
) -> None:
    """Vectors of memories are stored with the memories, so they are not embedded again."""
    async with embeddings() as endpoint:
        server = await asyncio.to_thread(make_server(**embedding_with(endpoint)).start)
        async with connect(server.address) as client:
            logs = {session: await append_facts(client, session, EVENTS) for session in SESSIONS}
            memories = await remember(client, "known", MEMORIES)
            await caught_up(client)
        texts = [fact(f"{session}/{event.event_id}") for session, log in logs.items() for event in log]
        requested = endpoint.request_counts()
        assert requested.pop("probe") >= 1, "repeated if the first response is late"
        assert requested == Counter([*texts, *memories])
        assert server.terminate() == 0, server.log
        for file in (tmp_path / "data").glob("threadkeep.db.search*"):
            file.unlink()

        endpoint.requests.clear()
        held = tmp_path / "held"  # the first search is made without an index, however late
        held.touch()
        server, lags = make_server(prelude=INDEX_SLOWLY, **embedding_with(endpoint)), []
        await asyncio.to_thread(server.start)
        async with connect(server.address) as client:
            for _ in range(FEW_KILLS):
                lags.append((await client.info()).search_index.lag_batches)
                held.unlink(missing_ok=True)
                await _find_each(client, logs)
                server.kill()
                await asyncio.to_thread(server.start)
            await caught_up(client)
            requested = endpoint.request_counts()
            entries = [entry async for entry in client.memory().list()]
            check_tables(look, EMBEDDED, texts=len(SESSIONS) * EVENTS)
            await check_found(client, logs, entries)
    assert lags[0] > 0, "it was searched while the index was being made"
    assert set(requested) - {"probe"} == set(texts), "every event, and no memory"
    # Requests in flight at a kill are repeated.
    assert sum(requested[text] for text in texts) <= len(texts) + 2 * BATCH * FEW_KILLS


async def _find_each(client: threadkeep.AsyncClient, logs: dict[str, list[SessionEvent]]) -> None:
    for session, log in logs.items():
        for event in log:
            for mode in ("ranked", "substring"):
                page = await client.search_page(word_of(f"{session}/{event.event_id}"), mode=mode)
                assert [(hit.session.session_id, hit.event.event_id) for hit in page.hits] == [(session, event.event_id)]
