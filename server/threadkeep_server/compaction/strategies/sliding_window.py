"""Keeps the newest events."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass
from typing import ClassVar

from ..cuts import archiving, beyond, cut, split
from ..limits import at_least
from ..plan import Count, Plan, Window


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Keeps at most `max_events` events of the conversation, from a turn start on; more if the newest turn alone has more.

    SlidingWindowCompactionStrategy of Spring AI Session 0.10; branches as in 0.7: their events are not counted and
    follow the events around them.
    """

    name: ClassVar[str] = "sliding_window"
    reads_text: ClassVar[bool] = False

    max_events: int = 20
    _: KW_ONLY
    field: InitVar[str] = "strategy"

    def __post_init__(self, field: str) -> None:
        at_least(1, f"{field}.sliding_window.max_events", self.max_events)

    def plan(self, window: Window, count: Count) -> Plan:
        parts = split(window)
        place = cut(parts, beyond(parts, self.max_events))
        return archiving(parts, parts.conversation[:place], strategy=self.name, count=count)
