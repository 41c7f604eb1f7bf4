"""What belongs together in a log: turns, and tool calls with their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from .model import EventFacts, WindowEvent

Start = Callable[[WindowEvent], bool]


class ToolTies:
    """Which events of a list are tied together by tool calls and their results.

    A result answers the latest call before it that bears its id, on its own branch if there is one there: providers use ids
    again in later turns, and agents that run beside each other use the same ones. Events tied directly or through others are
    one group, so that an event with several calls stays with all of its results.
    """

    def __init__(self, events: Sequence[WindowEvent]) -> None:
        self._parent = list(range(len(events)))
        self.orphans: set[int] = set()
        """Events that hold a result whose call is not before them in the list."""
        self.answers: list[tuple[int, str, int]] = []
        """Every call that is answered: the event that makes it, its id, and the event that answers it."""
        self.borrowers: set[int] = set()
        """Events with a result tied to a call of another branch, for there is none on its own before it in the list."""
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
        """The event's group, named by its first member."""
        while self._parent[index] != index:
            self._parent[index] = self._parent[self._parent[index]]
            index = self._parent[index]
        return index

    def whole(self, chosen: Iterable[int]) -> set[int]:
        """The chosen events without those of which a tied event was not chosen."""
        wanted = set(chosen)
        torn = {self.group(index) for index in range(len(self._parent)) if index not in wanted}
        return {index for index in wanted if self.group(index) not in torn}

    def safe_cuts(self, chosen: Sequence[int] | None = None) -> list[bool]:
        """For each place 0..n: whether everything before it can be parted from everything from it on.

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
    """The first turn start at or after `index`; the length of the list if there is none."""
    return next((i for i in range(index, len(events)) if start(events[i])), len(events))


def snap_back(events: Sequence[WindowEvent], index: int, start: Start = lambda event: event.turn_start) -> int:
    """The last turn start before `index`; 0 if there is none."""
    return next((i for i in range(min(index, len(events)) - 1, -1, -1) if start(events[i])), 0)


def last_n_start(events: Sequence[EventFacts], n: int) -> int:
    """Where the newest `n` begin: further back at the start of their turn, if that is in the list."""
    start = max(0, len(events) - n)
    if start == 0 or events[start].turn_start:
        return start
    return next((i for i in range(start - 1, -1, -1) if events[i].turn_start), start)
