"""Events of ADK as events of Threadkeep, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.adk.events import Event

from ...formats import adk
from ...v1.event_pb2 import SessionEvent
from .._versions import of_any_version


def item_of(event: Event) -> dict[str, Any]:
    """The JSON form of an event. A value that has none becomes its string form; the rest of the event survives."""
    dumped: dict[str, Any] = event.model_dump(mode="json", exclude_none=True, fallback=str)
    return dumped


def events_of(stored: Iterable[SessionEvent]) -> list[Event]:
    """The events: those that ADK wrote as they were, the others as ADK's kind of message."""
    stored = list(stored)
    names = adk.names_of(stored)
    return [_event_of(each, names) for each in stored]


def time_of(stored: SessionEvent) -> float:
    """The time of an event in seconds since the epoch, the number that ADK wrote if it did."""
    (item,) = adk.items_of(stored)
    return float(item.get("timestamp", 0.0))


def _event_of(stored: SessionEvent, names: Mapping[str, str]) -> Event:
    items = adk.items_of(stored, names)
    return of_any_version(lambda each: Event.model_validate(each[0]), items, lambda: [adk.rendered(stored, names)])
