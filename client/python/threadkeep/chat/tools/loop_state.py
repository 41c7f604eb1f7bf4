"""State of one turn of a tool loop between its rounds. Belongs to one request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..context_keys import RESUME
from ..types.aggregate import Aggregator
from ..types.messages import Message, ToolCall
from ..types.requests import ChatClientRequest, ChatClientResponse
from ..types.responses import ChatResponse, Usage
from .executions import ToolExecution


class LoopState:
    """`request`: the request of the next round. `rounds`: the number of answers so far."""

    __slots__ = ("_history", "_knows_history", "_spent", "request", "rounds")

    def __init__(self, request: ChatClientRequest, knows_history: bool) -> None:
        """`knows_history`: each round's request contains the whole turn, and changes to it persist."""
        self.request = request
        self.rounds = 0
        self._knows_history = knows_history
        self._history: tuple[Message, ...] | None = None
        self._spent = Usage()

    @property
    def resumes(self) -> bool:
        """Returns whether an interrupted turn is resumed and no round has passed."""
        return bool(self.request.context.get(RESUME))

    def history(self, round_request: ChatClientRequest) -> tuple[Message, ...]:
        """Returns the whole turn up to the last answer."""
        return round_request.messages if self._history is None or self._knows_history else self._history

    def add_answer(self, answer: ChatClientResponse) -> None:
        """Adds the answer of a round. Its context is passed to the next round, where a resumed turn is like any other."""
        self.rounds += 1
        again = {RESUME: False} if RESUME in self.request.context else {}
        self.request = self.request.with_context({**answer.context, **again})

    def start_next_round(self, answer: ChatClientResponse, execution: ToolExecution, instructions: Sequence[Message]) -> None:
        """Prepares the next round after the tools ran."""
        self._spent = self.with_turn_usage(answer).usage
        self._history = execution.history
        self.request = self.request.with_messages(*instructions)

    def with_turn_usage(self, answer: ChatClientResponse) -> ChatClientResponse:
        """Returns the answer with the usage of earlier rounds added; unchanged if they had none."""
        if answer.response is None or not self._spent:
            return answer
        return answer.with_response(answer.response.with_usage(self._spent + answer.usage))

    def chunk_with_turn_usage(self, chunk: ChatClientResponse) -> ChatClientResponse:
        """Returns a chunk with the usage of earlier rounds added if it has a usage."""
        return self.with_turn_usage(chunk) if chunk.usage else chunk

    def usage_chunks(self, answer: ChatClientResponse) -> Iterator[ChatClientResponse]:
        """Yields a chunk with the usage of the turn if no chunk of the last answer had one."""
        if self._spent and not answer.usage:
            yield self.with_turn_usage(answer.with_response(replace(answer.response or ChatResponse(), generations=())))


class LoopRound:
    """The chunks of one answer: those that can be passed on, and those that wait until the turn's end is known: tool calls,
    and the end of the answer after them."""

    __slots__ = ("_answer", "_has_response", "_held", "_whole")

    def __init__(self) -> None:
        self._held: list[ChatClientResponse] = []
        self._answer: ChatClientResponse | None = None
        self._whole = Aggregator()
        self._has_response = False

    def passing(self, chunk: ChatClientResponse) -> ChatClientResponse | None:
        """Adds a chunk. Returns what can be passed on: the chunk, after the first tool call only its content, or None."""
        self._whole.add(chunk)
        self._has_response = self._has_response or chunk.response is not None
        if not chunk.tool_calls and not self._held:
            return chunk
        said = _without_calls(chunk)
        self._held.append(chunk if said is None else _only_calls(chunk))
        return said

    def answer(self) -> ChatClientResponse:
        """Returns the whole answer; without a response if no chunk had one."""
        if self._answer is None:
            whole = self._whole.response()
            self._answer = whole if self._has_response else whole.with_response(None)
        return self._answer

    def ending(self, answer: ChatClientResponse) -> list[ChatClientResponse]:
        """Returns the remaining chunks when this answer ends the turn: those held back, or, for a replaced answer, its calls
        and its end."""
        if answer.response is self.answer().response:
            return self._held
        return [_only_calls(answer)] if self._held or answer.tool_calls else []


def _without_calls(chunk: ChatClientResponse) -> ChatClientResponse | None:
    """Returns the content of a chunk without its calls and its end; None if it is empty."""
    if chunk.response is None:
        return None
    parts = [[part for part in each.message.parts if not isinstance(part, ToolCall)] for each in chunk.response.generations]
    if not any(parts):
        return None
    said = tuple(
        replace(each, message=replace(each.message, parts=tuple(kept)), finish_reason="")
        for each, kept in zip(chunk.response.generations, parts, strict=True)
    )
    return chunk.with_response(replace(chunk.response, generations=said, usage=Usage()))


def _only_calls(chunk: ChatClientResponse) -> ChatClientResponse:
    response = chunk.response or ChatResponse()
    calls = tuple(replace(each, message=replace(each.message, parts=each.message.tool_calls)) for each in response.generations)
    return chunk.with_response(replace(response, generations=calls))
