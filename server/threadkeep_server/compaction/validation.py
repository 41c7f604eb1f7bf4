"""What a caller's own compaction archives and may not break."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ..domain.model import WindowEvent
from ..domain.turns import ToolTies
from .cuts import split
from .plan import Window


def through(window: Window, seq: int, from_seq: int = 0) -> tuple[list[str], str | None]:
    """What was read at `seq` and may go: every event in scope up to it, but pinned ones and those tied to what came later. And
    where its summary goes: before the first event of the conversation that stays; None is the end.

    With `from_seq`, the events that stand before the active event of that seq (or of the next) stay, but for summaries.
    """
    parts = split(window)
    start = _start(window, from_seq)
    since = [index for index in (*parts.superseded, *parts.conversation) if index >= start]
    gone = parts.ties.whole(index for index in (*parts.summaries, *since) if window.events[index].seq <= seq)
    unread = (index for index, event in enumerate(window.events) if event.seq > seq)
    # In a branch of which nothing stays, the summary still goes before what others said later.
    staying = next((index for index in (*parts.conversation, *unread) if index >= start and index not in gone), None)
    archive = [event.event_id for event in parts.events(sorted(gone))]
    return archive, None if staying is None else window.events[staying].event_id


def _start(window: Window, from_seq: int) -> int:
    """The index of the active event with the lowest seq from `from_seq` on; behind the window if there is none."""
    if not from_seq:
        return 0
    later = ((event.seq, index) for index, event in enumerate(window.events) if event.seq >= from_seq)
    return min(later, default=(0, len(window.events)))[1]


def resulting(
    before: Sequence[WindowEvent], archive: Container[str], inserts: Mapping[str | None, Sequence[WindowEvent]]
) -> list[WindowEvent]:
    """The window afterwards. `inserts`: new events by the event that they precede; None is the end."""
    after: list[WindowEvent] = []
    for event in before:
        after += inserts.get(event.event_id, ())
        if event.event_id not in archive:
            after.append(event)
    return [*after, *inserts.get(None, ())]


def torn_pair(before: Sequence[WindowEvent], after: Sequence[WindowEvent]) -> tuple[str, str] | None:
    """Ids of an event that would be left without the call or the result that it has now, and of the one that has it; the second
    is empty for a new event whose result answers no call. A new event may stand for either side, as a stub does.
    """
    old, new = _pairs(before), _pairs(after)
    known, left = {event.event_id for event in before}, {event.event_id for event in after}
    # Where ids are used again, what is left of two pairs may look like one.
    sound = [pair for pair in new if pair in old or not known.issuperset((pair[0], pair[2]))]
    answered = {(one, call) for one, call, _ in sound}
    answering = {(other, call) for _, call, other in sound}
    for one, call, other in old:
        if one in left and (one, call) not in answered:
            return one, other
        if other in left and (other, call) not in answering:
            return other, one
    orphans = (after[index].event_id for index in sorted(ToolTies(after).orphans))
    return next(((event_id, "") for event_id in orphans if event_id not in known), None)


def _pairs(events: Sequence[WindowEvent]) -> dict[tuple[str, str, str], None]:
    """Who calls, the call's id, who answers; in order."""
    return {(events[one].event_id, call, events[other].event_id): None for one, call, other in ToolTies(events).answers}
