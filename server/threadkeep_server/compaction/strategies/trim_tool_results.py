"""Replaces old tool results by stubs."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass
from itertools import islice
from typing import ClassVar

from ...domain.model import Role, WindowEvent
from ..cuts import leaving, split
from ..limits import at_least
from ..plan import Count, NewEvent, Plan, Window, derive

SOURCE = "tool-result-trimming"

RESULTS_AT_ONCE = 500
"""Results that one compaction replaces. Each stub has a place of its own, so inserting them holds the session for longer than
archiving does."""


@dataclass(frozen=True, slots=True)
class TrimToolResults:
    """Archives tool results and inserts stubs with the id of the original event: results of at least `min_tokens` tokens that
    at least `keep_turns` turn starts follow, if the stub is smaller. The oldest RESULTS_AT_ONCE of them; a repeated compaction
    replaces the next ones.

    Not in Spring AI Session; like the "clear tool uses" context edit of Anthropic's API, but the results stay in the log.
    """

    name: ClassVar[str] = "trim_tool_results"
    reads_text: ClassVar[bool] = False

    keep_turns: int = 1
    min_tokens: int = 64
    _: KW_ONLY
    field: InitVar[str] = "strategy"

    def __post_init__(self, field: str) -> None:
        at_least(0, f"{field}.trim_tool_results.keep_turns", self.keep_turns)
        at_least(1, f"{field}.trim_tool_results.min_tokens", self.min_tokens)

    def plan(self, window: Window, count: Count) -> Plan:
        parts = split(window)
        # Counted from the end, so that archiving older turns does not make further results old.
        ends = [len(parts.conversation), *reversed(parts.starts)]
        old = parts.conversation[: ends[self.keep_turns]] if len(ends) > self.keep_turns else ()
        made = ((index, stub) for index in old if (stub := self._stub(window.events[index], count)))
        stubs = dict(islice(made, RESULTS_AT_ONCE))
        gone = leaving(parts, ())
        result = [stubs.get(index, event) for index, event in enumerate(window.events) if index not in gone]
        return derive(window, result, strategy=self.name, count=count)

    def _stub(self, event: WindowEvent, count: Count) -> NewEvent | None:
        if event.role is not Role.TOOL or event.synthetic or not event.results or event.tokens < self.min_tokens:
            return None
        if event.calls:  # a stub has no calls: the results of these calls would lose them
            return None
        text = f"Left out to save space: a result of {event.tokens} tokens. Event {event.event_id} has it in full."
        stub = NewEvent(Role.TOOL, text, SOURCE, event.branch, event.event_id, event.result_names)
        return stub if stub.tokens(count) < event.tokens else None
