"""The statements that a read of a store runs through SQLAlchemy, and what they cost on each engine."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from threadkeep_server.store.sql.engine.sqlite_driver import driver
from threadkeep_server.store.sql.store import SqlStore

Executed = list[tuple[str, Sequence[Any]]]


async def executed(read: Awaitable[Any], table: str) -> Executed:
    """Returns the statements that select from the table first, with their parameters."""
    found: Executed = []

    def before(_connection: Any, _cursor: Any, sql: str, params: Any, *_: object) -> None:
        if f"FROM {table}" in sql:
            found.append((sql, params))

    sa.event.listen(sa.Engine, "before_cursor_execute", before)
    try:
        await read
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", before)
    return found


async def steps_of(store: SqlStore, statements: Executed) -> int:
    """Returns the steps that SQLite's virtual machine takes for the statements."""
    taken = 0

    def step() -> int:
        nonlocal taken
        taken += 1
        return 0

    def count(connection: Connection) -> int:
        raw = driver(connection)
        raw.set_progress_handler(step, 1)
        try:
            for sql, params in statements:
                raw.execute(sql, params).fetchall()
        finally:
            raw.set_progress_handler(None, 0)
        return taken

    return await store._engine.read(count)


async def looked_at(store: SqlStore, sql: str, params: Sequence[Any]) -> tuple[int, str]:
    """Returns the most rows that a step of the statement's plan on PostgreSQL found or threw away, and the plan."""

    def explain(connection: Connection) -> str:
        lines = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, TIMING OFF) {sql}", tuple(params)).scalars()
        return "\n".join(lines)

    plan = await store._engine.read(explain)
    return max(map(int, re.findall(r"(?:Rows Removed by Filter: |actual rows=)(\d+)", plan))), plan
