"""The numbers of an agent's messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from strands.types.session import SessionMessage

from ... import Event
from ...formats.strands import items_of, session_message_of


@dataclass(frozen=True, slots=True)
class Stored:
    """A message with the id of its event."""

    event_id: str
    message: SessionMessage


def numbered(events: Iterable[Event]) -> list[Stored]:
    """The messages of events in window order.

    Those of Strands keep their numbers, unless others come before them; those of other frameworks take the numbers between.
    Results of tools that another framework stored one by one are one message, as Strands expects.
    """
    items: list[tuple[str, int | None, dict[str, Any]]] = []
    for event in events:
        own = session_message_of(event.pb)
        if own is not None:
            items.append((event.id, int(own["message_id"]), own))
            continue
        for message in items_of(event.pb):
            results = all("toolResult" in block for block in message["content"])
            if results and items and items[-1][1] is None and "toolResult" in items[-1][2]["message"]["content"][-1]:
                items[-1][2]["message"]["content"] += message["content"]
            else:
                items.append((event.id, None, _session_message(event, message)))
    first = next((place for place, (_, number, _) in enumerate(items) if number is not None), 0)
    number = max((items[first][1] or 0) - first, 0) - 1 if items else -1
    found: list[Stored] = []
    for event_id, given, item in items:
        number = max(number + 1, given or 0)
        found.append(Stored(event_id, SessionMessage.from_dict(item | {"message_id": number})))
    return found


def _session_message(event: Event, message: dict[str, Any]) -> dict[str, Any]:
    """The session message of a message that has no number yet."""
    when = event.time.astimezone(UTC).isoformat() if event.time is not None else ""
    return {"message": message, "created_at": when, "updated_at": when}
