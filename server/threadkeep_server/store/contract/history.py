"""Reads as of a moment: part of the Store contract."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...domain.errors import InvalidField


@dataclass(frozen=True, slots=True)
class LogPoint:
    """The end of a part of a log, for forks and rewinds: the events up to `seq`, as they were at this log version. Of an event
    that an append stored, it is the event; of one that another change stored, the end of that change."""

    seq: int
    log_version: int
    window_version: int


@dataclass(frozen=True, slots=True)
class AsOf:
    """A moment in the history of a session: directly after the change that stored the event with this seq, or that gave the
    session this log version. Exactly one of them is set. `prefix`: of their names in the request, for errors."""

    seq: int | None = None
    log_version: int | None = None
    prefix: str = field(default="as_of_", compare=False)

    def __post_init__(self) -> None:
        if self.seq is not None and self.seq < 1:
            raise InvalidField(f"{self.prefix}seq", "must be at least 1")
        if self.log_version is not None and self.log_version < 0:
            raise InvalidField(f"{self.prefix}log_version", "must not be negative")

    def refuse_future(self, last_seq: int, log_version: int) -> None:
        """Raises InvalidField for a moment after the session's present, which is given."""
        if self.seq is not None and self.seq > last_seq:
            raise InvalidField(f"{self.prefix}seq", f"is in the future: the last seq of the session is {last_seq}")
        if self.log_version is not None and self.log_version > log_version:
            problem = f"is in the future: the log version of the session is {log_version}"
            raise InvalidField(f"{self.prefix}log_version", problem)
