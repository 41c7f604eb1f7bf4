"""The contract of `ConversationStore`: records, revisions, entries."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest.mock import AsyncMock, patch

import pytest
from pydantic_ai import Conversation, ConversationTypeAdapter
from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry, ConversationRecord, ConversationStore
from pydantic_ai.messages import BinaryContent, ModelRequest, ModelResponse, SystemPromptPart, ToolCallPart, ToolReturnPart
from pydantic_ai.messages import UserPromptPart as Prompt
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.usage import RunUsage

from threadkeep import AsyncClient, user
from threadkeep.formats.pydantic_ai import events_of
from threadkeep.integrations.pydantic_ai import ThreadkeepConversationStore

from .talk import conversation, message, say, texts

Store = ThreadkeepConversationStore


async def stored(store: ConversationStore, conversation_id: str) -> list[str]:
    loaded = await store.load(conversation_id)
    assert loaded is not None
    return texts(loaded.messages)


def entry(text: str, parent_id: str | None) -> ConversationEntry:
    return ConversationEntry(parent_id=parent_id, message=message(text))


async def test_unknown_conversation_has_no_record(store: Store) -> None:
    assert await store.read_record("nowhere") is None
    assert await store.load("nowhere") is None


async def test_unknown_entry_raises_lookup_error(store: Store) -> None:
    with pytest.raises(LookupError):
        await store.read_entry("nowhere")


async def test_saved_conversation_loads_equal(store: Store, other: Store) -> None:
    saved = conversation("c", "u1", "a1")
    saved.usage = RunUsage(requests=2, input_tokens=5, output_tokens=7, tool_calls=1, details={"reasoning_tokens": 3})
    saved.deferred_tool_requests = DeferredToolRequests(approvals=[ToolCallPart("book", {"nights": 2}, "call_1")])
    await store.save(saved)
    assert await other.load("c") == saved


async def test_record_written_reads_equal(store: Store, other: Store) -> None:
    first = entry("u1", None)
    record = ConversationRecord(
        conversation_id="c", head_id=first.id, scope="ada", branches=["left"], forked_from="b", forked_at="x"
    )
    await store.write_record(record, new_entries=[first], expected_revision=None)
    assert await other.read_record("c") == record
    assert await other.read_history(first.id) == [first]
    assert await other.read_entry(first.id) == first


async def test_conversation_without_messages_is_stored(store: Store, other: Store) -> None:
    await store.save(Conversation(conversation_id="c", usage=RunUsage(requests=1)))
    loaded = await other.load("c")
    assert loaded is not None
    assert (loaded.messages, loaded.usage.requests) == ([], 1)
    await other.save(say(loaded, "u1"))
    assert await stored(store, "c") == ["u1"]


async def test_save_stores_only_new_messages(store: Store, client: AsyncClient) -> None:
    saved = conversation("c", "u1", "a1")
    assert len(await store.save(saved)) == 2
    assert len(await store.save(say(saved, "u2"))) == 1
    assert await store.save(saved) == []
    assert [event.text async for event in client.events("c") if event.text] == ["u1", "a1", "u2"]


async def test_save_of_serialized_conversation_compares_messages_by_equality(store: Store, other: Store) -> None:
    await store.save(conversation("c", "u1", "a1"))
    again = ConversationTypeAdapter.validate_json(ConversationTypeAdapter.dump_json(await store.load("c") or Conversation()))
    assert len(await other.save(say(again, "u2"))) == 1
    assert await stored(store, "c") == ["u1", "a1", "u2"]


async def test_save_of_rewritten_history_branches_off_the_last_shared_message(store: Store, client: AsyncClient) -> None:
    await store.save(conversation("c", "u1", "a1", "u2", "a2"))
    loaded = await store.load("c")
    assert loaded is not None
    rewritten = replace(loaded, messages=[*loaded.messages[:2], message("u2 edited")], new_message_index=None)
    await store.save(rewritten)
    assert await stored(store, "c") == ["u1", "a1", "u2 edited"]
    window = [event.text async for event in client.events("c") if not event.archived]
    assert window == ["u1", "a1", "u2 edited"], "other frameworks see the history"


async def test_write_expecting_no_record_conflicts_with_stored_record(store: Store, other: Store) -> None:
    await store.save(conversation("c", "u1"))
    with pytest.raises(ConversationConflict):
        await other.write_record(ConversationRecord(conversation_id="c", head_id=None), expected_revision=None)
    with pytest.raises(ConversationConflict):
        await other.save(conversation("c", "u2"))
    assert await stored(store, "c") == ["u1"]


async def test_write_expecting_another_revision_conflicts_and_stores_nothing(store: Store, client: AsyncClient) -> None:
    await store.save(conversation("c", "u1"))
    record = await store.read_record("c")
    assert record is not None
    late = entry("u2", record.head_id)
    with pytest.raises(ConversationConflict):
        await store.write_record(replace(record, head_id=late.id), new_entries=[late], expected_revision="another")
    with pytest.raises(LookupError):
        await store.read_entry(late.id)
    assert await store.read_record("c") == record
    assert (await client.get_session("c")).last_seq == 1


async def test_write_of_missing_conversation_expecting_a_revision_conflicts(store: Store) -> None:
    with pytest.raises(ConversationConflict):
        await store.write_record(ConversationRecord(conversation_id="c", head_id=None), expected_revision="gone")
    assert await store.read_record("c") is None


@pytest.mark.parametrize("exists", [False, True])
async def test_head_that_is_neither_stored_nor_new_conflicts(store: Store, exists: bool) -> None:
    revision = None
    if exists:
        saved = conversation("c", "u1")
        await store.save(saved)
        revision = saved.revision
    before = await store.read_record("c")
    with pytest.raises(ConversationConflict):
        await store.write_record(ConversationRecord(conversation_id="c", head_id="nowhere"), expected_revision=revision)
    assert await store.read_record("c") == before


async def test_stale_copy_conflicts_after_another_save(store: Store, other: Store) -> None:
    await store.save(conversation("c", "u1"))
    mine, theirs = await store.load("c"), await other.load("c")
    assert mine is not None
    assert theirs is not None
    await other.save(say(theirs, "a1"))
    with pytest.raises(ConversationConflict):
        await store.save(say(mine, "a1 again"))
    assert await stored(store, "c") == ["u1", "a1"]


async def test_copy_from_before_a_deletion_conflicts_with_the_conversation_created_again(store: Store, other: Store) -> None:
    await store.save(conversation("c", "u1"))
    old = await store.load("c")
    assert old is not None
    await other.delete("c")
    await other.save(conversation("c", "u1"))
    with pytest.raises(ConversationConflict):
        await store.save(say(old, "a1"))
    assert await stored(other, "c") == ["u1"]


async def test_deletion_expecting_another_revision_conflicts(store: Store) -> None:
    with pytest.raises(ConversationConflict):
        await store.delete_record("c", expected_revision="none")
    await store.save(conversation("c", "u1"))
    with pytest.raises(ConversationConflict):
        await store.delete_record("c", expected_revision="another")
    assert await stored(store, "c") == ["u1"]


async def test_deletion_removes_record_and_entries(store: Store, client: AsyncClient) -> None:
    (first,) = await store.save(conversation("c", "u1"))
    await store.delete("c")
    assert await store.load("c") is None
    with pytest.raises(LookupError):
        await store.read_entry(first.id)
    assert [session async for session in client.sessions()] == []


async def test_interrupted_deletion_is_finished_by_the_next_reader(store: Store, client: AsyncClient) -> None:
    await store.save(conversation("c", "u1"))
    with patch.object(client, "delete_session", AsyncMock(side_effect=ConnectionError)), pytest.raises(ConnectionError):
        await store.delete("c")
    assert await store.load("c") is None
    with pytest.raises(ConversationConflict):
        await store.save(conversation("c", "u2"))
    with patch("threadkeep.integrations.pydantic_ai.records._DELETED_WITHIN", timedelta(0)):
        await store.save(conversation("c", "u2"))
    assert await stored(store, "c") == ["u2"]


async def test_records_are_listed_newest_first_up_to_the_limit(store: Store) -> None:
    for number in range(5):
        await store.save(conversation(f"c{number}", "u1"))
    first = await store.load("c0")
    assert first is not None
    await store.save(say(first, "a1"))
    listed = await store.list_conversations()
    assert [record.conversation_id for record in listed] == ["c0", "c4", "c3", "c2", "c1"]
    assert await store.list_conversations(limit=2) == listed[:2]
    assert await store.list_conversations(limit=0) == []


async def test_records_are_listed_by_updated_at(store: Store) -> None:
    for number, days in enumerate((2, 9, 5)):
        record = ConversationRecord(conversation_id=f"c{number}", head_id=None, updated_at=datetime(2026, 1, days, tzinfo=UTC))
        await store.write_record(record, expected_revision=None)
    assert [record.conversation_id for record in await store.read_records()] == ["c1", "c2", "c0"]


async def test_scope_selects_records_and_none_selects_any(store: Store) -> None:
    long = "x" * 300
    for conversation_id, scope in (("a", "ada"), ("b", "bob"), ("n", None), ("l", long)):
        await store.save(conversation(conversation_id, "u1"), scope=scope)
    assert [record.conversation_id for record in await store.list_conversations(scope="ada")] == ["a"]
    assert [record.conversation_id for record in await store.list_conversations(scope=long)] == ["l"]
    assert len(await store.list_conversations()) == 4
    assert await store.load("a", scope="bob") is None
    with pytest.raises(ConversationConflict):
        await store.save(conversation("a", "u2"), scope="bob")
    await store.delete("a", scope="bob")
    assert await stored(store, "a") == ["u1"]


async def test_stores_of_two_users_share_a_client_and_no_conversation(client: AsyncClient) -> None:
    ada, bob = Store(client), Store(client, user_id="bob")
    await ada.save(conversation("c", "u of ada"))
    assert await bob.load("c") is None
    await bob.save(conversation("c", "u of bob"))
    assert await stored(ada, "c") == ["u of ada"]


async def test_history_is_read_in_one_call(store: Store, other: Store, client: AsyncClient) -> None:
    await store.save(conversation("c", *("u" if n % 2 else "a" for n in range(50))))
    record = await other.read_record("c")
    assert record is not None
    with patch.object(client, "events_page", wraps=client.events_page) as read:
        assert len(await other.read_history(record.head_id)) == 50
        assert len(await other.read_history(record.head_id, limit=3)) == 3
    assert read.call_count == 2


async def test_limit_loads_the_last_messages_and_a_save_appends_to_all(store: Store, other: Store) -> None:
    await store.save(conversation("c", "u1", "a1", "u2", "a2"))
    loaded = await other.load("c", limit=2)
    assert loaded is not None
    assert texts(loaded.messages) == ["u2", "a2"]
    await other.save(say(loaded, "u3"))
    assert await stored(store, "c") == ["u1", "a1", "u2", "a2", "u3"]
    whole, last = await store.load_entries("c"), await other.load_entries("c", limit=2)
    assert whole is not None
    assert last == whole[-2:]


async def test_entries_link_to_the_entries_before_them(store: Store) -> None:
    saved = await store.save(conversation("c", "u1", "a1", "u2"))
    assert [each.parent_id for each in saved] == [None, saved[0].id, saved[1].id]
    assert await store.load_entries("c") == saved


async def test_entry_is_read_by_a_store_that_has_not_read_its_conversation(store: Store, other: Store) -> None:
    saved = await store.save(conversation("c", "u1", "a1"))
    assert await other.read_entry(saved[1].id) == saved[1]


async def test_request_of_several_roles_is_one_entry(store: Store, other: Store, client: AsyncClient) -> None:
    opening = ModelRequest(parts=[SystemPromptPart("Be brief."), Prompt("Hello")])
    mixed = ModelRequest(parts=[ToolReturnPart("weather", "21", "call_1"), Prompt("And tomorrow?")])
    call = ModelResponse(parts=[ToolCallPart("weather", {}, "call_1")])
    saved = Conversation(messages=[opening, call, mixed], conversation_id="c")
    await store.save(saved)
    assert await other.load("c") == saved
    assert await other.load_entries("c", limit=1) == (await other.load_entries("c") or [])[-1:]
    events = [event async for event in client.events("c")]
    assert [str(event.role) for event in events] == ["system", "user", "assistant", "tool", "user"]
    assert [event.text for event in events] == ["Be brief.", "Hello", "", "", "And tomorrow?"]


async def test_bytes_survive_and_those_of_results_are_base64(store: Store, other: Store) -> None:
    image = BinaryContent(bytes(range(256)), media_type="application/pdf")
    prompt = ModelRequest(parts=[Prompt(["Look:", image])])
    answer = ModelRequest(parts=[ToolReturnPart("photo", {"raw": b"\x00\xff"}, "call_1")])
    await store.save(Conversation(messages=[prompt, answer], conversation_id="c"))
    loaded = await other.load("c")
    assert loaded is not None
    assert loaded.messages[0] == prompt
    returned = loaded.messages[1].parts[0]
    assert isinstance(returned, ToolReturnPart)
    assert returned.content == {"raw": "AP8="}


async def test_of_concurrent_first_saves_one_wins_and_the_others_conflict(client: AsyncClient) -> None:
    saves = (Store(client).save(conversation("c", f"u{n}")) for n in range(8))
    outcomes = await asyncio.gather(*saves, return_exceptions=True)
    assert sorted(type(each).__name__ for each in outcomes) == ["ConversationConflict"] * 7 + ["list"]
    assert len(await stored(Store(client), "c")) == 1


async def test_concurrent_writers_that_load_again_lose_nothing_and_store_nothing_twice(client: AsyncClient) -> None:
    await Store(client).save(conversation("c", "u"))

    async def turn(number: int) -> None:
        store = Store(client)
        while True:
            loaded = await store.load("c")
            assert loaded is not None
            try:
                await store.save(say(loaded, f"u{number}", f"a{number}"))
            except ConversationConflict:
                continue
            return

    await asyncio.gather(*(turn(number) for number in range(6)))
    said = await stored(Store(client), "c")
    assert sorted(said) == sorted(["u", *(f"{who}{number}" for who in "ua" for number in range(6))])
    assert all(said[at + 1] == said[at].replace("u", "a") for at in range(1, 13, 2)), "each turn is whole"


async def test_save_beside_a_compaction_is_no_conflict(store: Store, client: AsyncClient) -> None:
    saved = conversation("c", "u1", "a1", "u2", "a2")
    await store.save(saved)
    context = await client.get_context("c")
    await client.apply_compaction("c", context=context, summary="They met.", through_seq=2)
    await store.save(say(saved, "u3"))
    said = await stored(store, "c")
    assert said[-4:] == ["They met.", "u2", "a2", "u3"]
    assert "u1" not in said


async def test_message_with_a_part_of_a_newer_version_is_read_from_its_parts(client: AsyncClient) -> None:
    parts = [{"part_kind": "text", "content": "Let me look."}, {"part_kind": "of-a-newer-version", "shape": "round"}]
    message = {"kind": "response", "parts": parts, "usage": {"input_tokens": 3, "output_tokens": 2}}
    await client.append("c", user("How is Oslo?"), *events_of(message, "e1"), create_if_missing=True)
    assert await stored(ThreadkeepConversationStore(client), "c") == ["How is Oslo?", "Let me look."]
