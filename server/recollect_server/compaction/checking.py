"""What a caller's own compaction archives and may not break."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ..domain.model import WindowEvent
from ..domain.turns import ToolTies
from .cutting import split
from .plan import Window


def through(window: Window, seq: int) -> tuple[list[str], str | None]:
    """What was read at `seq` and may go: every event in scope up to it, but pinned ones and those tied to what came later. And
    where its summary goes: before the first event of the conversation that stays; None is the end.
    """
    parts = split(window)
    in_scope = (*parts.superseded, *parts.summaries, *parts.conversation)
    gone = parts.ties.whole(index for index in in_scope if window.events[index].seq <= seq)
    unread = (index for index, event in enumerate(window.events) if event.seq > seq)
    # In a branch of which nothing stays, the summary still goes before what others said later.
    staying = next((index for index in (*parts.conversation, *unread) if index not in gone), None)
    archive = [event.event_id for event in parts.events(sorted(gone))]
    return archive, None if staying is None else window.events[staying].event_id


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
    old, new = ToolTies(before), ToolTies(after)
    left = {event.event_id for event in after}
    answered = {(after[caller].event_id, call) for caller, call, _ in new.answers}
    answering = {(after[answer].event_id, call) for _, call, answer in new.answers}
    for caller, call, answer in old.answers:
        one, other = before[caller].event_id, before[answer].event_id
        if one in left and (one, call) not in answered:
            return one, other
        if other in left and (other, call) not in answering:
            return other, one
    known = {event.event_id for event in before}
    return next(((after[index].event_id, "") for index in sorted(new.orphans) if after[index].event_id not in known), None)
