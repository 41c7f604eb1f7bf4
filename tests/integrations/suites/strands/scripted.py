"""A model that follows a script, and what to say to it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
from typing import Any

from strands import Agent, tool
from strands.models.model import Model
from strands.session import SessionManager
from strands.types.content import ContentBlock, Message, Messages
from strands.types.streaming import StreamEvent


class Script(Model):
    """Calls the tool `book` for each prompt, then says what it returned."""

    def update_config(self, **model_config: Any) -> None:
        """Nothing to configure."""

    def get_config(self) -> dict[str, Any]:
        """Nothing is configured."""
        return {}

    def structured_output(self, *_args: Any, **_kwargs: Any) -> AsyncGenerator[dict[str, Any], None]:
        """Not needed."""
        raise NotImplementedError

    async def stream(self, messages: Messages, *_args: Any, **_kwargs: Any) -> AsyncIterable[StreamEvent]:
        """The answer, as a provider streams it."""
        last = messages[-1]["content"][-1]
        yield {"messageStart": {"role": "assistant"}}
        if "toolResult" in last:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": f"done: {last['toolResult']['content'][0]['text']}"}}}
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "book", "toolUseId": f"call_{len(messages)}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"nights": len(messages)})}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if "toolResult" in last else "tool_use"}}
        usage = {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}  # type: ignore[typeddict-item]


def booking(session_manager: SessionManager[Any], *effects: Callable[[], object], **options: Any) -> Agent:
    """An agent whose tool runs what it is given, then counts the nights."""

    @tool
    def book(nights: int) -> str:
        """Book a hotel."""
        for effect in effects:
            effect()
        return f"{nights} nights"

    return Agent(model=Script(), tools=[book], session_manager=session_manager, callback_handler=None, **options)


def user(text: str) -> Message:
    """A message of the user."""
    return {"role": "user", "content": [{"text": text}]}


def assistant(text: str) -> Message:
    """A message of the model."""
    return {"role": "assistant", "content": [{"text": text}]}


def texts(messages: Sequence[Message]) -> list[str]:
    """The texts of messages; those of tools are not among them."""
    return [block["text"] for message in messages for block in message["content"] if "text" in block]


def kinds(messages: Sequence[Message]) -> list[str]:
    """The kinds of blocks, in order."""
    blocks: list[ContentBlock] = [block for message in messages for block in message["content"]]
    return [next(iter(block)) for block in blocks]
