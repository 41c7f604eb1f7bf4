"""A model within bounds: of time, of tokens, and of what is taken for a summary."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable

from ..errors import AskFailed
from ..retry import Patience
from .base import SummarizerFailed, Summary
from .budget import TokenBudget
from .completion import Answer, ChatModel, Ending, Question
from .options import SummarizerOptions

# Text comes to some four characters a token. A model that sends this many does not heed the limit, or not the language.
_MAX_CHARACTERS_PER_TOKEN = 16


class ModelSummarizer:
    """The Summarizer over a vendor's model. `count_tokens` measures prompts; it may take its time, it runs in a thread."""

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
        self._patience = Patience(
            timeout=options.timeout,
            deadline=options.deadline,
            max_attempts=options.max_attempts,
            backoff=options.backoff,
            clock=clock,
            jitter=jitter,
        )
        self._budget = TokenBudget(options.max_tokens_per_hour, clock)

    @property
    def model(self) -> str:
        return self._options.model

    async def summarise(self, *, system_prompt: str, prompt: str, max_tokens: int) -> Summary:
        size = await asyncio.to_thread(lambda: self._count_tokens(system_prompt) + self._count_tokens(prompt))
        if size > self._options.max_input_tokens:
            raise SummarizerFailed(f"the prompt has {size} tokens, the limit is {self._options.max_input_tokens}")
        question = Question(system_prompt, prompt, min(max_tokens, self._options.max_output_tokens))
        try:
            answer = await self._patience.attempts(self._options.model, lambda: self._attempt(question, size))
        except AskFailed as failed:
            problem = failed.problem
        else:
            return Summary(_checked(answer, question.max_tokens), answer.usage, answer.model or self._options.model)
        raise SummarizerFailed(problem)

    async def aclose(self) -> None:
        await self._chat.aclose()

    async def _attempt(self, question: Question, size: int) -> Answer:
        estimate = size + question.max_tokens
        spending = self._budget.spend(estimate)
        if spending is None:
            raise AskFailed("budget of tokens spent")
        try:
            answer = await self._chat.ask(question)
        except AskFailed as failed:
            if failed.free:
                spending.tokens = 0
            raise
        spending.tokens = answer.usage.total or answer.usage.input + answer.usage.output or estimate
        return answer


def _checked(answer: Answer, max_tokens: int) -> str:
    """The text, if it will do for a summary."""
    text = answer.text.strip()
    if answer.ending is Ending.CUT_OFF:
        raise SummarizerFailed(f"was cut off at {max_tokens} tokens")
    if answer.ending is Ending.DECLINED:
        raise SummarizerFailed("declined to answer")
    if not text:
        raise SummarizerFailed("gave an empty answer")
    if len(text) > max_tokens * _MAX_CHARACTERS_PER_TOKEN:
        raise SummarizerFailed("gave an answer that is too long")
    try:
        text.encode()
    except UnicodeEncodeError:  # JSON can hold half a surrogate pair, events cannot
        raise SummarizerFailed("gave an answer that cannot be read") from None
    return text
