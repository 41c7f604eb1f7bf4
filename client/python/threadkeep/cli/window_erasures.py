"""Which events of a session are erased, and when an import erases them again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from ..v1 import event_pb2
from .formats.items import MOST_IDS
from .window_history import Delta


@dataclass(frozen=True, slots=True)
class Entry:
    """An event of the log. `erased`: whether only a tombstone is left now."""

    seq: int
    event_id: str
    branch: str
    erased: bool


class Erasures:
    """The events of a session up to a change, the number of which is `at`, and those of them that an import has erased by then.

    Reads do not say when an event was erased that had left the window before. It waits for the next erasure: what is erased now
    reads as erased at every moment.
    """

    def __init__(self, deltas: Sequence[Delta]) -> None:
        self.known: dict[int, Entry] = {}
        self._versions: dict[str, list[Entry]] = {}
        self._came = {seq: number for number, delta in enumerate(deltas) for seq, _ in delta.came}
        """The last change with which an event came into the window."""
        self._waiting: dict[str, None] = {}
        self._done: set[int] = set()

    def note(self, event: event_pb2.SessionEvent) -> None:
        """Adds the next event."""
        entry = self.known[event.seq] = Entry(event.seq, event.event_id, event.branch, event.erased)
        self._versions.setdefault(entry.event_id, []).append(entry)

    def newest(self, event_id: str) -> Entry | None:
        versions = self._versions.get(event_id)
        return versions[-1] if versions else None

    def are_final(self, entries: Iterable[Entry], at: int) -> bool:
        """Whether all are erased, and none comes back later, as it does only if it is erased after that."""
        return all(entry.erased and self._came.get(entry.seq, -1) <= at for entry in entries)

    def are_final_after(self, seq: int, at: int) -> bool:
        """Whether there are events after a seq, and all are final."""
        later = [entry for entry in self.known.values() if entry.seq > seq]
        return bool(later) and self.are_final(later, at)

    def is_gone(self, seq: int, erased_after: int | None) -> bool:
        """Whether an import has erased an event. `erased_after`: it erases what is after this seq too."""
        return seq in self._done or (erased_after is not None and seq > erased_after)

    def waits_before(self, seq: int) -> bool:
        """Whether an event up to a seq waits."""
        return any(entry.erased and entry.seq <= seq for entry in self.versions(self._waiting) if entry.seq not in self._done)

    def leave(self, entries: Iterable[Entry], at: int) -> None:
        """Notes events that have left the window without being erased."""
        for entry in entries:
            if entry.seq not in self._done and self.are_final([entry], at):
                self._waiting[entry.event_id] = None

    def erase(self, entries: Iterable[Entry]) -> None:
        """Notes what an import erases."""
        for entry in entries:
            self._done.add(entry.seq)
            if all(each.seq in self._done or not each.erased for each in self._versions[entry.event_id]):
                self._waiting.pop(entry.event_id, None)

    def erasable(self, window: Collection[int], at: int, among: Collection[str] | None = None) -> list[str]:
        """Returns the ids of events that wait and can be erased, at most MOST_IDS: all versions are erased now, and none is in
        the window."""
        wanted = self._waiting if among is None else [each for each in among if each in self._waiting]
        return list(islice((each for each in wanted if self._is_erasable(each, window, at)), MOST_IDS))

    def is_stuck(self, window: Collection[int], at: int) -> bool:
        """Whether an event waits that cannot be erased by its id."""
        return not all(self._is_erasable(each, window, at) for each in self._waiting)

    def are_erasable(self, entries: Iterable[Entry], others: Collection[int], at: int) -> bool:
        """Whether events that leave the window can be erased by their ids. `others`: what stays in it."""
        return all(self._is_erasable(entry.event_id, others, at) for entry in entries)

    def versions(self, event_ids: Iterable[str]) -> list[Entry]:
        return [entry for event_id in event_ids for entry in self._versions[event_id]]

    def _is_erasable(self, event_id: str, window: Collection[int], at: int) -> bool:
        versions = self._versions[event_id]
        return self.are_final(versions, at) and not any(entry.seq in window for entry in versions)
