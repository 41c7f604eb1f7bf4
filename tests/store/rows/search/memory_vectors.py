"""Embeddings of memories, and what outlives a server or is shared by several."""

from __future__ import annotations

import asyncio

import pytest

from tests.store.rows.durable import Opener
from tests.support.codec import draft
from tests.support.memories import ALICE, forget, memory, of_event, remember, upsert
from tests.support.models.vectors import (
    DIMENSION,
    EVENTS,
    MEMORIES,
    caught_up,
    embed_all,
    put,
    queue,
    reported,
    texts_of,
    vector,
)
from tests.support.sessions import TENANT, append, ref, session_with
from threadkeep_server.domain.memories import MemoryScope
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.store import Store

BOB = MemoryScope("shop", "bob")


class MemoryVectorRows:
    async def test_memories_wait_the_oldest_first_as_they_were_written(self, store: Store) -> None:
        number = await store.vector_model("small", DIMENSION)
        await remember(store, memory("Straße"), memory("b\x00Ä"))
        await remember(store, memory("ZEBRA"), scope=BOB, tenant="other")
        waiting = await queue(store, number, source=MEMORIES)
        assert [each.text for each in waiting] == ["Straße", "b\x00Ä", "ZEBRA"]
        assert await queue(store, number, 2, MEMORIES) == waiting[:2]
        assert await queue(store, number) == [], "events are another source"

    async def test_each_is_embedded_once_and_again_by_another_model(self, store: Store) -> None:
        small = await store.vector_model("small", DIMENSION)
        texts = ["one", "two", "three"]
        await remember(store, *map(memory, texts))
        waiting = await queue(store, small, source=MEMORIES)
        assert await put(store, small, waiting[1:], source=MEMORIES) == 2
        assert await put(store, small, waiting, source=MEMORIES) == 1
        assert texts_of(await reported(store, ALICE), texts) == texts
        large = await store.vector_model("large", DIMENSION)
        assert await put(store, small, waiting, source=MEMORIES) == 0
        assert await put(store, large, waiting[:1], "large", source=MEMORIES) == 1
        assert texts_of(await reported(store, ALICE, number=large), texts, "large") == ["one"]
        assert texts_of(await reported(store, ALICE, number=small), texts) == ["two", "three"]
        assert await store.vector_model("small", DIMENSION) == small
        assert await embed_all(store, small, source=MEMORIES) == ["one"]
        assert texts_of(await reported(store, ALICE), texts) == texts

    async def test_a_replaced_memory_loses_its_vector_and_waits_for_another(self, store: Store) -> None:
        number = await store.vector_model("small", DIMENSION)
        await remember(store, memory("old", id="m1"), memory("two", id="m2"))
        waiting = await queue(store, number, source=MEMORIES)
        await put(store, number, waiting, source=MEMORIES)
        await upsert(store, memory("new", id="m1"))
        assert texts_of(await reported(store, ALICE), ["old", "new", "two"]) == ["two"]
        assert await put(store, number, waiting, source=MEMORIES) == 0
        assert await embed_all(store, number, source=MEMORIES) == ["new"]
        assert texts_of(await reported(store, ALICE), ["old", "new", "two"]) == ["two", "new"]

    async def test_memories_without_text_need_no_vector(self, store: Store) -> None:
        number = await store.vector_model("small", DIMENSION)
        await remember(store, memory("one"), memory("two"))
        waiting = await queue(store, number, source=MEMORIES)
        assert await store.put_embeddings(MEMORIES, number, [waiting[0].key], None) == 1
        assert await embed_all(store, number, source=MEMORIES) == ["two"]
        assert texts_of(await reported(store, ALICE), ["one", "two"]) == ["two"]

    async def test_events_and_memories_that_wait_are_counted_together(self, store: Store) -> None:
        number = await store.vector_model("small", DIMENSION)
        await session_with(store, draft("said"), draft("again"))
        await remember(store, memory("one"))
        await caught_up(store)
        assert await store.waiting_for("small", [EVENTS, MEMORIES]) == 3
        await embed_all(store, number, source=MEMORIES)
        assert await store.waiting_for("small", [EVENTS, MEMORIES]) == 2
        await embed_all(store, number)
        assert await store.waiting_for("small", [EVENTS, MEMORIES]) == 0

    async def test_vectors_of_memories_are_returned_within_their_scope_in_pages(self, store: Store) -> None:
        number = await store.vector_model("small", DIMENSION)
        places = {}
        for tenant in (TENANT, "other"):
            for scope in (ALICE, BOB, MemoryScope("desk", "alice"), MemoryScope("", "alice")):
                for n in range(3):
                    text = f"{tenant}/{scope}/{n}"
                    await remember(store, memory(text), scope=scope, tenant=tenant)
                    places[text] = (tenant, scope)
        await embed_all(store, number, source=MEMORIES)
        for tenant, scope in set(places.values()):
            inside = [text for text, place in places.items() if place == (tenant, scope)]
            found = await reported(store, scope, tenant=tenant)
            assert texts_of(found, places) == inside
            assert set(found.sessions.tolist()) == {0}
            assert texts_of(await reported(store, scope, tenant=tenant, limit=2), places) == inside[:2]
            assert texts_of(await reported(store, scope, tenant=tenant, after=int(found.keys[1])), places) == inside[2:]
            near = await store.nearest(MEMORIES, tenant, scope, number, vector("question"), 10)
            assert near is None or sorted(key for key, _ in near) == found.keys.tolist()

    async def test_deleted_memories_are_skipped_and_receipts_count_vectors(self, store: Store) -> None:
        number = await store.vector_model("small", DIMENSION)
        await remember(store, memory("a", id="a"), memory("b", id="b"), of_event("c", "e1"), ingesting=True)
        waiting = await queue(store, number, source=MEMORIES)
        assert (await forget(store, names=["a"])).embeddings == 0
        assert await put(store, number, waiting, source=MEMORIES) == 2
        assert (await forget(store)).embeddings == 2
        assert len((await reported(store, ALICE)).keys) == 0
        assert await store.waiting_for("small", [EVENTS, MEMORIES]) == 0


class DurableVectorRows:
    async def test_vectors_and_the_number_of_their_model_are_there_after_opening_again(self, open_again: Opener) -> None:
        async with open_again() as store:
            await session_with(store, draft("one"), draft(""), draft("two"))
            await remember(store, memory("a"))
            number = await store.vector_model("small", DIMENSION)
            waiting = await queue(store, number)
            await put(store, number, waiting[:2])
            await embed_all(store, number, source=MEMORIES)
        async with open_again() as store:
            assert await store.vector_model("small", DIMENSION) == number
            assert texts_of(await reported(store, number=number), ["one", "two"]) == ["one"]
            assert texts_of(await reported(store, ALICE, number=number), ["a"]) == ["a"]
            assert await store.waiting_for("small", [EVENTS, MEMORIES]) == 1
            assert await embed_all(store, number) == ["two"]
        async with open_again() as store:
            with pytest.raises(ValueError, match="dimension"):
                await store.vector_model("small", DIMENSION + 1)


class SharedVectorRows:
    async def test_two_servers_that_embed_at_once_store_each_vector_once(self, open_again: Opener) -> None:
        texts = [f"text {n}" for n in range(60)]
        async with open_again() as one, open_again() as other:
            await session_with(one, *map(draft, texts[:20]))
            numbers = await asyncio.gather(*(store.vector_model("small", DIMENSION) for store in (one, other)))
            assert len(set(numbers)) == 1
            work = [_embed_until(store, numbers[0], len(texts)) for store in (one, other)]
            more = [append(store, draft(text)) for store, text in zip((one, other) * 20, texts[20:], strict=True)]
            stored = await asyncio.gather(*work, *more)
            assert sum(count for count in stored if isinstance(count, int)) == len(texts)
            found = await reported(other, number=numbers[0])
            assert sorted(texts_of(found, texts)) == sorted(texts)
            assert await one.waiting_for("small", [EVENTS, MEMORIES]) == 0

    async def test_a_memory_deleted_during_embedding_leaves_no_vector(self, open_again: Opener) -> None:
        async with open_again() as one, open_again() as other:
            number = await one.vector_model("small", DIMENSION)
            for attempt in range(8):
                name = f"s{attempt}"
                await session_with(one, *(draft(f"{n}") for n in range(10)), session_id=name)
                await remember(one, *(memory(f"{n}", id=f"{n}") for n in range(10)))
                waiting = {source: await queue(one, number, source=source) for source in (EVENTS, MEMORIES)}
                await asyncio.gather(
                    *(put(one, number, documents, source=source) for source, documents in waiting.items()),
                    other.delete_session(TENANT, ref(name)),
                    forget(other),
                )
                assert await queue(other, number) == []
                assert await queue(other, number, source=MEMORIES) == []
                assert len((await reported(other, ALICE, number=number)).keys) == 0
                assert len((await reported(other, UserScope("alice"), number=number)).keys) == 0
            assert await one.waiting_for("small", [EVENTS, MEMORIES]) == 0


async def _embed_until(store: Store, number: int, count: int) -> int:
    """Embeds, a few at a time, until there are so many vectors; how many of them it has stored."""
    stored = 0
    async with asyncio.timeout(60):
        while len((await reported(store, number=number)).keys) < count:
            stored += await put(store, number, await store.unembedded(EVENTS, number, 7))
            await asyncio.sleep(0.01)
    return stored
