"""Creations and updates of sessions, as parts of a group commit. Statements are prepared, and the same for every session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, literal_column, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql import ClauseElement

from ....domain.errors import SessionAlreadyExists
from ....domain.model import NewSession, Session, SessionChange, SessionRef
from ....domain.removals import Operation, Outcome
from ....domain.state.state import size_of
from ....domain.updates.session_updates import updated
from ..encryption.codec import StoredCodec
from ..engine.statements import Statements
from ..schema.tables import CREATED, UPDATED, changes, session_labels, sessions
from ..state.writes import StateWrites
from . import change_details
from .append_group import Name
from .rows import labels_bytes, parent_columns, require_prepared, session_of
from .writing.append_statements import insert_of
from .writing.operations import outcome_of, remember

Created = tuple[Session, bool]
"""A session, and whether it is new."""

_NAME = ("tenant", "app", "user_id", "session_id")
_MOST_INSERTED = 64
_ZEROS = {
    column.name: 0
    for column in sessions.c
    if column.name.startswith(("window_", "usage_")) or column.name in ("log_version", "window_version", "last_seq")
}
_SESSION_NAMES = [
    column.name for column in sessions.c if column.name not in ("id", "active_minute") and not column.name.startswith("moved_")
]
_CHANGE_NAMES = [column.name for column in changes.c if column.name not in ("id", "xid", "size", "state", *_NAME)]
_MUTABLE = ("update_time", "expire_time", "metadata_json", "labels_json", "context_bytes")


@dataclass(frozen=True, slots=True)
class SessionCreation:
    """A session to create. If it exists, it is returned, or an error unless `return_existing`. `unique`: an error if another
    user of the app has its id."""

    tenant: str
    new: NewSession
    return_existing: bool
    unique: bool = False

    @property
    def ref(self) -> SessionRef:
        return self.new.ref

    @property
    def size(self) -> int:
        return len(self.new.metadata_json) + size_of(self.new.state.items())


@dataclass(frozen=True, slots=True)
class SessionUpdate:
    """A session to change."""

    tenant: str
    ref: SessionRef
    change: SessionChange
    operation: Operation | None = None

    @property
    def size(self) -> int:
        return len(self.change.metadata_json) + len(self.change.metadata_patch_json)


class SessionWrites:
    """Writes sessions on a connection. Their names are locked."""

    def __init__(self, codec: StoredCodec, statements: Statements) -> None:
        self._statements = statements
        self._states = StateWrites(codec, statements)

    def create(
        self, connection: Connection, creations: Sequence[SessionCreation]
    ) -> tuple[list[Created | SessionAlreadyExists], dict[Name, int]]:
        """Returns an outcome each, and the rows of the new sessions."""
        wanted: dict[Name, NewSession] = {}
        refused = []
        for each in creations:
            if each.unique and self._is_taken(connection, each, wanted):
                refused.append(each)
            else:
                wanted.setdefault((each.tenant, each.ref), each.new)
        keys = self.insert(connection, wanted)
        existing = {
            name: session_of(require_prepared(connection, self._statements, *name)) for name in wanted if name not in keys
        }
        outcomes: list[Created | SessionAlreadyExists] = []
        for each in creations:
            name = (each.tenant, each.ref)
            session = existing.get(name)
            if any(each is one for one in refused):
                outcomes.append(SessionAlreadyExists(each.ref))
            elif session is None:
                existing[name] = _as_created(each.new)
                outcomes.append((existing[name], True))
            else:
                outcomes.append((session, False) if each.return_existing else SessionAlreadyExists(each.ref))
        return outcomes, keys

    def _is_taken(self, connection: Connection, creation: SessionCreation, wanted: Iterable[Name]) -> bool:
        """Whether another user has the id, or is about to in this group. The name is locked, whatever the user."""
        app, user_id, session_id = creation.ref
        if any((t, r.app, r.session_id) == (creation.tenant, app, session_id) and r.user_id != user_id for t, r in wanted):
            return True
        prepared = self._statements.get("other owner", connection, _other_owner)
        values = {"tenant": creation.tenant, "app": app, "user_id": user_id, "session_id": session_id}
        return bool(prepared.run(connection, values))

    def insert(self, connection: Connection, wanted: Mapping[Name, NewSession]) -> dict[Name, int]:
        """Inserts the sessions that do not exist. Returns their rows."""
        keys = self._insert_rows(connection, [_row(tenant, new) for (tenant, _), new in wanted.items()])
        fresh = {name: new for name, new in wanted.items() if new.uid in keys}
        self._insert_labels(connection, [(keys[new.uid], new.labels) for new in fresh.values()])
        self._record(connection, [_change(CREATED, keys[new.uid], new.now, _as_created(new)) for new in fresh.values()])
        self._states.begin(connection, {keys[new.uid]: (tenant, new) for (tenant, _), new in fresh.items()})
        return {name: keys[new.uid] for name, new in fresh.items()}

    def update(self, connection: Connection, update: SessionUpdate) -> Session:
        """Raises SessionNotFound, AmbiguousSession, OperationConflict and what `updated` raises, before it writes."""
        change, operation = update.change, update.operation
        row = require_prepared(connection, self._statements, update.tenant, update.ref)
        before = session_of(row)
        if operation is not None and outcome_of(connection, row.id, operation, change.update_time) is not None:
            return before
        after = updated(before, change)
        prepared = self._statements.get("update session", connection, _update_session)
        prepared.run_many(connection, [{"key": row.id, **_mutable(after)}])
        if after.labels != before.labels:
            self._statements.get("delete labels", connection, _delete_labels).run_many(connection, [{"key": row.id}])
            self._insert_labels(connection, [(row.id, after.labels)])
        self._record(connection, [_change(UPDATED, row.id, change.update_time, after, before)])
        if operation is not None:
            remember(connection, row.id, operation, Outcome(versions=after.versions), change.update_time)
        return after

    # --- statements

    def _insert_rows(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
        """Returns the ids of the rows that did not exist, by uid."""
        keys: dict[str, int] = {}
        start = 0
        while start < len(rows):
            # Powers of two, so that few shapes serve every number.
            size = min(_MOST_INSERTED, 1 << ((len(rows) - start).bit_length() - 1))
            prepared = self._statements.get(("insert sessions", size), connection, lambda size=size: _insert_sessions(size))  # type: ignore[misc]
            params = {f"{name}_{i}": value for i, row in enumerate(rows[start : start + size]) for name, value in row.items()}
            keys |= {uid: key for key, uid in prepared.rows(connection, params)}
            start += size
        return keys

    def _insert_labels(self, connection: Connection, labels: Sequence[tuple[int, Mapping[str, str]]]) -> None:
        rows = [{"session": key, "key": name, "value": value} for key, of in labels for name, value in of.items()]
        if rows:
            columns = ["session", "key", "value"]
            prepared = self._statements.get("insert labels", connection, lambda: insert_of(session_labels, columns))
            prepared.run_many(connection, rows)

    def _record(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Adds changes to the feed."""
        if rows:
            prepared = self._statements.get("insert session changes", connection, lambda: insert_of(changes, _CHANGE_NAMES))
            prepared.run_many(connection, rows)


def _as_created(new: NewSession) -> Session:
    return Session(
        ref=new.ref,
        uid=new.uid,
        create_time=new.create_time,
        update_time=new.update_time,
        expire_time=new.expire_time,
        metadata_json=new.metadata_json,
        labels=new.labels,
        context_bytes=new.context_bytes,
        parent=new.parent,
    )


def _row(tenant: str, new: NewSession) -> dict[str, Any]:
    session = _as_created(new)
    name = dict(zip(_NAME, (tenant, *new.ref), strict=True))
    fixed = {"uid": new.uid, "create_time": new.create_time}
    return _ZEROS | name | fixed | parent_columns(new.parent) | _mutable(session)


def _mutable(session: Session) -> dict[str, Any]:
    """Returns the columns that an update sets."""
    return {
        "update_time": session.update_time,
        "expire_time": session.expire_time,
        "metadata_json": session.metadata_json.encode(),
        "labels_json": labels_bytes(session.labels),
        "context_bytes": session.context_bytes,
    }


def _change(kind: int, key: int, time: int, after: Session, before: Session | None = None) -> dict[str, Any]:
    detail = change_details.created(after) if before is None else change_details.updated(after, before)
    return change_details.session_change(kind, key, time, after, detail)


def _other_owner() -> ClauseElement:
    mine = {name: bindparam(name, type_=sessions.c[name].type) for name in _NAME}
    same = [sessions.c[name] == value for name, value in mine.items() if name != "user_id"]
    return select(sessions.c.id).where(*same, sessions.c.user_id != mine["user_id"]).limit(literal_column("1"))


def _insert_sessions(size: int) -> ClauseElement:
    rows = [{name: bindparam(f"{name}_{i}", type_=sessions.c[name].type) for name in _SESSION_NAMES} for i in range(size)]
    # The dialects of both engines compile it.
    return postgresql.insert(sessions).values(rows).on_conflict_do_nothing().returning(sessions.c.id, sessions.c.uid)


def _update_session() -> ClauseElement:
    values = {name: bindparam(name, type_=sessions.c[name].type) for name in _MUTABLE}
    return sessions.update().where(sessions.c.id == bindparam("key", type_=sessions.c.id.type)).values(values)


def _delete_labels() -> ClauseElement:
    return session_labels.delete().where(session_labels.c.session == bindparam("key", type_=session_labels.c.session.type))
