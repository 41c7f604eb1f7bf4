"""Long-term memory: what is added, listed, found, and forgotten for good."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.store.rows.durable import Opener
from tests.support.clock import NOW
from tests.support.memories import ALICE, forget, found, holding, ingest, memory, of_event, remember, remembered, texts
from tests.support.sessions import TENANT, create, ref
from threadkeep_server.domain.errors import MemoryIdConflict
from threadkeep_server.domain.memories import Memory, MemoryFilter, MemoryOutcome, MemoryScope
from threadkeep_server.domain.model import SECOND_NS
from threadkeep_server.store.contract.store import Store

ADDED, EXISTS, DELETED = MemoryOutcome

SCOPES = [
    (TENANT, ALICE),
    (TENANT, MemoryScope("shop", "bob")),
    (TENANT, MemoryScope("", "alice")),
    (TENANT, MemoryScope("other", "alice")),
    ("other", ALICE),
    # Put together without care, these two would be those of above.
    (TENANT, MemoryScope("shopa", "lice")),
    (TENANT + "shop", MemoryScope("", "alice")),
]


class AddingRows:
    async def test_added_memories_are_stored_as_given(self, store: Store) -> None:
        drafts = [
            memory("Straße\x00 \U0001f600", id="one", metadata_json='{"a": 1.0}'),
            of_event("two", "e2", author="Ann", event_time=NOW - 7, metadata={"k": "ä"}),
            memory("before 1970", event_time=-5),
        ]
        assert await remember(store, *drafts) == [ADDED] * 3
        reported = await remembered(store)
        assert [each.draft for each in reported] == drafts[::-1]
        assert {(type(each), each.scope, each.record_time) for each in reported} == {(Memory, ALICE, NOW)}
        assert [each.time for each in reported] == [-5, NOW - 7, NOW]
        assert [each.key for each in reported] == sorted((each.key for each in reported), reverse=True)

    async def test_the_same_id_with_the_same_content_is_a_replay(self, store: Store) -> None:
        once = memory("a", id="m1", author="Ann", event_time=3, metadata={"k": 1})
        assert await remember(store, once) == [ADDED]
        assert await remember(store, once, memory("b"), now=NOW + 1) == [EXISTS, ADDED]
        assert [(each.draft.text, each.record_time) for each in await remembered(store)] == [("b", NOW + 1), ("a", NOW)]

    @pytest.mark.parametrize(
        "change",
        [
            {"content": memory("b").content},
            {"author": "Bob"},
            {"event_time": None},
            {"session_id": "s2"},
            {"event_id": "e2"},
            {"metadata_json": "{ }"},
        ],
        ids=lambda change: next(iter(change)),
    )
    async def test_the_same_id_with_something_else_is_a_conflict_and_nothing_is_added(
        self, store: Store, change: dict[str, Any]
    ) -> None:
        once = of_event("a", "e1", id="m1", author="Ann", event_time=3, metadata_json="{}")
        await remember(store, once)
        with pytest.raises(MemoryIdConflict) as reported:
            await remember(store, memory("first"), replace(once, **change), memory("last"))
        assert reported.value.metadata == {"id": "m1", "field": "memories[1].id"}
        assert [each.draft for each in await remembered(store)] == [once]
        assert await found(store, "first", "last", "b") == set()

    async def test_a_long_batch_is_added_whole_in_its_order(self, store: Store) -> None:
        drafts = [memory(f"number {number}", id=f"{(number * 7919) % 1000:03}") for number in range(500)]
        assert await remember(store, *drafts) == [ADDED] * 500
        assert texts(await remembered(store)) == [draft.text for draft in reversed(drafts)]
        assert await found(store, "499") == {"number 499"}

    async def test_memories_are_visible_only_in_their_tenant_app_and_user(self, store: Store) -> None:
        for number, (tenant, scope) in enumerate(SCOPES):
            assert await remember(store, memory(f"same {number}", id="m1"), scope=scope, tenant=tenant) == [ADDED]
        keys = [each.key for tenant, scope in SCOPES for each in await remembered(store, scope=scope, tenant=tenant)]
        for number, (tenant, scope) in enumerate(SCOPES):
            mine = [f"same {number}"]
            assert texts(await remembered(store, scope=scope, tenant=tenant)) == mine
            assert texts(await store.memories_by_key(tenant, scope, keys)) == mine
            assert await holding(store, "same", scope=scope, tenant=tenant) == mine
            assert await found(store, "same", scope=scope, tenant=tenant) == set(mine)
        for number, (tenant, scope) in enumerate(SCOPES):
            assert await forget(store, names=["m1"], scope=scope, tenant=tenant) == (1, 0, 0)
            left = [len(await remembered(store, scope=scope, tenant=tenant)) for tenant, scope in SCOPES]
            assert left == [0] * (number + 1) + [1] * (len(SCOPES) - number - 1)

    async def test_concurrent_adds_of_one_id_add_it_once(self, store: Store) -> None:
        drafts = [memory(f"m{number}", id=f"m{number}") for number in range(20)]
        orders = [drafts, drafts[::-1], drafts[10:] + drafts[:10], drafts[::2] + drafts[1::2]] * 2
        outcomes = await asyncio.gather(*(remember(store, *order) for order in orders))
        assert sorted(texts(await remembered(store))) == sorted(draft.text for draft in drafts)
        for draft in drafts:
            reported = [of_one[order.index(draft)] for order, of_one in zip(orders, outcomes, strict=True)]
            assert sorted(reported, key=list(MemoryOutcome).index) == [ADDED] + [EXISTS] * 7

    async def test_concurrent_adds_of_one_id_with_different_content_store_one(self, store: Store) -> None:
        outcomes = await asyncio.gather(
            *(remember(store, memory(f"text {number}", id="m1")) for number in range(8)), return_exceptions=True
        )
        assert sum(outcome == [ADDED] for outcome in outcomes) == 1
        assert sum(isinstance(outcome, MemoryIdConflict) for outcome in outcomes) == 7
        assert len(await remembered(store)) == 1


class IngestionRows:
    async def test_ingesting_a_session_again_adds_only_new_events(self, store: Store) -> None:
        one, two, three = (of_event(text, text) for text in ("one", "two", "three"))
        assert await ingest(store, one, two) == [ADDED, ADDED]
        assert await ingest(store, one, two, three) == [EXISTS, EXISTS, ADDED]
        assert texts(await remembered(store)) == ["three", "two", "one"]

    async def test_ingesting_a_part_and_then_the_whole_loses_nothing(self, store: Store) -> None:
        whole = [of_event(f"e{number}", f"e{number}") for number in range(6)]
        assert await ingest(store, *whole[2:4]) == [ADDED] * 2
        assert await ingest(store, *whole) == [ADDED, ADDED, EXISTS, EXISTS, ADDED, ADDED]
        assert texts(await remembered(store)) == ["e5", "e4", "e1", "e0", "e3", "e2"]

    async def test_an_existing_entry_is_not_changed(self, store: Store) -> None:
        await ingest(store, of_event("text", "e1"))
        assert await ingest(store, of_event("text and tools", "e1", author="Ann")) == [EXISTS]
        assert texts(await remembered(store)) == ["text"]

    async def test_a_deleted_entry_stays_deleted(self, store: Store) -> None:
        one, two = of_event("one", "e1"), of_event("two", "e2")
        await ingest(store, one, two)
        assert await forget(store, names=[one.id]) == (1, 0, 0)
        assert await ingest(store, one, two) == [DELETED, EXISTS]
        assert texts(await remembered(store)) == ["two"]
        assert await found(store, "one") == set()

    @pytest.mark.parametrize("what", [{"session_id": "s1"}, {}], ids=["session", "all"])
    async def test_ingestion_skips_an_entry_deleted_in_any_way(self, store: Store, what: dict[str, Any]) -> None:
        await ingest(store, of_event("one", "e1"), of_event("two", "e2"))
        assert await forget(store, **what) == (2, 0, 0)
        assert await ingest(store, of_event("one", "e1"), of_event("three", "e3")) == [DELETED, ADDED]

    async def test_an_explicit_add_restores_a_deleted_entry(self, store: Store) -> None:
        one = of_event("one", "e1")
        await ingest(store, one)
        await forget(store, names=[one.id])
        assert await remember(store, one) == [ADDED]
        assert await ingest(store, one) == [EXISTS]
        assert await found(store, "one") == {"one"}
        await forget(store, names=[one.id])
        assert await ingest(store, one) == [DELETED]

    async def test_a_deleted_entry_without_an_event_can_be_added_again(self, store: Store) -> None:
        await remember(store, memory("a", id="m1"))
        await forget(store, names=["m1"])
        assert await remember(store, memory("b", id="m1")) == [ADDED]

    async def test_concurrent_ingestions_of_a_session_add_each_entry_once(self, store: Store) -> None:
        drafts = [of_event(f"e{number}", f"e{number}") for number in range(50)]
        one, other = await asyncio.gather(ingest(store, *drafts), ingest(store, *drafts[::-1]))
        reported = [{first, second} for first, second in zip(one, reversed(other), strict=True)]
        assert reported == [{ADDED, EXISTS}] * 50
        assert len(await remembered(store)) == 50

    async def test_entries_are_kept_when_their_session_is_deleted(self, store: Store) -> None:
        await create(store)
        await ingest(store, of_event("kept", "e1"))
        await store.delete_session(TENANT, ref())
        assert texts(await remembered(store)) == ["kept"]


class ForgettingRows:
    async def test_the_receipt_counts_deleted_and_missing_entries(self, store: Store) -> None:
        await remember(store, memory("a", id="a"), memory("b", id="b"))
        assert await forget(store, names=["b", "no", "b"]) == (1, 0, 1)
        assert await forget(store, names=["b"]) == (0, 0, 1)
        assert await forget(store, session_id="no") == (0, 0, 0)
        assert texts(await remembered(store)) == ["a"]

    async def test_the_memories_of_a_session_are_deleted_and_no_others(self, store: Store) -> None:
        await remember(store, memory("a", session_id="s1"), memory("b", session_id="s2"), memory("c"))
        assert await forget(store, session_id="s1") == (1, 0, 0)
        assert texts(await remembered(store)) == ["c", "b"]

    async def test_all_memories_of_a_user_are_deleted(self, store: Store) -> None:
        await remember(store, *(memory(f"m{number}") for number in range(300)))
        await remember(store, memory("kept"), scope=MemoryScope("shop", "bob"))
        assert await forget(store) == (300, 0, 0)
        assert await remembered(store) == []
        assert texts(await remembered(store, scope=MemoryScope("shop", "bob"))) == ["kept"]

    async def test_deleted_memories_are_not_found_afterwards(self, store: Store) -> None:
        await remember(store, memory("a secret", id="m1"), memory("a rest"))
        (secret,) = [each.key for each in await remembered(store) if each.draft.id == "m1"]
        assert await found(store, "secret") == {"a secret"}
        await forget(store, names=["m1"])
        assert await found(store, "secret", "a") == {"a rest"}
        assert await holding(store, "secret") == []
        assert await store.memories_by_key(TENANT, ALICE, [secret]) == []

    async def test_keys_are_never_used_again(self, store: Store) -> None:
        keys = []
        for number in range(3):
            await remember(store, memory(f"m{number}"))
            keys += [each.key for each in await remembered(store)]
            await forget(store)
        assert keys == sorted(set(keys))


class MemoryListRows:
    async def test_pages_continue_after_the_last_one_despite_changes(self, store: Store) -> None:
        await remember(store, *(memory(f"m{number}", id=f"m{number}") for number in range(10)))
        page = await store.list_memories(TENANT, ALICE, MemoryFilter(), 4, None)
        assert texts(page.memories) == ["m9", "m8", "m7", "m6"]
        await remember(store, memory("new"))
        await forget(store, names=["m6", "m4"])
        page = await store.list_memories(TENANT, ALICE, MemoryFilter(), 4, page.cursor)
        assert texts(page.memories) == ["m5", "m3", "m2", "m1"]
        page = await store.list_memories(TENANT, ALICE, MemoryFilter(), 4, page.cursor)
        assert (texts(page.memories), page.cursor) == (["m0"], None)

    @pytest.mark.parametrize(
        ("wanted", "names"),
        [
            (MemoryFilter(), "edcba"),
            (MemoryFilter(session_ids=frozenset(("s1", "s2"))), "cba"),
            (MemoryFilter(session_ids=frozenset(("",))), "ed"),
            (MemoryFilter(authors=frozenset(("Ann",))), "da"),
            (MemoryFilter(from_time=NOW, to_time=NOW), "ed"),
            (MemoryFilter(from_time=NOW - 1), "edc"),
            (MemoryFilter(to_time=NOW - 1), "cba"),
            (MemoryFilter(metadata={"kind": "fact"}), "ba"),
            (MemoryFilter(metadata={"kind": "fact", "n": "1"}), "a"),
            (MemoryFilter(metadata={"n": "1.50"}), "b"),
            (MemoryFilter(metadata={"n": "1.5"}), ""),
            (MemoryFilter(metadata={"yes": "true"}), "c"),
            (MemoryFilter(metadata={"yes": "True"}), "d"),
            (MemoryFilter(metadata={"none": "null"}), ""),
            (MemoryFilter(metadata={"list": "1"}), ""),
            (MemoryFilter(metadata={"": ""}), "d"),
            (MemoryFilter(session_ids=frozenset(("s1",)), authors=frozenset(("Bob",)), metadata={"kind": "fact"}), "b"),
        ],
    )
    async def test_filters_select_everywhere_alike(self, store: Store, wanted: MemoryFilter, names: str) -> None:
        await remember(
            store,
            memory("x a", session_id="s1", author="Ann", event_time=NOW - 3, metadata_json='{"kind": "fact", "n": 1}'),
            memory("x b", session_id="s1", author="Bob", event_time=NOW - 2, metadata_json='{"kind":"fact","n":1.50}'),
            memory("x c", session_id="s2", author="", event_time=NOW - 1, metadata_json='{"yes": true, "list": [1]}'),
            memory("x d", author="Ann", metadata_json='{"yes": "True", "none": null, "": ""}'),
            memory("x e", author="ann"),
        )
        expected = [f"x {name}" for name in names]
        assert texts(await remembered(store, wanted)) == expected
        keys = [each.key for each in await remembered(store)]
        assert texts(await store.memories_by_key(TENANT, ALICE, keys[::-1], wanted)) == expected[::-1]
        assert sorted(await holding(store, "x", wanted)) == expected[::-1]
        assert await found(store, "x", wanted=wanted) == set(expected)

    async def test_a_page_is_full_as_long_as_more_satisfy_the_filter(self, store: Store) -> None:
        await remember(store, *(memory(f"m{number}", metadata={"odd": number % 100 == 0}) for number in range(900)))
        wanted, names, cursor = MemoryFilter(metadata={"odd": "true"}), [], None
        for _ in range(3):
            page = await store.list_memories(TENANT, ALICE, wanted, 3, cursor)
            assert len(page.memories) == 3
            names += texts(page.memories)
            cursor = page.cursor
        assert names == [f"m{number}" for number in range(800, -1, -100)]
        assert cursor is None
        assert await holding(store, "m", wanted, limit=2) == ["m800", "m700"]

    async def test_events_by_key_are_returned_in_the_requested_order(self, store: Store) -> None:
        await remember(store, *(memory(f"m{number}") for number in range(4)))
        three, two, one, zero = [each.key for each in await remembered(store)]
        requested = [one, three, zero + 10_000, zero, two]
        assert texts(await store.memories_by_key(TENANT, ALICE, requested)) == ["m1", "m3", "m0", "m2"]
        assert await store.memories_by_key(TENANT, ALICE, []) == []


class SubstringRows:
    async def test_a_term_is_found_in_folded_text_newest_first(self, store: Store) -> None:
        await remember(
            store,
            memory("STRASSE", event_time=NOW + SECOND_NS),
            memory("die straße\x00"),
            memory("100% wool_socks", event_time=NOW - 5),
        )
        assert await holding(store, "strasse") == ["STRASSE", "die straße\x00"]
        assert await holding(store, "s") == ["STRASSE", "die straße\x00", "100% wool_socks"]
        assert await holding(store, "\ufffd") == ["die straße\x00"]
        assert [await holding(store, term) for term in ("%", "l_s", "_", "x", "%%")] == [
            ["100% wool_socks"],
            ["100% wool_socks"],
            ["100% wool_socks"],
            [],
            [],
        ]

    async def test_equal_times_are_ordered_by_last_added_within_the_limit(self, store: Store) -> None:
        await remember(store, *(memory(f"m{number}") for number in range(5)))
        assert await holding(store, "m", limit=2) == ["m4", "m3"]


class DurableMemoryRows:
    """`open_again` opens the same database each time it is called."""

    async def test_memories_and_deletions_survive_reopening(self, open_again: Opener) -> None:
        one, two = of_event("one", "e1", metadata={"k": 1}), of_event("two", "e2")
        async with open_again() as store:
            await ingest(store, one, two)
            await forget(store, names=[two.id])
            before = await remembered(store)
        async with open_again() as store:
            assert await remembered(store) == before
            assert await found(store, "one", "two") == {"one"}
            assert await ingest(store, one, two) == [EXISTS, DELETED]
            assert await remember(store, memory("three")) == [ADDED]
            assert (await remembered(store))[0].key > before[0].key + 1, "the key of the deleted one is not used again"


class SharedMemoryRows:
    """Several servers on one database."""

    async def test_two_servers_that_ingest_a_session_at_once_add_each_entry_once(self, open_again: Opener) -> None:
        drafts = [of_event(f"e{number}", f"e{number}") for number in range(200)]
        async with open_again() as one, open_again() as other:
            parts = [(one, drafts), (other, drafts[::-1]), (one, drafts[100:]), (other, drafts[:150])]
            async with asyncio.timeout(30):
                reported = await asyncio.gather(*(ingest(store, *part) for store, part in parts))
            added = sum(outcomes.count(ADDED) for outcomes in reported)
            assert added == len(drafts)
            assert len(await remembered(one)) == len(drafts)
            assert await found(other, "e7") == {"e7"}

    async def test_concurrent_adds_and_deletions_of_two_servers_are_atomic(self, open_again: Opener) -> None:
        async with open_again() as one, open_again() as other:
            for round_ in range(10):
                drafts = [memory(f"m{number}", id=f"{round_} {number}") for number in range(30)]
                await asyncio.gather(remember(one, *drafts), forget(other))
                assert len(await remembered(one)) in (0, 30)
                assert len(await found(other, *(draft.text for draft in drafts))) in (0, 30)
                await forget(one)
