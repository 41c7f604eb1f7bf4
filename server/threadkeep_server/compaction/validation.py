"""Validation of compactions that a caller plans."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ..domain.model import WindowEvent
from ..domain.turns import ToolTies
from .cuts import split
from .plan import Window


def through(window: Window, seq: int, from_seq: int = 0) -> tuple[list[str], str | None]:
    """Returns the ids to archive: every event in scope up to `seq`, except pinned events and those tied to later ones; and the
    id of the event that follows the summary, the first conversation event that stays. None is the end.

    With `from_seq`, events before the active event of that seq (or of the next) stay, except summaries.
    """
    parts = split(window)
    start = _start(window, from_seq)
    since = [index for index in (*parts.superseded, *parts.conversation) if index >= start]
    gone = parts.ties.whole(index for index in (*parts.summaries, *since) if window.events[index].seq <= seq)
    unread = (index for index, event in enumerate(window.events) if event.seq > seq)
    # If nothing of a branch stays, the summary still precedes later events of others.
    staying = next((index for index in (*parts.conversation, *unread) if index >= start and index not in gone), None)
    archive = [event.event_id for event in parts.events(sorted(gone))]
    return archive, None if staying is None else window.events[staying].event_id


def _start(window: Window, from_seq: int) -> int:
    """Returns the index of the active event with the lowest seq from `from_seq` on; the window's length without one."""
    if not from_seq:
        return 0
    later = ((event.seq, index) for index, event in enumerate(window.events) if event.seq >= from_seq)
    return min(later, default=(0, len(window.events)))[1]


def resulting(
    before: Sequence[WindowEvent], archive: Container[str], inserts: Mapping[str | None, Sequence[WindowEvent]]
) -> list[WindowEvent]:
    """Returns the events afterwards. `inserts`: new events by the id of the event that follows them; None is the end."""
    after: list[WindowEvent] = []
    for event in before:
        after += inserts.get(event.event_id, ())
        if event.event_id not in archive:
            after.append(event)
    return [*after, *inserts.get(None, ())]


def torn_pair(before: Sequence[WindowEvent], after: Sequence[WindowEvent]) -> tuple[str, str] | None:
    """Returns the ids of an event that would lose its tool call or result, and of the event with that; the second is empty for
    a new event whose result has no call. A new event may replace either side, as a stub does.
    """
    old, new = _pairs(before), _pairs(after)
    known, left = {event.event_id for event in before}, {event.event_id for event in after}
    # With reused ids, the remains of two pairs may look like one.
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
    """Returns the calling event, the call's id and the answering event, in order."""
    return {(events[one].event_id, call, events[other].event_id): None for one, call, other in ToolTies(events).answers}
