"""The token budget of the process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

_HOUR = 3600.0


@dataclass(slots=True)
class Spending:
    """Tokens of one attempt: estimated while it runs, then as reported."""

    since: float
    tokens: int


class TokenBudget:
    """At most `limit` tokens in any 60 minutes; 0 means no limit. Estimates count until they are settled, so that concurrent
    attempts exceed the limit at most by the error of their estimates."""

    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        self._limit = limit
        self._clock = clock
        self._spendings: deque[Spending] = deque()

    def spend(self, estimate: int) -> Spending | None:
        """Reserves an estimate; None if it exceeds the budget. Setting `tokens` of the result settles it."""
        now = self._clock()
        while self._spendings and self._spendings[0].since <= now - _HOUR:
            self._spendings.popleft()
        spending = Spending(now, estimate)
        if self._limit:
            if sum(each.tokens for each in self._spendings) + estimate > self._limit:
                return None
            self._spendings.append(spending)
        return spending
