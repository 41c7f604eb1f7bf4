"""Checks the log of one session: its events, as they stream by, and its row."""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import Any, Final

from sqlalchemy import Row

from ....domain.model import POSITION_STEP, Role, Tools
from ....domain.removals import given_id
from ...contract.codec import Readers, Stated
from ..log.rows import content_of
from ..schema.history import COUNTED_EVERY
from ..schema.tables import COUNTED
from .findings import Findings
from .keys import Keys
from .streams import Seen

_SHOWN: Final = 5
_STATED: Final = ("role", "author", "author_role", "branch", "synthetic", "tokens")


def name_of(session: Row[Any]) -> str:
    """Returns the name of a session for findings."""
    return f"session {session.session_id!r} of user {session.user_id!r} in app {session.app!r}, tenant {session.tenant!r}"


class LogCheck:
    """Takes the events of a session in the order of their positions; then `finish`. `total`: adds what it counts."""

    def __init__(self, session: Row[Any], keys: Keys, readers: Readers, findings: Findings) -> None:
        self._session = session
        self._name = name_of(session)
        self._keys = keys
        self._readers = readers
        self._findings = findings
        self._seen = Seen(session.last_seq)
        self._window = dict.fromkeys(COUNTED, 0)
        self._content = 0
        self._version = 0
        self._cumulative = dict.fromkeys(COUNTED, 0)
        self._rewritten = False
        self._counters: list[tuple[int, str, str]] = []
        self._digest = hashlib.sha256(f"{session.uid}\n{session.log_version}\n{session.last_seq}\n".encode())
        self.events = 0
        self.bytes = 0

    def add(self, row: Row[Any]) -> None:
        self.events += 1
        self.bytes += len(row.body)
        self._digest.update(f"{row.seq}\n{row.event_id}\n{len(row.body)}\n".encode())
        self._digest.update(row.body)
        if not self._seen.add(row.seq):
            self._found("seq", f"the seq {row.seq} occurs twice or is not between 1 and {self._session.last_seq}")
        self._place(row)
        self._count(row)
        self._body(row)

    def finish(self, *, rewritten: bool) -> bytes:
        """Checks the row of the session against its events, and returns the digest. `rewritten`: its window has changed other
        than by appends."""
        if missing := list(islice(self._seen.missing(), _SHOWN + 1)):
            shown = ", ".join(map(str, missing[:_SHOWN])) + (", ..." if len(missing) > _SHOWN else "")
            self._found("seq", f"events are missing: seq {shown}")
        for what in COUNTED:
            stored = getattr(self._session, f"window_{what}")
            if stored != self._window[what]:
                self._found(
                    "counters", f"the session counts {stored} {what} in its window; its events have {self._window[what]}"
                )
        if self._session.window_content != self._content:
            problem = f"the session counts {self._session.window_content} bytes of content; its events have {self._content}"
            self._found("counters", problem)
        if self._version > self._session.log_version:
            self._found(
                "versions", f"an event is of log version {self._version}; the session is at {self._session.log_version}"
            )
        if self._session.window_version > self._session.log_version:
            self._found("versions", "the window version is above the log version")
        if not rewritten:
            for seq, stored, summed in self._counters:
                self._found("counters", f"the event with seq {seq} has the counters {stored}; they are {summed}")
        return self._digest.digest()

    # --- one event

    def _place(self, row: Row[Any]) -> None:
        inserted = bool(row.position % POSITION_STEP)
        if row.position <= 0 or (not inserted and row.position != row.seq * POSITION_STEP):
            self._found("position", f"the event with seq {row.seq} is at the position of another one")
        self._version = max(self._version, row.added_version, row.archived_version)
        turn = row.role == int(Role.USER) and not row.synthetic and not row.branch
        if bool(row.turn_start) != turn:
            self._found("event", f"the event with seq {row.seq} is wrongly marked as the start of a turn, or not marked")

    def _count(self, row: Row[Any]) -> None:
        values = (1, int(row.turn_start), row.size, row.tokens)
        for what, value in zip(COUNTED, values, strict=True):
            self._cumulative[what] += value
            if not row.gone:
                self._window[what] += value
        if not row.gone:
            self._content += content_of(row)
        if row.counters is not None and row.seq % COUNTED_EVERY == 0 and len(self._counters) < _SHOWN:
            summed = "[" + ",".join(str(self._cumulative[what]) for what in COUNTED) + "]"
            if row.counters.replace(" ", "") != summed:
                self._counters.append((row.seq, row.counters, summed))

    def _body(self, row: Row[Any]) -> None:
        subject = f"event with seq {row.seq} of {self._name}"
        body = self._keys.opened(row.body, self._session.tenant, subject)
        if body is None:
            return
        try:
            stated = self._readers.event(body)
        except ValueError:
            self._findings.add("event", subject, "its content is not an event")
            return
        for problem in _differences(row, stated, len(body)):
            self._findings.add("event", subject, problem)

    def _found(self, kind: str, problem: str) -> None:
        self._findings.add(kind, self._name, problem)


def _differences(row: Row[Any], stated: Stated, length: int) -> list[str]:
    """Returns how the row differs from its content. Old servers stored fewer fields."""
    found = []
    if stated.seq and stated.seq != row.seq:
        found.append(f"its content has the seq {stated.seq}")
    if stated.event_id and stated.event_id != given_id(row.event_id):
        found.append("its content has another event id")
    erased = row.tools == int(Tools.ERASED)
    if stated.erased != erased:
        found.append("it is marked as erased, and its content is not" if erased else "its content is that of an erased event")
    if erased or stated.erased:
        return found
    if length < row.size or (stated.size and stated.size != row.size):
        found.append(f"its content is not of {row.size} bytes")
    different = [
        name for name in _STATED if getattr(stated, name) != getattr(row, name) and (name != "tokens" or stated.tokens)
    ]
    return found + [f"its content has another {name.replace('_', ' ')}" for name in different]
