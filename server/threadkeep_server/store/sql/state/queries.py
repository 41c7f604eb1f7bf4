"""Units of work that read state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, ColumnElement, GenerativeSelect, LargeBinary, Select

from ....domain.state.state import StateName, StatePage, StateQuery, StateScope, size_of
from ..log.rows import require
from ..log.scan import Scanner
from ..schema.state import past_values, shared_states, state_totals, state_values
from ..schema.tables import sessions

# Behind every key with a prefix: no byte of UTF-8 is so high.
_AFTER_ALL = b"\xff"


def get_state(scanner: Scanner, tenant: str, name: StateName, query: StateQuery) -> StatePage:
    if name.scope is StateScope.SESSION:
        owner = require(scanner.connection, tenant, name.ref, columns=sa.select(sessions.c.id)).id
        return read_state(scanner, sa.literal(owner, BigInteger), query)
    s = shared_states.c
    named = (s.tenant == tenant, s.app == name.ref.app, s.user_id == name.ref.user_id)
    return read_state(scanner, -sa.select(s.id).where(*named).scalar_subquery(), query)


def read_state(scanner: Scanner, owner: ColumnElement[int], query: StateQuery) -> StatePage:
    """Returns the page of an owner; without one, an empty page. One statement, so the version is that of the values."""
    found = _present(owner, query) if query.as_of is None else _as_of(query.as_of, owner, query)
    # Limited before the join: PostgreSQL would sort the whole scope after it.
    values = found.order_by("key").limit(query.limit + 1).subquery("found")
    wanted = state_totals.outerjoin(values, values.c.owner == state_totals.c.owner)
    columns = (state_totals.c.version, values.c.key, values.c.value)
    ordered = sa.select(*columns).select_from(wanted).where(state_totals.c.owner == owner).order_by(values.c.key)
    return _page(scanner, scanner.connection.execute(ordered).all(), query)


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


def _as_of(log_version: int, owner: ColumnElement[int], query: StateQuery) -> GenerativeSelect:
    then = past_values.c
    present = _present(owner, query).where(state_values.c.since <= log_version)
    lasted = (then.since <= log_version, then.until > log_version)
    past = sa.select(then.owner, then.key, then.value).where(*_conditions(past_values, owner, query), *lasted)
    return sa.union_all(present, past)


def _conditions(table: sa.Table, owner: ColumnElement[int], query: StateQuery) -> list[ColumnElement[bool]]:
    key = table.c.key
    found: list[ColumnElement[bool]] = [table.c.owner == owner]
    if query.keys:
        found.append(key.in_([sa.literal(each.encode(), LargeBinary) for each in query.keys]))
    if query.prefix:
        found += [key >= query.prefix.encode(), key < query.prefix.encode() + _AFTER_ALL]
    if query.after:
        found.append(key > query.after.encode())
    return found


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
