"""Units of work that read state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, ColumnElement, FromClause, LargeBinary

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
    values = _present(query) if query.as_of is None else _as_of(query.as_of, query)
    wanted = state_totals.outerjoin(values, values.c.owner == state_totals.c.owner)
    columns = (state_totals.c.version, values.c.key, values.c.value)
    ordered = sa.select(*columns).select_from(wanted).where(state_totals.c.owner == owner).order_by(values.c.key)
    return _page(scanner, scanner.connection.execute(ordered.limit(query.limit + 1)).all(), query)


def _present(query: StateQuery) -> FromClause:
    conditions = _conditions(state_values, query)
    return sa.select(state_values).where(*conditions).subquery("found") if conditions else state_values


def _as_of(log_version: int, query: StateQuery) -> FromClause:
    now, then = state_values.c, past_values.c
    present = sa.select(now.owner, now.key, now.value).where(now.since <= log_version, *_conditions(state_values, query))
    lasted = (then.since <= log_version, then.until > log_version)
    past = sa.select(then.owner, then.key, then.value).where(*lasted, *_conditions(past_values, query))
    return sa.union_all(present, past).subquery("found")


def _conditions(table: sa.Table, query: StateQuery) -> list[ColumnElement[bool]]:
    key = table.c.key
    found: list[ColumnElement[bool]] = []
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
