"""User-controlled tool loops: the client calls the model, and the program runs the tools with the manager."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest

from threadkeep.chat import (
    Aggregator,
    AsyncChatClient,
    AsyncScriptedModel,
    AsyncToolCallingManager,
    ChatClient,
    ChatClientResponse,
    Message,
    Prompt,
    Role,
    ScriptedModel,
    ToolCallingManager,
    ToolCallLimitExceeded,
    ToolCallLimits,
    ToolOptions,
    Usage,
    user,
)
from threadkeep.chat.context_keys import AUTO_TOOLS

from ..async_and_sync import Kit, Way, text_of
from ..tool_loop import RecordingTools, answer_calling, answer_saying


class Program:
    """Calls the model until it makes no tool call. A real program has no `way`: it uses `prompt.call()`, or merges the chunks
    of `prompt.stream()`."""

    def __init__(self, way: Way, client: Any, tools: tuple[Any, ...], manager: Any = None) -> None:
        self._way, self._client = way, client
        self._options = ToolOptions(tools=tools)
        self._manager = manager or way.kit.ToolCallingManager()
        self.shown: list[ChatClientResponse] = []

    async def ask(self, *messages: Message) -> ChatClientResponse:
        prompt = self._client.prompt().messages(*messages).options(self._options).params({AUTO_TOOLS: False})
        chunks = await self._way.ask(prompt)
        self.shown += chunks
        whole = Aggregator()
        for chunk in chunks:
            whole.add(chunk)
        return whole.response() if self._way.streams else chunks[0]

    async def converse(self, *messages: Message) -> ChatClientResponse:
        answer = await self.ask(*messages)
        while answer.tool_calls:
            execution = await self._way.kit.of(self._manager.execute, Prompt(messages, self._options), answer.response)
            messages = execution.history
            answer = await self.ask(*messages)
        return answer


async def test_user_controlled_loop_runs_tools_until_the_answer(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    model = kit.ScriptedModel(
        [answer_calling("clock", text="let me see"), answer_calling("weather", "clock"), "rain at ten past nine"]
    )
    program = Program(way, kit.ChatClient(model), (runs.tool("clock"), runs.tool("weather")))
    answer = await program.converse(user("how is it?"))
    assert (answer.text, runs.made) == ("rain at ten past nine", ["clock", "weather", "clock"])
    assert text_of(program.shown) == "let me see" + "rain at ten past nine"
    assert [call.name for chunk in program.shown for call in chunk.tool_calls] == ["clock", "weather", "clock"]
    assert [message.role for message in model.prompts[-1].messages] == [
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.ASSISTANT,
        Role.TOOL,
    ]
    assert model.prompts[-1].messages[1].text == "let me see"


async def test_user_controlled_loop_in_async_stream_style() -> None:
    """With `stream`; the style without streams uses `call` in place of `stream` and `aclosing`."""
    runs = RecordingTools()
    model = AsyncScriptedModel([answer_calling("clock", text="let me see: "), "ten past nine"])
    client, manager = AsyncChatClient(model, auto_tool_calling=False), AsyncToolCallingManager()
    options, shown = ToolOptions(tools=(runs.tool("clock"),)), ""
    messages: tuple[Message, ...] = (user("what time is it?"),)
    while messages:
        whole = Aggregator()
        async with aclosing(client.prompt().messages(*messages).options(options).stream()) as chunks:
            async for chunk in chunks:
                whole.add(chunk)
                shown += chunk.text
        answer = whole.chat_response()
        messages = (await manager.execute(Prompt(messages, options), answer)).history if answer.tool_calls else ()
    assert (shown, runs.made) == ("let me see: ten past nine", ["clock"])


def test_user_controlled_loop_in_blocking_style() -> None:
    runs = RecordingTools()
    model = ScriptedModel([answer_calling("clock"), "ten past nine"])
    client, manager = ChatClient(model, auto_tool_calling=False), ToolCallingManager()
    options = ToolOptions(tools=(runs.tool("clock"),))
    messages: tuple[Message, ...] = (user("what time is it?"),)
    answer = client.prompt().messages(*messages).options(options).call()
    while answer.response and answer.tool_calls:
        messages = manager.execute(Prompt(messages, options), answer.response).history
        answer = client.prompt().messages(*messages).options(options).call()
    assert (answer.text, runs.made) == ("ten past nine", ["clock"])


async def test_limits_apply_to_user_controlled_turns(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    manager = kit.ToolCallingManager(limits=ToolCallLimits(per_tool=2))
    program = Program(way, kit.ChatClient(kit.ScriptedModel([answer_calling("clock")] * 5)), (runs.tool("clock"),), manager)
    with pytest.raises(ToolCallLimitExceeded, match="'clock'"):
        await program.converse(user("hi"))
    assert runs.made == ["clock", "clock"]


async def test_each_answer_of_user_controlled_loop_has_its_own_usage(kit: Kit, way: Way) -> None:
    model = kit.ScriptedModel([answer_calling("clock", usage=Usage(10, 20, 30)), answer_saying("done", Usage(1, 2, 3))])
    program = Program(way, kit.ChatClient(model), (RecordingTools().tool("clock"),))
    assert (await program.converse(user("hi"))).usage == Usage(1, 2, 3)


async def test_ineligible_loop_leaves_tools_to_the_program(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    model = kit.ScriptedModel([answer_calling("clock"), "done"])
    client = kit.ChatClient(model, advisors=[kit.ToolCallingAdvisor(eligible=lambda answer: False)])
    assert (await Program(way, client, (runs.tool("clock"),)).converse(user("hi"))).text == "done"
    assert (runs.made, len(model.prompts)) == (["clock"], 2)
