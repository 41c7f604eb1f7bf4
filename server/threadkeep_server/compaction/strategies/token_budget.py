"""Keeps the events that fit a token budget."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass
from itertools import accumulate
from typing import ClassVar

from ..cuts import Split, archiving, cut, split
from ..limits import at_least
from ..plan import Count, Plan, Window


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Keeps the newest turns that fit `max_tokens` together with the summaries and the latest SYSTEM event, which always stay.
    The newest turn stays even if it does not fit.

    TokenCountCompactionStrategy of Spring AI Session 0.10. Fills the budget from the newest event backwards up to the first
    that does not fit, so that the kept events have no gaps.
    """

    name: ClassVar[str] = "token_budget"
    reads_text: ClassVar[bool] = False

    max_tokens: int = 4000
    _: KW_ONLY
    field: InitVar[str] = "strategy"

    def __post_init__(self, field: str) -> None:
        at_least(1, f"{field}.token_budget.max_tokens", self.max_tokens)

    def plan(self, window: Window, count: Count) -> Plan:
        parts = split(window)
        place = cut(parts, self._raw_cut(parts))
        return archiving(parts, parts.conversation[:place], strategy=self.name, count=count)

    def _raw_cut(self, parts: Split) -> int:
        budget = self.max_tokens - sum(event.tokens for event in parts.events((*parts.summaries, *parts.pinned)))
        newest_first = (event.tokens for event in reversed(parts.events(parts.conversation)))
        fitting = sum(total <= budget for total in accumulate(newest_first))
        return len(parts.conversation) - fitting
