"""Which events of a session are a conversation's history.

An entry is an event that names the entry before it. What other writers appended names none: it follows the event before it in
the window. So a history is read back from its last entry, and what a branch has left is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic_ai.conversation_store import ConversationEntry
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from ...formats.openai import json_text
from ...formats.pydantic_ai import NATIVE, events_of, items_of, rendered, tool_names
from ...formats.split import member_of, part_of
from ...v1.event_pb2 import SessionEvent
from ...v1.message_pb2 import ROLE_TOOL, ChatMessage
from .._versions import of_any_version

_ENTRY, _PARENT, _MARK, _RETURNED = "pydantic_ai_entry", "pydantic_ai_parent", "pydantic_ai_record", "pydantic_ai_returned"
"""Members of an event's metadata: the id of an entry, that of the entry before it, the revision of the write that made a mark,
and that of the write that returned to an entry."""


@dataclass(frozen=True, slots=True)
class Line:
    """The events of a history, oldest first, and whether it goes back as far as is wanted."""

    events: Sequence[SessionEvent]
    is_enough: bool


@dataclass(slots=True)
class _Links:
    """What the metadata of an event says about its place."""

    is_named: bool = False
    parent: str | None = None
    marks: bool = False


def entry_filter(entry_id: str) -> dict[str, str]:
    """The metadata by which an entry is found."""
    return {_ENTRY: entry_id}


def events_of_entry(entry: ConversationEntry) -> list[SessionEvent]:
    """The events that store an entry."""
    message = json.loads(ModelMessagesTypeAdapter.dump_json([entry.message]))[0]
    return events_of(message, entry.id, metadata={_ENTRY: entry.id, _PARENT: entry.parent_id})


def mark_of(revision: str, head_id: str | None) -> SessionEvent:
    """The event of a write without entries: it has no content, and takes the place that the history continues from."""
    return SessionEvent(
        event_id=f"pydantic-ai-record/{revision}",
        message=ChatMessage(role=ROLE_TOOL),
        metadata_json=json_text({_MARK: revision, _PARENT: head_id}),
    )


def head_of(window: Sequence[SessionEvent]) -> str | None:
    """The id of the last entry of a window; None if it has none."""
    for event in reversed(window):
        links = _links(event)
        if links.marks:
            return links.parent
        if _has_content(event):
            return event.event_id
    return None


def ends_window(event: SessionEvent) -> bool:
    """Whether the last event of a window is enough to know where the history ends. A part of a message is not, and neither is
    an event without content, as of a checkpoint."""
    return _links(event).marks or _has_content(event)


def line_to(events: Sequence[SessionEvent], head_id: str, *, whole: bool, limit: int | None = None) -> Line | None:
    """The history up to an entry, as far back as `limit` entries need; None if the entry is not among the events.

    `whole`: the events begin where the window, or the log, begins.
    """
    places = {event.event_id: place for place, event in enumerate(events)}
    at, found, seen = places.get(head_id, -1), list[SessionEvent](), set[int]()
    if at < 0:
        return None
    while at >= 0 and at not in seen and (limit is None or len(found) < limit):
        seen.add(at)
        event = events[at]
        links = _links(event)
        if _is_entry(event, links):
            found.append(event)
        if not links.is_named:
            at -= 1
        elif links.parent is None:
            return Line(found[::-1], True)
        elif links.parent in places:
            at = places[links.parent]
        elif whole:  # the entry before it is archived: what takes its place comes before
            at -= 1
        else:
            return Line(found[::-1], False)
    return Line(found[::-1], whole or (limit is not None and len(found) >= limit))


def with_parts(line: Line, events: Sequence[SessionEvent]) -> list[SessionEvent]:
    """The events of a history together with the parts of their messages."""
    parts: dict[str, dict[str, SessionEvent]] = {}
    for event in events:
        if owner := part_of(event):
            parts.setdefault(owner, {})[event.event_id] = event
    return [each for event in line.events for each in (*parts.get(event.event_id, {}).values(), event)]


def stored_again(event: SessionEvent) -> SessionEvent:
    """A copy of an event, to take a place in the window again. Its usage is counted already."""
    copy = SessionEvent()
    copy.CopyFrom(event)
    copy.ClearField("usage")
    return copy


def returning(event: SessionEvent, revision: str) -> SessionEvent:
    """A copy of an archived event, to take a place in the window again: only with another content it does."""
    copy = stored_again(event)
    metadata = json.loads(event.metadata_json) if event.metadata_json else {}
    copy.metadata_json = json_text(metadata | {_RETURNED: revision})
    return copy


def is_of_others(event: SessionEvent) -> bool:
    """Whether an event is no message of the conversation, such as another framework's checkpoint, and none of its marks."""
    return not (_has_content(event) or part_of(event) or _links(event).marks)


def entries_of(line: Line, events: Sequence[SessionEvent]) -> list[ConversationEntry]:
    """The entries of a history. `events`: the window or log that it is from, which names the tools of results."""
    names = tool_names(events)
    entries: list[ConversationEntry] = []
    for event in line.events:
        parent = entries[-1].id if entries else _links(event).parent
        entries.extend(
            ConversationEntry(id=event.event_id, parent_id=parent, message=message) for message in _messages(event, names)
        )
    return entries


def entry_of(event: SessionEvent) -> ConversationEntry | None:
    """The entry of an event that names the one before it; None for another."""
    links = _links(event)
    if not links.is_named or not _is_entry(event, links):
        return None
    return ConversationEntry(id=event.event_id, parent_id=links.parent, message=_messages(event)[0])


def _is_entry(event: SessionEvent, links: _Links) -> bool:
    return not links.marks and _has_content(event) and bool(event.native.format == NATIVE or items_of(event))


def _has_content(event: SessionEvent) -> bool:
    return not event.erased and not part_of(event) and bool(event.native.format == NATIVE or event.message.parts)


def _messages(event: SessionEvent, names: Mapping[str, str] | None = None) -> list[ModelMessage]:
    read = ModelMessagesTypeAdapter.validate_json
    return of_any_version(lambda items: read(json.dumps(items)), items_of(event, names), lambda: rendered(event, names))


def _links(event: SessionEvent) -> _Links:
    if f'"{_PARENT}"' not in event.metadata_json:
        return _Links()
    parent = member_of(event, _PARENT)
    return _Links(True, parent if isinstance(parent, str) else None, member_of(event, _MARK) is not None)
