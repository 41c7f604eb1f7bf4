"""Preconditions of an append: what the caller read last."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogVersion:
    """Requires the log to be at this version."""

    version: int


@dataclass(frozen=True, slots=True)
class LastEventId:
    """Requires the last event of the log to have this id; "" for an empty log."""

    event_id: str


Expect = LogVersion | LastEventId
