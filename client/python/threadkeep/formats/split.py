"""Messages that mix roles: several events, of which one has the message.

A framework may put what a user says and what tools return into one message. Each run of parts with one role is an event, so
that readers of other formats see the roles. The last event has the id of the message and the message itself as native content;
the others name it in their metadata, and readers of the same format pass over them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..v1.event_pb2 import NativeContent, SessionEvent
from ..v1.message_pb2 import ChatMessage, Part, Role
from .openai import json_text, verbatim

Run = tuple[Role.ValueType, list[Part]]
"""Parts of one role."""
_KEY = "threadkeep_part_of"


def runs_of(parts: Iterable[tuple[Role.ValueType | None, Sequence[Part]]], default: Role.ValueType) -> list[Run]:
    """The runs of parts with their roles; None is that of the neighbors. At least one, of the default role."""
    runs: list[Run] = []
    early: list[Part] = []  # before the first role
    for role, own in parts:
        if role is None and not runs:
            early += own
        elif runs and role in (None, runs[-1][0]):
            runs[-1][1].extend(own)
        elif role is not None:
            runs.append((role, [*early, *own]))
            early = []
    return runs or [(default, early)]


def split(
    runs: Sequence[Run], event_id: str, native_format: str, message: object, metadata: Mapping[str, Any] | None = None
) -> list[SessionEvent]:
    """The events of a message, the one with the message last. `metadata`: of that one."""
    *others, (role, parts) = runs
    events = [
        SessionEvent(
            event_id=f"{event_id}/{number}",
            message=ChatMessage(role=role, parts=parts),
            metadata_json=json_text({_KEY: event_id}),
        )
        for number, (role, parts) in enumerate(others)
    ]
    last = SessionEvent(
        event_id=event_id,
        message=ChatMessage(role=role, parts=parts),
        metadata_json=json_text(dict(metadata)) if metadata else "",
        native=NativeContent(format=native_format, content=verbatim(message)),
    )
    return [*events, last]


def part_of(event: SessionEvent) -> str:
    """The id of the event that has the message of which this event is a part; empty if it has its own."""
    return str(member_of(event, _KEY) or "")


def member_of(event: SessionEvent, key: str) -> Any:
    """A member of the metadata of an event; None without it."""
    if f'"{key}"' not in event.metadata_json:
        return None
    metadata = json.loads(event.metadata_json)
    return metadata.get(key) if isinstance(metadata, dict) else None


def emptied(event: SessionEvent) -> SessionEvent:
    """An event in the place of a part that the message no longer has."""
    return SessionEvent(
        event_id=event.event_id,
        branch=event.branch,
        message=ChatMessage(role=event.message.role),
        metadata_json=event.metadata_json,
    )
