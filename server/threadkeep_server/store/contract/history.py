"""Reads as of a moment: part of the Store contract."""

from __future__ import annotations

from dataclasses import dataclass

from ...domain.errors import InvalidField


@dataclass(frozen=True, slots=True)
class AsOf:
    """A moment in the history of a session: directly after the change that stored the event with this seq, or that gave the
    session this log version. Exactly one of them is set."""

    seq: int | None = None
    log_version: int | None = None

    def __post_init__(self) -> None:
        if self.seq is not None and self.seq < 1:
            raise InvalidField("as_of_seq", "must be at least 1")
        if self.log_version is not None and self.log_version < 0:
            raise InvalidField("as_of_log_version", "must not be negative")

    def refuse_future(self, last_seq: int, log_version: int) -> None:
        """Raises InvalidField for a moment after the session's present, which is given."""
        if self.seq is not None and self.seq > last_seq:
            raise InvalidField("as_of_seq", f"is in the future: the last seq of the session is {last_seq}")
        if self.log_version is not None and self.log_version > log_version:
            raise InvalidField("as_of_log_version", f"is in the future: the log version of the session is {log_version}")
