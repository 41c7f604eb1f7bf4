"""Answers of OpenAI's chat completions, whole and streamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...types.frozen import nothing
from ...types.messages import Message, Part, Reasoning, Role, Text, ToolCall
from ...types.responses import ChatResponse, Generation, Usage
from .call_ids import CallIds
from .reading import ErrorEvent, Json, Unfinished, Unreadable, compact, count_in, object_in, objects_in, parsed, text_in
from .sse import Event

_DONE = "[DONE]"
_REFUSED = {"refusal": True}


def answer(body: Json) -> ChatResponse:
    """Returns an answer with one generation per choice. Raises Unreadable.

    A refusal is the text of its message; metadata: `refusal` is True.
    """
    if not isinstance(body.get("choices"), list):
        raise Unreadable("choices is missing")
    about = text_in(body, "id")
    generations = tuple(_generation(each, about) for each in objects_in(body, "choices"))
    return ChatResponse(generations, usage(body.get("usage")), about, text_in(body, "model"))


def _generation(choice: Json, about: str) -> Generation:
    message = object_in(choice, "message")
    parts, refused = _said(message)
    ids = CallIds(about)
    for call in objects_in(message, "tool_calls"):
        building = _Call()
        building.add(call)
        parts.append(building.whole(ids))
    return Generation(
        Message(Role.ASSISTANT, tuple(parts)), text_in(choice, "finish_reason"), _REFUSED if refused else nothing()
    )


def _said(message: Json) -> tuple[list[Part], bool]:
    """Returns the reasoning, text and refusal of a message or delta."""
    reasoning = text_in(message, "reasoning_content") or text_in(message, "reasoning")
    refusal = text_in(message, "refusal")
    parts: list[Part] = [Reasoning(reasoning)] if reasoning else []
    return parts + [Text(text) for text in (_content(message), refusal) if text], bool(refusal)


def _content(message: Json) -> str:
    """Returns the text; some servers answer with a list of contents."""
    if isinstance(message.get("content"), list):
        return "".join(text_in(each, "text") for each in objects_in(message, "content"))
    return text_in(message, "content")


def usage(found: Any) -> Usage:
    """Returns the usage of an answer or chunk; empty without one."""
    if not isinstance(found, dict):
        return Usage()
    prompt, completion = found.get("prompt_tokens_details"), found.get("completion_tokens_details")
    details = prompt if isinstance(prompt, dict) else {}
    input_tokens, output_tokens = count_in(found, "prompt_tokens"), count_in(found, "completion_tokens")
    return Usage(
        input_tokens,
        output_tokens,
        count_in(found, "total_tokens") or input_tokens + output_tokens,
        count_in(details, "cached_tokens") or count_in(found, "prompt_cache_hit_tokens"),
        count_in(details, "cache_write_tokens"),
        count_in(completion, "reasoning_tokens") if isinstance(completion, dict) else 0,
        native=found,
    )


class Chunks:
    """Reads the stream of one answer: the first choice; a stream has no place for others.

    Servers identify calls by an index, by an id where all have index 0, or by neither.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._ids = CallIds()
        self._about = self._model = ""
        self._ended = False

    def add(self, event: Event) -> Iterator[ChatResponse]:
        """Yields the responses of an event. Raises Unreadable, or ErrorEvent if the server reports a failure."""
        if event.data.strip() == _DONE:
            yield from self._left()
            self._ended = True
            return
        chunk = parsed(event.data)
        if error := chunk.get("error"):
            raise ErrorEvent(error)
        self._about, self._model = text_in(chunk, "id") or self._about, text_in(chunk, "model") or self._model
        self._ids.of_answer(self._about)
        first = [each for each in objects_in(chunk, "choices") if not each.get("index")]
        for choice in first:
            yield from self._add_choice(choice)
        if counted := usage(chunk.get("usage")):
            yield self._chunk((), counted)

    def finish(self) -> Iterator[ChatResponse]:
        """Ends the stream. Raises Unfinished if the answer is incomplete."""
        if not self._ended:
            raise Unfinished
        yield from ()

    def _add_choice(self, choice: Json) -> Iterator[ChatResponse]:
        delta = object_in(choice, "delta")
        parts, refused = _said(delta)
        for call in objects_in(delta, "tool_calls"):
            self._add_call(call)
        reason = text_in(choice, "finish_reason")
        if reason:
            parts += self._whole_calls()
            self._ended = True
        if parts or reason:
            said = Message(Role.ASSISTANT, tuple(parts))
            yield self._chunk((Generation(said, reason, _REFUSED if refused else nothing()),))

    def _add_call(self, delta: Json) -> None:
        index, call_id = delta.get("index"), text_in(delta, "id")
        of_index = [each for each in self._calls if index is None or each.index == index]
        call = of_index[-1] if of_index else None
        if call is None or (call_id and call.id and call.id != call_id) or (index is None and call.is_before(delta)):
            call = _Call(len(self._calls), index)
            self._calls.append(call)
        call.add(delta)

    def _whole_calls(self) -> list[ToolCall]:
        calls, self._calls = sorted(self._calls, key=lambda call: call.place), []
        return [call.whole(self._ids) for call in calls]

    def _left(self) -> Iterator[ChatResponse]:
        """Yields the calls of a server that sent no finish reason."""
        if calls := self._whole_calls():
            yield self._chunk((Generation(Message(Role.ASSISTANT, tuple(calls)), "tool_calls"),))

    def _chunk(self, generations: tuple[Generation, ...], counted: Usage | None = None) -> ChatResponse:
        return ChatResponse(generations, counted or Usage(), self._about, self._model)


class _Call:
    """A tool call while it is received."""

    def __init__(self, at: int = 0, index: Any = None) -> None:
        self.index = index
        self.place = index if isinstance(index, int) else at
        self.id = ""
        self._kind = "function"
        self._name = ""
        self._arguments: list[str] = []

    def add(self, delta: Json) -> None:
        repeats = bool(self.id) and self.id == text_in(delta, "id")
        self.id = self.id or text_in(delta, "id")
        self._kind = text_in(delta, "type") or self._kind
        function = object_in(delta, "custom" if "custom" in delta else "function")
        name = text_in(function, "name")
        if not (repeats and name == self._name):  # a server that repeats the id repeats the name
            self._name += name
        written = "input" if "custom" in delta else "arguments"
        whole = function.get(written)  # some servers send an object instead of its text
        self._arguments.append(compact(whole) if isinstance(whole, dict) else text_in(function, written))

    def is_before(self, delta: Json) -> bool:
        """Returns whether a delta without an index starts another call: it has a name, and this call already has arguments."""
        return not text_in(delta, "id") and bool(text_in(object_in(delta, "function"), "name") and any(self._arguments))

    def whole(self, ids: CallIds) -> ToolCall:
        return ToolCall(ids.unique(self.id), self._name, "".join(self._arguments), self._kind)
