"""Hits of a page that has each event once: hits are often next to each other, and so are their neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...domain.model import StoredEvent
from ...store.contract.search import FoundEvent

Shown = set[tuple[int, int]]
"""The events of a page so far, by session and seq."""


def unshown(event: FoundEvent, shown: Shown) -> FoundEvent | None:
    """Returns a hit without neighbors that were shown with a better one, and adds what it shows to `shown`. None if it was
    shown itself."""
    session = event.session
    if (session, event.event.seq) in shown:
        return None

    def new(neighbors: Sequence[StoredEvent]) -> list[StoredEvent]:
        return [each for each in neighbors if (session, each.seq) not in shown]

    left = replace(event, before=new(event.before), after=new(event.after))
    shown.update((session, each.seq) for each in (*left.before, left.event, *left.after))
    return left
