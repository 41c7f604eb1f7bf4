"""The embedder is unavailable: other calls work, the backlog is counted, and everything is embedded after the recovery.

The pause between attempts is shortened; the unit tests of embedding cover an hour in simulated time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from urllib.request import urlopen

import pytest

import threadkeep
from tests.support.models.model_endpoint import hangs, replies
from tests.support.runs.thoroughness import with_long
from tests.support.servers.server_process import ServerProcess, free_port, url_settings
from threadkeep import errors
from threadkeep.v1.search_pb2 import SEARCH_MODE_HYBRID, SEARCH_MODE_RANKED

from .conftest import Look, ServerMaker
from .harness.facts import fact, word_of
from .harness.ledger import connect
from .harness.search_invariants import caught_up, check_found, check_tables, events_of
from .harness.searching import BATCH, EMBEDDED, Embeddings, append_facts, chance, embedding_with, embeddings, remember

IMPATIENT = """
from threadkeep_server.domain.backoff import Backoff
from threadkeep_server.service.search import embedding
embedding._BACKOFF, embedding._COUNTED_EVERY_S = Backoff(0.2, 0.6), 0.2
from threadkeep_server.providers.embedders.options import EmbedderOptions
EmbedderOptions.__init__.__kwdefaults__["backoff"] = 0.05
"""
# A call does not wait for several attempts at an endpoint that hangs, so that each may take seconds on a busy machine.
ONE_ATTEMPT = 'EmbedderOptions.__init__.__kwdefaults__["max_attempts"] = 1\n'
SHORT = "4s"
BEFORE, DURING, AFTER = 10, 12, 6


async def refuse(endpoint: Embeddings) -> None:
    await endpoint.refuse()


async def hang(endpoint: Embeddings) -> None:
    endpoint.does(hangs)


async def fail(endpoint: Embeddings) -> None:
    endpoint.does(replies({"error": {"message": "out of order"}}, status=500))


Outage = Callable[[Embeddings], Awaitable[None]]


async def recover(endpoint: Embeddings) -> None:
    endpoint.does(endpoint.embeds(chance))
    if not endpoint.listening:
        await endpoint.listen()


@pytest.mark.parametrize(
    ("database_url", "outage"),
    with_long([("sqlite", hang), ("postgresql", refuse)], ("sqlite", refuse), ("sqlite", fail), ("postgresql", hang)),
    indirect=["database_url"],
)
async def test_an_embedder_outage_delays_embeddings_and_loses_none(
    make_server: ServerMaker, database_url: str | None, look: Look, outage: Outage
) -> None:
    async with embeddings() as endpoint:
        how = {"timeout": SHORT} if outage is hang else {}
        prelude = IMPATIENT + ONE_ATTEMPT if outage is hang else IMPATIENT
        server = make_server(prelude=prelude, **_settings(endpoint, database_url, **how))
        await asyncio.to_thread(server.start)
        async with connect(server.address, timeout=60) as client:
            await append_facts(client, "before", BEFORE)
            await remember(client, "before", BEFORE)
            await caught_up(client)
            _check_requests(endpoint.request_counts(), 2 * BEFORE)

            await outage(endpoint)
            await _goes_on(client, server, "during", waiting=3 * DURING)
            server.kill()
            await asyncio.to_thread(server.start)
            await _goes_on(client, server, "restarted", waiting=6 * DURING)

            tried = endpoint.request_counts()
            await recover(endpoint)
            await append_facts(client, "after", AFTER)
            await caught_up(client)
            _check_requests(endpoint.request_counts() - tried, 6 * DURING + AFTER)
            await _all_is_there(client, look)


def _settings(endpoint: Embeddings, database_url: str | None, **how: str) -> Mapping[str, object]:
    return {"http_address": f"127.0.0.1:{free_port()}", **embedding_with(endpoint, **how), **url_settings(database_url)}


def _check_requests(requests: Counter[str], texts: int) -> None:
    """Each text is requested once, except for one or two batches whose response was too late. A memory may have the text of an
    event."""
    del requests["probe"]
    assert texts <= requests.total() <= texts + 2 * BATCH
    assert max(requests.values()) <= 3


async def _goes_on(client: threadkeep.AsyncClient, server: ServerProcess, name: str, *, waiting: int) -> None:
    """Everything except embedding works, and the backlog is reported. Texts that were never embedded require the embedder."""
    await append_facts(client, name, DURING)
    await remember(client, name, DURING)
    assert (await client.memory().add_session(name)).added == DURING
    for n in range(3):
        word = word_of(f"{name}/e{n}")
        by_word = await client.search_page(word, mode="ranked")
        assert [hit.event.event_id for hit in by_word.hits] == [f"e{n}"]
    by_both = await client.search_page(word_of(f"{name}/e0"), mode="hybrid")
    assert [hit.event.event_id for hit in by_both.hits] == ["e0"]
    assert by_both.mode == SEARCH_MODE_RANKED, "it says that it went without"
    remembered = await client.memory().search(word_of(f"{name}-0"))
    assert ([entry.id for entry in remembered.entries], remembered.mode) == ([f"{name}-0"], SEARCH_MODE_RANKED)
    for search in (client.search_page, client.memory().search):
        with pytest.raises(errors.EmbedderFailed) as result:
            await search(word_of(f"{name}/e0"), mode="semantic")
        assert result.value.reason == "EMBEDDER_FAILED"
        assert "127.0.0.1" not in str(result.value), "no address of the endpoint reaches a client"
    await _until_reported(client, server, waiting)


async def _until_reported(client: threadkeep.AsyncClient, server: ServerProcess, waiting: int) -> None:
    """Only indexed events count as waiting; the page reports the last count."""
    async with asyncio.timeout(60):
        while (result := (await client.info()).embeddings.waiting) != waiting:
            assert result <= waiting
            await asyncio.sleep(0.05)
        while True:  # an attempt at an endpoint that hangs fails late
            page = await asyncio.to_thread(_metrics, server)
            if page["threadkeep_embedding_waiting"] == waiting and page["threadkeep_embedding_failures_total"] > 0:
                return
            await asyncio.sleep(0.05)


def _metrics(server: ServerProcess) -> dict[str, float]:
    with urlopen(f"http://{server.http_address}/metrics", timeout=30) as answer:
        lines = [line.split() for line in answer.read().decode().splitlines() if line.startswith("threadkeep_embedding")]
    return {name: float(value) for name, value in lines}


async def _all_is_there(client: threadkeep.AsyncClient, look: Look) -> None:
    logs = await events_of(client, ("before", "during", "restarted", "after"))
    check_tables(look, EMBEDDED, texts=BEFORE + 2 * DURING + AFTER)
    entries = [entry async for entry in client.memory().list() if not entry.event_id]
    assert len(entries) == BEFORE + 2 * DURING
    # Ingested memories have the texts of events.
    assert len({entry.id async for entry in client.memory().list()}) == len(entries) + 2 * DURING
    await check_found(client, logs, entries)
    assert (await client.search_page(fact("during/e0"), mode="hybrid")).mode == SEARCH_MODE_HYBRID


async def test_a_server_whose_embedder_never_answered_starts_and_serves(make_server: ServerMaker, tmp_path: Path) -> None:
    """The model is still unknown, including the length of its vectors."""
    endpoint = Embeddings()
    endpoint.port = free_port()
    server = make_server(prelude=IMPATIENT, **_settings(endpoint, None))
    await asyncio.to_thread(server.start)
    try:
        async with connect(server.address, timeout=60) as client:
            await _goes_on(client, server, "first", waiting=3 * DURING)
            await endpoint.listen()
            await caught_up(client)
            assert (await client.search_page(fact("first/e0"), mode="semantic")).hits[0].event.event_id == "e0"
            assert server.log.count("embedding failed") == 1, "it is logged once"
            assert "embedding succeeded again" in server.log
    finally:
        await endpoint.refuse()
