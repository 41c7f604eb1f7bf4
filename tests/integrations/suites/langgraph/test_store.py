"""The store over long-term memory."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from threadkeep import AsyncClient, Client, memory_entry
from threadkeep.integrations.langgraph import ThreadkeepStore

PEOPLE: dict[str, dict[str, Any]] = {
    "ada": {"name": "Ada", "age": 36, "likes": ["math", "chess"], "home": {"city": "London", "floor": 2}, "boss": None},
    "bob": {"name": "Bob", "age": 25, "likes": [], "home": {"city": "Oslo", "floor": 1}},
    "cleo": {"name": "Cleo", "age": 41.5, "likes": ["chess"], "home": {"city": "Oslo", "floor": 5}, "boss": "ada"},
}


async def people(client: AsyncClient) -> ThreadkeepStore:
    store = ThreadkeepStore(client)
    await store.abatch([PutOp(("people",), key, value) for key, value in PEOPLE.items()])
    return store


async def test_item_is_read_replaced_and_deleted(client: AsyncClient) -> None:
    store = ThreadkeepStore(client)
    value = {"text": "ünï \u2028", "number": 2**53 + 1, "nested": {"list": [1, None, True]}}
    await store.aput(("users", "1"), "key", value)
    first = await store.aget(("users", "1"), "key")
    assert first is not None
    assert (first.value, first.key, first.namespace) == (value, "key", ("users", "1"))
    await store.aput(("users", "1"), "key", {"new": 1})
    second = await store.aget(("users", "1"), "key")
    assert second is not None
    assert (second.value, second.created_at) == ({"new": 1}, first.created_at)
    assert second.updated_at > first.updated_at
    await store.adelete(("users", "1"), "key")
    assert await store.aget(("users", "1"), "key") is None
    assert await store.aget(("users",), "key") is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"age": 36}, "ada"),
        ({"age": {"$gt": 30}}, "ada cleo"),
        ({"age": {"$gte": 36, "$lt": 41.5}}, "ada"),
        ({"age": {"$lte": 25}}, "bob"),
        ({"name": {"$ne": "Bob"}}, "ada cleo"),
        ({"name": {"$eq": "Bob"}, "age": 25}, "bob"),
        ({"boss": None}, "ada bob"),
        ({"boss": {"$ne": None}}, "cleo"),
        ({"boss": {"$ne": "ada"}}, "ada bob"),
        ({"home": {"city": "Oslo"}}, "bob cleo"),
        ({"home": {"floor": {"$gt": 1}}}, "ada cleo"),
        ({"likes": ["chess"]}, "cleo"),
        ({"likes": []}, "bob"),
        ({"age": "36"}, ""),
        ({}, "ada bob cleo"),
    ],
)
async def test_filter_selects_items(client: AsyncClient, wanted: dict[str, Any], found: str) -> None:
    store = await people(client)
    items = await store.asearch(("people",), filter=wanted)
    assert sorted(item.key for item in items) == found.split()


async def test_unknown_operator_is_refused(client: AsyncClient) -> None:
    with pytest.raises(ValueError, match=r"\$like"):
        await ThreadkeepStore(client).asearch(("people",), filter={"name": {"$like": "A"}})


async def test_search_has_prefix_limit_and_offset(client: AsyncClient) -> None:
    store = ThreadkeepStore(client)
    for number in range(7):
        await store.aput(("notes", f"n{number % 2}"), f"k{number}", {"number": number})
    assert len(await store.asearch(("notes",))) == 7
    assert len(await store.asearch(("notes", "n1"))) == 3
    assert await store.asearch(("note",)) == []
    pages = [await store.asearch(("notes",), limit=3, offset=offset) for offset in (0, 3, 6, 9)]
    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert {item.key for page in pages for item in page} == {f"k{number}" for number in range(7)}
    odd = await store.asearch(("notes",), filter={"number": {"$gt": 0}, "none": None}, limit=4, offset=4)
    assert len(odd) == 2


async def test_query_finds_the_best_first_and_not_what_is_not_indexed(client: AsyncClient) -> None:
    store = ThreadkeepStore(client, fields=["text"])
    await store.aput(("docs",), "pizza", {"text": "She likes pizza with mushrooms", "secret": "zebra"})
    await store.aput(("docs",), "bike", {"text": "He rides a bike to work"})
    await store.aput(("docs",), "hidden", {"text": "pizza pizza"}, index=False)
    await store.aput(("docs",), "title", {"text": "nothing", "title": "pizza oven"}, index=["title"])
    found = await store.asearch(("docs",), query="pizza mushrooms")
    assert found[0].key == "pizza"
    assert {item.key for item in found} == {"pizza", "title"}
    assert found[0].score is not None
    assert await store.asearch(("docs",), query="zebra") == []
    assert {item.key for item in await store.asearch(("docs",))} == {"pizza", "bike", "hidden", "title"}
    some = await store.asearch(("docs",), query="pizza", filter={"secret": "zebra", "none": None})
    assert [item.key for item in some] == ["pizza"]


async def test_namespaces_are_listed_by_prefix_suffix_and_depth(client: AsyncClient) -> None:
    store = ThreadkeepStore(client)
    for namespace in (("a", "b", "v1"), ("a", "c", "v1"), ("a", "c", "v2"), ("z", "v1"), ("a", "b", "x", "v1")):
        await store.aput(namespace, "key", {"x": 1})
    listed = store.alist_namespaces
    assert len(await listed()) == 5
    assert await listed(prefix=("a", "c")) == [("a", "c", "v1"), ("a", "c", "v2")]
    assert await listed(prefix=("a", "*", "v1")) == [("a", "b", "v1"), ("a", "c", "v1")]
    assert await listed(suffix=("v1",), prefix=("z",)) == [("z", "v1")]
    assert await listed(max_depth=2) == [("a", "b"), ("a", "c"), ("z", "v1")]
    assert await listed(max_depth=1, limit=1, offset=1) == [("z",)]
    two = (MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("*", "c")), MatchCondition("suffix", ("v2",)))
    assert await store.abatch([ListNamespacesOp(two, max_depth=2)]) == [[("a", "c")]]


async def test_batch_reads_before_it_writes_and_the_last_write_counts(client: AsyncClient) -> None:
    store = ThreadkeepStore(client)
    await store.aput(("a",), "key", {"x": 0})
    results = await store.abatch(
        [
            PutOp(("a",), "key", {"x": 1}),
            GetOp(("a",), "key"),
            PutOp(("a",), "key", {"x": 2}),
            PutOp(("a",), "other", None),
            SearchOp(("a",)),
            GetOp(("a",), "key", refresh_ttl=False),
            GetOp(("a",), "none"),
        ]
    )
    values: list[Any] = [getattr(result, "value", result) for result in results]
    assert values[:2] == [None, {"x": 0}]
    assert [item.value for item in values[4]] == [{"x": 0}]
    assert values[5:] == [{"x": 0}, None]
    assert (await store.asearch(("a",)))[0].value == {"x": 2}


async def test_item_with_a_ttl_expires_and_a_read_refreshes_it(client: AsyncClient) -> None:
    store = ThreadkeepStore(client, ttl={"default_ttl": 1 / 60, "refresh_on_read": False})
    await store.aput(("a",), "default", {"x": 1})
    await store.aput(("a",), "longer", {"x": 1}, ttl=2 / 60)
    await store.aput(("a",), "always", {"x": 1}, ttl=None)
    deadline = time.monotonic() + 10
    while await store.aget(("a",), "default") is not None:
        assert await store.aget(("a",), "longer", refresh_ttl=True) is not None
        assert time.monotonic() < deadline
        await asyncio.sleep(0.2)
    assert {item.key for item in await store.asearch(("a",), refresh_ttl=False)} == {"longer", "always"}


async def test_memories_of_others_are_items(client: AsyncClient) -> None:
    entry = memory_entry("Ada prefers trains", id="m1", namespace=["facts"], metadata={"sure": True}, author="planner")
    await client.memories.add(entry)
    store = ThreadkeepStore(client)
    item = await store.aget(("facts",), "m1")
    assert item is not None
    assert item.value == {"text": "Ada prefers trains", "sure": True}
    found = await store.asearch((), query="trains", filter={"sure": True})
    assert [each.key for each in found] == ["m1"]
    await store.aput(("facts",), "m2", {"text": "Ada prefers night trains"})
    both = await client.memories.search("trains")
    assert {each.id for each in both.entries} == {"m1", "m2"}


def test_store_with_a_blocking_client_serves_both_ways(sync_client: Client) -> None:
    store = ThreadkeepStore(sync_client, user_id="another")
    store.put(("a",), "key", {"x": 1})
    item = asyncio.run(store.aget(("a",), "key"))
    assert item is not None
    assert [each.value for each in store.search(("a",))] == [{"x": 1}]
    assert store.list_namespaces() == [("a",)]
    store.delete(("a",), "key")
    assert store.get(("a",), "key") is None
    assert not sync_client.memories.list_page().entries
