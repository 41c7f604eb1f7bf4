"""Joins chunks to an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .messages import Message, Part, Reasoning, Role, Text
from .requests import ChatClientResponse
from .responses import ChatResponse, Generation, Usage


class Aggregator:
    """Joins the chunks of one generation: texts are concatenated, tool calls (whole in each chunk) appended, metadata merged;
    the last non-empty usage applies."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._texts: list[str] = []
        self._message: Message | None = None
        self._usage = Usage()
        self._about: dict[str, Any] = {}
        self._of_generation: dict[str, Any] = {}
        self._of_message: dict[str, Any] = {}
        self._finish_reason = self._id = self._model = ""
        self._context: Mapping[str, Any] = {}

    def add(self, chunk: ChatClientResponse) -> None:
        self._context = chunk.context
        if chunk.response is not None:
            self.add_response(chunk.response)

    def add_response(self, chunk: ChatResponse) -> None:
        self._usage = chunk.usage or self._usage
        self._id, self._model = chunk.id or self._id, chunk.model or self._model
        self._about.update(chunk.metadata)
        for generation in chunk.generations:
            self._finish_reason = generation.finish_reason or self._finish_reason
            self._of_generation.update(generation.metadata)
            self._of_message.update(generation.message.metadata)
            self._message = self._message or generation.message
            for part in generation.message.parts:
                self._add_part(part)

    def chat_response(self) -> ChatResponse:
        """Returns the answer so far; without a generation if no chunk had one."""
        generations: tuple[Generation, ...] = ()
        if self._message is not None:
            message = Message(Role.ASSISTANT, tuple(self._finished()), self._of_message)
            generations = (Generation(message, self._finish_reason, self._of_generation),)
        return ChatResponse(generations, self._usage, self._id, self._model, self._about)

    def response(self) -> ChatClientResponse:
        """Returns the answer with the context of the last chunk."""
        return ChatClientResponse(self.chat_response(), self._context)

    def _add_part(self, part: Part) -> None:
        last = self._parts[-1] if self._parts else None
        if isinstance(part, Text) and isinstance(last, Text):
            self._texts.append(part.text)
        elif isinstance(part, Reasoning) and isinstance(last, Reasoning) and not last.signature and not last.encrypted:
            self._parts[-1] = Reasoning(last.text + part.text, part.signature, part.encrypted)
        else:
            self._parts = self._finished()
            self._texts = [part.text] if isinstance(part, Text) else []
            self._parts.append(part)

    def _finished(self) -> list[Part]:
        """Joins the texts since the last other part once, not with each chunk: an answer has thousands of chunks."""
        if self._parts and isinstance(self._parts[-1], Text):
            return [*self._parts[:-1], Text("".join(self._texts))]
        return list(self._parts)
