"""The unit of work that finds events to erase, which it does not name."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Row

from ....domain.filters import EventFilter
from ....domain.model import SessionRef, Tools
from ....domain.removals import given_id
from ...contract.removals import Erasable
from ..log.conditions import session_conditions
from ..log.rows import require
from ..log.scan import EVENT_COLUMNS, Scanner
from ..scan_budget import ScanBudget, ScanLimits
from ..schema.tables import events, sessions

_e = events.c


def erasable(
    scanner: Scanner, tenant: str, ref: SessionRef, wanted: EventFilter, limit: int, cursor: int | None, limits: ScanLimits
) -> Erasable:
    """Runs in a snapshot."""
    key = require(scanner.connection, tenant, ref, columns=sa.select(sessions.c.id)).id
    conditions = session_conditions(key, wanted, scanner.engine.sql)
    left = (_e.tools != int(Tools.ERASED), _e.position > sa.bindparam("low", type_=BigInteger))
    params = {**conditions.values, "low": cursor or 0}
    columns = (*EVENT_COLUMNS, _e.event_id) if wanted.reads_body else (_e.event_id, _e.position)
    query = sa.select(*columns).where(*conditions.where, *left).order_by(_e.position)
    if not wanted.reads_body:
        rows = scanner.connection.execute(query.limit(limit + 1), params).all()
        reached = rows[limit - 1].position if len(rows) > limit else None
        return Erasable(_names(rows[:limit]), reached)
    budget = ScanBudget(limits)
    rows = list(islice(scanner.matching(query, wanted, params, session=key, budget=budget), limit + 1))
    if len(rows) > limit:
        return Erasable(_names(rows[:limit]), rows[limit - 1].position)
    return Erasable(_names(rows), budget.reached.position if budget.used_up else None)


def _names(rows: Sequence[Row[Any]]) -> list[str]:
    """Returns the ids that callers gave to the events, each once."""
    return list(dict.fromkeys(given_id(row.event_id) for row in rows))
