"""A model endpoint that answers each question in two rounds of two tool calls, and rejects incomplete conversations."""

from __future__ import annotations

from typing import Any

from tests.chat.reasoning import Refused, Thinking, Thought, turn_of

ROUNDS, CALLS = 2, 2
_THINKS_S = 0.005


class ToolCallingEndpoint(Thinking):
    """`problems`: the problems of the received conversations."""

    def __init__(self) -> None:
        super().__init__(self._decide, seconds=_THINKS_S)
        self.problems: list[str] = []

    def _decide(self, request: dict[str, Any]) -> Thought:
        problem = _problem(request["messages"])
        if problem:
            self.problems.append(problem)
            raise Refused(problem)
        turn = turn_of(request)
        question = int(turn[0]["content"].split()[-1])
        if sum(message["role"] == "assistant" for message in turn) < ROUNDS:
            return [("look_up", {"question": question})] * CALLS
        return f"answer {question}"


def _problem(messages: list[dict[str, Any]]) -> str:
    """Returns why a provider would reject these messages, or which question is missing."""
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
