"""Context selection: the executable specification of GetContext. Every store must return what `select_context` returns.

The active window is read as two lists: the lead (system prompts and summaries), which is always included, and the conversation,
of which limits keep the newest part. A cut never splits a turn or separates tool calls from their results.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import accumulate, takewhile
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from .branches import visible_from
from .errors import InvalidField
from .filters import AuthorStep, EventFilter, matches
from .model import NO_COUNTERS, Counters, EventFacts, Role, Selectable, counted
from .turns import ToolTies, last_n_start

E = TypeVar("E", bound=Selectable)
Measure = Callable[[Selectable], int]


_MEASURES: dict[str, Measure] = {
    "max_bytes": attrgetter("content_bytes"),
    "max_tokens": attrgetter("tokens"),
    "max_size": attrgetter("size"),
}


class ContextMode(IntEnum):
    """Whether an agent reads the session, writes it, or both. The SDK enforces writes."""

    NONE = 1
    READ_WRITE = 2
    READ_ONLY = 3
    WRITE_ONLY = 4


@dataclass(frozen=True, slots=True)
class ContextSpec:
    """A request for a context. The constructor normalizes and validates it.

    `author_roles` replaces the stored roles of agents, by id. `max_bytes` limits content bytes,
    `max_tokens` tokens and `max_size` bytes as sent (the server's own limit on a response).
    """

    mode: ContextMode = ContextMode.READ_WRITE
    authors: tuple[AuthorStep, ...] = ()
    author_roles: Mapping[str, str] = field(default_factory=dict)
    last_n: int | None = None
    max_turns: int | None = None
    max_bytes: int | None = None
    max_tokens: int | None = None
    max_size: int | None = None
    branch: str = ""
    include_system: bool = True

    def __post_init__(self) -> None:
        if self.authors:
            object.__setattr__(self, "authors", EventFilter(authors=self.authors).authors)
        for name in ("last_n", "max_turns", *_MEASURES):
            if (limit := getattr(self, name)) is not None and limit < 1:
                raise InvalidField(f"spec.{name}", "must be at least 1")

    @property
    def reads(self) -> bool:
        return self.mode in (ContextMode.READ_WRITE, ContextMode.READ_ONLY)

    @property
    def budgets(self) -> list[tuple[int, Measure]]:
        """The amount limits that are set, each with its measure."""
        return [(limit, measure) for name, measure in _MEASURES.items() if (limit := getattr(self, name)) is not None]


@dataclass(frozen=True, slots=True)
class Context(Generic[E]):
    """A context: pinned SYSTEM events, summaries, conversation.

    `truncated`: visible conversation older than `first_seq` was left out. `over_budget`: the required events, at least the
    newest turn, exceed a limit. `first_seq` and `last_seq` are those of the first and the last conversation event, 0 without
    any; `window` counts all events. `hidden_seq`: the lowest seq of an active event from `first_seq` on, in window order, or of
    a summary, that was left out, except superseded SYSTEM events. 0 if there is none.
    """

    events: tuple[E, ...] = ()
    truncated: bool = False
    first_seq: int = 0
    last_seq: int = 0
    window: Counters = NO_COUNTERS
    over_budget: bool = False
    hidden_seq: int = 0

    def compactable_through(self, session_last_seq: int) -> int:
        """Returns the last seq that a summary of this context may replace; 0 for none. See GetContextResponse."""
        if not self.first_seq:
            return 0
        if not self.hidden_seq:
            return session_last_seq
        lowest = min(event.seq for event in self.events if not is_lead(event))
        return self.hidden_seq - 1 if lowest < self.hidden_seq else 0


def is_lead(event: Selectable) -> bool:
    """Whether an event is a system prompt or a summary, which precede the conversation."""
    return event.summary or (event.role == Role.SYSTEM and not event.synthetic)


def select_context(
    lead: Sequence[E], conversation: Sequence[E], spec: ContextSpec, *, complete: bool = True
) -> Context[E] | None:
    """Returns the context of the active events, in window order: the lead, and the conversation.

    With `complete` False, `conversation` contains only the newest events, and None means that more of them are required. A
    returned context equals that of the complete list.

    - Branches hide events of both lists; author steps hide events of the conversation only, since a summary covers many authors
      and a system prompt is for all.
    - Events tied by tool calls are included together or not at all; a result without its call is never included. A call without
      a result stays.
    - Each limit has a place to cut at; the last of them applies. `last_n` goes back to the start of its turn if that is
      visible; `max_turns` cuts if there are more turns; budgets are filled from the newest event backwards, after the lead. The
      cut then moves to the next turn start that separates no tied events, or without one back to the newest. Without a turn
      start, or if `last_n` finds none, it moves to any place that separates none.
    """
    if not spec.reads:
        return Context()
    leading = _leading(lead, spec)
    found = _visible_groups(conversation, spec, complete)
    unsettled = len(found.events) - len(found.safe)
    settled = found.events[unsettled:]
    cut = _cut(settled, found.safe, leading, spec, complete)
    if cut is None or not (complete or unsettled + cut):
        return None  # in the second case, older events decide whether anything was left out
    newest = settled[cut:]
    events = (*leading, *newest)
    return Context(
        events=events,
        truncated=unsettled + cut > 0,
        first_seq=newest[0].seq if newest else 0,
        last_seq=newest[-1].seq if newest else 0,
        window=counted(events),
        over_budget=any(sum(map(measure, events)) > limit for limit, measure in spec.budgets),
        hidden_seq=_hidden_seq(lead, conversation, leading, newest),
    )


def _hidden_seq(
    lead: Sequence[E],
    conversation: Sequence[E],
    leading: Sequence[E],
    newest: Sequence[E],
) -> int:
    """See Context.hidden_seq. A seq is not a place in the window: inserted events have higher ones than their neighbors."""
    if not newest:
        return 0
    hidden = [event.seq for event in lead if event.summary and event not in leading]
    start = len(conversation) - len(newest)
    while conversation[start] is not newest[0]:
        start -= 1
    if len(conversation) - start > len(newest):
        shown = {event.seq for event in newest}
        hidden += [event.seq for event in conversation[start:] if event.seq not in shown]
    return min(hidden, default=0)


def _leading(lead: Sequence[E], spec: ContextSpec) -> list[E]:
    """Returns the latest SYSTEM event of each visible branch, then the visible summaries."""
    visible = lead
    if spec.branch:
        branches = visible_from(spec.branch)
        visible = [event for event in lead if event.branch in branches]
    latest = {event.branch: event for event in visible if not event.summary}
    pinned = [event for event in visible if event is latest.get(event.branch)] if spec.include_system else []
    return pinned + [event for event in visible if event.summary]


class _Found(NamedTuple, Generic[E]):
    """The visible events, and for the newest of them whether the place before each is a safe cut.

    The events before those, and their ties, depend on older events; in a complete list there are none.
    """

    events: list[E]
    safe: list[bool]


def _visible_groups(conversation: Sequence[E], spec: ContextSpec, complete: bool) -> _Found[E]:
    seen = _seen(conversation, spec)
    if not any(event.calls or event.results for event in conversation):
        events = [event for event, visible in zip(conversation, seen, strict=True) if visible]
        return _Found(events, [True] * len(events))
    ties = ToolTies(conversation)
    whole = sorted(ties.whole(index for index, visible in enumerate(seen) if visible and index not in ties.orphans))
    settled = 0 if complete else _settled_from(ties, seen)
    first = bisect_left(whole, settled)
    return _Found([conversation[index] for index in whole], ties.safe_cuts(whole)[first : len(whole)])


def _seen(conversation: Sequence[E], spec: ContextSpec) -> list[bool]:
    """Returns for each event whether its branch and its author are visible."""
    if not spec.authors and not spec.branch:
        return [True] * len(conversation)
    wanted = EventFilter(authors=spec.authors, branch=spec.branch)
    verdicts: dict[tuple[str, str, str], bool] = {}
    seen = []
    for event in conversation:
        of = (event.author, event.author_role, event.branch)
        if (verdict := verdicts.get(of)) is None:
            role = spec.author_roles.get(event.author, event.author_role)
            facts = EventFacts(event.seq, 0, Role(event.role), event.author, role, event.branch)
            verdict = verdicts[of] = matches(facts, wanted)
        seen.append(verdict)
    return seen


def _settled_from(ties: ToolTies, seen: Sequence[bool]) -> int:
    """Returns the place after all groups that older events may extend or divide."""
    loose = {ties.group(index) for index in ties.borrowers} | {ties.group(index) for index in ties.orphans if seen[index]}
    return next((index + 1 for index in range(len(seen) - 1, -1, -1) if ties.group(index) in loose), 0) if loose else 0


class _Limit(NamedTuple):
    """The cut of a limit without older events; `sure` if older events cannot change it."""

    place: int
    sure: bool


def _cut(events: Sequence[E], safe: Sequence[bool], leading: Sequence[E], spec: ContextSpec, complete: bool) -> int | None:
    """Returns the start of the included conversation; None if that requires older events."""
    places = [place for place, is_safe in enumerate(safe) if is_safe]
    turns = [place for place in places if events[place].turn_start]
    if not (complete or turns):
        return None  # an older turn start may apply
    by_events = _by_events(events, spec)
    limits = (by_events, _by_turns(events, spec), _by_budgets(events, leading, spec))
    raw = max(limit.place for limit in limits)
    if raw == 0:
        cut = 0
    elif not turns or (raw == by_events.place and not events[raw].turn_start):
        cut = _settle(raw, places)
    else:
        cut = _settle(raw, turns)
    if complete:
        return cut
    sure = max((limit.place for limit in limits if limit.sure), default=None)
    return cut if sure is not None and _settle(sure, turns) == cut else None


def _settle(raw: int, places: Sequence[int]) -> int:
    """Returns the first of the places at or after the raw cut, otherwise the last before it."""
    return places[min(bisect_left(places, raw), len(places) - 1)]


def _by_events(events: Sequence[E], spec: ContextSpec) -> _Limit:
    if spec.last_n is None or not events:
        return _Limit(0, False)
    start = last_n_start(events, spec.last_n)
    return _Limit(start, len(events) >= spec.last_n and events[start].turn_start)


def _by_turns(events: Sequence[E], spec: ContextSpec) -> _Limit:
    if spec.max_turns is None:
        return _Limit(0, False)
    starts = [place for place, event in enumerate(events) if event.turn_start]
    if len(starts) <= spec.max_turns:
        return _Limit(0, False)  # events before the first turn are cut with it
    return _Limit(starts[-spec.max_turns], True)


def _by_budgets(events: Sequence[E], leading: Sequence[E], spec: ContextSpec) -> _Limit:
    """Returns the place where the first budget is full, backwards from the newest event."""
    fitting = len(events)
    for limit, measure in spec.budgets:
        room = limit - sum(map(measure, leading))
        if sum(map(measure, events)) <= room:
            continue
        totals = accumulate(map(measure, reversed(events)))
        fitting = min(fitting, sum(1 for _ in takewhile(lambda total, room=room: total <= room, totals)))  # type: ignore[misc]
    full = len(events) - fitting
    return _Limit(full, full > 0)
