"""The prepared statements that change state. The number of statements does not depend on that of the scopes and keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Connection, LargeBinary, Text, bindparam
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql import ClauseElement, Select

from ..engine.statements import Record, Statements
from ..log.writing.append_statements import chunks, insert_of
from ..schema.state import past_values, shared_states, state_totals, state_values
from ..schema.tables import changes, sessions

# Parameters of one statement; every engine accepts twice as many.
_MOST_NAMES = 2048
MOST_KEYS = 4096
"""Values that one statement reads."""

_NAME = ("tenant", "app", "user_id")
TOTALS = ("owner", "version", "keys", "bytes", "past")
PAST = ("owner", "key", "since", "until", "value")
VALUE = ("owner", "key", "since", "value")
_CHANGE_NAMES = [column.name for column in changes.c if column.name not in ("id", "xid", "size", "detail")]

SharedName = tuple[str, str, str]
"""The tenant, app and user of a state; the user of an app's state is empty."""


@dataclass(slots=True)
class StateRows:
    """Rows to store: totals, values, the keys of values to remove, and earlier values."""

    totals: list[dict[str, Any]] = field(default_factory=list)
    fresh: list[dict[str, Any]] = field(default_factory=list)
    gone: list[dict[str, Any]] = field(default_factory=list)
    past: list[dict[str, Any]] = field(default_factory=list)


class StateStatements:
    """Reads and writes of a StateGroup."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    def shared(self, connection: Connection, names: Sequence[SharedName]) -> dict[SharedName, int]:
        """Returns the owners of the names that have state."""
        found: dict[SharedName, int] = {}
        for chunk in chunks(names, _MOST_NAMES):
            size = len(chunk)
            prepared = self._statements.get(("shared states", size), connection, lambda size=size: _shared(size))  # type: ignore[misc]
            params = {f"{part}_{i}": value for i, name in enumerate(chunk) for part, value in zip(_NAME, name, strict=True)}
            found |= {(tenant, app, user): -key for key, tenant, app, user in prepared.rows(connection, params)}
        return found

    def add_shared(self, connection: Connection, name: SharedName) -> int:
        """Returns the owner of a new state. Its name is locked."""
        params = dict(zip(_NAME, name, strict=True))
        return -int(self._statements.get("add shared state", connection, _add_shared).rows(connection, params)[0][0])

    def present(self, connection: Connection, pairs: Sequence[tuple[int, bytes]]) -> Iterable[Record]:
        """Returns the totals of the owners of these (owner, key), each with its value if it has one. One statement a chunk,
        so the version is that of the values."""
        for chunk in chunks(pairs, MOST_KEYS):
            size = len(chunk)
            prepared = self._statements.get(("present state", size), connection, lambda size=size: _present(size))  # type: ignore[misc]
            params: dict[str, Any] = {}
            for i, (owner, key) in enumerate(chunk):
                params[f"owner_{i}"], params[f"key_{i}"] = owner, key
            yield from prepared.run(connection, params)

    def write(self, connection: Connection, rows: StateRows) -> None:
        get = self._statements.get
        if rows.past:
            get("add past values", connection, lambda: insert_of(past_values, PAST)).run_many(connection, rows.past)
        if rows.gone:
            keys = [{"of_owner": each["owner"], "of_key": each["key"]} for each in rows.gone]
            get("remove values", connection, _remove_values).run_many(connection, keys)
        if rows.fresh:
            get("put values", connection, _put_values).run_many(connection, rows.fresh)
        if rows.totals:
            get("put state totals", connection, _put_totals).run_many(connection, rows.totals)

    def record(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Adds changes to the feed."""
        if rows:
            prepared = self._statements.get("insert state changes", connection, lambda: insert_of(changes, _CHANGE_NAMES))
            prepared.run_many(connection, rows)

    def touch(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Moves the update_time of sessions forward, to `now`."""
        if rows:
            self._statements.get("touch sessions", connection, _touch).run_many(connection, rows)


def _shared(size: int) -> Select[Any]:
    rows = [tuple(bindparam(f"{part}_{i}", type_=Text) for part in _NAME) for i in range(size)]
    wanted = sa.values(*(sa.column(part, Text) for part in _NAME), name="wanted").data(rows).cte("wanted")
    s = shared_states.c
    same = sa.and_(*(s[part] == wanted.c[part] for part in _NAME))
    return sa.select(s.id, s.tenant, s.app, s.user_id).select_from(wanted.join(shared_states, same))


def _add_shared() -> ClauseElement:
    return insert_of(shared_states, _NAME).returning(shared_states.c.id)


def _present(size: int) -> Select[Any]:
    pairs = [(bindparam(f"owner_{i}", type_=BigInteger), bindparam(f"key_{i}", type_=LargeBinary)) for i in range(size)]
    columns = (sa.column("owner", BigInteger), sa.column("key", LargeBinary))
    wanted = sa.values(*columns, name="wanted").data(pairs).cte("wanted")
    t, v = state_totals.c, state_values.c
    same = sa.and_(v.owner == wanted.c.owner, v.key == wanted.c.key)
    # Joins, because SQLite would scan the whole index for a list of pairs.
    found = wanted.join(state_totals, t.owner == wanted.c.owner).outerjoin(state_values, same)
    return sa.select(*(t[name] for name in TOTALS), v.key, v.since, v.value).select_from(found)


def _put_totals() -> ClauseElement:
    fresh = _bound(state_totals, TOTALS)
    insert = postgresql.insert(state_totals).values(fresh)  # the dialects of both engines compile it
    return insert.on_conflict_do_update(
        index_elements=["owner"], set_={name: insert.excluded[name] for name in TOTALS if name != "owner"}
    )


def _put_values() -> ClauseElement:
    insert = postgresql.insert(state_values).values(_bound(state_values, VALUE))
    changed = {name: insert.excluded[name] for name in ("since", "value")}
    return insert.on_conflict_do_update(index_elements=["owner", "key"], set_=changed)


def _remove_values() -> ClauseElement:
    v = state_values.c
    owner, key = bindparam("of_owner", type_=BigInteger), bindparam("of_key", type_=LargeBinary)
    return state_values.delete().where(v.owner == owner, v.key == key)


def _touch() -> ClauseElement:
    now = bindparam("now", type_=BigInteger)
    mine = (sessions.c.id == bindparam("of_session", type_=BigInteger), sessions.c.update_time < now)
    return sessions.update().where(*mine).values(update_time=now)


def _bound(table: sa.Table, names: Sequence[str]) -> dict[str, Any]:
    return {name: bindparam(name, type_=table.c[name].type) for name in names}
