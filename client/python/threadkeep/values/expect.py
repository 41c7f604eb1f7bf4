"""Preconditions of a change: what the caller read last. A call whose precondition fails raises VersionMismatch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from .._convert import check


@dataclass(frozen=True, slots=True)
class LogVersion:
    """Requires the log to be at this version."""

    version: int


@dataclass(frozen=True, slots=True)
class LastEventId:
    """Requires the last event of the log to have this id; "" for an empty log."""

    event_id: str


@dataclass(frozen=True, slots=True)
class StateVersion:
    """Requires the state to be at this version."""

    version: int


Expect = LogVersion | LastEventId


Version = TypeVar("Version", LogVersion, StateVersion)


def version_of(expect: Version | None, kind: type[Version]) -> int | None:
    """The version that a request expects. Raises TypeError for a precondition of another kind."""
    return None if expect is None else check(expect, kind, "expect").version
