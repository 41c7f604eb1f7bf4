"""Invariants of windows: the one before a compaction or the one after it, nothing else."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tests.support.conversations import answered
from tests.support.marks import Mark, marks, shown, stands_for
from threadkeep.v1.compaction_pb2 import Compaction
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.session_pb2 import Session, WindowCounters

from .wire import Wire

Counts = Counter[str]


async def check_session(
    wire: Wire, session: str, acknowledged: Mapping[str, Compaction], *, summarized: bool
) -> list[Compaction]:
    """Checks the invariants of a session and returns its compactions. With `summarized`, every compaction
    listed what it archived."""
    state, records, events = await still(wire, session)
    check_records(state, records, events)
    listed = {record.compaction_id: record for record in records}
    assert {name: listed.get(name) for name in acknowledged} == acknowledged, (
        "an acknowledged compaction is there as it was acknowledged"
    )
    check_pairs(events)
    active = [event for event in events if not event.archived]
    if summarized:
        assert shown(active) == Counter(own_marks(events)), "everything said is in the window exactly once"
    else:
        stubs = {mark for event in active for mark in stands_for(event)}
        gone = [event.archived and mark_of(event) not in stubs for event in events if not event.synthetic]
        assert gone == sorted(gone, reverse=True), "what went is what is oldest"
    return records


async def still(wire: Wire, session: str) -> tuple[Session, list[Compaction], list[SessionEvent]]:
    """Reads a complete session at one instant: abandoned calls or a policy may still be running."""
    async with asyncio.timeout(60):
        while True:
            read = await wire.session(session), await wire.records(session), await wire.log(session)
            if await wire.session(session) == read[0]:
                return read


def check_records(state: Session, records: Sequence[Compaction], events: Sequence[SessionEvent]) -> None:
    """Checks that the records are consistent with the log and the counters of the session."""
    assert [record.window_version for record in records] == list(range(1, state.window_version + 1))
    assert [record.log_version for record in records] == sorted({record.log_version for record in records})
    by_id = {event.event_id: event for event in events}
    inserted = [name for record in records for name in record.inserted_event_ids]
    assert sorted(inserted) == sorted(event.event_id for event in events if event.synthetic), "inserted whole, and nothing else"
    archived_so_far, appended, before = Counts(), 0, counts([])
    for record in records:
        new = [by_id[name] for name in record.inserted_event_ids]
        seqs = [event.seq for event in new]
        assert seqs == list(range(seqs[0], seqs[0] + len(seqs))) if seqs else True
        appended += record.before.events - before["events"]
        assert all(value >= before[name] for name, value in counter(record.before).items() if name != "turns" or value)
        if new:
            assert appended == sum(not event.synthetic and event.seq < seqs[0] for event in events), "the window it says it had"
        archived = difference(record.before, record.after, new)
        assert archived["events"] == record.archived_events
        archived_so_far.update(archived)
        before = counter(record.after)
    assert archived_so_far == counts(event for event in events if event.archived), "archived counts add up"
    assert counter(state.window) == counts(event for event in events if not event.archived), (
        "the counters are those of the window"
    )
    assert state.last_seq == len(events)


def difference(before: WindowCounters, after: WindowCounters, inserted: Iterable[SessionEvent]) -> Counts:
    """Returns the archived events."""
    gone = Counter(counter(before))
    gone.subtract(counter(after))
    gone.update(counts(inserted))
    return gone


def counter(window: WindowCounters) -> Counts:
    return Counter(events=window.events, turns=window.turns, bytes=window.bytes, tokens=window.tokens)


def counts(events: Iterable[SessionEvent]) -> Counts:
    """Counts as the session does."""
    total = Counts(events=0, turns=0, bytes=0, tokens=0)
    for event in events:
        total["events"] += 1
        total["turns"] += event.message.role == 1 and not event.synthetic and not event.branch
        total["bytes"] += event.size_bytes
        total["tokens"] += event.token_estimate
    return total


def check_pairs(log: Sequence[SessionEvent]) -> None:
    """A call is active if its result, or the stub of it, is."""
    active = [event for event in log if not event.archived]
    ids = {event.event_id for event in active}
    stubs = {mark for event in active for mark in stands_for(event)}
    for call, result in answered([event for event in log if not event.synthetic]):
        assert (call in ids) == (result in ids or marks(result)[0] in stubs), f"{call} and {result} were parted"


def own_marks(events: Iterable[SessionEvent]) -> list[Mark]:
    """Returns the marks of the appended events."""
    return [mark_of(event) for event in events if not event.synthetic]


def mark_of(event: SessionEvent) -> Mark:
    return marks(event.event_id)[0]
