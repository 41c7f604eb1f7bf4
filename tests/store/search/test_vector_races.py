"""Storing an embedding while what it is of is being deleted, on PostgreSQL: one of the two waits for the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.util import await_only

from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.memories import forget, memory, remember
from tests.support.models.vectors import DIMENSION, EVENTS, MEMORIES, caught_up, embed_all, queue, vectors
from tests.support.sessions import TENANT, ref, session_with
from threadkeep_server.store.contract.vectors import Source
from threadkeep_server.store.sql.log.session_deletions import SessionDeletion, SessionDeletions
from threadkeep_server.store.sql.schema.memories import memory_vectors
from threadkeep_server.store.sql.schema.tables import event_text
from threadkeep_server.store.sql.store import SqlStore, open_store
from threadkeep_server.store.sql.vectors import vector_queries
from threadkeep_server.store.sql.vectors.tables import event_vectors

pytestmark = pytest.mark.postgres


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[SqlStore]:
    async with open_store(postgres_url, CODEC) as store:
        yield store


class Held:
    """A transaction that has done its work and waits to be let go."""

    def __init__(self) -> None:
        self.reached, self.go = asyncio.Event(), asyncio.Event()

    def __call__(self) -> None:
        self.reached.set()
        await_only(self.go.wait())


async def count(store: SqlStore, table: sa.Table) -> int:
    query = sa.select(sa.func.count()).select_from(table)
    return await store._engine.read(lambda connection: int(connection.execute(query).scalar_one()))


async def put_slowly(store: SqlStore, source: Source, model: int, held: Held) -> asyncio.Task[Any]:
    keys = [each.key for each in await queue(store, model, source=source)]
    unit = vector_queries.put_events if source is EVENTS else vector_queries.put_memories

    def put(connection: Connection) -> int:
        stored = unit(connection, model, keys, vectors(map(str, keys)))
        held()
        return len(stored)

    putting = asyncio.create_task(store._engine.write(put))
    await held.reached.wait()
    return putting


async def test_deleting_an_event_while_its_vector_is_stored_deletes_the_vector(store: SqlStore) -> None:
    model = await store.vector_model("small", DIMENSION)
    await session_with(store, draft("one"), draft("two"))
    await caught_up(store)
    deletion, storing = Held(), Held()

    def delete(connection: Connection) -> None:
        deletions = SessionDeletions(store._engine, store._units.statements)
        assert len(deletions.delete(connection, [SessionDeletion(TENANT, ref(), NOW)])) == 1
        deletion()

    # The deletion begins first: one that began later would not be followed before the vectors are there.
    deleting = asyncio.create_task(store._engine.write(delete))
    await deletion.reached.wait()
    putting = await put_slowly(store, EVENTS, model, storing)
    deletion.go.set()
    await deleting
    store._commits.notify()
    await asyncio.sleep(0.5)  # for the indexer to come to the deletion, and to wait
    storing.go.set()
    assert await putting == 2
    await caught_up(store)
    assert (await count(store, event_text), await count(store, event_vectors)) == (0, 0)


async def test_deleting_a_memory_while_its_vector_is_stored_deletes_the_vector(store: SqlStore) -> None:
    model = await store.vector_model("small", DIMENSION)
    await remember(store, memory("a"), memory("b"))
    held = Held()
    putting = await put_slowly(store, MEMORIES, model, held)
    forgetting = asyncio.create_task(forget(store))
    await asyncio.sleep(0.3)
    held.go.set()
    assert await putting == 2
    assert (await forgetting).embeddings == 2
    assert await count(store, memory_vectors) == 0


async def test_a_text_deleted_during_embedding_gets_no_vector(store: SqlStore) -> None:
    model = await store.vector_model("small", DIMENSION)
    await session_with(store, draft("one"), draft("two"))
    keys = [each.key for each in await queue(store, model)]
    held = Held()

    def delete(connection: Connection) -> None:
        connection.execute(event_text.delete().where(event_text.c.id == keys[0]))
        held()

    deleting = asyncio.create_task(store._engine.write(delete))
    await held.reached.wait()
    async with asyncio.timeout(60):  # it waits for nobody
        assert await store.put_embeddings(EVENTS, model, keys, vectors("ab")) == 1
    held.go.set()
    await deleting
    assert await count(store, event_vectors) == 1


async def test_a_model_does_not_become_current_while_vectors_of_another_are_stored(store: SqlStore) -> None:
    model = await store.vector_model("small", DIMENSION)
    await session_with(store, draft("one"), draft("two"))
    held = Held()
    putting = await put_slowly(store, EVENTS, model, held)
    declaring = asyncio.create_task(store.vector_model("large", DIMENSION))
    await asyncio.sleep(0.3)
    assert not declaring.done()
    held.go.set()
    assert await putting == 2
    large = await declaring
    assert await embed_all(store, large, "large") == ["one", "two"]
