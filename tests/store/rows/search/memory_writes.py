"""Long-term memory: replaced entries, names, namespaces, comparisons of metadata, and expiry."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.clock import NOW
from tests.support.memories import (
    ALICE,
    forget,
    found,
    holding,
    ingest,
    memory,
    named,
    namespaces,
    of_event,
    remember,
    remembered,
    texts,
    upsert,
)
from tests.support.sessions import TENANT
from threadkeep_server.domain.errors import MemoryIdConflict, MemoryVersionMismatch
from threadkeep_server.domain.memories import MemoryFilter, MemoryOutcome, MemoryScope
from threadkeep_server.domain.memory.metadata_conditions import MetadataCondition, Operator
from threadkeep_server.domain.memory.namespaces import NamespaceQuery, stored_name
from threadkeep_server.domain.memory.writes import WriteOutcome
from threadkeep_server.store.contract.store import Store

ADDED, REPLACED, UNCHANGED, KEPT = WriteOutcome


class WritingRows:
    async def test_a_replaced_entry_is_found_by_its_new_content_only(self, store: Store) -> None:
        await remember(store, memory("likes salmon", id="m1", metadata={"k": "1"}), memory("other", id="m2"))
        before = (await named(store, "m1"))["m1"]
        fresh = memory("prefers tofu", id="m1", author="Ann", metadata={"k": "2"})
        (written,) = await upsert(store, fresh, now=NOW + 5)
        assert (written.outcome, written.memory.draft) == (REPLACED, fresh)
        after = (await named(store, "m1"))["m1"]
        assert after == written.memory
        assert (after.record_time, after.update_time, after.draft) == (NOW, NOW + 5, fresh)
        assert after.etag != before.etag
        assert await found(store, "salmon", "tofu") == {"prefers tofu"}
        assert (await holding(store, "salmon"), await holding(store, "tofu")) == ([], ["prefers tofu"])
        assert texts(await remembered(store)) == ["prefers tofu", "other"]
        assert texts(await remembered(store, MemoryFilter(metadata={"k": "1"}))) == []

    async def test_a_write_of_equal_content_changes_nothing(self, store: Store) -> None:
        entry = memory("same", id="m1")
        (first,) = await upsert(store, entry)
        for expected in (None, "", first.memory.etag, "another"):
            (again,) = await upsert(store, entry, now=NOW + 5, expected=expected)
            assert again == (UNCHANGED, first.memory)

    async def test_a_write_that_ignores_existing_entries_adds_the_others(self, store: Store) -> None:
        await remember(store, memory("old", id="m1"))
        done = await upsert(store, memory("new", id="m1"), memory("two", id="m2"), replacing=False)
        assert [each.outcome for each in done] == [KEPT, ADDED]
        assert [each.memory.draft.text for each in done] == ["old", "two"]
        assert texts(await remembered(store)) == ["two", "old"]

    async def test_a_failed_precondition_writes_nothing_and_reports_the_stored_etag(self, store: Store) -> None:
        (first,) = await upsert(store, memory("one", id="m1"), expected="")
        (second,) = await upsert(store, memory("two", id="m1"), expected=first.memory.etag)
        assert second.outcome is REPLACED
        for expected in (first.memory.etag, ""):
            with pytest.raises(MemoryVersionMismatch) as refused:
                await upsert(store, memory("three", id="m1"), expected=expected, before=[memory("aside", id="m0")])
            wanted = {"id": "m1", "field": "writes[1].expected_etag", "expected": expected, "actual": second.memory.etag}
            assert refused.value.metadata == wanted
        with pytest.raises(MemoryVersionMismatch) as missing:
            await upsert(store, memory("x", id="none"), expected=second.memory.etag)
        assert missing.value.metadata["actual"] == ""
        assert texts(await remembered(store)) == ["two"]

    async def test_of_concurrent_writers_with_one_etag_one_writes(self, store: Store) -> None:
        (first,) = await upsert(store, memory("0", id="m1"))
        tries = [upsert(store, memory(f"by {n}", id="m1"), expected=first.memory.etag) for n in range(8)]
        done = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(each, MemoryVersionMismatch) for each in done) == 7
        assert len(await remembered(store)) == 1

    async def test_a_deleted_event_is_written_again_and_may_then_be_deleted(self, store: Store) -> None:
        event = of_event("text", "e1")
        await ingest(store, event)
        await forget(store, names=[event.name])
        assert await ingest(store, event) == [MemoryOutcome.DELETED]
        assert [each.outcome for each in await upsert(store, event)] == [ADDED]
        assert await ingest(store, event) == [MemoryOutcome.EXISTS]
        assert await forget(store, names=[event.name]) == (1, 0, 0)
        assert await ingest(store, event) == [MemoryOutcome.DELETED]

    async def test_entries_are_read_by_name_until_they_have_enough_bytes(self, store: Store) -> None:
        entries = [memory("x" * 1000, id=f"m{n}", namespace=("a",)) for n in range(4)]
        await remember(store, *entries)
        names = [entry.name for entry in reversed(entries)]
        read = await store.memories_by_name(TENANT, ALICE, [*names, "m0", names[0]], NOW, 2500)
        assert set(read.found) == set(names[:2])
        assert set(read.omitted) == set(names[2:])
        tiny = await store.memories_by_name(TENANT, ALICE, names, NOW, 1)
        assert (set(tiny.found), set(tiny.omitted)) == ({names[0]}, set(names[1:]))
        assert not (await store.memories_by_name(TENANT, MemoryScope("shop", "bob"), names, NOW, 9999)).found


PATHS = [(), ("a",), ("a", "b"), ("a", "b", "c"), ("a", "!"), ("a!",), ("ab",), ("b", "b"), ("é", "東京")]


class NamespaceRows:
    async def test_one_id_in_several_namespaces_is_several_entries(self, store: Store) -> None:
        for path in PATHS:
            assert await remember(store, memory(str(path), id="m1", namespace=path)) == [MemoryOutcome.ADDED]
        with pytest.raises(MemoryIdConflict):
            await remember(store, memory("else", id="m1", namespace=("a", "b")))
        for path in PATHS:
            name = stored_name(path, "m1")
            (entry,) = (await named(store, name)).values()
            assert (entry.draft.namespace, entry.draft.id, entry.draft.text) == (path, "m1", str(path))
        assert await forget(store, names=[stored_name(("a", "b"), "m1")]) == (1, 0, 0)
        assert {each.draft.namespace for each in await remembered(store)} == {*PATHS} - {("a", "b")}

    async def test_a_prefix_selects_a_namespace_and_those_below_it(self, store: Store) -> None:
        await remember(store, *[memory(f"same {n}", id="m1", namespace=path) for n, path in enumerate(PATHS)])
        for prefix in (*PATHS, ("none",), ("a", "b", "c", "d")):
            wanted = MemoryFilter(namespace=prefix)
            mine = [f"same {n}" for n, path in enumerate(PATHS) if path[: len(prefix)] == prefix]
            assert texts(await remembered(store, wanted)) == mine[::-1]
            assert await holding(store, "same", wanted) == mine[::-1]
            assert await found(store, "same", wanted=wanted) == set(mine)

    async def test_pages_of_a_prefix_are_those_of_its_entries(self, store: Store) -> None:
        await remember(store, *[memory(str(n), id=f"m{n}", namespace=PATHS[n % 3 + 1]) for n in range(9)], memory("root"))
        await upsert(store, memory("new", id="m4", namespace=PATHS[2]))
        pages, cursor = [], None
        while True:
            page = await store.list_memories(TENANT, ALICE, MemoryFilter(namespace=("a", "b")), 2, cursor)
            pages.append(texts(page.memories))
            if (cursor := page.cursor) is None:
                break
        assert pages == [["new", "8"], ["7", "5"], ["2", "1"]]

    async def test_deleting_a_namespace_deletes_what_is_below_it(self, store: Store) -> None:
        await remember(store, *[memory(str(path), id="m1", namespace=path) for path in PATHS])
        assert await forget(store, namespace=("a",)) == (4, 0, 0)
        assert [each.draft.namespace for each in await remembered(store)] == [*reversed(PATHS[5:]), ()]

    @pytest.mark.parametrize(
        ("wanted", "listed"),
        [
            (NamespaceQuery(), [(), ("a",), ("a", "!"), ("a", "b"), ("a", "b", "c"), ("a!",), ("ab",), ("b", "b"), PATHS[8]]),
            (NamespaceQuery(max_depth=1), [(), ("a",), ("a!",), ("ab",), ("b",), ("é",)]),
            (NamespaceQuery(("a",), max_depth=2), [("a",), ("a", "!"), ("a", "b")]),
            (NamespaceQuery(suffix=("b",)), [("a", "b"), ("b", "b")]),
            (NamespaceQuery(("*", "b")), [("a", "b"), ("a", "b", "c"), ("b", "b")]),
            (NamespaceQuery(("a", "*", "c")), [("a", "b", "c")]),
            (NamespaceQuery(suffix=("b", "*")), [("a", "b", "c"), ("b", "b")]),
            (NamespaceQuery(("none",)), []),
        ],
    )
    async def test_namespaces_are_listed_in_order_once_by_prefix_suffix_and_depth(
        self, store: Store, wanted: NamespaceQuery, listed: Sequence[tuple[str, ...]]
    ) -> None:
        if wanted.suffix == ("b", "*"):
            listed = [path for path in sorted(PATHS) if len(path) > 1 and path[-2] == "b"]
        for number in (1, 2):
            await remember(store, *[memory(f"{number} {path}", id=f"m{number}", namespace=path) for path in PATHS])
        await remember(store, memory("x", namespace=("foreign",)), scope=MemoryScope("shop", "bob"))
        assert await namespaces(store, wanted) == list(listed)
        assert await namespaces(store, wanted, limit=1) == list(listed)
        assert await namespaces(store, wanted, limit=2) == list(listed)


METADATA: list[tuple[str, str]] = [
    ("int", '{"k": 10}'),
    ("float", '{"k": 10.0, "x": 1}'),
    ("big", '{"k": 9007199254740993}'),
    ("string", '{"k": "10"}'),
    ("true", '{"k": true}'),
    ("one", '{"k": 1}'),
    ("null", '{"k": null}'),
    ("list", '{"k": [1, true]}'),
    ("object", '{"k": {"a": 1, "b": "\\u00e4"}}'),
    ("none", ""),
]


class ConditionRows:
    @pytest.mark.parametrize(
        ("operator", "value", "names"),
        [
            (Operator.EQUAL, 10, "int float"),
            (Operator.EQUAL, 9007199254740992, ""),
            (Operator.EQUAL, True, "true"),
            (Operator.EQUAL, 1, "one"),
            (Operator.EQUAL, None, "null"),
            (Operator.EQUAL, [1, True], "list"),
            (Operator.EQUAL, [1, 1], ""),
            (Operator.EQUAL, {"b": "ä", "a": 1.0}, "object"),
            (Operator.NOT_EQUAL, 10, "big string true one null list object none"),
            (Operator.NOT_EQUAL, None, "int float big string true one list object none"),
            (Operator.GREATER, 10, "big"),
            (Operator.GREATER, 9007199254740992.0, "big"),
            (Operator.GREATER_OR_EQUAL, 10, "int float big"),
            (Operator.LESS, 10, "one"),
            (Operator.LESS_OR_EQUAL, 10.5, "int float one"),
            (Operator.GREATER_OR_EQUAL, "10", "string"),
            (Operator.LESS, "9", "string"),
            (Operator.IN, [1, "10", None], "string one null"),
        ],
    )
    async def test_a_comparison_is_of_json_values_by_their_type(
        self, store: Store, operator: Operator, value: Any, names: str
    ) -> None:
        await remember(store, *[memory(f"text {name}", id=name, metadata_json=json) for name, json in METADATA])
        wanted = MemoryFilter(conditions=[MetadataCondition("k", operator, value)])
        listed = [each.draft.id for each in await remembered(store, wanted)]
        assert listed[::-1] == names.split()
        assert await found(store, "text", wanted=wanted) == {f"text {name}" for name in names.split()}
        both = MemoryFilter(conditions=[*wanted.conditions, MetadataCondition("x", Operator.NOT_EQUAL, 1)])
        assert [each.draft.id for each in await remembered(store, both)] == [name for name in listed if name != "float"]


class MemoryExpiryRows:
    async def test_an_expired_entry_is_absent_at_once(self, store: Store) -> None:
        await remember(store, memory("brief note", id="m1", ttl=10, namespace=("n",)), memory("long note", id="m2"))
        for now, names in ((NOW + 9, ["m1", "m2"]), (NOW + 10, ["m2"])):
            wanted = MemoryFilter(live_at=now)
            assert sorted(each.draft.id for each in await remembered(store, wanted)) == names
            assert len(await holding(store, "note", wanted)) == len(names)
            assert len(await found(store, "note", wanted=wanted)) == len(names)
            brief = stored_name(("n",), "m1")
            assert len(await named(store, brief, "m2", now=now)) == len(names)
            assert len(await namespaces(store, NamespaceQuery(), now=now)) == len(names)

    async def test_the_name_of_an_expired_entry_is_free(self, store: Store) -> None:
        await remember(store, memory("one", id="m1", ttl=10), memory("two", id="m2", ttl=10))
        assert await remember(store, memory("uno", id="m1"), now=NOW + 10) == [MemoryOutcome.ADDED]
        (written,) = await upsert(store, memory("dos", id="m2"), now=NOW + 10, expected="")
        assert (written.outcome, written.memory.record_time) == (ADDED, NOW + 10)
        assert texts(await remembered(store)) == ["dos", "uno"]
        assert await found(store, "one", "two", "uno", "dos") == {"uno", "dos"}

    async def test_an_expired_event_is_not_ingested_again(self, store: Store) -> None:
        event = of_event("text", "e1", ttl=10)
        await remember(store, event)
        assert await ingest(store, event, now=NOW + 10) == [MemoryOutcome.DELETED]

    async def test_a_refresh_and_an_equal_write_postpone_the_expiry_and_keep_the_etag(self, store: Store) -> None:
        entry = memory("note", id="m1", ttl=10)
        await remember(store, entry, memory("forever", id="m2"))
        first = await named(store, "m1", "m2")
        keys = [each.key for each in first.values()]
        assert await store.refresh_memories(TENANT, ALICE, keys, NOW + 5) == {first["m1"].key: NOW + 15}
        assert await store.refresh_memories(TENANT, ALICE, keys, NOW + 1) == {first["m1"].key: NOW + 15}
        assert await store.refresh_memories(TENANT, MemoryScope("shop", "bob"), keys, NOW + 9) == {}
        (again,) = await upsert(store, entry, now=NOW + 14)
        assert (again.outcome, again.memory.expire_time, again.memory.etag) == (UNCHANGED, NOW + 24, first["m1"].etag)
        assert await store.refresh_memories(TENANT, ALICE, keys, NOW + 24) == {}
        assert (await named(store, "m1", now=NOW + 23))["m1"].expire_time == NOW + 24

    async def test_a_sweep_deletes_what_has_expired_in_all_tenants(self, store: Store) -> None:
        await remember(store, *[memory(f"note {n}", ttl=10 + n, namespace=("n",)) for n in range(3)], memory("kept note"))
        await remember(store, memory("theirs", ttl=1), tenant="other")
        assert [await store.count_expired_memories(NOW + 11, most) for most in (1, 9)] == [1, 3]
        while await store.sweep_memories(NOW + 11):
            pass
        assert await store.count_expired_memories(NOW + 11, 9) == 0
        assert texts(await remembered(store)) == ["kept note", "note 2"]
        assert await remembered(store, tenant="other") == []
        assert await found(store, "note") == {"kept note", "note 2"}
