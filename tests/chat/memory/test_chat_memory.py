"""Session memory outside the tool loop, as a chat memory: its order, what it stores and what it adds."""

from __future__ import annotations

from typing import Any

import pytest

import threadkeep
from threadkeep.chat import MissingSession, Text, ToolCall, ToolResult, assistant, context_keys, system, tool

from ..conversations import Talk, prompt_of

CALL = assistant(tool_calls=[ToolCall("c1", "look", "{}")])
FOUND = tool(ToolResult("c1", "look", (Text("found"),)))


async def test_session_memory_default_and_custom_name_and_order(talk: Talk) -> None:
    inside = talk.memory()
    assert (inside.name, inside.order) == ("Session Memory Advisor", context_keys.SESSION_MEMORY_ORDER)
    assert context_keys.HIGHEST_PRECEDENCE < context_keys.CHAT_MEMORY_ORDER < context_keys.TOOL_CALLING_ORDER < inside.order
    outside = talk.memory(order=context_keys.CHAT_MEMORY_ORDER, name="chats")
    assert (outside.name, outside.order) == ("chats", context_keys.CHAT_MEMORY_ORDER)


async def test_memory_without_session_raises_missing_session(talk: Talk) -> None:
    model = talk.kit.ScriptedModel()
    client = talk.kit.ChatClient(model, advisors=[talk.memory(order=context_keys.CHAT_MEMORY_ORDER)])
    with pytest.raises(MissingSession, match=context_keys.SESSION):
        await talk.way.ask(client.prompt("hi"))
    assert model.prompts == []


async def test_memory_outside_loop_stores_user_messages_and_tool_results(talk: Talk) -> None:
    model, memory = talk.kit.ScriptedModel([CALL, "done"]), talk.memory(order=context_keys.CHAT_MEMORY_ORDER)
    client = talk.kit.ChatClient(model, advisors=[memory], auto_tool_calling=False)
    await talk.way.ask(client.prompt("hi").session(talk.session))
    assert await talk.log() == ["user: hi", "assistant: [look c1]"]
    await talk.way.ask(client.prompt(FOUND).session(talk.session))
    assert prompt_of(model) == ["user: hi", "assistant: [look c1]", "tool: c1=found"]
    assert await talk.log() == [*prompt_of(model), "assistant: done"]


@pytest.mark.parametrize("turns", [None, 1])
async def test_request_with_repeated_history_adds_no_duplicates(talk: Talk, turns: int | None) -> None:
    """The request repeats the whole history, or more of it than the memory's window has."""
    await talk.append(threadkeep.user("one"), threadkeep.assistant("1"), threadkeep.user("two"), threadkeep.assistant("2"))
    window = threadkeep.MemoryProvider.limited_window()
    memory = talk.memory(order=context_keys.CHAT_MEMORY_ORDER, memory=window.max_turns(turns) if turns else window)
    model = talk.kit.ScriptedModel(["3"])
    await talk.ask(model, memory, "one", assistant("1"), "two", assistant("2"), "three")
    assert prompt_of(model) == ["user: one", "assistant: 1", "user: two", "assistant: 2", "user: three"]
    assert await talk.log() == [*prompt_of(model), "assistant: 3"]


@pytest.mark.parametrize("first", [True, False])
async def test_instructions_come_first_wherever_the_request_has_them(talk: Talk, first: bool) -> None:
    await talk.append(threadkeep.user("one"), threadkeep.assistant("1"))
    model, memory = talk.kit.ScriptedModel(["2"]), talk.memory(order=context_keys.CHAT_MEMORY_ORDER)
    said: list[Any] = [system("Count."), "two"] if first else ["two", system("Count.")]
    await talk.ask(model, memory, *said)
    assert prompt_of(model) == ["system: Count.", "user: one", "assistant: 1", "user: two"]
