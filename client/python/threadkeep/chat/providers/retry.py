"""How long a model is waited for, and how often it is asked again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from ..._backoff import doubled
from ..errors import ModelFailed

DEFAULT_TIMEOUT = 600.0
"""Seconds of one model call whose options name no timeout."""
_LONGEST_TIMEOUT = 1_000_000.0  # sockets and timers refuse more, each at another bound
_LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """`max_retries`: after the first attempt. `backoff`: seconds before the second attempt, at most; doubles for each further
    one. An endpoint's Retry-After holds if it is longer; one above a minute is for the caller to wait."""

    max_retries: int = 2
    backoff: float = 0.5
    jitter: Callable[[], float] = random.random
    """Spreads the waits: from 0 to 1."""

    def __post_init__(self) -> None:
        if self.max_retries < 0:
            raise ValueError("max_retries must not be negative")

    def wait(self, failure: ModelFailed, attempt: int, left: float) -> float | None:
        """Seconds until the next attempt after the given one, counted from 1. None: give up."""
        if not failure.retry or attempt > self.max_retries:
            return None
        wait = max(failure.retry_after or 0.0, doubled(self.backoff, attempt - 1) * (0.5 + self.jitter() / 2))
        return None if wait > _LONGEST_WAIT or wait >= left else wait


def seconds_of(timeout: float | None) -> float:
    """Of one model call. Raises TypeError or ValueError for a timeout that nobody can keep."""
    if timeout is None:
        return DEFAULT_TIMEOUT
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout: seconds, not {timeout!r}")
    if not 0 < timeout <= _LONGEST_TIMEOUT:
        raise ValueError(f"timeout: above 0 and at most {_LONGEST_TIMEOUT:,.0f} seconds, not {timeout}")
    return timeout
