"""The pauses before a broken stream is opened again."""

from __future__ import annotations

import random

from .._log import LOG
from ..errors import ThreadkeepError

FIRST, LONGEST = 0.1, 5.0
"""Seconds: the upper bounds of the first pause, which doubles with every failure in a row, and of the longest."""


def doubled(first: float, failures: int) -> float:
    """Returns `first`, doubled for each earlier failure in a row, at most ten times."""
    return first * 2.0 ** min(failures, 10)


class Backoff:
    """Exponential backoff with full jitter, so that clients that lost one server do not reconnect all at once.

    `max_retries`: the most failures in a row; None is no limit.
    """

    def __init__(self, max_retries: int | None = None) -> None:
        self._max_retries = max_retries
        self._failures = 0

    def reset(self) -> None:
        """Resets the count of failures; the stream delivered a message."""
        self._failures = 0

    def pause(self, error: ThreadkeepError) -> float:
        """Returns the seconds to wait, at least the server's retry delay. Raises the error if a retry cannot succeed."""
        if not error.is_transient:
            raise error
        if self._max_retries is not None and self._failures >= self._max_retries:
            raise error
        longest = min(LONGEST, doubled(FIRST, self._failures))
        self._failures += 1
        seconds = (error.retry_after or 0.0) + random.uniform(0, longest)  # noqa: S311 - spreads load, guards nothing
        LOG.info("%s; the stream is opened again in %.1f s", error, seconds)
        return seconds
