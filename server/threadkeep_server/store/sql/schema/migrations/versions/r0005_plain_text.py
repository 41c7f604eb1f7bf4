"""The text of a part is a plain string in stored events and memories; sessions are listed by their creation time.

The sizes of events, changes and windows are updated. The records of compactions are unchanged, and so are the counters of
changes before a session's latest compaction, because it is unknown which events were active at that time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Connection
from sqlalchemy.sql import ColumnElement

from threadkeep_server.store.sql.schema.migrations import plain_text, rewriting

revision = "0005"
down_revision = "0004"

_STEP = 1 << 20
_APPENDED, _COMPACTED = 1, 3


def _table(name: str, *numbers: str, **columns: sa.types.TypeEngine[Any]) -> sa.TableClause:
    counted = [sa.column(each, sa.BigInteger()) for each in numbers]
    return sa.table(name, *counted, *(sa.column(each, type_) for each, type_ in columns.items()))


_CHANGE = ("id", "xid", "kind", "session", "first", "last", "size", "log_version", "window_bytes")
_sessions = _table("sessions", "id", "window_bytes")
_events = _table("events", "id", "session", "position", "size", archived=sa.Boolean(), body=sa.LargeBinary())
_memories = _table("memories", "id", content=sa.LargeBinary())
_changes = _table("changes", *_CHANGE)
_parked = _table("parked_changes", "change_id", *_CHANGE)


def upgrade() -> None:
    for name, columns in {"sessions_user": ["tenant", "user_id"], "sessions_app": ["tenant", "app"]}.items():
        op.drop_index(name, "sessions")
        op.create_index(name, "sessions", [*columns, "create_time", "id"])
    op.create_index("sessions_created", "sessions", ["tenant", "create_time", "id"])
    connection = op.get_bind()
    rewriting.rewrite(connection, _events, _events.c.body, _rewrite_events)
    rewriting.rewrite(connection, _memories, _memories.c.content, _rewrite_memories)
    _resize_changes(connection)


def _rewrite_events(connection: Connection, after: int, through: int) -> int:
    columns = (_events.c.id, _events.c.session, _events.c.archived, _events.c.size, _events.c.body)
    rows = connection.execute(sa.select(*columns).where(_events.c.id > after, _events.c.id <= through)).all()
    changed: list[dict[str, Any]] = []
    shrunk: dict[int, int] = {}
    for row in rows:
        body, size = rewriting.converted(row.id, partial(plain_text.event, row.body, row.size), (row.body, row.size))
        if body != row.body:
            changed.append({"row": row.id, "body": body, "size": size})
            if not row.archived:
                shrunk[row.session] = shrunk.get(row.session, 0) + row.size - size
    if changed:
        connection.execute(_events.update().where(_events.c.id == sa.bindparam("row")), changed)
    if shrunk:
        less = _sessions.c.window_bytes - sa.bindparam("less", type_=sa.BigInteger())
        windows = _sessions.update().where(_sessions.c.id == sa.bindparam("row")).values(window_bytes=less)
        connection.execute(windows, [{"row": session, "less": bytes_} for session, bytes_ in shrunk.items()])
    return len(changed)


def _rewrite_memories(connection: Connection, after: int, through: int) -> int:
    query = sa.select(_memories.c.id, _memories.c.content).where(_memories.c.id > after, _memories.c.id <= through)
    changed = []
    for row in connection.execute(query).all():
        content = rewriting.converted(row.id, partial(plain_text.message, row.content), row.content)
        if content != row.content:
            changed.append({"row": row.id, "content": content})
    if changed:
        connection.execute(_memories.update().where(_memories.c.id == sa.bindparam("row")), changed)
    return len(changed)


def _resize_changes(connection: Connection) -> None:
    """Updates counters from a session's newest change backwards: the present window and the size of each append are known."""
    order = (_changes.c.session, _changes.c.xid, _changes.c.id)
    columns = (*order, _changes.c.kind, _changes.c.size, _changes.c.window_bytes, _sessions.c.window_bytes.label("now"))
    own = sa.and_(_sessions.c.id == _changes.c.session, _changes.c.log_version > 0)
    query = sa.select(*columns, _stored(_changes).label("stored")).where(own)
    query = query.order_by(*(column.desc() for column in order)).limit(rewriting.ROWS_AT_ONCE)
    session = 0
    window: int | None = None
    ahead: Sequence[ColumnElement[bool]] = ()
    while rows := connection.execute(query.where(*ahead)).all():
        resized = []
        for row in rows:
            if row.session != session:
                session, window = row.session, row.now
            resized.append({"row": row.id, "size": row.stored, "window_bytes": row.window_bytes if window is None else window})
            if row.kind == _COMPACTED:
                window = None  # it does not record what it archived
            elif window is not None:
                window -= row.stored
        connection.execute(_changes.update().where(_changes.c.id == sa.bindparam("row")), resized)
        ahead = [sa.tuple_(*order) < sa.tuple_(*(sa.literal(rows[-1][at], sa.BigInteger()) for at in range(3)))]
    _resize_parked(connection)


def _resize_parked(connection: Connection) -> None:
    same = sa.select(_changes.c.window_bytes).where(_changes.c.id == _parked.c.change_id).scalar_subquery()
    there = sa.exists().where(_sessions.c.id == _parked.c.session)
    values = {"size": _stored(_parked), "window_bytes": sa.func.coalesce(same, _parked.c.window_bytes)}
    connection.execute(_parked.update().where(_parked.c.log_version > 0, there).values(values))


def _stored(change: sa.TableClause) -> ColumnElement[int]:
    """Returns the size of the events that a change added: by their seqs, or for a compaction by their row ids."""

    def total(*where: ColumnElement[bool]) -> ColumnElement[int]:
        sizes = sa.select(sa.func.coalesce(sa.cast(sa.func.sum(_events.c.size), sa.BigInteger()), 0))
        return sizes.where(_events.c.session == change.c.session, *where).correlate(change).scalar_subquery()

    appended = _events.c.position.between(change.c.first * _STEP, change.c.last * _STEP)
    return sa.case(
        (change.c.kind == _APPENDED, total(appended, _events.c.position % _STEP == 0)),
        (change.c.kind == _COMPACTED, total(_events.c.id.between(change.c.first, change.c.last))),
        else_=0,
    )
