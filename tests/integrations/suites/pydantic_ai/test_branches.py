"""Branches and forks, which share entries, and conversations that others write to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pydantic_ai import Conversation
from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry, ConversationRecord
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart, ToolReturnPart, UserPromptPart

from threadkeep import AsyncClient, Role, assistant, event, media, reasoning, system, tool_call, tool_error, tool_result, user
from threadkeep.integrations.pydantic_ai import ThreadkeepConversationStore

from .talk import conversation, message, say, texts

Store = ThreadkeepConversationStore


async def stored(store: Store, conversation_id: str) -> list[str]:
    loaded = await store.load(conversation_id)
    assert loaded is not None
    return texts(loaded.messages)


async def window(client: AsyncClient, session_id: str) -> list[str]:
    """What other frameworks see."""
    return [event.text async for event in client.events(session_id) if not event.archived]


async def branched(store: Store, at: int) -> tuple[Conversation, Sequence[ConversationEntry]]:
    """A branch from the message `at` of a conversation of four, and the entries of the latter."""
    saved = conversation("c", "u1", "a1", "u2", "a2")
    entries = await store.save(saved)
    return await store.branch("c", at=at, expected_revision=saved.revision), entries


async def test_branch_moves_the_head_and_keeps_what_it_leaves(store: Store, other: Store, client: AsyncClient) -> None:
    branch, entries = await branched(store, 2)
    assert texts(branch.messages) == ["u1", "a1"]
    assert await stored(other, "c") == ["u1", "a1"]
    record = await other.read_record("c")
    assert record is not None
    assert record.branches == [entries[3].id]
    assert await other.read_history(entries[3].id) == entries
    assert await window(client, "c") == ["u1", "a1"]


async def test_turn_on_a_branch_follows_its_entry(store: Store, other: Store, client: AsyncClient) -> None:
    branch, entries = await branched(store, 2)
    (new,) = await store.save(say(branch, "u2 again"))
    assert new.parent_id == entries[1].id
    assert await stored(other, "c") == ["u1", "a1", "u2 again"]
    assert await window(client, "c") == ["u1", "a1", "u2 again"]


async def test_branch_back_brings_the_left_history_back(store: Store, other: Store, client: AsyncClient) -> None:
    branch, entries = await branched(store, 2)
    (new,) = await store.save(say(branch, "u2 again"))
    back = await other.branch("c", from_entry=entries[3].id, expected_revision=branch.revision)
    assert texts(back.messages) == ["u1", "a1", "u2", "a2"]
    assert await other.load_entries("c") == entries
    record = await store.read_record("c")
    assert record is not None
    assert record.branches == [new.id]
    assert await window(client, "c") == ["u1", "a1", "u2", "a2"]
    await other.save(say(back, "u3"))
    assert await stored(store, "c") == ["u1", "a1", "u2", "a2", "u3"]


async def test_branch_from_nothing_starts_again(store: Store, other: Store, client: AsyncClient) -> None:
    branch, _ = await branched(store, 0)
    assert await stored(other, "c") == []
    await other.save(say(branch, "u"))
    assert await stored(store, "c") == ["u"]
    assert await window(client, "c") == ["u"]


async def test_branch_of_a_stale_copy_conflicts(store: Store, other: Store) -> None:
    saved = conversation("c", "u1", "a1")
    await store.save(saved)
    old = saved.revision
    await store.save(say(saved, "u2"))
    with pytest.raises(ConversationConflict):
        await other.branch("c", at=1, expected_revision=old)
    assert await stored(other, "c") == ["u1", "a1", "u2"]


async def test_branch_from_an_unknown_entry_is_refused(store: Store) -> None:
    saved = conversation("c", "u1")
    await store.save(saved)
    with pytest.raises(UserError):
        await store.branch("c", from_entry="nowhere", expected_revision=saved.revision)


async def test_fork_shares_the_entries(store: Store, other: Store, client: AsyncClient) -> None:
    entries = await store.save(conversation("c", "u1", "a1", "u2"))
    fork = await other.fork("c", at=2, new_conversation_id="f")
    assert texts(fork.messages) == ["u1", "a1"]
    assert await store.load_entries("f") == entries[:2]
    await other.save(say(fork, "u2 of the fork"))
    assert await stored(store, "f") == ["u1", "a1", "u2 of the fork"]
    assert await stored(store, "c") == ["u1", "a1", "u2"]
    assert await window(client, "f") == ["u1", "a1", "u2 of the fork"]
    record = await store.read_record("f")
    assert record is not None
    assert (record.forked_from, record.forked_at) == ("c", entries[1].id)
    assert (await client.get_session("f")).parent.session.session_id == "c"


async def test_fork_of_everything_takes_usage_and_scope(store: Store, other: Store) -> None:
    saved = conversation("c", "u1", "a1")
    saved.usage.requests = 3
    await store.save(saved, scope="ada")
    fork = await store.fork("c")
    loaded = await other.load(fork.conversation_id, scope="ada")
    assert loaded == fork
    assert loaded.usage.requests == 3
    assert len(await other.list_conversations(scope="ada")) == 2


async def test_fork_of_a_left_branch(store: Store, other: Store) -> None:
    branch, entries = await branched(store, 2)
    await store.save(say(branch, "u2 again"))
    await other.fork("c", from_entry=entries[2].id, new_conversation_id="f")
    assert await store.load_entries("f") == entries[:3]


async def test_fork_without_entries_is_an_empty_conversation(store: Store, other: Store) -> None:
    await store.save(conversation("c", "u1"))
    await store.fork("c", at=0, new_conversation_id="f")
    assert await stored(other, "f") == []


async def test_fork_outlives_the_conversation_it_was_made_of(store: Store, other: Store) -> None:
    entries = await store.save(conversation("c", "u1", "a1"))
    await store.fork("c", new_conversation_id="f")
    await other.delete("c")
    assert await store.load_entries("f") == entries
    assert await store.read_entry(entries[0].id) == entries[0]


async def test_fork_of_a_deleted_conversation_conflicts(store: Store, other: Store) -> None:
    (first,) = await store.save(conversation("c", "u1"))
    await other.delete("c")
    fork = ConversationRecord(conversation_id="f", head_id=first.id, forked_from="c", forked_at=first.id)
    with pytest.raises(ConversationConflict):
        await store.write_record(fork, expected_revision=None)
    assert await store.read_record("f") is None


async def test_fork_under_an_id_in_use_conflicts(store: Store) -> None:
    await store.save(conversation("c", "u1"))
    await store.save(conversation("f", "u2"))
    with pytest.raises(ConversationConflict):
        await store.fork("c", new_conversation_id="f")
    assert await stored(store, "f") == ["u2"]


async def test_fork_that_the_server_made_is_a_conversation(store: Store, client: AsyncClient) -> None:
    entries = await store.save(conversation("c", "u1", "a1"))
    await client.fork("c", "f")
    assert await store.load_entries("f") == entries
    loaded = await store.load("f")
    assert loaded is not None
    await store.save(say(loaded, "u2"))
    assert await stored(store, "f") == ["u1", "a1", "u2"]
    assert await stored(store, "c") == ["u1", "a1"]


async def test_conversation_of_another_framework_is_continued(store: Store, other: Store, client: AsyncClient) -> None:
    events = [
        system("Be brief."),
        user(["Look.", media("image/png", data=b"\x89PNG")]),
        assistant([reasoning("Hm.")], tool_calls=[tool_call("c1", "look", {"at": 1}), tool_call("c2", "look", {"at": 2})]),
        tool_result("c1", {"seen": True}),
        tool_error("c2", "dark"),
        assistant("One is seen."),
    ]
    await client.append("c", events, create_if_missing=True)
    loaded = await store.load("c")
    assert loaded is not None
    call = loaded.messages[2]
    assert isinstance(call, ModelResponse)
    assert [type(part) for part in call.parts] == [ThinkingPart, ToolCallPart, ToolCallPart]
    results = [part for each in loaded.messages for part in each.parts if isinstance(part, ToolReturnPart)]
    assert [(part.tool_name, part.outcome) for part in results] == [("look", "success"), ("look", "failed")]
    assert await other.load("c") == loaded, "a message reads the same each time"
    await store.save(say(loaded, "u thanks"))
    assert (await stored(other, "c"))[-2:] == ["One is seen.", "u thanks"]
    assert await window(client, "c") == ["Be brief.", "Look.", "", "", "", "One is seen.", "u thanks"]


async def test_turn_of_another_framework_is_part_of_the_history(store: Store, other: Store, client: AsyncClient) -> None:
    saved = conversation("c", "u1", "a1")
    entries = await store.save(saved)
    await client.append("c", "u2 elsewhere", assistant("a2 elsewhere"))
    with pytest.raises(ConversationConflict):
        await store.save(say(saved, "u2"))
    loaded = await other.load("c")
    assert loaded is not None
    assert texts(loaded.messages) == ["u1", "a1", "u2 elsewhere", "a2 elsewhere"]
    (new,) = await other.save(say(loaded, "u3"))
    linked = await store.load_entries("c")
    assert linked is not None
    assert linked[:2] == entries
    assert [each.parent_id for each in linked] == [None, *(each.id for each in linked[:-1])]
    assert linked[-1] == new


async def test_events_that_another_framework_took_back_leave_the_history(store: Store, client: AsyncClient) -> None:
    await store.save(conversation("c", "u1", "a1"))
    await client.pop("c")
    assert await stored(store, "c") == ["u1"]
    await client.clear("c")
    assert await stored(store, "c") == []


async def test_events_without_content_are_no_conflict(store: Store, client: AsyncClient) -> None:
    saved = conversation("c", "u1", "a1")
    await store.save(saved)
    await client.append("c", event("assistant", branch="checkpoints"))
    await store.save(say(saved, "u2"))
    entries = await store.load_entries("c")
    assert entries is not None
    assert [each.parent_id for each in entries] == [None, entries[0].id, entries[1].id]
    await client.append("c", event("assistant", branch="checkpoints"))
    assert await stored(store, "c") == ["u1", "a1", "u2"]
    await store.branch("c", at=1, expected_revision=saved.revision)
    assert [event.branch async for event in client.events("c") if not event.archived] == ["", "checkpoints", "checkpoints"]


async def test_entries_are_events_that_every_framework_reads(store: Store, client: AsyncClient) -> None:
    call = ToolCallPart("weather", {"city": "Oslo"}, "call_1")
    spoken = ModelResponse(parts=[ThinkingPart("Hm."), TextPart("Let me see."), call])
    spoken.usage.input_tokens, spoken.usage.output_tokens = 3, 4
    entries = await store.save(Conversation(messages=[message("u1"), spoken], conversation_id="c"))
    events = [event async for event in client.events("c")]
    assert [event.id for event in events] == [entry.id for entry in entries]
    assert (events[1].role, events[1].text, events[1].tool_calls[0].args) == (Role.ASSISTANT, "Let me see.", {"city": "Oslo"})
    assert events[1].pb.native.format == "pydantic_ai.message/1"
    assert (await client.get_session("c")).usage.total_tokens == 7
    assert isinstance(entries[0].message.parts[0], UserPromptPart)
