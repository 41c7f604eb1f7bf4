"""The rules of `AsyncDBChatStore`; the framework's store on SQLite passes the same tests."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore

from threadkeep import AsyncClient, assistant, tool_call, tool_result, user
from threadkeep.errors import BrokenToolPair, Unavailable
from threadkeep.formats.llama_index import event_of
from threadkeep.integrations.llama_index import ThreadkeepChatStore

from .scripted import call, said

ACTIVE, ARCHIVED = MessageStatus.ACTIVE, MessageStatus.ARCHIVED


@pytest.fixture(params=["ours", "theirs"])
def store(request: pytest.FixtureRequest, client: AsyncClient) -> AsyncDBChatStore:
    """Our store, and the framework's own."""
    return ThreadkeepChatStore(client) if request.param == "ours" else SQLAlchemyChatStore(table_name="messages")


def says(*texts: str) -> list[ChatMessage]:
    return [ChatMessage(role="user", content=text) for text in texts]


def texts(messages: list[ChatMessage]) -> list[str | None]:
    return [message.content for message in messages]


@pytest.mark.parametrize("method", sorted(AsyncDBChatStore.__abstractmethods__))
def test_methods_have_the_arguments_of_the_base_class(method: str) -> None:
    def shape(holder: object) -> list[tuple[str, object]]:
        found = inspect.signature(getattr(holder, method)).parameters
        return [(name, each.default) for name, each in found.items()]

    assert shape(ThreadkeepChatStore) == shape(AsyncDBChatStore)


async def test_unknown_key_has_no_messages(store: AsyncDBChatStore) -> None:
    assert await store.get_messages("k") == []
    assert await store.get_messages("k", status=None) == []
    assert await store.count_messages("k") == 0
    assert await store.get_keys() == []
    assert await store.delete_oldest_messages("k", 3) == []
    assert await store.archive_oldest_messages("k", 3) == []
    assert await store.delete_message("k", 1) is None
    await store.delete_messages("k")


async def test_messages_come_back_equal_and_oldest_first(store: AsyncDBChatStore) -> None:
    written = [
        ChatMessage(role=MessageRole.DEVELOPER, content="Be brief."),
        ChatMessage(
            role="user",
            blocks=[
                TextBlock(text="Hi 🌞"),
                ImageBlock(url="https://example.com/a.png", detail="low"),
                ImageBlock(image=b"\x89PNG\r\n\x1a\n", image_mimetype="image/png"),
                AudioBlock(audio=b"RIFF0000WAVE", format="wav"),
                DocumentBlock(data=b"%PDF-1.7", title="plan.pdf", document_mimetype="application/pdf"),
            ],
        ),
        ChatMessage(
            role="assistant",
            blocks=[
                ThinkingBlock(content="Hm.", additional_information={"signature": "s=="}),
                ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs='{"city":  "Oslo"}'),
            ],
            additional_kwargs={"trace": {"n": 2**40}},
        ),
        ChatMessage(role="tool", content="3 °C", additional_kwargs={"tool_call_id": "c1"}),
        ChatMessage(role="assistant", content=""),
    ]
    await store.add_message("k", written[0])
    await store.add_messages("k", written[1:])
    assert await store.get_messages("k") == written
    assert await store.count_messages("k") == 5


async def test_limit_and_offset_select_from_the_oldest(store: AsyncDBChatStore) -> None:
    await store.add_messages("k", says("a", "b", "c", "d"))
    assert texts(await store.get_messages("k", limit=2)) == ["a", "b"]
    assert texts(await store.get_messages("k", limit=2, offset=1)) == ["b", "c"]
    assert texts(await store.get_messages("k", limit=9, offset=3)) == ["d"]
    assert await store.get_messages("k", limit=0) == []


async def test_add_with_status_archived_is_not_active(store: AsyncDBChatStore) -> None:
    await store.add_message("k", says("old")[0], status=ARCHIVED)
    await store.add_messages("k", says("older", "oldest"), status=ARCHIVED)
    await store.add_message("k", says("new")[0])
    assert texts(await store.get_messages("k")) == ["new"]
    assert texts(await store.get_messages("k", status=ARCHIVED)) == ["old", "older", "oldest"]
    assert texts(await store.get_messages("k", status=None)) == ["old", "older", "oldest", "new"]


async def test_archive_oldest_moves_the_oldest_active_messages(store: AsyncDBChatStore) -> None:
    await store.add_messages("k", says("a", "b", "c", "d"))
    assert texts(await store.archive_oldest_messages("k", 1)) == ["a"]
    assert texts(await store.archive_oldest_messages("k", 2)) == ["b", "c"]
    assert await store.archive_oldest_messages("k", 0) == []
    assert texts(await store.get_messages("k")) == ["d"]
    assert texts(await store.get_messages("k", status=ARCHIVED)) == ["a", "b", "c"]
    assert texts(await store.get_messages("k", status=None)) == ["a", "b", "c", "d"]
    assert [await store.count_messages("k", status) for status in (ACTIVE, ARCHIVED, None)] == [1, 3, 4]
    assert texts(await store.archive_oldest_messages("k", 9)) == ["d"]


async def test_delete_oldest_removes_active_messages_only(store: AsyncDBChatStore) -> None:
    await store.add_messages("k", says("a", "b", "c", "d"))
    await store.archive_oldest_messages("k", 1)
    assert texts(await store.delete_oldest_messages("k", 2)) == ["b", "c"]
    assert texts(await store.get_messages("k", status=None)) == ["a", "d"]
    assert texts(await store.get_messages("k", status=ARCHIVED)) == ["a"]


async def test_delete_message_returns_it_once(store: AsyncDBChatStore) -> None:
    await store.add_messages("k", says("a", "b", "c"))
    deleted = await store.delete_message("k", 2)
    assert deleted is not None
    assert deleted.content == "b"
    assert await store.delete_message("k", 2) is None
    assert await store.delete_message("k", 99) is None
    assert await store.delete_message("k", -1) is None
    assert texts(await store.get_messages("k", status=None)) == ["a", "c"]


@pytest.mark.parametrize(("status", "left"), [(ACTIVE, ["a"]), (ARCHIVED, ["b", "c"]), (None, [])])
async def test_delete_messages_removes_those_of_a_status(
    store: AsyncDBChatStore, status: MessageStatus | None, left: list[str]
) -> None:
    await store.add_messages("k", says("a", "b", "c"))
    await store.archive_oldest_messages("k", 1)
    await store.delete_messages("k", status)
    assert texts(await store.get_messages("k", status=None)) == left
    await store.add_messages("k", says("new"))
    assert texts(await store.get_messages("k", status=None)) == [*left, "new"]


async def test_set_messages_replaces_those_of_any_status(store: AsyncDBChatStore) -> None:
    await store.set_messages("k", says("a", "b", "c"))
    await store.archive_oldest_messages("k", 1)
    await store.set_messages("k", says("x", "y"))
    assert texts(await store.get_messages("k", status=None)) == ["x", "y"]
    assert texts(await store.get_messages("k")) == ["x", "y"]
    await store.set_messages("k", says("z"), status=ARCHIVED)
    assert texts(await store.get_messages("k", status=ARCHIVED)) == ["z"]
    assert await store.get_messages("k") == []


async def test_keys_are_separate_and_listed(store: AsyncDBChatStore) -> None:
    for key in ("a", "b/c", "ünï 🌞"):
        await store.add_messages(key, says(key))
    assert sorted(await store.get_keys()) == sorted(["a", "b/c", "ünï 🌞"])
    await store.delete_messages("a")
    assert sorted(await store.get_keys()) == sorted(["b/c", "ünï 🌞"])
    assert texts(await store.get_messages("b/c")) == ["b/c"]


async def test_set_to_no_messages_empties_a_key(client: AsyncClient) -> None:
    store = ThreadkeepChatStore(client)
    await store.set_messages("k", [])
    await store.set_messages("k", says("a"))
    await store.set_messages("k", [])
    assert await store.get_messages("k", status=None) == []


async def test_concurrent_first_messages_of_a_key_are_all_stored(client: AsyncClient) -> None:
    store = ThreadkeepChatStore(client)
    await asyncio.gather(*(store.add_messages("k", says(f"{n}a", f"{n}b")) for n in range(20)))
    read = [text or "" for text in texts(await store.get_messages("k"))]
    assert len(read) == 40
    assert all(read[n + 1] == f"{read[n][:-1]}b" for n in range(0, 40, 2)), "a call is one append"


@pytest.mark.parametrize("method", ["delete_oldest_messages", "archive_oldest_messages"])
async def test_concurrent_takers_get_each_message_once(client: AsyncClient, method: str) -> None:
    store = ThreadkeepChatStore(client)
    await store.add_messages("k", says(*(str(n) for n in range(12))))
    taken = await asyncio.gather(*(getattr(store, method)("k", 3) for _ in range(4)), store.add_messages("k", says("new")))
    assert sorted(str(text) for each in taken[:4] for text in texts(each)) == sorted(str(n) for n in range(12))
    assert texts(await store.get_messages("k")) == ["new"]


async def test_archive_that_would_part_a_call_from_its_result_is_refused(client: AsyncClient) -> None:
    store = ThreadkeepChatStore(client)
    result = ChatMessage(role="tool", content="3", additional_kwargs={"tool_call_id": "call_1"})
    await store.add_messages("k", [*says("q"), call("weather"), result])
    with pytest.raises(BrokenToolPair):
        await store.archive_oldest_messages("k", 2)
    assert len(await store.archive_oldest_messages("k", 3)) == 3


async def test_key_with_thousands_of_messages_is_complete(client: AsyncClient) -> None:
    store = ThreadkeepChatStore(client)
    await store.add_messages("k", says(*(str(n) for n in range(2_100))))
    assert await store.count_messages("k") == 2_100
    assert len(await store.archive_oldest_messages("k", 1_050)) == 1_050
    assert texts(await store.get_messages("k", limit=1)) == ["1050"]
    await store.set_messages("k", says(*(str(n) for n in range(1_001))))
    assert texts(await store.get_messages("k", status=None)) == [str(n) for n in range(1_001)]


async def test_events_of_others_are_messages(client: AsyncClient) -> None:
    await client.append(
        "k",
        user("Weather?"),
        assistant("Let me look.", tool_calls=[tool_call("c1", "weather", {"city": "Oslo"})]),
        tool_result("c1", {"celsius": 3}),
        create_if_missing=True,
    )
    question, answered, result = await ThreadkeepChatStore(client).get_messages("k")
    assert said([question]) == [("user", "Weather?")]
    (block,) = [block for block in answered.blocks if isinstance(block, ToolCallBlock)]
    assert (answered.content, block.tool_call_id, block.tool_kwargs) == ("Let me look.", "c1", {"city": "Oslo"})
    assert (result.role.value, result.content, result.additional_kwargs) == ("tool", '{"celsius":3}', {"tool_call_id": "c1"})


async def test_others_read_what_the_framework_wrote(client: AsyncClient) -> None:
    legacy = {"tool_calls": [{"id": "c0", "type": "function", "function": {"name": "old", "arguments": "{}"}}]}
    result = ChatMessage(role="tool", content="3", additional_kwargs={"tool_call_id": "c1"})
    written = [call("weather", "c1", city="Oslo"), result, ChatMessage(role="assistant", additional_kwargs=legacy)]
    await ThreadkeepChatStore(client).add_messages("k", written)
    calling, answering, older = [event async for event in client.events("k")]
    assert [(each.id, each.name, each.args) for each in calling.tool_calls] == [("c1", "weather", {"city": "Oslo"})]
    assert [(each.call_id, each.text) for each in answering.tool_results] == [("c1", "3")]
    assert [(each.id, each.name) for each in older.tool_calls] == [("c0", "old")]


async def test_add_that_was_stored_without_an_answer_is_not_stored_twice(client: AsyncClient) -> None:
    store, append = ThreadkeepChatStore(client), client.append

    async def unanswered(*args: object, **kwargs: object) -> None:
        await append(*args, **kwargs)  # type: ignore[arg-type]
        raise Unavailable("the connection broke after the commit")

    client.append = unanswered  # type: ignore[method-assign, assignment]
    with pytest.raises(Unavailable):
        await store.add_messages("k", says("a", "b"))
    client.append = append  # type: ignore[method-assign]
    await store.add_messages("k", says("a", "b"))
    assert texts(await store.get_messages("k")) == ["a", "b"]


async def test_message_with_a_block_of_a_newer_version_is_read_from_its_parts(client: AsyncClient) -> None:
    blocks = [{"block_type": "text", "text": "Let me look."}, {"block_type": "of_a_newer_version", "shape": "round"}]
    await client.append("k", event_of({"role": "assistant", "blocks": blocks}), create_if_missing=True)
    [message] = await ThreadkeepChatStore(client).get_messages("k")
    assert (message.role, message.content) == (MessageRole.ASSISTANT, "Let me look.")
