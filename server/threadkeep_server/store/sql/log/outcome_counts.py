"""Counts the outcomes of grouped writes."""

from __future__ import annotations

from ....domain.errors import EventIdConflict, ThreadkeepError, VersionMismatch
from ....telemetry.meters import StoreMeters
from ...contract.events import Appended, AppendRequest
from .group_unit import Outcome, Request
from .session_deletions import Deleted
from .session_writes import SessionCreation


def count_outcome(meters: StoreMeters, request: Request, outcome: Outcome, size: int, seconds: float) -> None:
    """Counts the outcome of a committed group's request. `size`: bytes of the request; `seconds`: since it was accepted."""
    if isinstance(outcome, Appended):
        events = outcome.events
        meters.append_duration.add(seconds)
        meters.events.value += len(events)
        meters.appended_bytes.value += size
        if replayed := sum([event.replayed for event in events]):
            meters.replays.value += replayed
            meters.events.value -= replayed
        if outcome.session_created:
            meters.sessions_created.value += 1
    elif isinstance(request, SessionCreation):
        if isinstance(outcome, tuple):
            meters.sessions_created.value += outcome[1]
    elif isinstance(outcome, Deleted):
        meters.sessions_deleted.value += outcome.events is not None
    elif isinstance(outcome, ThreadkeepError) and isinstance(request, AppendRequest):
        count_refusal(meters, outcome)


def count_refusal(meters: StoreMeters, error: ThreadkeepError) -> None:
    """Counts an append that was refused, if that was a conflict."""
    meters.version_mismatches.value += isinstance(error, VersionMismatch)
    meters.event_id_conflicts.value += isinstance(error, EventIdConflict)
