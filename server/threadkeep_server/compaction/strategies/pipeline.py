"""Several strategies in sequence."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass
from typing import ClassVar

from ...domain.errors import InvalidField
from ..plan import Count, NewEvent, Plan, Strategy, Window, applied, derive, outcome
from .recursive_summary import RecursiveSummary

MAX_STEPS = 8


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Applies each step to the result of the one before, and returns one plan.

    Not in Spring AI Session. A RecursiveSummary must be the last step, since other steps cannot process a pending summary.
    """

    name: ClassVar[str] = "pipeline"

    steps: tuple[Strategy, ...]
    _: KW_ONLY
    field: InitVar[str] = "strategy"

    def __post_init__(self, field: str) -> None:
        at = f"{field}.pipeline.steps"
        if not 1 <= len(self.steps) <= MAX_STEPS:
            raise InvalidField(at, f"must be 1 to {MAX_STEPS} strategies")
        for index, step in enumerate(self.steps):
            if isinstance(step, Pipeline):
                raise InvalidField(f"{at}[{index}].pipeline", "must not be nested")
            if isinstance(step, RecursiveSummary) and index != len(self.steps) - 1:
                raise InvalidField(f"{at}[{index}].recursive_summary", "must be the last step")

    @property
    def reads_text(self) -> bool:
        return any(step.reads_text for step in self.steps)

    def plan(self, window: Window, count: Count) -> Plan:
        made: dict[str, NewEvent] = {}
        summary = None
        current = window
        for step in self.steps:
            plan = step.plan(current, count)
            after = applied(current, plan, count)
            for event, new in zip(after.events, outcome(current, plan), strict=True):
                if isinstance(new, NewEvent):
                    made[event.event_id] = new
            summary, current = plan.summary, after
        result = [made.get(event.event_id, event) for event in current.events]
        return derive(window, result, strategy=self.name, count=count, summary=summary)
