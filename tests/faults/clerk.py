"""A model's endpoint that answers each question in two rounds of two tool calls, and refuses what is not whole."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import uuid4

from tests.chat.loopback import Loopback, call, calls_in_deltas, chunk, completion, events
from tests.support.model_endpoint import Behaviour, replies

ROUNDS, CALLS = 2, 2
_THINKS_S = 0.005


class Clerk(Loopback):
    """`problems`: what was wrong with the conversations that it was given."""

    def __init__(self) -> None:
        super().__init__("openai")
        self.problems: list[str] = []
        self.does(self._answer)

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(_THINKS_S)
        await self._behaviour()(writer)

    def _behaviour(self) -> Behaviour:
        messages = self.body["messages"]
        problem = _problem(messages)
        if problem:
            self.problems.append(problem)
            return replies({"error": {"message": problem}}, status=400)
        last = max(at for at, message in enumerate(messages) if message["role"] == "user")
        question = int(messages[last]["content"].split()[-1])
        rounds = sum(message["role"] == "assistant" for message in messages[last:])
        calls = []
        if rounds < ROUNDS:
            calls = [call(f"call-{uuid4().hex}", "look_up", json.dumps({"question": question})) for _ in range(CALLS)]
        text = None if calls else f"answer {question}"
        if not self.body.get("stream"):
            return replies(completion(text, calls=calls))
        said = calls_in_deltas(calls) if calls else [chunk({"role": "assistant", "content": text})]
        return events([*said, chunk(reason="tool_calls" if calls else "stop")])


def _problem(messages: list[dict[str, Any]]) -> str:
    """Why a provider would refuse these messages, or what of the story is missing in them."""
    open_calls: list[str] = []
    questions = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return f"a result without its call: {message}"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"no result for {open_calls} before {message}"
        open_calls = [each["id"] for each in message.get("tool_calls") or ()]
        if message["role"] == "user":
            questions.append(message["content"])
    if open_calls:
        return f"no result for {open_calls} at the end"
    if questions != [f"question {number}" for number in range(len(questions))]:
        return f"the questions are {questions}"
    return ""
