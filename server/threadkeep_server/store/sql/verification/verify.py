"""Reads a whole database, in one snapshot and in bounded memory, and reports what contradicts itself."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, Row, Select

from ...contract.codec import Readers
from ..encryption.master_keys import MasterKeys
from ..log.slices.archivings import is_archived
from ..log.slices.removals import removals
from ..schema import versions
from ..schema.forks import unfinished_forks
from ..schema.history import window_changes
from ..schema.memories import memories
from ..schema.removals import operations
from ..schema.tables import SCHEMA_VERSION, changes, compactions, events, session_labels, sessions
from .feed import check_changes, check_changes_of_none, check_positions
from .files import check_files
from .findings import Content, Findings, Progress, Report, Verified
from .keys import Keys
from .logs import LogCheck, name_of
from .records import check_compactions, check_labels, check_operations
from .state import StateCheck
from .streams import Stream

_REPORT_EVERY_S: Final = 0.2
_e = events.c
_EVENT: Final = (
    *(_e.id, _e.session, _e.seq, _e.position, _e.event_id, _e.role, _e.author, _e.author_role, _e.branch, _e.synthetic),
    *(_e.turn_start, _e.size, _e.tokens, _e.body, _e.content_bytes, _e.tools, _e.added_version, _e.archived_version),
    _e.counters,
)


class WrongSchema(RuntimeError):
    """The database has another schema than this code can read."""


def verify(connection: Connection, readers: Readers, masters: MasterKeys | None, report: Report) -> Verified:
    """Verifies the database in the snapshot of the connection. Raises WrongSchema."""
    schema, oldest = versions.versions(connection)
    if schema < SCHEMA_VERSION or (schema > SCHEMA_VERSION and oldest > SCHEMA_VERSION):
        raise WrongSchema(_problem(schema))
    findings = Findings()
    reading = _Verification(connection, readers, masters, report, findings)
    try:
        content = reading.run()
    except sa.exc.DBAPIError as error:
        # Reading on is impossible: the file is damaged, or the transaction has failed.
        findings.add("database", reading.part, f"it cannot be read: {_reason(error)}")
        content = None
    return Verified(content, findings, schema, reading.unread)


def _problem(schema: int) -> str:
    if not schema:
        return "there is no Threadkeep database here"
    if schema > SCHEMA_VERSION:
        return f"the database has schema {schema}, and this version reads {SCHEMA_VERSION}: upgrade threadkeep"
    return f"the database has schema {schema}; verify it with the version of its server, or after `threadkeep db upgrade`"


def _reason(error: sa.exc.DBAPIError) -> str:
    return " ".join(str(error.orig).split())


class _Verification:
    """One run. `part`: what it reads."""

    def __init__(
        self, connection: Connection, readers: Readers, masters: MasterKeys | None, report: Report, findings: Findings
    ) -> None:
        self._connection = connection
        self._readers = readers
        self._masters = masters
        self._report = report
        self._findings = findings
        self._keys: Keys | None = None
        self._reported = 0.0
        self._sessions = self._events = 0
        self.part = "files"

    @property
    def unread(self) -> int:
        return 0 if self._keys is None else self._keys.unread

    def run(self) -> Content:
        check_files(self._connection, self._findings, lambda done, total: self._at("files", done, total))
        self.part = "keys"
        keys = self._keys = Keys(self._connection, self._masters, self._findings)
        self.part = "sessions"
        content = self._logs(keys)
        self.part = "feed"
        check_positions(self._connection, self._findings)
        self.part = "state"
        StateCheck(self._connection, keys, self._unowned(), self._findings).run()
        self.part = "memories"
        self._memories(keys)
        return content

    def _at(self, part: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._reported >= _REPORT_EVERY_S:
            self._reported = now
            self._report(Progress(part, self._sessions, self._events, done, total))

    # --- sessions

    def _logs(self, keys: Keys) -> Content:
        """Reads sessions, and what belongs to them, side by side."""
        total = self._connection.execute(sa.select(sa.func.count()).select_from(sessions)).scalar_one()
        streams = {name: Stream(self._connection, query) for name, query in _queries().items()}
        unowned, digest, size = self._unowned(), hashlib.sha256(), 0
        for session in Stream(self._connection, sa.select(sessions).order_by(sessions.c.id), "id").before(None):
            for name, stream in streams.items():
                self._of_none(name, stream.before(session.id), unowned)
            log = LogCheck(session, keys, self._readers, self._findings)
            for row in streams["events"].of(session.id):
                log.add(row)
                self._events += 1
                self._at("sessions", self._sessions, total)
            rewritten = sum(1 for _ in streams["window changes"].of(session.id)) > 0
            digest.update(log.finish(rewritten=rewritten))
            size += log.bytes
            check_labels(session, streams["labels"].of(session.id), self._findings)
            check_compactions(session, streams["compactions"].of(session.id), self._findings)
            check_operations(session, streams["operations"].of(session.id), self._findings)
            check_changes(session, self._states(streams["changes"].of(session.id), session, keys), self._findings)
            self._sessions += 1
        for name, stream in streams.items():
            self._of_none(name, stream.before(None), unowned)
        return Content(self._sessions, self._events, size, digest.hexdigest())

    def _states(self, rows: Iterable[Row[Any]], session: Row[Any], keys: Keys) -> Iterator[Row[Any]]:
        for row in rows:
            if row.state is not None:
                keys.opened(row.state, session.tenant, f"change {row.id} of {name_of(session)}")
            yield row

    def _of_none(self, name: str, rows: Iterable[Row[Any]], unowned: set[int]) -> None:
        """Checks rows whose session does not exist."""
        if name == "changes":
            check_changes_of_none(rows, self._findings)
            return
        found: dict[int, int] = {}
        for row in rows:
            found[row.session] = found.get(row.session, 0) + 1
        for key, count in found.items():
            if key not in unowned:
                self._findings.add(
                    "orphan", f"session with the row id {key}", f"it does not exist, and {count} of its {name} do"
                )

    def _unowned(self) -> set[int]:
        """Returns the row ids of sessions whose rows wait for their removal, and of forks that are being copied."""
        waiting = sa.union(sa.select(removals.c.session), sa.select(unfinished_forks.c.session))
        return set(self._connection.execute(waiting).scalars())

    # --- memories

    def _memories(self, keys: Keys) -> None:
        m = memories.c
        query = sa.select(m.id, m.tenant, m.content, m.text, m.metadata_json).order_by(m.id)
        for row in Stream(self._connection, query, "id").before(None):
            subject = f"memory with the row id {row.id} of tenant {row.tenant!r}"
            text, content, _ = (keys.opened(each, row.tenant, subject) for each in (row.text, row.content, row.metadata_json))
            _read(bytes.decode, text or b"", subject, "its text is not UTF-8", self._findings)
            if content is not None:
                _read(self._readers.message, content, subject, "its content is not a message", self._findings)


def _read(read: Callable[[bytes], object], data: bytes, subject: str, problem: str, findings: Findings) -> None:
    try:
        read(data)
    except ValueError:
        findings.add("memory", subject, problem)


def _queries() -> dict[str, Select[Any]]:
    """Returns what is read of sessions, each in the order of their row ids."""
    l, c, o, w, f = session_labels.c, compactions.c, operations.c, window_changes.c, changes.c  # noqa: E741
    return {
        "events": sa.select(*_EVENT, is_archived().label("gone")).order_by(_e.session, _e.position),
        "window changes": sa.select(w.session, w.log_version).order_by(w.session, w.log_version),
        "labels": sa.select(session_labels).order_by(l.session, l.key),
        "compactions": sa.select(compactions).order_by(c.session, c.id),
        "operations": sa.select(operations).order_by(o.session, o.id),
        "changes": sa.select(changes).order_by(f.session, f.xid, f.id),
    }
