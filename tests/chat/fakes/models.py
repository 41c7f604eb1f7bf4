"""Prompts and helpers that the tests of all model adapters share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from threadkeep.chat import (
    Aggregator,
    ChatResponse,
    Media,
    Message,
    Prompt,
    Reasoning,
    Text,
    Tool,
    ToolCall,
    ToolDefinition,
    ToolResult,
    assistant,
    system,
    tool,
    user,
)

from ..async_and_sync import Way

HELLO = Prompt((user("Hello"),))
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = Tool(ToolDefinition("weather", "Returns the weather.", SCHEMA, strict=True), lambda arguments, context: "Rain")


def conversation(*, arguments: str = "{broken") -> tuple[Message, ...]:
    """Returns every kind of message: with a picture, with reasoning and two calls, with a result and an error."""
    calls = (ToolCall("a", "weather", '{"city": "Oslo"}'), ToolCall("b", "weather", arguments))
    return (
        system("Be short."),
        user(["Where is this?", Media("image/png", data=b"\x89PNG", detail="low")]),
        assistant([Reasoning("Oslo, perhaps.", b"c2ln"), "I look it up."], tool_calls=calls),
        tool(
            ToolResult("a", "weather", (Text("Rain"),)),
            ToolResult("b", "weather", (Text("no such city"),), is_error=True),
        ),
    )


async def answer_of(way: Way, model: Any, prompt: Prompt) -> list[ChatResponse]:
    """Returns the answer, or all its chunks."""
    if way.streams:
        return await way.kit.all(model.stream(prompt))
    return [await way.kit.of(model.call, prompt)]


def merged(chunks: Sequence[ChatResponse]) -> ChatResponse:
    """Returns the chunks merged into one response."""
    whole = Aggregator()
    for each in chunks:
        whole.add_response(each)
    return whole.chat_response()
