"""Answers of Gemini's generateContent, whole and streamed."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from ...types.frozen import nothing
from ...types.messages import Data, Media, Message, Part, Reasoning, Role, Text, ToolCall
from ...types.responses import ChatResponse, Generation, Usage
from . import signatures
from .call_ids import CallIds
from .gemini import PROVIDER
from .reading import ErrorEvent, Json, Unfinished, Unreadable, compact, count_in, object_in, objects_in, parsed, text_in
from .sse import Event

_REFUSED = {"refusal": True}
_REFUSALS = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "IMAGE_SAFETY"})
_TO_STANDARD = str.maketrans("-_", "+/")


def answer(body: Json) -> ChatResponse:
    """Returns an answer with one generation per candidate. Raises Unreadable.

    A rejected prompt returns one empty generation whose finish reason is the block reason. Metadata: `refusal` is True for a
    refusal. Unknown content becomes Data of type "gemini" and is sent back unchanged. Calls without an id get one.
    """
    if not {"candidates", "promptFeedback", "usageMetadata"} & body.keys():
        raise Unreadable("candidates is missing")
    parts = _Parts()
    generations = [
        _generation(parts.of(body, candidate), text_in(candidate, "finishReason"))
        for candidate in objects_in(body, "candidates")
    ]
    if not generations and (blocked := _blocked(body)):
        generations = [_generation([], blocked)]
    return ChatResponse(tuple(generations), usage(body), text_in(body, "responseId"), text_in(body, "modelVersion"))


def _blocked(body: Json) -> str:
    return text_in(object_in(body, "promptFeedback"), "blockReason")


def _generation(parts: list[Part], reason: str = "") -> Generation:
    message = Message(Role.ASSISTANT, tuple(parts), signatures.about(parts, PROVIDER))
    return Generation(message, reason, _REFUSED if reason in _REFUSALS else nothing())


def usage(body: Json) -> Usage:
    """Returns the usage, empty without one. The output includes thoughts, which the API counts separately."""
    counted = body.get("usageMetadata")
    found: Json = counted if isinstance(counted, dict) else {}
    thoughts = count_in(found, "thoughtsTokenCount")
    input_tokens = count_in(found, "promptTokenCount") + count_in(found, "toolUsePromptTokenCount")
    output_tokens = count_in(found, "candidatesTokenCount") + thoughts
    total = count_in(found, "totalTokenCount") or input_tokens + output_tokens
    cached = count_in(found, "cachedContentTokenCount")
    return Usage(input_tokens, output_tokens, total, cached, 0, thoughts, native=found or None)


class Chunks:
    """Reads the stream of one answer: the first candidate. The usage is reported once, at the end."""

    def __init__(self) -> None:
        self._parts = _Parts()
        self._reason = ""
        self._usage = Usage()
        self._id = self._model = ""

    def add(self, event: Event) -> Iterator[ChatResponse]:
        """Yields the responses of an event. Raises Unreadable, or ErrorEvent if the server reports a failure."""
        found = parsed(event.data)
        if error := found.get("error"):
            raise ErrorEvent(error)
        self._id, self._model = text_in(found, "responseId") or self._id, text_in(found, "modelVersion") or self._model
        self._usage = usage(found) or self._usage
        self._reason = _blocked(found) or self._reason
        for candidate in objects_in(found, "candidates"):
            if candidate.get("index"):
                continue
            self._reason = text_in(candidate, "finishReason") or self._reason
            for part in self._parts.of(found, candidate):
                yield ChatResponse((_generation([part]),), id=self._id, model=self._model)

    def finish(self) -> Iterator[ChatResponse]:
        """Ends the stream. Raises Unfinished if the answer is incomplete."""
        if not self._reason:
            raise Unfinished
        yield ChatResponse((_generation([], self._reason),), self._usage, self._id, self._model)


class _Parts:
    """The parts of one answer."""

    def __init__(self) -> None:
        self._ids = CallIds()

    def of(self, body: Json, candidate: Json) -> list[Part]:
        self._ids.of_answer(text_in(body, "responseId"))
        content = object_in(candidate, "content")
        return [part for found in objects_in(content, "parts") for part in self._said(found)]

    def _said(self, found: Json) -> Iterator[Part]:
        """Yields a part, with its signature before it."""
        signature = _bytes(text_in(found, "thoughtSignature"))
        thought = text_in(found, "text") if found.get("thought") else ""
        if signature or thought:
            yield Reasoning(thought, signature)
        if found.get("thought"):
            return
        if isinstance(found.get("text"), str):
            if found["text"]:
                yield Text(found["text"])
        elif "functionCall" in found:
            yield self._call(object_in(found, "functionCall"))
        elif "inlineData" in found:
            inline = object_in(found, "inlineData")
            yield Media(text_in(inline, "mimeType"), data=_bytes(text_in(inline, "data")))
        elif set(found) - {"thoughtSignature"}:
            yield Data(PROVIDER, compact({name: value for name, value in found.items() if name != "thoughtSignature"}))

    def _call(self, call: Json) -> ToolCall:
        return ToolCall(self._ids.unique(text_in(call, "id")), text_in(call, "name"), compact(object_in(call, "args")))


def _bytes(text: str) -> bytes:
    """Decodes base64 of either alphabet, padded or not."""
    text = text.translate(_TO_STANDARD).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable("no base64") from None
