"""A model within bounds: of time, of tokens, and of what is taken for a summary."""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import time
from collections.abc import Callable

from .asking import Answer, AskFailed, ChatModel, Ending, Question
from .base import SummarizerFailed, Summary
from .budget import TokenBudget
from .options import SummarizerOptions

# Text comes to some four characters a token. A model that sends this many does not heed the limit, or not the language.
_MAX_CHARACTERS_PER_TOKEN = 16

_log = logging.getLogger(__name__)


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
        self._clock = clock
        self._jitter = jitter
        self._budget = TokenBudget(options.max_tokens_per_hour, clock)

    @property
    def model(self) -> str:
        return self._options.model

    async def summarise(self, *, system_prompt: str, prompt: str, max_tokens: int) -> Summary:
        size = await asyncio.to_thread(lambda: self._count_tokens(system_prompt) + self._count_tokens(prompt))
        if size > self._options.max_input_tokens:
            raise SummarizerFailed(f"the prompt has {size} tokens, the limit is {self._options.max_input_tokens}")
        question = Question(system_prompt, prompt, min(max_tokens, self._options.max_output_tokens))
        answer = await self._attempts(question, size)
        return Summary(_checked(answer, question.max_tokens), answer.usage, answer.model or self._options.model)

    async def aclose(self) -> None:
        await self._chat.aclose()

    async def _attempts(self, question: Question, size: int) -> Answer:
        give_up_at = self._clock() + self._options.deadline
        for attempt in itertools.count(1):
            try:
                return await self._attempt(question, size, give_up_at - self._clock())
            except AskFailed as error:
                problem, wait = error.problem, max(error.retry_after, self._backoff(attempt))
                retry = error.retry and attempt < self._options.max_attempts and self._clock() + wait < give_up_at
            what_next = f"retrying in {wait:.1f} s" if retry else "giving up"
            _log.warning("%s %s (attempt %d), %s", self._options.model, problem, attempt, what_next)
            if not retry:
                # Not raised above: the errors below it hold the request, key and all, and would go along as its context.
                raise SummarizerFailed(problem)
            await asyncio.sleep(wait)
        raise AssertionError("unreachable")

    async def _attempt(self, question: Question, size: int, seconds_left: float) -> Answer:
        estimate = size + question.max_tokens
        spending = self._budget.spend(estimate)
        if spending is None:
            raise AskFailed("budget of tokens spent")
        try:
            async with asyncio.timeout(min(self._options.timeout, seconds_left)):
                answer = await self._chat.ask(question)
        except TimeoutError:
            raise AskFailed("timed out", retry=True) from None
        except AskFailed as failed:
            if failed.free:
                spending.tokens = 0
            raise
        spending.tokens = answer.usage.total or answer.usage.input + answer.usage.output or estimate
        return answer

    def _backoff(self, attempt: int) -> float:
        return self._options.backoff * 2.0 ** min(attempt - 1, 10) * (0.5 + self._jitter() / 2)


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
