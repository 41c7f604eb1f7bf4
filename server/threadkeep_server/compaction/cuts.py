"""The vocabulary that strategies share: what the events of a window are, and where a conversation may be cut.

The pipeline is that of Spring AI Session 0.9 and later: split; raw cut, each strategy's own; snap to a turn start; and ours
beyond it: part no tool call from its result.
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
    """The events in scope by what they are to compaction, as ascending indexes into the window.

    - pinned: the latest SYSTEM event of each branch; always kept.
    - superseded: older SYSTEM events; always archived.
    - summaries: what earlier compactions inserted; kept, unless a new summary replaces them.
    - conversation: the rest, stubs of tool results included. Cuts are places in it. `start` says where its turns start.
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
    """What starts a turn: in a branch its own USER events or, for an agent that nobody speaks to, each step it takes."""
    if not window.branch:
        return lambda event: event.turn_start
    spoken_to = any(window.events[index].role is Role.USER for index in conversation)
    opener = Role.USER if spoken_to else Role.ASSISTANT
    return lambda event: event.role is opener


def beyond(parts: Split, most: int) -> int:
    """The raw cut that keeps the newest `most` events. In a whole session those of branches are not counted and ride along."""
    talk = parts.events(parts.conversation)
    counted = [place for place, event in enumerate(talk) if parts.window.branch or not event.branch]
    return counted[-most] if len(counted) > most else 0


def cut(parts: Split, raw: int) -> int:
    """Where the conversation is cut instead of at `raw`: at the next turn start or, without one, at the last.

    Where that would part tool calls from results, at the newest turn start before it that does not; without one, nowhere (0).
    """
    if raw <= 0:
        return 0
    talk = parts.events(parts.conversation)
    place = snap(talk, raw, parts.start)
    if place == len(talk):
        place = snap_back(talk, place, parts.start)
    return max((each for each in safe_starts(parts) if each <= place), default=0)


def safe_starts(parts: Split) -> list[int]:
    """Places after the first at which a turn starts and no tool call is parted from its result."""
    # Groups that reach out of the conversation stay in any case; they are no reason to cut elsewhere.
    whole = sorted(parts.ties.whole(parts.conversation))
    safe = parts.ties.safe_cuts(whole)
    return [place for place in parts.starts if place and safe[bisect_left(whole, parts.conversation[place])]]


def leaving(parts: Split, chosen: Iterable[int]) -> set[int]:
    """The events to archive: those chosen and the superseded, but none tied to one that stays."""
    return parts.ties.whole((*chosen, *parts.superseded))


def archiving(parts: Split, chosen: Iterable[int], *, strategy: str, count: Count) -> Plan:
    """The plan that archives the chosen events and inserts nothing."""
    gone = leaving(parts, chosen)
    kept = [event for index, event in enumerate(parts.window.events) if index not in gone]
    return derive(parts.window, kept, strategy=strategy, count=count)
