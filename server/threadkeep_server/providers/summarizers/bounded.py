"""A summarizer over a provider's model: retries, token limits and validation."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable

from ..errors import ProviderError
from ..retry import RetryPolicy
from .base import SummarizerFailed, Summary
from .budget import TokenBudget
from .completion import ChatModel, Completion, CompletionRequest, FinishReason
from .options import SummarizerOptions

# Text has about four characters per token. A model that sends this many ignores the limit or the language.
_MAX_CHARACTERS_PER_TOKEN = 16


class ModelSummarizer:
    """The Summarizer of a provider's model. `count_tokens` counts the tokens of prompts; it runs in a thread."""

    def __init__(
        self,
        chat: ChatModel,
        options: SummarizerOptions,
        count_tokens: Callable[[str], int],
        *,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._chat = chat
        self._options = options
        self._count_tokens = count_tokens
        self._retry = RetryPolicy.of(options, clock, jitter)
        self._budget = TokenBudget(options.max_tokens_per_hour, clock)

    @property
    def model(self) -> str:
        return self._options.model

    async def summarize(self, *, system_prompt: str, prompt: str, max_tokens: int) -> Summary:
        size = await asyncio.to_thread(lambda: self._count_tokens(system_prompt) + self._count_tokens(prompt))
        if size > self._options.max_input_tokens:
            raise SummarizerFailed(f"the prompt has {size} tokens, the limit is {self._options.max_input_tokens}")
        request = CompletionRequest(system_prompt, prompt, min(max_tokens, self._options.max_output_tokens))
        try:
            completion = await self._retry.run(self._options.model, lambda: self._attempt(request, size))
        except ProviderError as failed:
            problem = failed.problem
        else:
            return Summary(_checked(completion, request.max_tokens), completion.usage, completion.model or self._options.model)
        raise SummarizerFailed(problem)

    async def aclose(self) -> None:
        await self._chat.aclose()

    async def _attempt(self, request: CompletionRequest, size: int) -> Completion:
        estimate = size + request.max_tokens
        spending = self._budget.spend(estimate)
        if spending is None:
            raise ProviderError("budget of tokens spent")
        try:
            completion = await self._chat.complete(request)
        except ProviderError as failed:
            if failed.free:
                spending.tokens = 0
            raise
        spending.tokens = completion.usage.total or completion.usage.input + completion.usage.output or estimate
        return completion


def _checked(completion: Completion, max_tokens: int) -> str:
    """Returns the text of a valid summary. Raises SummarizerFailed."""
    text = completion.text.strip()
    if completion.finish_reason is FinishReason.LENGTH:
        raise SummarizerFailed(f"was cut off at {max_tokens} tokens")
    if completion.finish_reason is FinishReason.REFUSAL:
        raise SummarizerFailed("declined to answer")
    if not text:
        raise SummarizerFailed("gave an empty answer")
    if len(text) > max_tokens * _MAX_CHARACTERS_PER_TOKEN:
        raise SummarizerFailed("gave an answer that is too long")
    try:
        text.encode()
    except UnicodeEncodeError:  # JSON allows a lone surrogate, events do not
        raise SummarizerFailed("gave an answer that cannot be read") from None
    return text
