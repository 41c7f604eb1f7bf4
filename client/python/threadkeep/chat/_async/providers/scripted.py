"""A model with fixed replies, for tests and examples."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace

from ...types.messages import Message, Part, Text, assistant
from ...types.options import ChatOptions
from ...types.requests import Prompt
from ...types.responses import ChatResponse, Generation, Usage

Answer = str | Message | ChatResponse | Exception
Reply = Answer | Callable[[Prompt], Answer]
"""A reply, an error to raise, or a function of the prompt that returns either."""


class AsyncScriptedModel:
    """Returns one reply per call, in order, and records every prompt in `prompts`. A stream yields a text word by word.

    A text or message ends with "stop", or "tool_calls" if it has calls, and has no usage; a ChatResponse is returned
    unchanged. A call without a reply left raises AssertionError.
    """

    def __init__(self, replies: Iterable[Reply] = (), *, model: str = "scripted", provider: str = "scripted") -> None:
        self._replies = list(replies)
        self._options = ChatOptions(model=model)
        self._provider = provider
        self.prompts: list[Prompt] = []

    @property
    def provider(self) -> str:
        return self._provider

    @property
    def default_options(self) -> ChatOptions:
        return self._options

    def add(self, *replies: Reply) -> None:
        """Adds replies after the remaining ones."""
        self._replies.extend(replies)

    async def call(self, prompt: Prompt) -> ChatResponse:
        return self._next(prompt)

    async def stream(self, prompt: Prompt) -> AsyncIterator[ChatResponse]:
        for chunk in _chunks(self._next(prompt)):
            yield chunk

    def _next(self, prompt: Prompt) -> ChatResponse:
        self.prompts.append(prompt)
        if not self._replies:
            raise AssertionError(f"the script has no reply to call {len(self.prompts)}")
        reply = self._replies.pop(0)
        answer = reply if isinstance(reply, Answer) else reply(prompt)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ChatResponse):
            return answer
        message = assistant(answer) if isinstance(answer, str) else answer
        reason = "tool_calls" if message.tool_calls else "stop"
        return ChatResponse((Generation(message, reason),), model=self._options.model or "")


def _chunks(whole: ChatResponse) -> Iterable[ChatResponse]:
    """Yields the generations in pieces; the last chunk has the finish reason and the usage."""
    for generation in whole.generations:
        for part in generation.message.parts:
            for piece in _pieces(part):
                said = Generation(replace(generation.message, parts=(piece,)), "", generation.metadata)
                yield replace(whole, generations=(said,), usage=Usage())
    last = tuple(Generation(replace(each.message, parts=()), each.finish_reason) for each in whole.generations)
    yield replace(whole, generations=last)


def _pieces(part: Part) -> Iterable[Part]:
    if not isinstance(part, Text):
        return [part]
    return [Text(word) for word in re.findall(r"\S+\s*|\s+", part.text)]
