"""The prepared statements of the group commit. Lists are padded to powers of two, so that few shapes serve every size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Connection, Text, bindparam
from sqlalchemy.sql import ClauseElement, Select

from ...engine.statements import Record, Statements
from ...schema.state import state_totals
from ...schema.tables import COUNTED, changes, events, sessions

# Parameters of one statement; every engine accepts twice as many.
_MOST_PAIRS = 4096
_MOST_KEYS = 8192
_MOST_HEADS = 256

HEAD_NAMES = ["log_version", "last_seq", "update_time", *(f"window_{what}" for what in COUNTED), "window_content"]
USAGE_NAMES = [column.name for column in sessions.c if column.name.startswith("usage_")]
# An event is archived later.
EVENT_NAMES = [column.name for column in events.c if column.name not in ("id", "archived_version")]
# Other columns are null for appends.
CHANGE_NAMES = [column.name for column in changes.c if not column.nullable and column.name not in ("id", "xid")]


class AppendStatements:
    """Reads and writes of AppendQueries."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    def lock(self, connection: Connection, keys: Sequence[int], *, states: bool = False) -> Iterator[Record]:
        """Returns the sessions' heads, locked in the order of their keys. `states`: with the versions of their states, None
        without one; not on PostgreSQL, where who waited for a lock could see an earlier version."""
        for chunk in chunks(keys, _MOST_KEYS):
            size = len(chunk)
            shape = ("lock", size, states)
            prepared = self._statements.get(shape, connection, lambda size=size: _lock_query(size, states))  # type: ignore[misc]
            params = {f"key_{i}": key for i, key in enumerate(chunk)}
            yield from prepared.run(connection, params)

    def known(self, connection: Connection, pairs: Sequence[tuple[int, str]]) -> Iterator[Record]:
        """Returns the stored events of these (session, event id)."""
        for chunk in chunks(pairs, _MOST_PAIRS):
            size = len(chunk)
            prepared = self._statements.get(("known", size), connection, lambda size=size: _known_query(size))  # type: ignore[misc]
            params: dict[str, Any] = {}
            for i, (session, event_id) in enumerate(chunk):
                params[f"session_{i}"] = session
                params[f"event_id_{i}"] = event_id
            yield from prepared.run(connection, params)

    def write(
        self,
        connection: Connection,
        event_rows: Sequence[Mapping[str, Any]],
        head_rows: Sequence[Mapping[str, Any]],
        usage_rows: Sequence[Mapping[str, Any]],
        change_rows: Sequence[Mapping[str, Any]],
    ) -> None:
        get = self._statements.get
        get("insert events", connection, lambda: insert_of(events, EVENT_NAMES)).run_many(connection, event_rows)
        for chunk in chunks(head_rows, _MOST_HEADS):
            size = len(chunk)
            update = get(("update heads", size), connection, lambda size=size: _update_heads(size))  # type: ignore[misc]
            values = {f"{name}_{i}": value for i, row in enumerate(chunk) for name, value in row.items()}
            update.run_many(connection, [values])
        if usage_rows:
            get("add usage", connection, _add_usage).run_many(connection, usage_rows)
        if any("state" in row for row in change_rows):
            # One statement for all: the order of the rows is that of the feed.
            names = [*CHANGE_NAMES, "state"]
            rows = [row if "state" in row else {**row, "state": None} for row in change_rows]
            get("insert changes with state", connection, lambda: insert_of(changes, names)).run_many(connection, rows)
        else:
            get("insert changes", connection, lambda: insert_of(changes, CHANGE_NAMES)).run_many(connection, change_rows)


def chunks(items: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    """Splits into chunks whose length is a power of two; the last one is padded by repeating its last item."""
    for start in range(0, len(items), most):
        chunk = list(items[start : start + most])
        size = 1 << (len(chunk) - 1).bit_length()
        yield chunk + chunk[-1:] * (size - len(chunk))


def _lock_query(size: int, states: bool) -> Select[Any]:
    keys = [bindparam(f"key_{i}", type_=BigInteger) for i in range(size)]
    columns = [sessions.c.id, sessions.c.user_id, sessions.c.window_version, *(sessions.c[name] for name in HEAD_NAMES)]
    query = sa.select(*columns)
    if states:
        query = query.add_columns(state_totals.c.version.label("state_version"))
        query = query.select_from(sessions.outerjoin(state_totals, state_totals.c.owner == sessions.c.id))
    return query.where(sessions.c.id.in_(keys)).order_by(sessions.c.id).with_for_update()


def _known_query(size: int) -> Select[Any]:
    pairs = [(bindparam(f"session_{i}", type_=BigInteger), bindparam(f"event_id_{i}", type_=Text)) for i in range(size)]
    columns = (sa.column("session", BigInteger), sa.column("event_id", Text))
    wanted = sa.values(*columns, name="wanted").data(pairs).cte("wanted")
    e = events.c
    same = sa.and_(e.session == wanted.c.session, e.event_id == wanted.c.event_id)
    # A join, because SQLite would scan the whole index for a list of pairs.
    return sa.select(e.session, e.event_id, e.seq, e.size, e.body).select_from(wanted.join(events, same))


def insert_of(table: sa.Table, names: Sequence[str]) -> sa.Insert:
    """Returns the statement that inserts a row with these columns."""
    return table.insert().values({name: bindparam(name, type_=table.c[name].type) for name in names})


def _update_heads(size: int) -> ClauseElement:
    """One statement for many rows: SQLite's driver releases the interpreter lock for each statement it runs."""
    names = ["id", *HEAD_NAMES]
    columns = [sa.column(name, BigInteger) for name in names]
    rows = [tuple(bindparam(f"{name}_{i}", type_=BigInteger) for name in names) for i in range(size)]
    fresh = sa.values(*columns, name="fresh").data(rows).cte("fresh")
    return sessions.update().values({name: fresh.c[name] for name in HEAD_NAMES}).where(sessions.c.id == fresh.c.id)


def _add_usage() -> ClauseElement:
    sums = {name: sessions.c[name] + bindparam(name, type_=BigInteger) for name in USAGE_NAMES}
    return sessions.update().where(sessions.c.id == bindparam("key", type_=BigInteger)).values(sums)
