"""The contract of `Storage`, and of a memory store."""

from __future__ import annotations

import asyncio
import os
from threading import Thread
from typing import Any
from unittest.mock import patch

import pytest
from strands.memory import AddMessagesContext, MemoryManager, MemoryStore
from strands.storage import Storage
from strands.types.content import Message
from strands.types.exceptions import StorageError

from threadkeep import Client, errors
from threadkeep.integrations.strands import ThreadkeepMemoryStore, ThreadkeepStorage

from .scripted import assistant, user


@pytest.fixture
def storage(sync_client: Client) -> ThreadkeepStorage:
    return ThreadkeepStorage(sync_client)


@pytest.fixture
def memory(sync_client: Client) -> ThreadkeepMemoryStore:
    return ThreadkeepMemoryStore(sync_client)


def test_storage_is_of_the_protocol(storage: ThreadkeepStorage, memory: ThreadkeepMemoryStore) -> None:
    assert isinstance(storage, Storage)
    store: MemoryStore = memory
    assert store.name == "threadkeep"


@pytest.mark.parametrize("data", [b"", b"{}", bytes(range(256)) * 9, os.urandom(2_200_000), b"x" * 30_000_000])
async def test_bytes_come_back_unchanged(storage: ThreadkeepStorage, data: bytes) -> None:
    await storage.write("k", data)
    assert await storage.read("k") == data


async def test_write_replaces_the_value(storage: ThreadkeepStorage, sync_client: Client) -> None:
    for data in (os.urandom(2_000_000), b"short", b""):
        await storage.write("k", data)
        assert await storage.read("k") == data
    (session,) = sync_client.sessions()
    assert len(sync_client.session(session).state().get()) == 1
    assert not session.HasField("expire_time")


async def test_key_without_a_value_reads_none_and_is_deleted_without_effect(storage: ThreadkeepStorage) -> None:
    assert await storage.read("k") is None
    await storage.delete("k")
    await storage.write("k", b"1")
    await storage.delete("k")
    assert await storage.read("k") is None
    assert await storage.list("") == []


async def test_keys_are_listed_by_prefix_whole_and_sorted(storage: ThreadkeepStorage, sync_client: Client) -> None:
    sync_client.create_session("a conversation")
    for key in ("b/2", "a/10", "a/9", "ab", "a/ü"):
        await storage.write(key, b"1")
    assert await storage.list("") == ["a/10", "a/9", "a/ü", "ab", "b/2"]
    assert await storage.list("a/") == ["a/10", "a/9", "a/ü"]
    assert await storage.list("a/1") == ["a/10"]
    assert await storage.list("c") == []


async def test_search_finds_keys_by_words(storage: ThreadkeepStorage) -> None:
    await storage.write("notes/tea", b"green tea and black tea")
    await storage.write("notes/rain", b"rain in Lisbon")
    assert [each.key for each in await storage.search("lisbon rain")][:1] == ["notes/rain"]


@pytest.mark.parametrize("key", ["", "k" * 300, "a\x00b"])
async def test_invalid_key_is_a_storage_error(storage: ThreadkeepStorage, key: str) -> None:
    with pytest.raises(StorageError):
        await storage.write(key, b"1")


async def test_value_above_the_limit_is_a_storage_error(storage: ThreadkeepStorage) -> None:
    with pytest.raises(StorageError, match="more than 3000000"):
        await storage.write("k", os.urandom(3_100_000))
    assert await storage.read("k") is None


async def test_unavailable_server_is_a_storage_error(sync_client: Client, storage: ThreadkeepStorage) -> None:
    with patch.object(sync_client, "delete_session", side_effect=errors.Unavailable("gone")), pytest.raises(StorageError):
        await storage.delete("k")


async def test_first_writes_of_a_key_at_once_leave_one_value(storage: ThreadkeepStorage) -> None:
    values = [f"{number}".encode() * 100 for number in range(8)]
    await asyncio.gather(*(storage.write("k", value) for value in values))
    assert await storage.read("k") in values


def test_storage_and_memory_work_in_any_event_loop(storage: ThreadkeepStorage, memory: ThreadkeepMemoryStore) -> None:
    async def use(number: int) -> None:
        await storage.write(f"k{number}", b"1")
        await memory.add(f"fact {number}")

    threads = [Thread(target=lambda number=number: asyncio.run(use(number))) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asyncio.run(storage.list("")) == ["k0", "k1", "k2"]
    assert len(asyncio.run(memory.search("fact"))) == 3


async def test_memory_is_found_by_relevance_with_its_metadata(memory: ThreadkeepMemoryStore) -> None:
    await memory.add("Ada likes green tea.", {"source": "chat"})
    await memory.add("It rains in Lisbon.")
    (found,) = await memory.search("green tea")
    assert (found.content, found.store_name) == ("Ada likes green tea.", "threadkeep")
    assert found.metadata is not None
    assert found.metadata["source"] == "chat"
    assert 0 < found.metadata["score"] <= 1


async def test_search_returns_at_most_max_search_results(sync_client: Client) -> None:
    store = ThreadkeepMemoryStore(sync_client, max_search_results=2)
    for number in range(5):
        await store.add(f"tea number {number}")
    assert len(await store.search("tea")) == 2
    assert len(await store.search("tea", {"max_search_results": 4})) == 4


async def test_content_added_again_is_stored_once(memory: ThreadkeepMemoryStore) -> None:
    first = await memory.add("Ada likes tea.", {"seen": 1})
    assert await memory.add("Ada likes tea.", {"seen": 2}) == first
    (found,) = await memory.search("tea")
    assert found.metadata is not None
    assert found.metadata["seen"] == 2


async def test_messages_are_added_once_for_each_message_not_for_each_text(memory: ThreadkeepMemoryStore) -> None:
    messages: list[Message] = [user("ok tea"), assistant("ok tea"), user("ok tea")]
    messages[0]["tracking_id"] = "11111111-1111-4111-8111-111111111111"
    context = AddMessagesContext(sequence_numbers=[0, 1, 3])
    for _ in range(2):
        assert await memory.add_messages(messages, context) == 3
    assert len(await memory.search("tea")) == 3


async def test_messages_of_two_runs_have_the_same_numbers_and_are_both_kept(sync_client: Client) -> None:
    for text in ("tea in the first run", "tea in the second run"):
        context = AddMessagesContext(sequence_numbers=[0])
        assert await ThreadkeepMemoryStore(sync_client).add_messages([user(text)], context) == 1
    assert len(await ThreadkeepMemoryStore(sync_client).search("tea")) == 2


async def test_messages_without_text_are_left_out(memory: ThreadkeepMemoryStore) -> None:
    call: Any = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "t", "input": {}}}]}
    assert await memory.add_messages([call, user(" ")]) == 0


async def test_store_searches_its_namespace_and_those_below(sync_client: Client) -> None:
    everything, travel = ThreadkeepMemoryStore(sync_client), ThreadkeepMemoryStore(sync_client, namespace=("travel",))
    await everything.add("tea at home")
    await travel.add("tea in Lisbon")
    assert len(await everything.search("tea")) == 2
    assert [each.content for each in await travel.search("tea")] == ["tea in Lisbon"]


async def test_manager_searches_and_adds(memory: ThreadkeepMemoryStore) -> None:
    manager = MemoryManager(stores=[memory])
    await manager.add("Ada likes green tea.")
    assert [each.content for each in await manager.search("tea")] == ["Ada likes green tea."]
