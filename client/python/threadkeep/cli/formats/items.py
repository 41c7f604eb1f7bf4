"""The items of all readers: sessions, each followed by its events, and malformed records."""

from __future__ import annotations

from dataclasses import dataclass

from ...formats.fields import FieldError as FieldError
from ...v1 import event_pb2, session_pb2


@dataclass(frozen=True, slots=True)
class Origin:
    """A place in a file."""

    source: str
    record: int
    line: int | None = None

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line:,}"
        return f"{self.source}: record {self.record:,}{line}"


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A session; the events after it belong to it. `restore`: store the events at their seqs."""

    origin: Origin
    session: session_pb2.Session
    never_expires: bool = False
    restore: bool = False


@dataclass(frozen=True, slots=True)
class EventItem:
    """An event of the last session. `seq`: the seq that it must get, 0 for any."""

    origin: Origin
    event: event_pb2.SessionEvent
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Malformed:
    """A record that cannot be read. `fatal` means that nothing after it in the file can be read either."""

    origin: Origin
    field: str
    problem: str
    fatal: bool = False

    def __str__(self) -> str:
        field = f", field {self.field}" if self.field else ""
        return f"{self.origin}{field}: {self.problem}"


Item = SessionStart | EventItem | Malformed
