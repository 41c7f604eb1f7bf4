"""Embeddings and the index: they survive a rebuild of the index, and are made for events indexed in any order."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from tests.support.codec import CODEC, draft
from tests.support.models.vectors import DIMENSION, EVENTS, embed_all, put, queue, reported, texts_of
from tests.support.sessions import TENANT, append, create, ref, session_with
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.sql.schema.tables import events, index_progress
from threadkeep_server.store.sql.search.deriver import EventText
from threadkeep_server.store.sql.search.indexer import Indexer, _texts
from threadkeep_server.store.sql.store import SqlStore, open_store
from threadkeep_server.store.sql.vectors import queue as vector_queue
from threadkeep_server.store.sql.vectors.tables import event_vectors

TEXTS = [f"text {n}" for n in range(12)]


async def filled(store: SqlStore) -> int:
    """Three sessions, all embedded; the model."""
    for number in range(3):
        await session_with(store, *map(draft, TEXTS[number * 4 : number * 4 + 4]), session_id=f"s{number}")
    model = await store.vector_model("small", DIMENSION)
    assert await embed_all(store, model) == TEXTS
    return model


def forget(connection: Connection) -> None:
    """The index is of another version."""
    connection.execute(index_progress.update().values(version=0))


async def kept(store: SqlStore) -> int:
    count = sa.select(sa.func.count()).select_from(event_vectors)
    return await store._engine.index(lambda connection: int(connection.execute(count).scalar_one()))


@pytest.fixture
def stepping(monkeypatch: pytest.MonkeyPatch) -> Callable[[SqlStore], Awaitable[None]]:
    """Stops the indexers; a test runs their steps, three events at a time."""

    async def nothing(_: Indexer) -> None:
        pass

    monkeypatch.setattr(Indexer, "run", nothing)

    async def step(store: SqlStore) -> None:
        made = store._indexer
        assert made is not None
        await store._engine.index(partial(made.step, most=3))

    return step


@asynccontextmanager
async def made_anew(url: str) -> AsyncIterator[SqlStore]:
    async with open_store(url, CODEC) as store:
        await store._engine.index(forget)
    async with open_store(url, CODEC) as store:
        yield store


async def test_rebuilding_the_index_keeps_embeddings(url: str) -> None:
    async with open_store(url, CODEC) as store:
        model = await filled(store)
    async with made_anew(url) as store:
        assert await queue(store, model) == []
        assert await store.waiting_for("small", [EVENTS]) == 0
        assert texts_of(await reported(store, UserScope("alice")), TEXTS) == TEXTS
        await append(store, draft("new"), to=ref("s1"))
        assert await embed_all(store, model) == ["new"]


async def test_new_and_deleted_events_are_reported_during_a_rebuild(
    url: str, stepping: Callable[[SqlStore], Awaitable[None]]
) -> None:
    async def catch_up(store: SqlStore) -> None:
        while (await store.info(TENANT, totals=False)).index_lag:
            await stepping(store)

    async with open_store(url, CODEC) as store:
        for number in range(3):
            await session_with(store, *map(draft, TEXTS[number * 4 : number * 4 + 4]), session_id=f"s{number}")
        model = await store.vector_model("small", DIMENSION)
        await catch_up(store)
        assert await embed_all(store, model) == TEXTS
        # No indexer sees this deletion: the index is rebuilt after it.
        await store.delete_session(TENANT, ref("s0"))
        assert await kept(store) == 12
    async with made_anew(url) as store:
        await stepping(store)
        assert await kept(store) < 12
        await append(store, draft("new"), to=ref("s1"))
        await store.delete_session(TENANT, ref("s2"))
        await catch_up(store)
        assert await kept(store) == 4
        assert await embed_all(store, model) == ["new"]
        assert texts_of(await reported(store, UserScope("alice")), [*TEXTS, "new"]) == [*TEXTS[4:8], "new"]


async def test_vectors_of_another_log_are_dropped_and_those_of_a_restored_one_kept(tmp_path: Path) -> None:
    path = tmp_path / "threadkeep.db"
    url = f"sqlite:///{path}"
    async with open_store(url, CODEC) as store:
        model = await filled(store)
    shutil.copy(path, tmp_path / "backup")
    async with open_store(url, CODEC) as store:
        await append(store, draft("lost"), to=ref("s1"), now=1)
        await embed_all(store, model)
    shutil.copy(tmp_path / "backup", path)
    async with open_store(url, CODEC) as store:
        await append(store, draft("other"), to=ref("s1"), now=2)
        assert await embed_all(store, model) == ["other"]
        assert texts_of(await reported(store, UserScope("alice")), [*TEXTS, "other"]) == [*TEXTS, "other"]
    path.unlink()
    async with open_store(url, CODEC) as store:
        await create(store, "s0")
        await append(store, draft("first"), to=ref("s0"), now=3)
        assert await store.vector_model("small", DIMENSION) == model
        assert await embed_all(store, model) == ["first"]
        assert await kept(store) == 1


async def test_many_embedded_texts_are_skipped_in_parts(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_queue, "_IDS_AT_ONCE", 2)
    monkeypatch.setattr(vector_queue, "_MOST_LOOKS", 2)
    async with open_store(url, CODEC) as store:
        model = await filled(store)
        await store.vector_model("large", DIMENSION)
        assert len(await store.unembedded(EVENTS, model + 1, 3)) == 2, "so many ids are looked at at once"
        assert await store.vector_model("small", DIMENSION) == model
        await append(store, draft("last"), to=ref("s2"))
        assert await embed_all(store, model) == ["last"]


async def test_a_batch_of_large_texts_ends_before_it_is_too_large(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_queue, "_MOST_BYTES", 250)
    async with open_store(url, CODEC) as store:
        await session_with(store, *(draft("x" * size) for size in (100, 50, 300, 10)))
        model = await store.vector_model("small", DIMENSION)
        sizes = []
        while documents := await queue(store, model):
            await put(store, model, documents)
            sizes.append([len(each.text) for each in documents])
    assert sizes == [[100, 50], [300], [10]]


@pytest.mark.postgres
async def test_events_committed_late_still_wait_for_embeddings(postgres_url: str) -> None:
    """Their ids are lower than those of events that were embedded before anybody could see them."""
    async with open_store(postgres_url, CODEC) as store:
        await session_with(store, draft("first"))
        model = await store.vector_model("small", DIMENSION)
        await embed_all(store, model)
        # A transaction takes an id, and comes to commit when others have been embedded.
        take = sa.text("SELECT nextval('events_id_seq')")
        low = await store._engine.write(lambda connection: int(connection.execute(take).scalar_one()))
        await append(store, draft("second"))
        assert await embed_all(store, model) == ["second"]
        await store._engine.write(lambda connection: commit_late(connection, low))
        made = store._indexer
        assert made is not None
        late = _texts().where(events.c.id == low)

        def derive(connection: Connection) -> None:
            made._derive(connection, [EventText(*row) for row in connection.execute(late)], by_process=False)

        await store._engine.index(derive)
        assert [each.key for each in await store.unembedded(EVENTS, model, 10)] == [low]
        assert await store.waiting_for("small", [EVENTS]) == 1
        assert await embed_all(store, model) == ["first"]


def commit_late(connection: Connection, id_: int) -> None:
    """An event like the first one, with this id."""
    first = connection.execute(sa.select(events).order_by(events.c.id).limit(1)).mappings().one()
    connection.execute(events.insert(), {**first, "id": id_, "event_id": "late", "position": first["position"] * 100})


async def test_indexing_while_the_queue_advances_loses_nothing(url: str) -> None:
    texts = [f"{n}" for n in range(150)]
    async with open_store(url, CODEC) as store:
        for name in ("s1", "s2", "s3"):
            await create(store, name)
        model = await store.vector_model("small", DIMENSION)

        async def write() -> None:
            for n, text in enumerate(texts):
                await append(store, draft(text), to=ref(f"s{n % 3 + 1}"))

        async def embed() -> int:
            stored = 0
            async with asyncio.timeout(60):
                while stored < len(texts):
                    stored += await put(store, model, await store.unembedded(EVENTS, model, 5))
            return stored

        _, stored = await asyncio.gather(write(), embed())
        assert stored == len(texts)
        assert sorted(texts_of(await reported(store, UserScope("alice")), texts)) == sorted(texts)
