"""The lines of a session in an export: its events by seq, and the changes of its window where they happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..v1 import event_pb2
from .formats.items import MOST_IDS, Placed, WindowChange
from .formats.log import event_line, window_line
from .window_erasures import Entry, Erasures
from .window_history import Delta, WindowHistory


class WindowLines:
    """Turns the events of a session and the changes of its window into lines. Each change is one line, which an import makes
    again with one call."""

    def __init__(self, session_id: str, history: WindowHistory, deltas: Sequence[Delta]) -> None:
        self._name = session_id
        self._history = history
        self._deltas = deltas
        self._next = 0
        self._window: list[int] = []
        self._placed: list[event_pb2.SessionEvent] = []
        self._erasures = Erasures(deltas)
        self._left: dict[int, int] = {}
        """The last change with which an event left."""
        self._count = 0
        self._counts = [0]
        """The number of lines of changes up to each change, which may be preceded by an erasure."""

    async def event(self, event: event_pb2.SessionEvent) -> list[str]:
        """Returns the lines up to an event, the next by seq; without it if the change that inserts it is still to come."""
        if not self._deltas:
            return [event_line(self._name, event)]
        lines: list[str] = []
        while self._next < len(self._deltas) and self._deltas[self._next].at.after < event.seq:
            lines += await self._change()
        if self._next < len(self._deltas) and self._deltas[self._next].at.before < event.seq:
            self._placed.append(event)
            return lines
        self._erasures.note(event)
        self._window.append(event.seq)
        return [*lines, event_line(self._name, event)]

    async def end(self) -> list[str]:
        """Returns the lines after the last event."""
        lines: list[str] = []
        while self._next < len(self._deltas):
            lines += await self._change()
        # What is left was erased during the export, or its history is unknown.
        erased = [entry for entry in self._entries(self._window) if entry.erased]
        self._erasures.leave(erased, self._next)
        self._window = [seq for seq in self._window if not self._erasures.known[seq].erased]
        while some := tuple(self._erasures.erasable(set(self._window), self._next)):
            self._erasures.erase(self._erasures.versions(some))
            gone = [entry for entry in erased if entry.event_id in some]
            lines.append(self._written(WindowChange("erasure", _ids(gone), some)))
        return lines

    async def _change(self) -> list[str]:
        """Returns the lines of the next change, and applies it."""
        at, delta = self._next, self._deltas[self._next]
        placed, self._placed = self._placed, []
        gone = self._entries(delta.gone)
        change = await self._described(at, gone, placed)
        lines = self._forced(at, change, placed)
        self._erasures.erase(self._covered(change, gone, placed))
        self._erasures.leave(gone, at)
        for event in placed:
            self._erasures.note(event)
            lines.append(event_line(self._name, event, placed=True))
        self._left |= dict.fromkeys(delta.gone, at)
        self._window = delta.applied(self._window)
        self._next += 1
        lines.append(self._written(change))
        self._counts.append(self._count)
        return lines

    async def _described(self, at: int, gone: list[Entry], placed: list[event_pb2.SessionEvent]) -> WindowChange:
        """Returns how an import makes a change again."""
        delta = self._deltas[at]
        archived, places = _ids(gone), self._places(delta, placed)
        record = delta.at.record
        found: WindowChange | None = None
        if record is not None or delta.at.as_of is None:
            strategy, actor = (record.strategy, record.actor) if record is not None else ("", "")
            return WindowChange("compaction", archived, placed=places, strategy=strategy, actor=actor)
        if placed:
            replaced = self._replaced(gone, placed)
            erase = bool(replaced) and self._erasures.are_final(replaced, at)
            if await self._is_at_end(delta, placed):
                found = self._suffix(at, gone, places)
            found = found or WindowChange("upsert", archived, placed=places, erase=erase)
        elif not delta.restored:
            found = await self._erasing_rewind(at, gone) or self._emptied(at, gone) or self._suffix(at, gone, ())
        # A compaction is the last resort: it leaves a record.
        return found or await self._rewind(at, gone) or WindowChange("compaction", archived)

    async def _erasing_rewind(self, at: int, gone: list[Entry]) -> WindowChange | None:
        """A rewind, if there are earlier versions of events that only a rewind can have erased."""
        if not self._erasures.are_final(gone, at) or not self._erasures.is_stuck(set(self._window), at):
            return None
        found = await self._rewind(at, gone)
        return found if found is not None and found.erase else None

    def _emptied(self, at: int, gone: list[Entry]) -> WindowChange | None:
        """A change after which fewer events are in the window, or erased."""
        erasures, archived = self._erasures, _ids(gone)
        is_whole = len(gone) == len(self._window)
        if is_whole and erasures.known and erasures.are_final(erasures.known.values(), at):
            return WindowChange("clear", archived, erase=True)
        are_final = erasures.are_final(gone, at)
        staying = set(self._window).difference(entry.seq for entry in gone)
        if are_final and len(gone) <= MOST_IDS and erasures.are_erasable(gone, staying, at):
            erased = dict.fromkeys([*archived, *erasures.erasable(staying, at)])
            if erased:
                return WindowChange("erasure", archived, tuple(erased)[:MOST_IDS])
        if is_whole and not (gone and are_final and len(gone) <= MOST_IDS):
            return WindowChange("clear", archived)
        return None if gone else WindowChange("none")

    async def _is_at_end(self, delta: Delta, placed: list[event_pb2.SessionEvent]) -> bool:
        """Whether the inserted events are the last ones, also after what they replaced: an upsert puts them before it."""
        return await self._history.newest(delta.at, len(placed)) == [event.seq for event in reversed(placed)]

    def _suffix(self, at: int, gone: list[Entry], places: tuple[Placed, ...]) -> WindowChange | None:
        """The newest events, of one branch or of all, and others in their place at the end."""
        if not 0 < len(gone) <= MOST_IDS or any(each.before for each in places):
            return None
        branch = None if self._entries(self._window[-len(gone) :]) == gone else gone[-1].branch
        if branch is not None:
            of_branch = [entry for entry in self._entries(self._window) if entry.branch == branch]
            if of_branch[-len(gone) :] != gone:
                return None
        erase = self._erasures.are_final(gone, at)
        return WindowChange("suffix", _ids(gone), placed=places, branch=branch, erase=erase)

    async def _rewind(self, at: int, gone: list[Entry]) -> WindowChange | None:
        """The return to an earlier moment, found by its window."""
        delta, erasures, found = self._deltas[at], self._erasures, None
        after = delta.applied(self._window)
        newest = max(after, default=0)
        # What is restored was there until it left.
        latest = min((self._left.get(seq, at) for seq in delta.restored), default=at)
        for number in range(latest, -1, -1):
            if self._deltas[number].at.before < newest:
                break
            start = self._deltas[number - 1].at.after if number else 0
            through = max([start, *(seq for seq in after if seq > start)])
            erase = erasures.are_final_after(through, at)
            if found is not None and not erase:
                break
            before = await self._history.before(self._deltas[number].at)
            left = [seq for seq in before if not erasures.is_gone(seq, through if erase else None)]
            if left[: len(after)] == after and all(seq > start for seq in left[len(after) :]):
                found = WindowChange("rewind", _ids(gone), erase=erase, changes=self._counts[number], through_seq=through)
                # Of points with this window, the one that erases most.
                if not erasures.waits_before(through):
                    break
        return found

    def _forced(self, at: int, change: WindowChange, placed: list[event_pb2.SessionEvent]) -> list[str]:
        """Erases what waits and cannot wait any more: an erasure concerns all versions of an event."""
        if change.erase:
            return []
        new = {event.event_id for event in placed if not event.erased}
        waiting = tuple(self._erasures.erasable(set(self._window), at, new)) if new else ()
        if not waiting:
            return []
        self._erasures.erase(self._erasures.versions(waiting))
        return [self._written(WindowChange("erasure", (), waiting))]

    def _covered(self, change: WindowChange, gone: list[Entry], placed: list[event_pb2.SessionEvent]) -> list[Entry]:
        """The events that a change erases."""
        if change.how == "erasure":
            return self._erasures.versions(change.erased)
        if not change.erase:
            return []
        if change.how in ("clear", "rewind"):
            return [entry for seq, entry in self._erasures.known.items() if seq > change.through_seq]
        return self._replaced(gone, placed) if change.how == "upsert" else gone

    def _replaced(self, gone: list[Entry], placed: list[event_pb2.SessionEvent]) -> list[Entry]:
        """The earlier versions of inserted events: the active ones, or the newest."""
        active = {entry.event_id: entry for entry in gone}
        found = [active.get(event.event_id) or self._erasures.newest(event.event_id) for event in placed]
        return [entry for entry in found if entry is not None]

    def _entries(self, seqs: Iterable[int]) -> list[Entry]:
        return [self._erasures.known[seq] for seq in seqs]

    def _places(self, delta: Delta, placed: Sequence[event_pb2.SessionEvent]) -> tuple[Placed, ...]:
        new, known = {event.seq: event.event_id for event in placed}, self._erasures.known
        came = [(seq, following) for seq, following in delta.came if seq in new]
        return tuple(Placed(new[seq], known[following].event_id if following else "") for seq, following in came)

    def _written(self, change: WindowChange) -> str:
        self._count += 1
        return window_line(self._name, change)


def _ids(entries: Iterable[Entry]) -> tuple[str, ...]:
    return tuple(entry.event_id for entry in entries)
