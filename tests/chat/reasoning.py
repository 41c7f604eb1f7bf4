"""A model's endpoint on loopback that thinks: what it answers depends on what it is asked, whole or streamed."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

from tests.support.models.model_endpoint import Behaviour, replies

from .fakes.loopback import USAGE, Loopback, call, calls_in_deltas, chunk, completion, events

Thought = str | Sequence[tuple[str, dict[str, Any]]]
"""What to say, or which tools to call with which arguments."""
Think = Callable[[dict[str, Any]], Thought]


class Refused(Exception):
    """Raised instead of thinking: the endpoint answers 400 with this text."""


class Thinking(Loopback):
    """Speaks OpenAI's chat completions. `think` is given the request's JSON."""

    def __init__(self, think: Think, *, seconds: float = 0.0) -> None:
        super().__init__("openai")
        self._think = think
        self._seconds = seconds
        self.does(self._answer)

    def _answer(self, writer: asyncio.StreamWriter) -> Awaitable[None]:
        return self._later(self.body, writer)  # now: others may ask before it is answered

    async def _later(self, asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self._seconds)
        await self._behaviour(asked)(writer)

    def _behaviour(self, asked: dict[str, Any]) -> Behaviour:
        try:
            thought = self._think(asked)
        except Refused as problem:
            return replies({"error": {"message": str(problem)}}, status=400)
        text = thought if isinstance(thought, str) else None
        calls = [] if isinstance(thought, str) else [_call(name, arguments) for name, arguments in thought]
        if not asked.get("stream"):
            return replies(completion(text, calls=calls))
        said = (
            calls_in_deltas(calls) if text is None else [chunk({"content": each}) for each in re.findall(r"\S+\s*|\s+", text)]
        )
        return events([*said, chunk(reason="tool_calls" if calls else "stop"), chunk(usage=USAGE)])


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return call(f"call-{uuid4().hex}", name, json.dumps(arguments))


def turn_of(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages from the last of the user on."""
    messages: list[dict[str, Any]] = asked["messages"]
    return messages[max(at for at, message in enumerate(messages) if message["role"] == "user") :]
