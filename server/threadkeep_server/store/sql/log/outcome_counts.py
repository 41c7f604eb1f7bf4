"""Counts the outcomes of grouped writes."""

from __future__ import annotations

from ....domain.errors import ThreadkeepError
from ....telemetry.meters import StoreMeters
from ...contract.events import Appended, AppendRequest
from .group_unit import Outcome, Request
from .session_deletions import Deleted
from .session_writes import SessionCreation


def count_outcome(meters: StoreMeters, request: Request, outcome: Outcome, size: int, seconds: float) -> None:
    """Counts the outcome of a committed group's request. `size`: bytes of the request; `seconds`: since it was accepted."""
    if isinstance(outcome, Appended):
        events = outcome.events
        meters.count_append(len(events), sum([event.replayed for event in events]), size, seconds)
        if outcome.session_created:
            meters.sessions_created.value += 1
    elif isinstance(request, SessionCreation):
        if isinstance(outcome, tuple):
            meters.sessions_created.value += outcome[1]
    elif isinstance(outcome, Deleted):
        meters.sessions_deleted.value += outcome.events is not None
    elif isinstance(outcome, ThreadkeepError) and isinstance(request, AppendRequest):
        meters.count_refusal(outcome)
