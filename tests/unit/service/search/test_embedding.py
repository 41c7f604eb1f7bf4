"""The durable queue of what waits for its embedding: batches, outages, refusals, several servers; in simulated time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, create, ref
from tests.support.simulated import clock, simulate
from tests.unit.service.search.searching import ANYONE, DIMENSION, Meanings, SearchServices
from threadkeep.v1 import message_pb2
from threadkeep_server.domain.errors import StoreUnavailable
from threadkeep_server.domain.memories import Forget, MemoryScope
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.providers.embedders.base import EmbedFailed, Vectors
from threadkeep_server.service.search.embedding import EmbeddingWorker
from threadkeep_server.service.search.embedding_backlog import EmbeddingBacklog
from threadkeep_server.service.search.vector_model import VectorModel
from threadkeep_server.service.server import EmbeddingFacts
from threadkeep_server.store.contract.vectors import Source, Unembedded
from threadkeep_server.store.inmemory import InMemoryStore

EVENTS, MEMORIES = Source.EVENTS, Source.MEMORIES
DOWN = EmbedFailed("the endpoint does not answer", retry=True)
REFUSED = EmbedFailed("the key is refused")


class Works:
    """A store, an embedder, and a worker."""

    def __init__(self, embedder: Meanings | None = None, store: InMemoryStore | None = None, **how: Any) -> None:
        self.store = store or InMemoryStore(CODEC, clock)
        self.embedder = embedder or Meanings()
        self.model = VectorModel(self.store, self.embedder)
        options: dict[str, Any] = {"sources": [EVENTS], "batch": 4, "poll_s": 5.0}
        self.worker = EmbeddingWorker(self.store, self.model, **options | how)

    async def session(self, *texts: str) -> None:
        await create(self.store)
        await self.say(*texts)

    async def say(self, *texts: str) -> None:
        await append(self.store, *(draft(text) for text in texts), now=clock())

    async def embedded(self) -> int:
        """Vectors of events."""
        read = await self.store.event_vectors(TENANT, UserScope("alice"), await self.model.number(), 0, 1000)
        return len(read.keys)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(self.worker.run())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def test_embeddings_are_made_once_in_batches_the_oldest_first() -> None:
    async def main() -> None:
        works = Works()
        await works.session(*[f"text {number}" for number in range(10)])
        async with works.working():
            await asyncio.sleep(60)
        assert [len(batch) for batch in works.embedder.requested] == [4, 4, 2]
        assert works.embedder.requested[0] == ["text 0", "text 1", "text 2", "text 3"]
        assert await works.embedded() == 10
        assert works.worker.waiting == 0

    simulate(main())


def test_events_are_embedded_soon_after_they_are_committed_and_those_of_a_moment_together() -> None:
    async def main() -> None:
        works = Works(poll_s=1000.0)
        await create(works.store)
        async with works.working():
            await asyncio.sleep(10)
            for number in range(3):
                await works.say(f"text {number}")
            await asyncio.sleep(0.2)
            assert works.embedder.requested == [["text 0", "text 1", "text 2"]]

    simulate(main())


def test_memories_are_found_by_the_poll_or_when_woken() -> None:
    async def main() -> None:
        works = Works(sources=[MEMORIES], poll_s=100.0)
        services = SearchServices(store=works.store)
        await works.session("a car")
        async with works.working():
            await asyncio.sleep(1)
            await services.memory.add_session(ANYONE, ref())
            await asyncio.sleep(1)
            assert works.embedder.requested == []
            works.worker.wake()
            await asyncio.sleep(1)
            assert works.embedder.requested == [["a car"]]
            await works.say("a boat")
            await services.memory.add_session(ANYONE, ref())
            await asyncio.sleep(100)
            assert works.embedder.requested == [["a car"], ["a boat"]]
        assert await works.embedded() == 0

    simulate(main())


def test_texts_that_are_blank_need_no_vector_and_no_request() -> None:
    async def main() -> None:
        works = Works()
        await works.session("  ", "a car", "")
        await append(
            works.store,
            draft(None, parts=[message_pb2.Part(media=message_pb2.MediaPart(uri="https://example.com/p"))]),
            now=clock(),
        )
        async with works.working():
            await asyncio.sleep(30)
        assert works.embedder.requested == [["a car"]]
        assert await works.embedded() == 1
        assert await works.store.waiting_for(works.embedder.model, [EVENTS]) == 0

    simulate(main())


def test_a_zero_vector_is_stored_as_no_vector() -> None:
    class Zeros(Meanings):
        async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
            rows = await super().embed(texts, query=query)
            rows[[text == "nothing" for text in texts]] = 0
            return rows

    async def main() -> None:
        works = Works(Zeros())
        await works.session("a car", "nothing")
        async with works.working():
            await asyncio.sleep(30)
        assert await works.embedded() == 1
        assert await works.store.waiting_for(works.embedder.model, [EVENTS]) == 0

    simulate(main())


def test_an_embedder_that_is_down_delays_and_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        works = Works()
        works.embedder.fails = DOWN
        await works.session("a car", "a boat")
        async with works.working():
            await asyncio.sleep(3600)
            tried = len(works.embedder.requested)
            assert works.worker.failures == tried
            assert await works.embedded() == 0
            works.embedder.fails = None
            await asyncio.sleep(301)
            assert await works.embedded() == 2
            assert works.worker.failures == tried
        # 1, 2, 4, ... 300 seconds, or half of it at least: some twenty attempts in an hour.
        assert 12 <= tried <= 40

    with caplog.at_level(logging.INFO):
        simulate(main())
    reported = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert reported == [
        ("WARNING", "embedding failed (the endpoint does not answer); retrying until it succeeds"),
        ("INFO", "embedding succeeded again; 0 documents are pending"),
    ]


def test_every_outage_and_its_end_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        works = Works()
        await works.session("a car")
        async with works.working():
            for _ in range(3):
                works.embedder.fails = DOWN
                await works.say("a boat")
                await asyncio.sleep(100)
                works.embedder.fails = None
                await asyncio.sleep(1000)

    with caplog.at_level(logging.INFO):
        simulate(main())
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"] * 3


def test_the_retry_waits_for_the_endpoints_delay() -> None:
    async def main() -> None:
        works = Works()
        works.embedder.fails = EmbedFailed("too many requests", retry=True, retry_after=120.0)
        await works.session("a car")
        async with works.working():
            await asyncio.sleep(119)
            assert len(works.embedder.requested) == 1
            await asyncio.sleep(120)
            assert len(works.embedder.requested) == 2

    simulate(main())


def test_a_refused_text_does_not_stop_the_queue(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        works = Works(batch=8)
        works.embedder.refused = lambda text: "poison" in text
        await works.session("one", "two", "poison", "three", "four", "five", "more poison", "six")
        async with works.working():
            await asyncio.sleep(60)
            assert await works.embedded() == 6
            assert await works.store.waiting_for(works.embedder.model, [EVENTS]) == 0
            requested = len(works.embedder.requested)
            await asyncio.sleep(600)
            assert len(works.embedder.requested) == requested

    with caplog.at_level(logging.WARNING):
        simulate(main())
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "event 3 is not embedded",
        "event 7 is not embedded",
    ]


def test_a_refused_api_key_is_an_outage_and_marks_no_text_as_embedded() -> None:
    async def main() -> None:
        works = Works()
        works.embedder.fails = REFUSED
        await works.session("a car", "a boat", "a cat")
        async with works.working():
            await asyncio.sleep(600)
            assert await works.store.waiting_for(works.embedder.model, [EVENTS]) == 3
            works.embedder.fails = None
            await asyncio.sleep(301)
            assert await works.embedded() == 3

    simulate(main())


def test_an_unavailable_store_is_an_outage() -> None:
    class Away(InMemoryStore):
        away = False

        async def unembedded(self, source: Source, model: int, limit: int) -> Sequence[Unembedded]:
            if self.away:
                raise StoreUnavailable("the database does not answer")
            return await super().unembedded(source, model, limit)

    async def main() -> None:
        store = Away(CODEC, clock)
        works = Works(store=store)
        await works.session("a car")
        store.away = True
        async with works.working():
            await asyncio.sleep(100)
            store.away = False
            await asyncio.sleep(301)
            assert await works.embedded() == 1

    simulate(main())


def test_the_dimension_is_known_once_the_endpoint_answers() -> None:
    async def main() -> None:
        embedder = Meanings(known=False)
        embedder.fails = DOWN
        works = Works(embedder)
        await works.session("a car")
        async with works.working():
            await asyncio.sleep(100)
            embedder.fails = None
            await asyncio.sleep(301)
            assert await works.embedded() == 1

    simulate(main())


def test_a_changed_model_embeds_everything_again_in_the_background() -> None:
    async def main() -> None:
        works = Works()
        await works.session("a car", "a boat")
        async with works.working():
            await asyncio.sleep(30)
        other = Works(Meanings("other"), store=works.store)
        assert await other.embedded() == 0
        async with other.working():
            await asyncio.sleep(30)
        assert await other.embedded() == 2
        assert other.embedder.requested == [["a car", "a boat"]]
        assert await works.embedded() == 0

    simulate(main())


def test_several_servers_waste_work_and_store_nothing_twice() -> None:
    class Slow(Meanings):
        async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
            await asyncio.sleep(0.01)
            return await super().embed(texts, query=query)

    async def main() -> None:
        first = Works(Slow())
        second = Works(Slow(), store=first.store)
        await first.session(*[f"text {number}" for number in range(50)])
        async with first.working(), second.working():
            await asyncio.sleep(60)
        assert await first.embedded() == 50
        read = await first.store.event_vectors(TENANT, UserScope("alice"), 1, 0, 1000)
        assert len(np.unique(read.keys)) == 50
        assert read.vectors.shape == (50, DIMENSION)

    simulate(main())


def test_texts_deleted_during_embedding_cause_no_error() -> None:
    class Deleting(Meanings):
        async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
            await store.delete_session(TENANT, ref())
            return await super().embed(texts, query=query)

    store = InMemoryStore(CODEC, clock)

    async def main() -> None:
        works = Works(Deleting(), store=store)
        await works.session("a car")
        async with works.working() as task:
            await asyncio.sleep(60)
            assert not task.done()
        assert await works.embedded() == 0
        assert works.worker.failures == 0

    simulate(main())


def test_deleting_a_memory_deletes_its_embedding_with_it() -> None:
    async def main() -> None:
        works = Works(sources=[MEMORIES])
        services = SearchServices(store=works.store)
        await works.session("a car")
        await services.memory.add_session(ANYONE, ref())
        async with works.working():
            await asyncio.sleep(10)
        scope = MemoryScope("shop", "alice")
        receipt = await services.memory.forget(ANYONE, scope, Forget())
        assert (receipt.deleted, receipt.embeddings) == (1, 1)

    simulate(main())


def test_the_backlog_is_counted_while_the_embedder_is_down() -> None:
    async def main() -> None:
        works = Works(Meanings(known=False))
        works.embedder.fails = DOWN
        await works.session("a car", "a boat")
        async with works.working():
            await asyncio.sleep(60)
            assert works.worker.waiting == 2
            await works.say("a cat")
            await asyncio.sleep(10)
            assert works.worker.waiting == 3
            assert works.embedder.requested == [["probe"]] * works.worker.failures
            works.embedder.fails = None
            await asyncio.sleep(301)
            assert works.worker.waiting == 0
            works.embedder.fails = DOWN
            await works.say("a ship")
            await asyncio.sleep(60)
            assert works.worker.waiting == 1

    simulate(main())


def test_texts_of_other_sources_are_not_in_the_workers_backlog() -> None:
    async def main() -> None:
        works = Works(sources=[MEMORIES])
        services = SearchServices(store=works.store)
        await works.session("a car", "a boat")
        await services.memory.add_session(ANYONE, ref())
        assert await EmbeddingFacts(EmbeddingBacklog(works.store, works.embedder.model), works.worker).waiting(ANYONE) == 2
        async with works.working():
            await asyncio.sleep(20)
        assert works.worker.waiting == 0
        assert await EmbeddingFacts(EmbeddingBacklog(works.store, works.embedder.model), works.worker).waiting(ANYONE) == 0

    simulate(main())
