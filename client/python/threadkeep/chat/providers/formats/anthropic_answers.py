"""Answers of Anthropic's Messages API, whole and streamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...types.frozen import nothing
from ...types.messages import Data, Message, Part, Reasoning, Role, Text, ToolCall
from ...types.responses import ChatResponse, Generation, Usage
from . import signatures
from .anthropic import PROVIDER
from .call_ids import CallIds
from .reading import ErrorEvent, Json, Unfinished, Unreadable, compact, count_in, object_in, objects_in, parsed, text_in
from .sse import Event

_REFUSED = {"refusal": True}


def answer(body: Json) -> ChatResponse:
    """Returns an answer of one generation. Raises Unreadable.

    Metadata: `refusal` is True if the model refused. Unknown blocks become Data of type "anthropic" and are sent back
    unchanged.
    """
    if not isinstance(body.get("content"), list):
        raise Unreadable("content is missing")
    ids = CallIds(text_in(body, "id"))
    parts = [part for block in objects_in(body, "content") if (part := _part(block, ids)) is not None]
    generation = _generation(parts, text_in(body, "stop_reason"))
    return ChatResponse((generation,), usage(body.get("usage")), text_in(body, "id"), text_in(body, "model"))


def _generation(parts: list[Part], reason: str = "") -> Generation:
    message = Message(Role.ASSISTANT, tuple(parts), signatures.about(parts, PROVIDER))
    return Generation(message, reason, _REFUSED if reason == "refusal" else nothing())


def _part(block: Json, ids: CallIds) -> Part | None:
    match block.get("type"):
        case "text":
            text = text_in(block, "text")
            return Text(text) if text else None
        case "thinking":
            return Reasoning(text_in(block, "thinking"), text_in(block, "signature").encode())
        case "redacted_thinking":
            return Reasoning(encrypted=text_in(block, "data").encode())
        case "tool_use":
            return ToolCall(ids.unique(text_in(block, "id")), text_in(block, "name"), compact(block.get("input", {})))
    return Data(PROVIDER, compact(block))


def usage(found: Any) -> Usage:
    """Returns the usage, empty without one. The API counts cached tokens separately from the input; here the input includes
    them."""
    if not isinstance(found, dict):
        return Usage()
    cached, written = count_in(found, "cache_read_input_tokens"), count_in(found, "cache_creation_input_tokens")
    input_tokens, output_tokens = count_in(found, "input_tokens") + cached + written, count_in(found, "output_tokens")
    details = found.get("output_tokens_details")
    thinking = count_in(details, "thinking_tokens") if isinstance(details, dict) else 0
    return Usage(input_tokens, output_tokens, input_tokens + output_tokens, cached, written, thinking, native=found or None)


class Chunks:
    """Reads the stream of one answer."""

    def __init__(self) -> None:
        self._blocks: dict[Any, _Block] = {}
        self._ids = CallIds()
        self._usage: dict[str, Any] = {}
        self._id = self._model = ""
        self._ended = False

    def add(self, event: Event) -> Iterator[ChatResponse]:
        """Yields the responses of an event. Raises Unreadable, or ErrorEvent if the server reports a failure."""
        found = parsed(event.data)
        match found.get("type"):
            case "message_start":
                message = object_in(found, "message")
                self._id, self._model = text_in(message, "id"), text_in(message, "model")
                self._ids.of_answer(self._id)
                self._count(message)
            case "content_block_start":
                self._blocks[_index(found)] = _Block(object_in(found, "content_block"), self._ids)
                yield from self._said(self._block(found).first())
            case "content_block_delta":
                yield from self._said(self._block(found).add(object_in(found, "delta")))
            case "content_block_stop":
                yield from self._said(self._block(found).last())
            case "message_delta":
                yield from self._end(found)
            case "message_stop":
                self._ended = True
            case "error":
                raise ErrorEvent(found.get("error"))

    def finish(self) -> Iterator[ChatResponse]:
        """Ends the stream. Raises Unfinished if the answer is incomplete."""
        if not self._ended:
            raise Unfinished
        yield from ()

    def _block(self, found: Json) -> _Block:
        block = self._blocks.get(_index(found))
        if block is None:
            raise Unreadable("a piece of a block that has not begun")
        return block

    def _end(self, found: Json) -> Iterator[ChatResponse]:
        """The reported usage is the total of the answer so far."""
        self._count(found)
        reason = text_in(object_in(found, "delta"), "stop_reason")
        yield ChatResponse((_generation([], reason),), usage(self._usage), self._id, self._model)

    def _count(self, found: Json) -> None:
        counted = found.get("usage")
        self._usage |= (
            {name: count for name, count in counted.items() if count is not None} if isinstance(counted, dict) else {}
        )

    def _said(self, part: Part | None) -> Iterator[ChatResponse]:
        if part is not None:
            yield ChatResponse((_generation([part]),), id=self._id, model=self._model)


class _Block:
    """A content block while it is received. Text and thinking are returned in pieces, other blocks when complete."""

    def __init__(self, block: Json, ids: CallIds) -> None:
        self._block = dict(block)
        self._ids = ids
        self._kind = text_in(block, "type")
        self._json: list[str] = []
        self._signature = text_in(block, "signature")

    def first(self) -> Part | None:
        text = text_in(self._block, "thinking" if self._kind == "thinking" else "text")
        return self._piece(text)

    def add(self, delta: Json) -> Part | None:
        self._json.append(text_in(delta, "partial_json"))
        self._signature += text_in(delta, "signature")
        return self._piece(text_in(delta, "thinking" if self._kind == "thinking" else "text"))

    def last(self) -> Part | None:
        match self._kind:
            case "text":
                return None
            case "thinking":
                return Reasoning("", self._signature.encode()) if self._signature else None
            case "tool_use":
                arguments = "".join(self._json) or compact(self._block.get("input", {}))
                return ToolCall(self._ids.unique(text_in(self._block, "id")), text_in(self._block, "name"), arguments)
        if written := "".join(self._json):
            self._block["input"] = parsed(written)
        return _part(self._block, self._ids)

    def _piece(self, text: str) -> Part | None:
        if text and self._kind == "thinking":
            return Reasoning(text)
        return Text(text) if text and self._kind == "text" else None


def _index(found: Json) -> int:
    index = found.get("index")
    if not isinstance(index, int):
        raise Unreadable("a block without an index")
    return index
