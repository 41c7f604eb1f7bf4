"""The unit of work that lists branches: each is a step in the index of events on branches, and a count of its part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row
from sqlalchemy.sql import ColumnElement, Select
from sqlalchemy.sql.selectable import CTE

from ....domain.model import SessionRef
from ...contract.breakdowns import MOST_COUNTED, MOST_OTHERS, Branch, BranchPage, Place, root_branch
from ..log.rows import require
from ..schema.tables import ON_BRANCH, events, sessions

_e = events.c
_ROWS_AT_ONCE = 64


def list_branches(connection: Connection, tenant: str, ref: SessionRef, limit: int, after: str | None) -> BranchPage:
    """Runs in a snapshot."""
    session = require(connection, tenant, ref, columns=sa.select(sessions.c.id, sessions.c.last_seq))
    found: list[Branch] = []
    if after is None and (root := _root(connection, session.id, session.last_seq)) is not None:
        found.append(root)
    rows = connection.execute(_page_query(session.id, after or "", limit + 1 - len(found))).all()
    found += [_branch(row) for row in sorted(rows, key=lambda row: str(row.branch))]
    return BranchPage(found[:limit], found[limit - 1].name if len(found) > limit else None)


def _root(connection: Connection, session: int, last_seq: int) -> Branch | None:
    some = sa.select(sa.literal_column("1")).where(*_on_branches(session)).limit(MOST_OTHERS + 1).subquery()
    others = connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one()
    ends = (_root_end(connection, session, order) for order in (_e.position, _e.position.desc()))
    return root_branch(last_seq, others, *ends)


def _root_end(connection: Connection, session: int, order: ColumnElement[int]) -> Place | None:
    """Returns the first event of the root in this order, after at most as many of branches as are passed."""
    some = sa.select(_e.seq, _e.time, _e.branch).where(_e.session == session).order_by(order).limit(MOST_COUNTED)
    with connection.execute(some.execution_options(yield_per=_ROWS_AT_ONCE)) as rows:
        return next((Place(row.seq, row.time) for row in rows if not row.branch), None)


def _on_branches(session: int) -> list[ColumnElement[bool]]:
    """Contains the condition of the index."""
    return [_e.session == session, sa.text(f"events.{ON_BRANCH}")]  # type: ignore[list-item]


def _page_query(session: int, after: str, count: int) -> Select[Any]:
    """Selects the next branches. Recursive: for a DISTINCT both databases would read all events on branches."""
    inside = _on_branches(session)
    first = sa.select(_e.branch).where(*inside, _e.branch > after).order_by(_e.branch).limit(1).scalar_subquery()
    walk = sa.select(first.label("branch"), sa.literal_column("1").label("step")).cte("walk", recursive=True)
    following = sa.select(_e.branch).where(*inside, _e.branch > walk.c.branch).order_by(_e.branch).limit(1)
    more = sa.select(following.correlate(walk).scalar_subquery(), walk.c.step + 1)
    walk = walk.union_all(more.where(walk.c.branch.is_not(None), walk.c.step < count))
    counted: Select[Any] = sa.select(sa.literal_column("1")).where(*inside, _e.branch == walk.c.branch).limit(MOST_COUNTED + 1)
    number = sa.select(sa.func.count()).select_from(counted.correlate(walk).subquery("counted")).scalar_subquery()
    columns = [walk.c.branch, number.label("number")]
    for end in ("first", "last"):
        columns += [_end(inside, walk, name, last=end == "last").label(f"{end}_{name}") for name in ("seq", "time")]
    return sa.select(*columns).where(walk.c.branch.is_not(None))


def _end(inside: Sequence[ColumnElement[bool]], walk: CTE, name: str, *, last: bool) -> ColumnElement[Any]:
    """The seq or the time of the first or the last event of a branch."""
    mine = sa.select(_e[name]).where(*inside, _e.branch == walk.c.branch)
    return mine.order_by(_e.position.desc() if last else _e.position).limit(1).correlate(walk).scalar_subquery()


def _branch(row: Row[Any]) -> Branch:
    return Branch(row.branch, row.number, Place(row.first_seq, row.first_time), Place(row.last_seq, row.last_time))
