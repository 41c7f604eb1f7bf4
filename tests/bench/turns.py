"""Turns of a conversation, through the agent kit and by hand with the SDK, with a model that answers at once."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import threadkeep
from tests.bench import loads, payloads
from threadkeep import MemoryProvider, chat
from threadkeep.chat import Tool, ToolCall, ToolContext, ToolDefinition

EVENTS = 50
"""That a turn reads back."""
_QUESTION, _ANSWER, _FOUND = "q" * 200, "a" * 800, "r" * 400
_DEFINITION = ToolDefinition("look_up", "Looks something up.", {"type": "object", "properties": {"what": {"type": "string"}}})
_ARGUMENTS = '{"what": "it"}'
_SEEN = MemoryProvider.limited_window().read_last(EVENTS)
Job = dict[str, Any]


async def turns(job: Job) -> dict[str, Any]:
    """One turn after the other, in the sessions in turn, each with one round of a tool if `tools`. `by`: "kit" or "hand"."""
    async with threadkeep.AsyncClient(job["target"], app=payloads.APP, user_id="u000") as client:
        turn = (_by_kit if job["by"] == "kit" else _by_hand)(client, with_tools=job["tools"])
        begin = time.perf_counter() + job["warmup"]
        times: list[float] = []
        before = time.perf_counter()
        number = 0
        while before < begin + job["seconds"] or not times:
            await turn(job["sessions"][number % len(job["sessions"])], f"call-{job['run']}-{number}")
            after = time.perf_counter()
            if before >= begin:
                times.append(after - before)
            before, number = after, number + 1
    return loads.summary(times, before - begin, 1, 0)


def _by_kit(client: threadkeep.AsyncClient, *, with_tools: bool) -> Callable[[str, str], Awaitable[None]]:
    async def found(arguments: str, context: ToolContext) -> str:
        return _FOUND

    memory = chat.AsyncSessionMemoryAdvisor(client, memory=_SEEN)
    tools = [Tool(_DEFINITION, found)] if with_tools else []
    model = chat.AsyncScriptedModel()
    kit = chat.AsyncChatClient(model, advisors=[memory], tools=tools)

    async def turn(session: str, call_id: str) -> None:
        model.prompts.clear()  # it keeps them, and they would be gone through with all that is collected
        if with_tools:
            model.add(chat.assistant(tool_calls=[ToolCall(call_id, _DEFINITION.name, _ARGUMENTS)]))
        model.add(_ANSWER)
        answer = await kit.prompt(_QUESTION).session(session).call()
        if answer.text != _ANSWER:
            raise ValueError(f"the turn ended with {answer.text[:100]!r}")

    return turn


def _by_hand(client: threadkeep.AsyncClient, *, with_tools: bool) -> Callable[[str, str], Awaitable[None]]:
    async def turn(session: str, call_id: str) -> None:
        await client.get_context(session, _SEEN)
        await client.append(session, threadkeep.user(_QUESTION))
        if with_tools:
            call = threadkeep.tool_call(call_id, _DEFINITION.name, _ARGUMENTS)
            await client.append(session, threadkeep.assistant(tool_calls=[call]))
            await client.append(session, threadkeep.tool_result(call_id, _FOUND, name=_DEFINITION.name))
        await client.append(session, threadkeep.assistant(_ANSWER))

    return turn
