"""The unit of work that sums the usage of a part of a log, from the bodies of its events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger
from sqlalchemy.sql import ColumnElement, Select

from ....domain.model import SessionRef, StoredEvent
from ...contract.breakdowns import MOST_BYTES, Spent, UsagePage, UsageQuery, summed
from ..engine.statements import Record
from ..log.conditions import Conditions, session_conditions
from ..log.rows import require
from ..log.scan import EVENT_COLUMNS, SMALL_BODY, Scanner, fitting
from ..schema.tables import events, sessions

_e = events.c
_start = events.alias("start")


def list_usage(scanner: Scanner, tenant: str, ref: SessionRef, query: UsageQuery) -> UsagePage:
    """Runs in a snapshot."""
    key = require(scanner.connection, tenant, ref, columns=sa.select(sessions.c.id)).id
    conditions = session_conditions(key, query.read, scanner.engine.sql)
    prepared = scanner.statements.get(("usage", *conditions.shape), scanner.connection, lambda: _query(conditions))
    after = query.cursor or 0
    rows = prepared.run(scanner.connection, {**conditions.values, "low": after, "limit": query.limit + 1})
    page = fitting(rows, query.limit, MOST_BYTES)
    stored = [scanner.stored(row, key) for row in page]

    def read() -> list[Spent]:
        found = zip(page, stored, strict=True)
        return [_spent(scanner, row, event) for row, event in found if event is not None]

    spent = read() if sum(row.size for row in page) <= SMALL_BODY else scanner.engine.run_in_thread(read)
    return UsagePage(summed(spent, query), page[-1].position if len(page) < len(rows) else None)


def _spent(scanner: Scanner, row: Record, event: StoredEvent) -> Spent:
    return Spent(row.seq, row.turn_seq or 0, row.branch, *scanner.codec.usage(event.body))


def _query(conditions: Conditions) -> Select[Any]:
    columns: Sequence[ColumnElement[Any]] = [*EVENT_COLUMNS, _e.branch, _turn().label("turn_seq")]
    beyond = _e.position > sa.bindparam("low", type_=BigInteger)
    query = sa.select(*columns).where(*conditions.where, beyond).order_by(_e.position)
    return query.limit(sa.bindparam("limit", type_=BigInteger))


def _turn() -> ColumnElement[int]:
    """The seq of the last turn start up to an event. The condition is that of the index."""
    s = _start.c
    starts = sa.select(s.seq).where(s.session == _e.session, sa.text("start.turn_start"), s.position <= _e.position)
    return starts.order_by(s.position.desc()).limit(sa.literal_column("1")).correlate(events).scalar_subquery()
