"""Turns, and ties between tool calls and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from .model import EventFacts, Selectable, WindowEvent

Start = Callable[[WindowEvent], bool]


class ToolTies:
    """The ties between events of a list by tool calls and their results.

    A result belongs to the latest earlier call with its id, on its own branch if there is one: providers reuse ids in later
    turns, and concurrent agents use the same ids. Events tied directly or through others are one group, so that an event with
    several calls stays with all of its results.
    """

    def __init__(self, events: Sequence[Selectable]) -> None:
        self._parent = list(range(len(events)))
        self.orphans: set[int] = set()
        """Events with a result whose call is not before them in the list."""
        self.answers: list[tuple[int, str, int]] = []
        """Every call with a result: the calling event, the call's id, and the event with the result."""
        self.borrowers: set[int] = set()
        """Events with a result of a call on another branch, without an earlier one on their own."""
        latest: dict[tuple[str | None, str], int] = {}
        for index, event in enumerate(events):
            for call in event.calls:
                latest[event.branch, call] = latest[None, call] = index
            for result in event.results:
                caller = latest.get((event.branch, result))
                if caller is None and (caller := latest.get((None, result))) is not None:
                    self.borrowers.add(index)
                if caller is None:
                    self.orphans.add(index)
                else:
                    self.answers.append((caller, result, index))
                    self._join(caller, index)

    def _join(self, one: int, other: int) -> None:
        first, second = sorted((self.group(one), self.group(other)))
        self._parent[second] = first

    def group(self, index: int) -> int:
        """Returns the event's group: the index of its first member."""
        while self._parent[index] != index:
            self._parent[index] = self._parent[self._parent[index]]
            index = self._parent[index]
        return index

    def whole(self, chosen: Iterable[int]) -> set[int]:
        """Returns the chosen events without those tied to an event that was not chosen."""
        wanted = set(chosen)
        torn = {self.group(index) for index in range(len(self._parent)) if index not in wanted}
        return {index for index in wanted if self.group(index) not in torn}

    def safe_cuts(self, chosen: Sequence[int] | None = None) -> list[bool]:
        """Returns for each place 0..n whether a cut there separates no tied events.

        With `chosen`, whole groups in order, the places are those among the chosen events.
        """
        indexes = range(len(self._parent)) if chosen is None else chosen
        place = {index: place for place, index in enumerate(indexes)}
        tied = [0] * (len(indexes) + 1)
        for index in indexes:
            if (first := self.group(index)) != index:
                tied[place[first] + 1] += 1
                tied[place[index] + 1] -= 1
        return [not open_ for open_ in accumulate(tied)]


def snap(events: Sequence[WindowEvent], index: int, start: Start = lambda event: event.turn_start) -> int:
    """Returns the first turn start at or after `index`; the length of the list without one."""
    return next((i for i in range(index, len(events)) if start(events[i])), len(events))


def snap_back(events: Sequence[WindowEvent], index: int, start: Start = lambda event: event.turn_start) -> int:
    """Returns the last turn start before `index`; 0 without one."""
    return next((i for i in range(min(index, len(events)) - 1, -1, -1) if start(events[i])), 0)


def last_n_start(events: Sequence[EventFacts | Selectable], n: int) -> int:
    """Returns the start of the newest `n` events, moved back to the start of their turn if that is in the list."""
    start = max(0, len(events) - n)
    if start == 0 or events[start].turn_start:
        return start
    return next((i for i in range(start - 1, -1, -1) if events[i].turn_start), start)
