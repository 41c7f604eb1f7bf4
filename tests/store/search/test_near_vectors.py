"""Near vectors by pgvector: large scopes, what was stored without the extension, and what goes with what is deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from tests.support.codec import CODEC, draft
from tests.support.memories import ALICE, forget, memory, remember
from tests.support.models.vectors import DIMENSION, EVENTS, MEMORIES, embed_all, vector
from tests.support.runs.thoroughness import size
from tests.support.sessions import TENANT, ref, session_with
from threadkeep_server.domain.scopes import AppScope, UserScope
from threadkeep_server.store.contract.vectors import Floats, Source
from threadkeep_server.store.sql.log.markers import memory_marker
from threadkeep_server.store.sql.schema.memories import memory_vectors
from threadkeep_server.store.sql.store import SqlStore, open_store
from threadkeep_server.store.sql.vectors import pgvector
from threadkeep_server.store.sql.vectors.pgvector import PgVector
from threadkeep_server.store.sql.vectors.pgvector_tables import event_copies, memory_copies

pytestmark = pytest.mark.postgres


@pytest.fixture
async def store(pgvector_url: str) -> AsyncIterator[SqlStore]:
    async with open_store(pgvector_url, CODEC) as store:
        yield store


def index_of(store: SqlStore) -> PgVector:
    assert isinstance(store._vector_index, PgVector)
    return store._vector_index


async def count(store: SqlStore, table: sa.Table) -> int:
    query = sa.select(sa.func.count()).select_from(table)
    return await store._engine.read(lambda connection: int(connection.execute(query).scalar_one()))


def some(rows: int, dimension: int, seed: int = 1) -> Floats:
    made = np.random.default_rng(seed).standard_normal((rows, dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def best(vectors: Floats, question: Floats, count: int) -> list[int]:
    """The keys of the nearest, which count from 1."""
    return [int(row) + 1 for row in np.argsort(-(vectors @ question))[:count]]


async def store_without_extension(store: SqlStore, vectors: Floats, model: int) -> None:
    """Vectors of memories, as a server stores them that knows of no pgvector."""
    scope = memory_marker(TENANT, ALICE)

    def unit(connection: Connection) -> None:
        rows = [{"id": n + 1, "scope": scope, "model": model, "vector": row.tobytes()} for n, row in enumerate(vectors)]
        connection.execute(memory_vectors.insert(), rows)

    await store._engine.write(unit)


async def copied(store: SqlStore) -> None:
    async with asyncio.timeout(60):
        while not index_of(store)._copied:  # noqa: ASYNC110  there is no signal for it
            await asyncio.sleep(0.02)


async def indexed(store: SqlStore, count: int) -> None:
    async with asyncio.timeout(60):
        while len(index_of(store)._ready) < count:  # noqa: ASYNC110  there is no signal for it
            await asyncio.sleep(0.02)


async def test_index_search_of_a_large_scope_has_recall_above_95_percent(
    pgvector_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = size(20_000, 6_000)
    monkeypatch.setattr(pgvector, "LARGE_FROM", count)
    vectors, questions = some(count, 64), some(50, 64, seed=2)
    async with open_store(pgvector_url, CODEC) as store:
        model = await store.vector_model("large", 64)
        await store_without_extension(store, vectors, model)
    async with open_store(pgvector_url, CODEC) as store:
        await copied(store)
        first = await store.nearest(MEMORIES, TENANT, ALICE, model, questions[0], 10)
        assert [key for key, _ in first or ()] == best(vectors, questions[0], 10), "compared, for there is no index yet"
        await indexed(store, 1)
        hits = 0
        for question in questions:
            found = await store.nearest(MEMORIES, TENANT, ALICE, model, question, 10)
            assert found is not None
            assert len(found) == 10
            assert [cosine for _, cosine in found] == sorted((cosine for _, cosine in found), reverse=True)
            assert np.allclose([cosine for _, cosine in found], [vectors[key - 1] @ question for key, _ in found], atol=1e-6)
            hits += len({key for key, _ in found} & set(best(vectors, question, 10)))
        assert hits / (10 * len(questions)) >= 0.95
        # More than are kept in sight: it walks on.
        assert len(await store.nearest(MEMORIES, TENANT, ALICE, model, questions[0], 2_000) or ()) == 2_000


async def test_a_large_scope_is_searched_by_its_index_and_that_of_another_model_is_dropped(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pgvector, "LARGE_FROM", 5)
    names = "SELECT indexname FROM pg_indexes WHERE indexname LIKE '%copies_near%' ORDER BY 1"

    async def made() -> list[str]:
        return await store._engine.read(lambda connection: list(connection.exec_driver_sql(names).scalars()))

    texts = [f"text {n}" for n in range(12)]
    await session_with(store, *map(draft, texts))
    await session_with(store, draft("elsewhere"), app="desk", session_id="s2")
    for number, name in enumerate(("small", "large"), start=1):
        model = await store.vector_model(name, DIMENSION)
        await embed_all(store, model, name)
        expected = sorted(texts, key=lambda text, name=name: -float(vector(text, name) @ vector("question", name)))  # type: ignore[misc]
        for scope in (UserScope("alice"), UserScope("alice", "shop"), AppScope("shop"), ref()):
            for _ in range(2):
                near = await store.nearest(EVENTS, TENANT, scope, model, vector("question", name), 100)
                assert near is not None
                events = await store.events_by_key(TENANT, scope, [key for key, _ in near])
                reported = [CODEC.text(each.event.body) for each in events]
                assert [text for text in reported if text != "elsewhere"] == expected
                assert ("elsewhere" in reported) is (scope == UserScope("alice"))
                await indexed(store, (number - 1) * 3 + 1)
        await indexed(store, number * 3)  # the user's, the app's, the session's
        assert len(await made()) == 3
        assert all(each.split("_")[-2] == str(model) for each in await made())


async def test_vectors_stored_without_the_extension_are_copied(pgvector_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pgvector, "_IDS_AT_ONCE", 7)
    monkeypatch.setattr(pgvector, "_COPIED_AT_ONCE", 3)
    vectors = some(40, DIMENSION)
    async with open_store(pgvector_url, CODEC) as store:
        model = await store.vector_model("small", DIMENSION)
        await store_without_extension(store, vectors, model)
    async with open_store(pgvector_url, CODEC) as store:
        await copied(store)
        assert await count(store, memory_copies) == 40
        near = await store.nearest(MEMORIES, TENANT, ALICE, model, vectors[7], 40)
        assert [key for key, _ in near or ()] == best(vectors, vectors[7], 40)


async def test_the_caller_compares_vectors_until_all_are_copied(pgvector_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_store(pgvector_url, CODEC) as store:
        model = await store.vector_model("small", DIMENSION)
        await store_without_extension(store, some(3, DIMENSION), model)

    async def never(_: PgVector) -> None:
        pass

    monkeypatch.setattr(PgVector, "run", never)
    async with open_store(pgvector_url, CODEC) as store:
        assert await store.nearest(MEMORIES, TENANT, ALICE, model, vector("question"), 3) is None


async def test_copies_are_deleted_with_their_vectors(store: SqlStore) -> None:
    model = await store.vector_model("small", DIMENSION)
    await session_with(store, draft("one"), draft("two"))
    await remember(store, memory("a", id="a"), memory("b", id="b"))
    for source in Source:
        await embed_all(store, model, source=source)
    assert (await count(store, event_copies), await count(store, memory_copies)) == (2, 2)
    assert (await forget(store, names=["a"])).embeddings == 1
    await store.delete_session(TENANT, ref())
    await embed_all(store, model)  # waits for the indexer
    assert (await count(store, event_copies), await count(store, memory_copies)) == (0, 1)


@pytest.mark.parametrize("dimension", [2_500, 4_500, 17_000])
async def test_vectors_of_very_many_dimensions_are_compared(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, dimension: int
) -> None:
    """Of 2,500 dimensions half the precision can be indexed, of 4,500 none, and 17,000 the extension does not take."""
    monkeypatch.setattr(pgvector, "LARGE_FROM", 2)
    model = await store.vector_model("wide", dimension)
    await remember(store, *(memory(f"m{n}") for n in range(4)))
    waiting = await store.unembedded(MEMORIES, model, 10)
    vectors = some(4, dimension)
    assert await store.put_embeddings(MEMORIES, model, [each.key for each in waiting], vectors) == 4
    for _ in range(2):
        near = await store.nearest(MEMORIES, TENANT, ALICE, model, vectors[2], 1)
        if dimension > 16_000:
            assert near is None
            continue
        assert near is not None
        assert [key for key, _ in near] == [waiting[2].key]
        await indexed(store, 1 if dimension <= 4_000 else 0)
    assert (await store.memory_vectors(TENANT, ALICE, model, 0, 10)).vectors.tobytes() == vectors.tobytes()
