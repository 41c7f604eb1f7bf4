"""Timeouts and retries of model calls."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from ..._streams.backoff import doubled
from ..errors import ModelFailed

DEFAULT_TIMEOUT = 600.0
"""Seconds of a model call whose options have no timeout."""
_LONGEST_TIMEOUT = 1_000_000.0  # sockets and timers refuse more, each at another bound
_LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """`max_retries`: retries after the first attempt. `backoff`: longest wait before the second attempt in seconds; doubles
    with each further one. A longer Retry-After of the endpoint applies; one above a minute is left to the caller."""

    max_retries: int = 2
    backoff: float = 0.5
    jitter: Callable[[], float] = random.random
    """Returns a number from 0 to 1 that spreads the waits."""

    def __post_init__(self) -> None:
        if self.max_retries < 0:
            raise ValueError("max_retries must not be negative")

    def wait(self, failure: ModelFailed, attempt: int, left: float) -> float | None:
        """Returns the seconds until the attempt after the given one, which counts from 1. None: do not retry."""
        if not failure.retry or attempt > self.max_retries:
            return None
        wait = max(failure.retry_after or 0.0, doubled(self.backoff, attempt - 1) * (0.5 + self.jitter() / 2))
        return None if wait > _LONGEST_WAIT or wait >= left else wait


def seconds_of(timeout: float | None) -> float:
    """Returns the seconds of one model call. Raises TypeError or ValueError for an invalid timeout."""
    if timeout is None:
        return DEFAULT_TIMEOUT
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout: seconds, not {timeout!r}")
    if not 0 < timeout <= _LONGEST_TIMEOUT:
        raise ValueError(f"timeout: above 0 and at most {_LONGEST_TIMEOUT:,.0f} seconds, not {timeout}")
    return timeout
