"""Deletions of sessions, as parts of a group commit and of sweeps. The number of statements does not depend on that of the
sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Connection, Row, Text, bindparam
from sqlalchemy.sql import ClauseElement, Select

from ....domain.errors import AmbiguousSession, SessionNotFound, VersionMismatch
from ....domain.model import SessionRef
from ....domain.updates.session_updates import require_uid
from ...contract.compaction import PolicyScope
from ..engine.base import Dialect, Engine
from ..engine.statements import Record, Statements
from ..schema.history import past_archivings, window_changes
from ..schema.removals import erased_events, log_erasures, operations, superseded_events
from ..schema.state import past_values, state_totals, state_values
from ..schema.tables import (
    CREATED,
    DELETED,
    MOVED,
    REMOVED,
    UPDATED,
    changes,
    compactions,
    events,
    leases,
    policies,
    session_labels,
    sessions,
)
from . import change_details
from .rows import require_prepared, session_of
from .slices.archivings import archivings
from .slices.removals import REMOVED_AT_ONCE, removals
from .writing.append_statements import insert_of

_NAME = ("tenant", "app", "user_id", "session_id")
_CHANGE_NAMES = [column.name for column in changes.c if column.name not in ("id", "xid", "size", "state")]


@dataclass(frozen=True, slots=True)
class SessionDeletion:
    """A session to delete. `now`: nanoseconds since 1970. `uid`: that the session must have; empty: any."""

    tenant: str
    ref: SessionRef
    now: int
    uid: str = ""

    @property
    def size(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class Deleted:
    """The number of events of a deleted session; None: there was no such session."""

    events: int | None


Deletion = Deleted | AmbiguousSession | VersionMismatch
"""The outcome of a deletion."""


class SessionDeletions:
    """Deletes sessions on a connection. Their names are locked."""

    def __init__(self, engine: Engine, statements: Statements) -> None:
        self._engine = engine
        self._statements = statements

    def delete(self, connection: Connection, wanted: Sequence[SessionDeletion]) -> list[Deletion]:
        """Returns an outcome each. Of the same session the first one deletes."""
        outcomes: list[Deletion] = []
        found: dict[int, Row[Any] | Record] = {}
        for each in wanted:
            try:
                row = require_prepared(connection, self._statements, each.tenant, each.ref)
                if each.uid:
                    require_uid(session_of(row), each.uid)
            except SessionNotFound:
                outcomes.append(Deleted(None))
            except (AmbiguousSession, VersionMismatch) as error:
                outcomes.append(error)
            else:
                # Events never leave a log, so this is their number.
                outcomes.append(Deleted(None if row.id in found else row.last_seq))
                found.setdefault(row.id, row)
        self.remove(connection, list(found.values()), max((each.now for each in wanted), default=0), expired=False)
        return outcomes

    def remove(self, connection: Connection, rows: Sequence[Row[Any] | Record], now: int, *, expired: bool) -> None:
        """Deletes the sessions of these rows with their logs."""
        if not rows:
            return
        keys = [row.id for row in rows]
        # Locked, because writers of policies and leases lock the row and not the name.
        self._read(connection, keys, _lock)
        spans = {row.session: {"first": row.first, "last": row.last} for row in self._read(connection, keys, _spans)}
        # Before the sessions: row-level security hides changes of sessions that do not exist.
        self._write(connection, _forget_details, [{"keys": self._engine.sql.listed(keys)}])
        values = {row.owner: row.rows for row in self._read(connection, keys, _state_rows)}
        self._remove_rows(connection, {row.id: row.last_seq + values.get(row.id, 0) for row in rows})
        of_session = (archivings, session_labels, compactions, window_changes, past_archivings, leases)
        for table in (*of_session, operations, superseded_events, erased_events, log_erasures):
            self._delete(connection, keys, table.c.session)
        self._delete(connection, keys, state_totals.c.owner)
        self._delete(connection, keys, sessions.c.id)
        named = [{f"of_{name}": value for name, value in _name(row).items()} for row in rows]
        self._write(connection, _forget_policy, [each | {"now": now} for each in named])
        self._write(connection, _insert_change, [_change(row, now, expired) | spans.get(row.id, {}) for row in rows])

    def _remove_rows(self, connection: Connection, sizes: Mapping[int, int]) -> None:
        """Removes at most REMOVED_AT_ONCE events and values of state, of whole sessions. Those of the others are removed later.
        `sizes`: the rows of each session."""
        room, now, later = REMOVED_AT_ONCE, [], []
        for key, size in sizes.items():
            if size > room:
                later.append({"session": key})
            else:
                room -= size
                now.append(key)
        for column in (events.c.session, state_values.c.owner, past_values.c.owner):
            self._delete(connection, now, column)
        if later:
            self._write(connection, _insert_removal, later)

    # --- statements

    def _read(self, connection: Connection, keys: Sequence[int], build: Callable[[Dialect], ClauseElement]) -> Sequence[Record]:
        sql = self._engine.sql
        return self._statements.get(build, connection, partial(build, sql)).run(connection, {"keys": sql.listed(keys)})

    def _delete(self, connection: Connection, keys: Sequence[int], column: Column[Any]) -> None:
        """Deletes the rows with these sessions."""
        sql = self._engine.sql
        table = column.table
        prepared = self._statements.get(
            ("delete of", table.name), connection, lambda: table.delete().where(sql.in_list(column, "keys"))
        )
        prepared.run_many(connection, [{"keys": sql.listed(keys)}])

    def _write(
        self, connection: Connection, build: Callable[[Dialect], ClauseElement], rows: Sequence[Mapping[str, Any]]
    ) -> None:
        self._statements.get(build, connection, partial(build, self._engine.sql)).run_many(connection, rows)


def _name(row: Row[Any] | Record) -> dict[str, str]:
    return {name: getattr(row, name) for name in _NAME}


def _change(row: Row[Any] | Record, now: int, expired: bool) -> dict[str, Any]:
    gone = session_of(row)
    detail = change_details.deleted(gone, expired=expired)
    return change_details.session_change(DELETED, row.id, now, gone, detail) | _name(row)


def _lock(sql: Dialect) -> Select[Any]:
    return sa.select(sessions.c.id).where(sql.in_list(sessions.c.id, "keys")).order_by(sessions.c.id).with_for_update()


def _spans(sql: Dialect) -> Select[Any]:
    """Selects the lowest and the highest row id of each session's events."""
    ids = (sa.func.min(events.c.id).label("first"), sa.func.max(events.c.id).label("last"))
    return sa.select(events.c.session, *ids).where(sql.in_list(events.c.session, "keys")).group_by(events.c.session)


def _forget_policy(_: Dialect) -> ClauseElement:
    """Removes the policy of a session, if it has one."""
    mine = [policies.c[name] == bindparam(f"of_{name}", type_=Text) for name in _NAME]
    mine.append(policies.c.scope == sa.literal_column(str(int(PolicyScope.SESSION))))
    return policies.update().where(*mine).values(body=sa.null(), time=bindparam("now", type_=BigInteger))


def _forget_details(sql: Dialect) -> ClauseElement:
    """They are not read any more, and their session data must not remain."""
    stale = (
        sql.in_list(changes.c.session, "keys"),
        sa.text(f"(kind IN ({CREATED}, {UPDATED}, {REMOVED}, {MOVED}) OR state IS NOT NULL)"),
    )
    return changes.update().where(*stale).values(detail=sa.null(), state=sa.null())


def _state_rows(sql: Dialect) -> Select[Any]:
    """Selects how many values the state of each session has, past ones included."""
    t = state_totals.c
    return sa.select(t.owner, (t["keys"] + t.past).label("rows")).where(sql.in_list(t.owner, "keys"))


def _insert_change(_: Dialect) -> ClauseElement:
    return insert_of(changes, _CHANGE_NAMES)


def _insert_removal(_: Dialect) -> ClauseElement:
    return insert_of(removals, ["session"])
