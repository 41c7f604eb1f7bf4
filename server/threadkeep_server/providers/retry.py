"""Retries of requests to a model."""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from ..domain.backoff import Backoff
from .errors import ProviderError

_Answer = TypeVar("_Answer")

_log = logging.getLogger(__name__)


class RetryOptions(Protocol):
    """The fields of RetryPolicy that are configured."""

    @property
    def timeout(self) -> float: ...

    @property
    def deadline(self) -> float: ...

    @property
    def max_attempts(self) -> int: ...

    @property
    def backoff(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Limits of the attempts at one request. Times are in seconds.

    `timeout` is for one attempt, `deadline` for all attempts and the delays between them. `backoff` is the longest delay before
    the second attempt; it doubles for each further attempt. A longer Retry-After of the endpoint replaces it.
    """

    timeout: float
    deadline: float
    max_attempts: int
    backoff: float
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random
    """Returns a number from 0 to 1 that spreads the delays."""

    @classmethod
    def of(cls, options: RetryOptions, clock: Callable[[], float], jitter: Callable[[], float]) -> Self:
        return cls(
            timeout=options.timeout,
            deadline=options.deadline,
            max_attempts=options.max_attempts,
            backoff=options.backoff,
            clock=clock,
            jitter=jitter,
        )

    async def run(self, model: str, attempt: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Returns the result of the first attempt that succeeds. Raises the last ProviderError. The log names `model`;
        cancellation ends an attempt at once."""
        backoff = Backoff(self.backoff, math.inf, self.jitter)
        give_up_at = self.clock() + self.deadline
        for number in itertools.count(1):
            try:
                return await self._within_time(attempt, give_up_at - self.clock())
            except ProviderError as error:
                failed, wait = error, max(error.retry_after, backoff.delay(number))
                retry = error.retry and number < self.max_attempts and self.clock() + wait < give_up_at
            what_next = f"retrying in {wait:.1f} s" if retry else "giving up"
            _log.warning("%s %s (attempt %d), %s", model, failed.problem, number, what_next)
            if not retry:
                # A new error: the causes of the original contain the request with its key.
                raise ProviderError(failed.problem, retry=failed.retry, free=failed.free, retry_after=failed.retry_after)
            await asyncio.sleep(wait)
        raise AssertionError("unreachable")

    async def _within_time(self, attempt: Callable[[], Awaitable[_Answer]], seconds_left: float) -> _Answer:
        try:
            async with asyncio.timeout(min(self.timeout, seconds_left)):
                return await attempt()
        except TimeoutError:
            raise ProviderError("timed out", retry=True) from None
