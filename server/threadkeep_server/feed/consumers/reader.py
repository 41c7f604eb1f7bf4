"""Reads the feed for a member. One page serves all partitions that need changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...domain.feed import Change, ChangePage, FeedEvent, FeedScope, Position
from ...domain.filters import EventFilter, select
from ...store.contract.consumers import Parked, partition_of
from ...store.contract.feed import FeedStore
from ..limits import CHANGES_PER_READ
from .assignment import MOST_WAITING_BYTES, Assignment
from .partition import OwnedPartition, Read

Found = tuple[Change, Sequence[FeedEvent]]


class Reader:
    """Reads the changes within a consumer's scope and filter."""

    def __init__(
        self, store: FeedStore, scope: FeedScope, wanted: EventFilter, partitions: int, assignment: Assignment
    ) -> None:
        self._store = store
        self._scope = scope
        self._wanted = wanted
        self._partitions = partitions
        self._assignment = assignment

    async def read(self, wanting: Sequence[OwnedPartition]) -> Position | None:
        """Reads these partitions. Returns the end of the settled feed if it was reached. Raises FeedTrimmed."""
        starts = {each.number: each.read_to for each in wanting}
        incarnations = self._store.incarnations()
        page = await self._store.changes(min(starts.values()), CHANGES_PER_READ, self._scope)
        chosen, reached, full = self._choose(page, wanting)
        to_the_end = not page.more and reached == page.reached
        found: dict[int, list[Found]] = {number: [] for number in starts}
        for change, events in await self._with_events(chosen):
            found[partition_of(change.session, self._partitions)].append((change, events))
        if self._store.incarnations() != incarnations:
            return None  # read again: these changes may be lost
        self._assignment.take(
            {
                each.number: Read(found[each.number], full.get(each.number, reached), to_the_end and each.number not in full)
                for each in wanting
                if self._is_current(each, starts[each.number])
            }
        )
        return page.reached if to_the_end else None

    def _is_current(self, partition: OwnedPartition, start: Position) -> bool:
        """Reports whether a read from `start` still applies: the partition may have been dropped or rejected meanwhile."""
        held = self._assignment.holds(partition) and partition.read_to == start
        return held and not partition.leaving and not partition.blocked

    async def replays(self, parked: Sequence[Parked]) -> list[tuple[Parked, Sequence[FeedEvent] | None]]:
        """Returns parked changes with their selected events; None for a change without a matching event."""
        read = await self._store.change_events([each.change for each in parked], with_text=self._wanted.reads_body)
        replays: list[tuple[Parked, Sequence[FeedEvent] | None]] = []
        for each, events in zip(parked, read, strict=True):
            found = select(events, self._wanted)
            replays.append((each, None if each.change.adds_only and not found else found))
        return replays

    def _choose(
        self, page: ChangePage, wanting: Sequence[OwnedPartition]
    ) -> tuple[list[Change], Position, dict[int, Position]]:
        """Returns the changes to load, the position they reach, and an earlier position for each partition that is full."""
        wanted = {each.number: each for each in wanting}
        room = {each.number: each.room for each in wanting}
        full: dict[int, Position] = {}
        chosen: list[Change] = []
        size = 0
        passed: Position | None = None
        for change in page.changes:
            number = partition_of(change.session, self._partitions)
            partition = wanted.get(number)
            if partition is not None and number not in full and change.position > partition.read_to:
                size += change.size
                if size > MOST_WAITING_BYTES and chosen and passed is not None:
                    return chosen, passed, full
                chosen.append(change)
                room[number] -= 1
                if not room[number]:
                    full[number] = change.position
            passed = change.position
        return chosen, page.reached, full

    async def _with_events(self, changes: Sequence[Change]) -> Iterable[Found]:
        """Returns the matching changes with their selected events."""
        if not changes:
            return ()
        events = await self._store.change_events(changes, with_text=self._wanted.reads_body)
        pairs = ((change, select(each, self._wanted)) for change, each in zip(changes, events, strict=True))
        return [(change, each) for change, each in pairs if each or not change.adds_only]
