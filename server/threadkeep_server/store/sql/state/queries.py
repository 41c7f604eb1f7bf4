"""Units of work that read state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, ColumnElement, GenerativeSelect, LargeBinary, Select

from ....domain.state.state import StateName, StatePage, StateQuery, StateScope, size_of
from ..log.rows import require_head
from ..log.scan import Scanner
from ..schema.state import past_values, shared_states, state_totals, state_values

# Behind every key with a prefix: no byte of UTF-8 is so high.
_AFTER_ALL = b"\xff"


def get_state(scanner: Scanner, tenant: str, name: StateName, query: StateQuery) -> StatePage:
    ref = name.ref
    if name.scope is StateScope.SESSION:
        return session_state(scanner, require_head(scanner.connection, scanner.statements, tenant, ref).id, query)
    return _read(scanner, {"tenant": tenant, "app": ref.app, "user_id": ref.user_id}, query)


def session_state(scanner: Scanner, session: int, query: StateQuery) -> StatePage:
    """Returns the page of the session with this key."""
    return _read(scanner, {"session": session}, query)


def _read(scanner: Scanner, whose: Mapping[str, Any], query: StateQuery) -> StatePage:
    """Returns the page of an owner; without one, an empty page. One statement, so the version is that of the values.

    `whose`: the key of a session, or the name of a user's or an app's state."""
    connection = scanner.connection
    params = {
        **whose,
        "limit": query.limit + 1,
        "as_of": query.as_of,
        "prefix": query.prefix.encode(),
        "behind": query.prefix.encode() + _AFTER_ALL,
        "after": query.after.encode(),
    }
    build = partial(_statement, tuple(whose), query)
    if query.keys:  # their number is part of the statement
        return _page(scanner, connection.execute(build(), params).all(), query)
    shape = ("state", *whose, query.as_of is None, query.prefix == "", query.after == "")
    return _page(scanner, scanner.statements.get(shape, connection, build).run(connection, params), query)


def _statement(whose: Sequence[str], query: StateQuery) -> Select[Any]:
    """The version of a scope with its values; one row without a value if it has none of these."""
    s = shared_states.c
    owner: ColumnElement[int] = _number("session")
    if "tenant" in whose:
        named = (column == sa.bindparam(column.name, type_=sa.Text) for column in (s.tenant, s.app, s.user_id))
        owner = -sa.select(s.id).where(*named).scalar_subquery()
    found = _present(owner, query) if query.as_of is None else _as_of(owner, query)
    # Limited before the join: PostgreSQL would sort the whole scope after it.
    values = found.order_by("key").limit(_number("limit")).subquery("found")
    wanted = state_totals.outerjoin(values, values.c.owner == state_totals.c.owner)
    columns = (state_totals.c.version, values.c.key, values.c.value)
    return sa.select(*columns).select_from(wanted).where(state_totals.c.owner == owner).order_by(values.c.key)


def _number(name: str) -> ColumnElement[int]:
    return sa.bindparam(name, type_=BigInteger)


def whole_states(scanner: Scanner, owners: Sequence[int], left: int) -> list[StatePage]:
    """Returns the state of each session, as many as fit into `left` bytes, the others without values. Two statements, in a
    snapshot."""
    t, v = state_totals.c, state_values.c
    known = scanner.connection.execute(sa.select(t.owner, t.version, t.bytes).where(t.owner.in_(owners))).all()
    totals = {row.owner: row for row in known}
    values: dict[int, dict[str, str]] = {}
    for owner in owners:
        size = totals[owner].bytes if owner in totals else 0
        if size <= left:
            left -= size
            values[owner] = {}
    read = (
        sa.select(v.owner, v.key, v.value)
        .where(v.owner.in_([owner for owner in values if owner in totals]))
        .order_by(v.owner, v.key)
    )
    for row in scanner.connection.execute(read):
        values[row.owner][row.key.decode()] = scanner.codec.decrypt(row.value).decode()
    return [
        StatePage(values.get(owner, {}), totals[owner].version if owner in totals else 0, more=owner not in values)
        for owner in owners
    ]


def _present(owner: ColumnElement[int], query: StateQuery) -> Select[Any]:
    now = state_values.c
    return sa.select(now.owner, now.key, now.value).where(*_conditions(state_values, owner, query))


def _as_of(owner: ColumnElement[int], query: StateQuery) -> GenerativeSelect:
    then, as_of = past_values.c, _number("as_of")
    present = _present(owner, query).where(state_values.c.since <= as_of)
    lasted = (then.since <= as_of, then.until > as_of)
    past = sa.select(then.owner, then.key, then.value).where(*_conditions(past_values, owner, query), *lasted)
    return sa.union_all(present, past)


def _conditions(table: sa.Table, owner: ColumnElement[int], query: StateQuery) -> list[ColumnElement[bool]]:
    key = table.c.key
    found: list[ColumnElement[bool]] = [table.c.owner == owner]
    if query.keys:
        found.append(key.in_([sa.literal(each.encode(), LargeBinary) for each in query.keys]))
    if query.prefix:
        found += [key >= _bytes("prefix"), key < _bytes("behind")]
    if query.after:
        found.append(key > _bytes("after"))
    return found


def _bytes(name: str) -> ColumnElement[bytes]:
    return sa.bindparam(name, type_=LargeBinary)


def _page(scanner: Scanner, rows: Sequence[Any], query: StateQuery) -> StatePage:
    values: dict[str, str] = {}
    size, more = 0, False
    for row in rows:
        if row.key is None:  # the totals of a scope without such values
            continue
        key, value = row.key.decode(), scanner.codec.decrypt(row.value).decode()
        size += size_of([(key, value)])
        if len(values) == query.limit or (values and size > query.max_bytes):
            more = True
            break
        values[key] = value
    return StatePage(values, rows[0].version if rows else 0, more)
