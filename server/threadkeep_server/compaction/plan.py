"""Plans: the events that a compaction archives, and those that it inserts.

A plan does not change the order: events that stay keep their places, and new events precede one that stays, or are at the end
(Spring AI Session 0.10, CompactionPlan).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count as numbers
from typing import Protocol

from ..domain.model import Counters, Role, WindowEvent, counted
from ..domain.text import prompt_line

Count = Callable[[str], int]
"""Counts the tokens of a prompt line."""


_LENIENCE = 2


class SummaryRejected(Exception):
    """The text of a model is not a valid summary: it is blank or too long."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A synthetic event to insert. `source` is its compaction_source; `stands_for` the event_id of the tool results that a stub
    replaces, each with this text, and `result_names` their tools. A summary without text is pending."""

    role: Role
    text: str
    source: str
    branch: str = ""
    stands_for: str = ""
    result_names: tuple[str, ...] = ()

    @property
    def pending(self) -> bool:
        return self.role is Role.ASSISTANT and not self.text

    @property
    def prompt_text(self) -> str:
        if not self.stands_for:
            return prompt_line(self.role, self.text)
        return prompt_line(self.role, "", results=[f"{name} -> {self.text}" for name in self.result_names])

    def tokens(self, count: Count) -> int:
        return 0 if self.pending else count(self.prompt_text)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A request for a summary. `max_tokens` limits the summary."""

    system_prompt: str
    prompt: str
    max_tokens: int

    @property
    def digest(self) -> str:
        """Identifies the prompts, so that a summary can be reused."""
        return hashlib.sha256(json.dumps([self.system_prompt, self.prompt]).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan. `archive` is in window order; `inserts` are new events by the id of the active event that follows them, None: the
    end; `strategy` is the name of its strategy; `summary` is set while the summary is pending, which `tokens_after` counts as
    0. Tokens are those of all active events."""

    archive: tuple[str, ...]
    inserts: Mapping[str | None, Sequence[NewEvent]]
    strategy: str
    summary: SummaryRequest | None = None
    tokens_before: int
    tokens_after: int

    @property
    def empty(self) -> bool:
        return not self.archive and not self.inserts


@dataclass(frozen=True, slots=True)
class Window:
    """All active events in window order. `branch`: the scope; empty is the whole session, otherwise only that branch's own
    events are compacted."""

    events: tuple[WindowEvent, ...]
    branch: str = ""

    @property
    def counters(self) -> Counters:
        return counted(self.events)


class Strategy(Protocol):
    """A strategy. `name` is the name of its field in CompactionStrategy; `reads_text`: whether it needs prompt texts."""

    @property
    def name(self) -> str: ...

    @property
    def reads_text(self) -> bool: ...

    def plan(self, window: Window, count: Count) -> Plan: ...


def derive(
    window: Window,
    result: Sequence[WindowEvent | NewEvent],
    *,
    strategy: str,
    count: Count,
    summary: SummaryRequest | None = None,
) -> Plan:
    """Returns the plan that turns the window into `result`: events of the window in their order, and new ones."""
    kept = {event.event_id for event in result if isinstance(event, WindowEvent)}
    inserts: dict[str | None, list[NewEvent]] = {}
    run: list[NewEvent] = []
    tokens_after = 0
    for event in result:
        if isinstance(event, NewEvent):
            run.append(event)
            tokens_after += event.tokens(count)
            continue
        tokens_after += event.tokens
        if run:
            inserts[event.event_id] = run
            run = []
    if run:
        inserts[None] = run
    return Plan(
        archive=tuple(event.event_id for event in window.events if event.event_id not in kept),
        inserts=inserts,
        strategy=strategy,
        summary=summary,
        tokens_before=window.counters.tokens,
        tokens_after=tokens_after,
    )


def outcome(window: Window, plan: Plan) -> list[WindowEvent | NewEvent]:
    """Returns the events after the plan: the inverse of `derive`."""
    archived = set(plan.archive)
    result: list[WindowEvent | NewEvent] = []
    for event in window.events:
        result.extend(plan.inserts.get(event.event_id, ()))
        if event.event_id not in archived:
            result.append(event)
    return [*result, *plan.inserts.get(None, ())]


def applied(window: Window, plan: Plan, count: Count) -> Window:
    """Returns the window after the plan. New events get ids that no caller can use, seq 0, and the size of their text."""
    stored = {event.event_id: event for event in window.events}
    fresh = _fresh_ids(stored)
    return replace(
        window,
        events=tuple(
            _imagined(event, next(fresh), stored.get(event.stands_for), count) if isinstance(event, NewEvent) else event
            for event in outcome(window, plan)
        ),
    )


def complete(plan: Plan, text: str, window: Window, count: Count) -> Plan:
    """Returns the plan with the text of its summary. Raises SummaryRejected."""
    if plan.summary is None:
        raise ValueError("the plan has no pending summary")
    if not text.strip():
        raise SummaryRejected("the model returned nothing")
    # The limit applies to the tokens of the model; an estimate may be half as much again.
    if (tokens := count(text)) > _LENIENCE * plan.summary.max_tokens:
        raise SummaryRejected(f"the summary has {tokens} tokens, the limit is {plan.summary.max_tokens}")
    result = [
        replace(event, text=text) if isinstance(event, NewEvent) and event.pending else event for event in outcome(window, plan)
    ]
    return derive(window, result, strategy=plan.strategy, count=count)


def _fresh_ids(taken: Container[str]) -> Iterator[str]:
    """Yields unused ids. They begin with a control character, which ids of callers cannot contain."""
    return (name for number in numbers() if (name := f"\0{number}") not in taken)


def _imagined(event: NewEvent, event_id: str, original: WindowEvent | None, count: Count) -> WindowEvent:
    size = len(event.text.encode())
    return WindowEvent(
        seq=0,
        time=0,
        role=event.role,
        branch=event.branch,
        synthetic=True,
        text=event.text,
        event_id=event_id,
        tokens=event.tokens(count),
        size=size,
        content_bytes=size,
        results=original.results if original else (),
        result_names=event.result_names,
        prompt_text=event.prompt_text,
    )
