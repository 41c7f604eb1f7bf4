"""Logs for the filter tests, in as few words as the rows themselves use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from threadkeep_server.domain.filters import EventFilter, select
from threadkeep_server.domain.model import EventFacts, Role


def user(text: str = "", **facts: object) -> EventFacts:
    return replace(EventFacts(seq=0, time=0, role=Role.USER, text=text), **facts)  # type: ignore[arg-type]


def assistant(text: str = "", **facts: object) -> EventFacts:
    return user(text, role=Role.ASSISTANT, **facts)


def log(*events: EventFacts) -> list[EventFacts]:
    """The events, numbered from 1; each a second after the one before unless it has a time."""
    return [replace(event, seq=seq, time=event.time or seq) for seq, event in enumerate(events, 1)]


def texts(events: Iterable[EventFacts], wanted: EventFilter) -> list[str]:
    return [event.text for event in select(events, wanted)]
