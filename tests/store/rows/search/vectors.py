"""Embeddings of events: what waits for one, what is stored, and where it is found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.support.codec import call, draft, result
from tests.support.memories import memory, remember
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
    vectors,
)
from tests.support.sessions import TENANT, append, compact, create, placed, ref, session_with
from threadkeep_server.domain.errors import AmbiguousSession, SessionNotFound
from threadkeep_server.domain.model import Caller, Role, SessionRef
from threadkeep_server.domain.scopes import AppScope, EventScope, UserScope
from threadkeep_server.store.contract.store import Store

TEXTS = ("one", "two", "three", "four", "five")


async def filled(store: Store, texts: Sequence[str] = TEXTS) -> int:
    """A session with an event for each text; the number of a model that has embedded none of them."""
    await session_with(store, *map(draft, texts))
    return await store.vector_model("small", DIMENSION)


class VectorModelRows:
    async def test_a_model_keeps_its_number_and_each_has_its_own(self, store: Store) -> None:
        small, large = await store.vector_model("small", 8), await store.vector_model("large", 16)
        assert small != large
        assert min(small, large) > 0
        assert [await store.vector_model("small", 8), await store.vector_model("large", 16)] == [small, large]

    async def test_a_model_whose_dimension_has_changed_is_refused_with_instructions(self, store: Store) -> None:
        await store.vector_model("small", 8)
        with pytest.raises(ValueError, match=r"'small'.* 16 .*stored ones have 8.*set its dimension back to 8"):
            await store.vector_model("small", 16)
        for wrong in (0, -1):
            with pytest.raises(ValueError, match="1 or more"):
                await store.vector_model("new", wrong)

    async def test_vectors_of_another_shape_are_refused_and_nothing_is_stored(self, store: Store) -> None:
        number = await filled(store)
        keys = [each.key for each in await queue(store, number)]
        for wrong in (vectors(TEXTS[1:]), vectors(TEXTS, dimension=DIMENSION + 1), np.zeros(DIMENSION, np.float32)):
            with pytest.raises(ValueError, match="shape"):
                await store.put_embeddings(EVENTS, number, keys, wrong)
        assert len(await queue(store, number)) == len(TEXTS)

    async def test_another_model_embeds_everything_again_and_the_vectors_of_two_are_never_mixed(self, store: Store) -> None:
        small = await filled(store)
        await embed_all(store, small)
        large = await store.vector_model("large", DIMENSION)
        assert await queue(store, small) == []
        waiting = await queue(store, large)
        assert [each.text for each in waiting] == list(TEXTS)
        assert await put(store, large, waiting[:2], "large") == 2
        assert texts_of(await reported(store, number=large), TEXTS, "large") == ["one", "two"]
        assert texts_of(await reported(store, number=small), TEXTS) == ["three", "four", "five"]
        assert [each.text for each in await queue(store, large)] == ["three", "four", "five"]

    async def test_returning_to_a_model_uses_its_remaining_vectors(self, store: Store) -> None:
        small = await filled(store)
        await embed_all(store, small)
        large = await store.vector_model("large", DIMENSION)
        await put(store, large, (await queue(store, large))[1:3], "large")
        assert await store.vector_model("small", DIMENSION) == small
        assert await store.waiting_for("small", [EVENTS]) == 2
        assert await embed_all(store, small) == ["two", "three"]
        assert texts_of(await reported(store, number=small), TEXTS) == list(TEXTS)
        assert len((await reported(store, number=large)).keys) == 0

    async def test_documents_without_embedding_are_counted_by_model_name_known_or_not(self, store: Store) -> None:
        small = await filled(store)
        await remember(store, memory("a fact"), memory("another"))
        both = [EVENTS, MEMORIES]
        await caught_up(store)
        assert await store.waiting_for("small", both) == await store.waiting_for("unheard of", both) == len(TEXTS) + 2
        await embed_all(store, small)
        assert [await store.waiting_for("small", sources) for sources in (both, [EVENTS], [MEMORIES], [])] == [2, 0, 2, 0]
        await embed_all(store, small, source=MEMORIES)
        assert await store.waiting_for("small", both) == 0
        assert await store.waiting_for("unheard of", both) == len(TEXTS) + 2
        assert await store.waiting_for("unheard of", [MEMORIES]) == 2

    async def test_waiting_documents_are_counted_by_credential(self, store: Store) -> None:
        await filled(store)
        await remember(store, memory("a fact"))
        await create(store, tenant="other")
        await append(store, draft("theirs"), tenant="other")
        await caught_up(store)
        both = [EVENTS, MEMORIES]

        async def waiting(caller: Caller | None) -> int:
            return await store.waiting_for("small", both, caller)

        mine = await waiting(Caller(TENANT))
        assert mine == await waiting(Caller(TENANT, "alice")) == len(TEXTS) + 1
        assert await waiting(None) == mine + 1
        assert [await waiting(who) for who in (Caller("other"), Caller(TENANT, "bob"), Caller("nobody"))] == [1, 0, 0]

    async def test_an_embedder_of_the_previous_model_stores_nothing(self, store: Store) -> None:
        small = await filled(store)
        waiting = await queue(store, small)
        large = await store.vector_model("large", DIMENSION)
        assert await put(store, small, waiting) == 0
        assert await store.put_embeddings(EVENTS, small, [each.key for each in waiting], None) == 0
        assert await store.waiting_for("large", [EVENTS]) == len(TEXTS)
        assert await embed_all(store, large, "large") == list(TEXTS)


class EmbeddingRows:
    async def test_waiting_documents_are_returned_oldest_first_as_written(self, store: Store) -> None:
        number = await filled(store, ["Straße", "b\x00Ä", "ZEBRA"])
        await session_with(store, draft("Later"), session_id="s2", user="bob")
        waiting = await queue(store, number)
        assert [each.text for each in waiting] == ["Straße", "b\x00Ä", "ZEBRA", "Later"]
        assert [each.key for each in waiting] == sorted({each.key for each in waiting})
        assert await queue(store, number, 2) == waiting[:2]
        assert await queue(store, number) == waiting, "it reserves nothing"

    async def test_all_content_of_an_event_is_embedded_with_its_text_first(self, store: Store) -> None:
        number = await store.vector_model("small", DIMENSION)
        await session_with(store, draft("said", role=Role.USER), call("c1"), result("c1"), draft(""))
        assert [each.text for each in await queue(store, number)] == ["said", "f\n{}", "f", ""]

    async def test_documents_without_text_need_no_vector(self, store: Store) -> None:
        number = await filled(store, ["one", "", " \n"])
        assert await embed_all(store, number) == ["one", "", " \n"]
        assert await store.waiting_for("small", [EVENTS]) == 0
        assert texts_of(await reported(store), ["one"]) == ["one"]

    async def test_inserted_events_wait_for_vectors_and_archived_ones_keep_theirs(self, store: Store) -> None:
        await session_with(store, draft("one", event_id="e1"), draft("two", event_id="e2"))
        number = await store.vector_model("small", DIMENSION)
        await embed_all(store, number)
        await compact(store, ["e1"], placed("e2", draft("summary", synthetic=True)))
        assert await embed_all(store, number) == ["summary"]
        assert texts_of(await reported(store), ["one", "two", "summary"]) == ["one", "two", "summary"]

    async def test_a_vector_is_stored_to_the_bit(self, store: Store) -> None:
        number = await filled(store, ["one"])
        (waiting,) = await queue(store, number)
        odd = np.array([[0.1, -0.0, 1e-38, 1e38, 3.14159274, -1.5, 0.333333343, 0.0]], np.float32)
        assert await store.put_embeddings(EVENTS, number, [waiting.key], odd) == 1
        assert (await reported(store)).vectors.tobytes() == odd.tobytes()

    async def test_embedding_again_changes_nothing(self, store: Store) -> None:
        number = await filled(store)
        waiting = await queue(store, number)
        assert await put(store, number, waiting) == len(TEXTS)
        before = await reported(store)
        again = await store.put_embeddings(EVENTS, number, [each.key for each in waiting], vectors("abcde"))
        assert again == 0
        assert await store.put_embeddings(EVENTS, number, [waiting[0].key], None) == 0
        assert await store.put_embeddings(EVENTS, number, [], None) == 0
        after = await reported(store)
        assert (after.keys.tolist(), after.vectors.tobytes()) == (before.keys.tolist(), before.vectors.tobytes())

    async def test_stopping_before_storing_loses_and_duplicates_nothing(self, store: Store) -> None:
        number = await filled(store)
        lost = await queue(store, number, 3)
        assert await queue(store, number, 3) == lost
        assert await put(store, number, lost[:2]) == 2
        # Another took the same batch.
        assert await put(store, number, lost) == 1
        assert await embed_all(store, number, limit=1) == ["four", "five"]
        assert texts_of(await reported(store), TEXTS) == list(TEXTS)

    async def test_a_gap_in_the_embedded_events_is_returned_first(self, store: Store) -> None:
        number = await filled(store)
        waiting = await queue(store, number)
        await put(store, number, [waiting[0], waiting[2], waiting[4]])
        assert await store.waiting_for("small", [EVENTS]) == 2
        await append(store, draft("six"))
        assert await embed_all(store, number) == ["two", "four", "six"]

    async def test_the_embedding_backlog_is_counted(self, store: Store) -> None:
        number = await filled(store)
        waiting = await queue(store, number)
        counts = [await store.waiting_for("small", [EVENTS])]
        for document in waiting:
            await put(store, number, [document])
            counts.append(await store.waiting_for("small", [EVENTS]))
        assert counts == [5, 4, 3, 2, 1, 0]
        await append(store, draft("six"), draft(""))
        await caught_up(store)
        assert await store.waiting_for("small", [EVENTS]) == 2


class VectorDeletionRows:
    async def test_documents_deleted_during_embedding_are_skipped(self, store: Store) -> None:
        number = await filled(store)
        await session_with(store, draft("kept"), session_id="s2")
        waiting = await queue(store, number)
        await store.delete_session(TENANT, ref())
        await caught_up(store)
        assert await put(store, number, waiting) == 1
        assert await queue(store, number) == []
        assert await store.waiting_for("small", [EVENTS]) == 0
        assert texts_of(await reported(store, UserScope("alice")), [*TEXTS, "kept"]) == ["kept"]

    async def test_recently_deleted_events_are_not_found(self, store: Store) -> None:
        number = await filled(store)
        await embed_all(store, number)
        await session_with(store, draft("kept"), session_id="s2")
        await embed_all(store, number)
        await store.delete_session(TENANT, ref())
        for scope in (UserScope("alice"), AppScope("shop"), ref("s2")):
            assert texts_of(await reported(store, scope), [*TEXTS, "kept"]) == ["kept"]
            near = await store.nearest(EVENTS, TENANT, scope, number, vector("two"), 10)
            assert near is None or len(near) == 1

    async def test_a_recreated_session_has_no_vectors_of_the_first(self, store: Store) -> None:
        number = await filled(store)
        await embed_all(store, number)
        await store.delete_session(TENANT, ref())
        await session_with(store, draft("new life"))
        assert len((await reported(store)).keys) == 0
        assert await embed_all(store, number) == ["new life"]
        assert texts_of(await reported(store), ["new life"]) == ["new life"]


class VectorScopeRows:
    async def test_vectors_are_returned_within_their_scope_only(self, store: Store) -> None:
        number = await store.vector_model("small", DIMENSION)
        places = {}
        for tenant in (TENANT, "other"):
            for app in ("shop", "desk"):
                for user in ("alice", "bob"):
                    for name in ("s1", "s2"):
                        text = f"{tenant}/{app}/{user}/{name}"
                        session = await create(store, name, tenant=tenant, app=app, user=user)
                        await append(store, draft(text), to=session.ref, tenant=tenant)
                        places[text] = (tenant, session.ref)
        await embed_all(store, number)
        scopes: list[EventScope] = [
            ref(),
            ref("s2", user="bob", app="desk"),
            UserScope("alice"),
            UserScope("bob", "desk"),
            UserScope("nobody"),
            UserScope("shop"),
            AppScope("shop"),
            AppScope("alice"),
        ]
        for scope in scopes:
            for tenant in (TENANT, "other"):
                inside = [text for text, (owner, at) in places.items() if owner == tenant and _holds(scope, at)]
                assert texts_of(await reported(store, scope, tenant=tenant), places) == inside
                near = await store.nearest(EVENTS, tenant, scope, number, vector("question"), 100)
                if near is not None:
                    found = await reported(store, scope, tenant=tenant)
                    assert sorted(key for key, _ in near) == found.keys.tolist()

    async def test_vectors_have_the_keys_of_their_events_and_sessions(self, store: Store) -> None:
        number = await filled(store, ["one"])
        await session_with(store, draft("two"), draft("three"), session_id="s2")
        await embed_all(store, number)
        found = await reported(store, UserScope("alice"))
        events = await store.events_by_key(TENANT, UserScope("alice"), found.keys.tolist())
        assert [(each.key, each.session) for each in events] == list(zip(found.keys, found.sessions, strict=True))
        assert [each.ref.session_id for each in events] == ["s1", "s2", "s2"]

    async def test_vectors_are_paged_each_once(self, store: Store) -> None:
        number = await filled(store)
        await embed_all(store, number)
        keys: list[int] = []
        pages = []
        while len(page := (await reported(store, after=keys[-1] if keys else 0, limit=2)).keys):
            keys += page.tolist()
            pages.append(len(page))
        assert pages == [2, 2, 1]
        assert keys == (await reported(store)).keys.tolist()

    async def test_no_texts_give_no_vectors(self, store: Store) -> None:
        number = await filled(store)
        found = await reported(store)
        assert found.vectors.shape == (0, DIMENSION)
        assert found.keys.shape == found.sessions.shape == (0,)
        near = await store.nearest(EVENTS, TENANT, ref(), number, vector("two"), 10)
        assert near in (None, [])

    async def test_an_unknown_session_is_not_found(self, store: Store) -> None:
        number = await filled(store)
        await create(store, user="bob")
        for missing, error in ((ref("none"), SessionNotFound), (SessionRef("", "", "s1"), AmbiguousSession)):
            with pytest.raises(error):
                await reported(store, missing, number=number)

    async def test_a_bare_name_of_one_session_is_accepted(self, store: Store) -> None:
        number = await filled(store)
        await embed_all(store, number)
        assert texts_of(await reported(store, SessionRef("", "", "s1")), TEXTS) == list(TEXTS)

    async def test_the_stores_own_index_finds_what_a_full_comparison_finds(self, store: Store) -> None:
        texts = [f"text {n}" for n in range(60)]
        number = await filled(store, texts)
        await embed_all(store, number)
        question = vector("question")
        near = await store.nearest(EVENTS, TENANT, ref(), number, question, 10)
        if near is None:
            return  # the caller compares, see recall.vectors
        found = await reported(store)
        cosines = found.vectors @ question
        best = np.argsort(-cosines)[:10]
        assert [key for key, _ in near] == found.keys[best].tolist()
        assert np.allclose([cosine for _, cosine in near], cosines[best], atol=1e-6)
        assert len(await store.nearest(EVENTS, TENANT, ref(), number, question, 1000) or ()) == 60
        assert await store.nearest(EVENTS, TENANT, ref(), number, np.zeros(DIMENSION, np.float32), 5) in (None, [])


def _holds(scope: EventScope, at: SessionRef) -> bool:
    if isinstance(scope, SessionRef):
        return scope == at
    if isinstance(scope, AppScope):
        return scope.app == at.app
    return scope.user_id == at.user_id and scope.app in (None, at.app)
