"""A fake model endpoint on loopback whose answers a function computes from the request, whole or streamed."""

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
"""An answer: text, or tool calls as names and arguments."""
Think = Callable[[dict[str, Any]], Thought]


class Refused(Exception):
    """Raised by the function: the endpoint answers 400 with this text."""


class Thinking(Loopback):
    """Implements OpenAI's chat completions. `think` receives the request's JSON."""

    def __init__(self, think: Think, *, seconds: float = 0.0) -> None:
        super().__init__("openai")
        self._think = think
        self._seconds = seconds
        self.does(self._answer)

    def _answer(self, writer: asyncio.StreamWriter) -> Awaitable[None]:
        return self._later(self.body, writer)  # read the body now: another request may replace it

    async def _later(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self._seconds)
        await self._behaviour(request)(writer)

    def _behaviour(self, request: dict[str, Any]) -> Behaviour:
        try:
            thought = self._think(request)
        except Refused as problem:
            return replies({"error": {"message": str(problem)}}, status=400)
        text = thought if isinstance(thought, str) else None
        calls = [] if isinstance(thought, str) else [_call(name, arguments) for name, arguments in thought]
        if not request.get("stream"):
            return replies(completion(text, calls=calls))
        said = (
            calls_in_deltas(calls) if text is None else [chunk({"content": each}) for each in re.findall(r"\S+\s*|\s+", text)]
        )
        return events([*said, chunk(reason="tool_calls" if calls else "stop"), chunk(usage=USAGE)])


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return call(f"call-{uuid4().hex}", name, json.dumps(arguments))


def turn_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the messages from the last user message to the end."""
    messages: list[dict[str, Any]] = request["messages"]
    return messages[max(at for at, message in enumerate(messages) if message["role"] == "user") :]
