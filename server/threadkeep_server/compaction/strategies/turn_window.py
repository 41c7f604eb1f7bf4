"""Keeps the newest turns."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass
from typing import ClassVar

from ..cuts import archiving, cut, split
from ..limits import at_least
from ..plan import Count, Plan, Window


@dataclass(frozen=True, slots=True)
class TurnWindow:
    """Keeps the newest `max_turns` turns, and the events before the first turn.

    TurnWindowCompactionStrategy of Spring AI Session 0.10; branches as in 0.7: their USER events do not start a turn of the
    session.
    """

    name: ClassVar[str] = "turn_window"
    reads_text: ClassVar[bool] = False

    max_turns: int = 10
    _: KW_ONLY
    field: InitVar[str] = "strategy"

    def __post_init__(self, field: str) -> None:
        at_least(1, f"{field}.turn_window.max_turns", self.max_turns)

    def plan(self, window: Window, count: Count) -> Plan:
        parts = split(window)
        starts = parts.starts
        turns: tuple[int, ...] = ()
        if len(starts) > self.max_turns:
            turns = parts.conversation[starts[0] : cut(parts, starts[-self.max_turns])]
        return archiving(parts, turns, strategy=self.name, count=count)
