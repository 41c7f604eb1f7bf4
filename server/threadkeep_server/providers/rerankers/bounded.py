"""A reranker over a provider's model: a deadline, few queries at a time, and pauses while it fails."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from ...domain.backoff import Backoff
from ..errors import ProviderError
from ..sent_text import usable
from .base import RerankCounts, RerankFailed, RerankingModel
from .options import RerankerOptions

_log = logging.getLogger(__name__)

_FAILURES_BEFORE_A_PAUSE = 3
_LONGEST_PAUSE_S = 60.0
# The longest pause that an endpoint may request.
_LONGEST_RETRY_AFTER_S = 3600.0


class BoundedReranker:
    """The Reranker of a provider's model. After three failures in a row, or for as long as the endpoint requests, queries fail
    at once; then one query tries again."""

    def __init__(self, model: RerankingModel, options: RerankerOptions, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._options = options
        self._clock = clock
        self._running = asyncio.Semaphore(options.concurrency)
        self._backoff = Backoff(options.first_pause, max(_LONGEST_PAUSE_S, options.first_pause))
        self._failures_in_a_row = 0
        self._paused_until = float("-inf")
        self._trying = False
        self._pauses = 0
        self.counts = RerankCounts()

    @property
    def top(self) -> int:
        return self._options.top

    @property
    def max_characters(self) -> int:
        return self._options.max_characters

    async def scores(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        self.counts.answers += 1
        try:
            return await self._scores(query, documents)
        except RerankFailed:
            self.counts.failures += 1
            raise

    async def aclose(self) -> None:
        await self._model.aclose()

    async def _scores(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        paused = self._failures_in_a_row >= _FAILURES_BEFORE_A_PAUSE
        if self._clock() < self._paused_until or (paused and self._trying):
            raise RerankFailed("is not called after failures")
        self._trying = paused
        pauses = self._pauses
        try:
            async with asyncio.timeout(self._options.deadline), self._running:
                limit = self._options.max_characters
                found = await self._model.scores(usable(query, limit), [usable(each, limit) for each in documents])
        except TimeoutError:
            failed = ProviderError("did not answer in time", retry=True)
        except ProviderError as error:
            failed = error
        else:
            self._failures_in_a_row = 0
            return found
        finally:
            if paused:  # others may have begun before the pause
                self._trying = False
        self._pause(failed, counted=pauses == self._pauses)
        raise RerankFailed(failed.problem)

    def _pause(self, failed: ProviderError, *, counted: bool) -> None:
        """Pauses after a failure. Not `counted`: the query began before the last pause, which many queries at a time would
        otherwise lengthen to the most at one slow moment."""
        self._failures_in_a_row += counted
        pause = min(failed.retry_after, _LONGEST_RETRY_AFTER_S)
        if counted and (beyond := self._failures_in_a_row - _FAILURES_BEFORE_A_PAUSE + 1) > 0:
            pause = max(pause, self._backoff.delay(beyond))
        self._pauses += pause > 0
        self._paused_until = max(self._paused_until, self._clock() + pause)
        _log.warning("the reranker %s %s; the next attempt is in %.1f s", self._options.name, failed.problem, pause)
