"""The items of all readers: sessions, each followed by its events, and malformed records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...formats.fields import FieldError as FieldError
from ...v1 import event_pb2, session_pb2, state_pb2

_SHOWN = 200
"""Characters of the name of a row in a message."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A place in a file, or in a database: the table, and what identifies the row. `record` 0: the source as a whole."""

    source: str
    record: int
    line: int | None = None
    table: str = ""
    row: str = ""

    def __str__(self) -> str:
        if self.table:
            row = self.row if len(self.row) <= _SHOWN else f"{self.row[:_SHOWN]}…"
            return f"{self.source}: table {self.table}, row {row}"
        line = "" if self.line is None else f", line {self.line:,}"
        return f"{self.source}: record {self.record:,}{line}" if self.record else self.source


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A session; the events after it belong to it. `restore`: store the events at their seqs. `window_changed`: its events
    are not only appended."""

    origin: Origin
    session: session_pb2.Session
    never_expires: bool = False
    restore: bool = False
    window_changed: bool = False


@dataclass(frozen=True, slots=True)
class EventItem:
    """An event of the last session. `seq`: the seq that it must get, 0 for any. `placed`: it is not appended, but part of the
    next WindowChange. `recorded`: the server's time, which the events of one append share. `if_exists`: as of an append, what
    happens if an event with its id is stored; empty: other content is an error."""

    origin: Origin
    event: event_pb2.SessionEvent
    seq: int = 0
    placed: bool = False
    recorded: str = ""
    if_exists: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """An event that a change of the window inserts before another one; empty: at the end."""

    event_id: str
    before: str = ""


MOST_IDS = 1000
"""Ids that a call names."""

WINDOW_CHANGES = ("compaction", "clear", "suffix", "upsert", "erasure", "rewind", "none")


@dataclass(frozen=True, slots=True)
class WindowChange:
    """A change of the window of the last session: ids of the events that leave it, and those inserted. One call makes it again.

    `how`: one of WINDOW_CHANGES; "none" leaves the window as it is. `erase`: the call erases what leaves the window; with a
    clear the whole log, with a rewind all after its point. `erased`: of an erasure, the ids of all events that it erases.
    `branch`: of a suffix, the branch to which it is restricted; None: none. `strategy`, `actor`: of a compaction. `changes`,
    `through_seq`: the point of a rewind, how many changes of the window and which seq came before it.
    """

    how: str
    archived: tuple[str, ...] = ()
    erased: tuple[str, ...] = ()
    placed: tuple[Placed, ...] = ()
    branch: str | None = None
    strategy: str = ""
    actor: str = ""
    erase: bool = False
    changes: int = 0
    through_seq: int = 0


@dataclass(frozen=True, slots=True)
class WindowItem:
    """A change of the window of the last session, after the events before it."""

    origin: Origin
    change: WindowChange


@dataclass(frozen=True, slots=True)
class StateItem:
    """The state of a session, a user or an app: values by key, as JSON text. `replace`: other values on the server are
    replaced; otherwise they stay."""

    origin: Origin
    scope: state_pb2.StateScope.ValueType
    ref: session_pb2.SessionRef
    values: Mapping[str, str]
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Malformed:
    """A record that cannot be read. `fatal` means that nothing after it in the file can be read either. `unrelated`: it is no
    event of the last session."""

    origin: Origin
    field: str
    problem: str
    fatal: bool = False
    unrelated: bool = False

    def __str__(self) -> str:
        field = f", field {self.field}" if self.field else ""
        return f"{self.origin}{field}: {self.problem}"


Item = SessionStart | EventItem | WindowItem | StateItem | Malformed
