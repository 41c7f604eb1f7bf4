"""Shared parts of the strategies: the kinds of events in a window, and the valid cuts of a conversation.

The steps are those of Spring AI Session 0.9 and later: split, raw cut by the strategy, snap to a turn start. In addition, a cut
never separates a tool call from its result.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..domain.model import Role, WindowEvent
from ..domain.turns import Start, ToolTies, snap, snap_back
from .plan import Count, Plan, Window, derive


@dataclass(frozen=True, slots=True)
class Split:
    """The events in scope by kind, as ascending indexes into the window.

    - pinned: the latest SYSTEM event of each branch; always kept.
    - superseded: older SYSTEM events; always archived.
    - summaries: inserted by earlier compactions; kept, unless a new summary replaces them.
    - conversation: the others, including stubs of tool results. Cuts are places in it. `start`: whether an event starts a turn.
    """

    window: Window
    ties: ToolTies
    pinned: tuple[int, ...]
    superseded: tuple[int, ...]
    summaries: tuple[int, ...]
    conversation: tuple[int, ...]
    start: Start

    def events(self, indexes: Iterable[int]) -> list[WindowEvent]:
        return [self.window.events[index] for index in indexes]

    @property
    def starts(self) -> list[int]:
        """Places of the conversation at which turns start."""
        return [place for place, event in enumerate(self.events(self.conversation)) if self.start(event)]


def split(window: Window) -> Split:
    summaries, conversation, systems = [], [], []
    latest: dict[str, int] = {}
    for index, event in enumerate(window.events):
        if window.branch and event.branch != window.branch:
            continue
        if event.summary:
            summaries.append(index)
        elif event.role is Role.SYSTEM:
            systems.append(index)
            latest[event.branch] = index
        else:
            conversation.append(index)
    pinned = set(latest.values())
    return Split(
        window=window,
        ties=ToolTies(window.events),
        pinned=tuple(index for index in systems if index in pinned),
        superseded=tuple(index for index in systems if index not in pinned),
        summaries=tuple(summaries),
        conversation=tuple(conversation),
        start=_turn_start(window, conversation),
    )


def _turn_start(window: Window, conversation: Sequence[int]) -> Start:
    """Returns what starts a turn: in a branch its own USER events, or without any its ASSISTANT events."""
    if not window.branch:
        return lambda event: event.turn_start
    spoken_to = any(window.events[index].role is Role.USER for index in conversation)
    opener = Role.USER if spoken_to else Role.ASSISTANT
    return lambda event: event.role is opener


def beyond(parts: Split, most: int) -> int:
    """Returns the raw cut that keeps the newest `most` events. For a whole session, events of branches are not counted."""
    talk = parts.events(parts.conversation)
    counted = [place for place, event in enumerate(talk) if parts.window.branch or not event.branch]
    return counted[-most] if len(counted) > most else 0


def cut(parts: Split, raw: int) -> int:
    """Returns the valid cut for `raw`: the next turn start or, without one, the last.

    If that separates tool calls from results, the newest earlier turn start that does not; without one, 0 (no cut).
    """
    if raw <= 0:
        return 0
    talk = parts.events(parts.conversation)
    place = snap(talk, raw, parts.start)
    if place == len(talk):
        place = snap_back(talk, place, parts.start)
    return max((each for each in safe_starts(parts) if each <= place), default=0)


def safe_starts(parts: Split) -> list[int]:
    """Returns the places after the first at which a turn starts and no tool call is separated from its result."""
    # Groups with events outside the conversation always stay; they do not restrict cuts.
    whole = sorted(parts.ties.whole(parts.conversation))
    safe = parts.ties.safe_cuts(whole)
    return [place for place in parts.starts if place and safe[bisect_left(whole, parts.conversation[place])]]


def leaving(parts: Split, chosen: Iterable[int]) -> set[int]:
    """Returns the events to archive: the chosen and the superseded, without those tied to an event that stays."""
    return parts.ties.whole((*chosen, *parts.superseded))


def archiving(parts: Split, chosen: Iterable[int], *, strategy: str, count: Count) -> Plan:
    """Returns the plan that archives the chosen events and inserts nothing."""
    gone = leaving(parts, chosen)
    kept = [event for index, event in enumerate(parts.window.events) if index not in gone]
    return derive(parts.window, kept, strategy=strategy, count=count)
