"""The statements that a read of a store runs, and what they cost on each engine."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from threadkeep_server.store.sql.engine.sqlite_driver import driver
from threadkeep_server.store.sql.engine.statements import Prepared
from threadkeep_server.store.sql.store import SqlStore

Read = Callable[[SqlStore], Awaitable[Any]]
Executed = list[tuple[str, Sequence[Any]]]
_MEASURED: ContextVar[bool] = ContextVar("measured", default=False)


async def executed(read: Awaitable[Any], table: str) -> Executed:
    """Returns the statements that select from the table first, with their parameters; all if the table is empty."""
    found: Executed = []
    rows = Prepared.rows
    # A thread's or a task's own: others run statements at the same time.
    prepared = ContextVar("prepared", default=False)

    def note(sql: str, params: Any) -> None:
        if f"FROM {table}" in sql:
            found.append((sql, params))

    def before(_connection: Any, _cursor: Any, sql: str, params: Any, *_: object) -> None:
        if not prepared.get():
            note(sql, params)

    def noted(self: Prepared, connection: Connection, params: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """Such a statement may or may not go through SQLAlchemy."""
        note(self._sql, self._values(params))
        token = prepared.set(True)
        try:
            return rows(self, connection, params)
        finally:
            prepared.reset(token)

    sa.event.listen(sa.Engine, "before_cursor_execute", before)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Prepared, "rows", noted)
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


async def steps_of_read(store: SqlStore, read: Read, monkeypatch: pytest.MonkeyPatch) -> int:
    """Returns the steps that SQLite's virtual machine takes for everything that the read does."""
    taken = 0
    engine = store._engine
    run = engine.read

    def step() -> int:
        nonlocal taken
        taken += 1
        return 0

    async def counted(unit: Callable[[Connection], Any], **options: Any) -> Any:
        if not _MEASURED.get():  # of a task in the background
            return await run(unit, **options)

        def work(connection: Connection) -> Any:
            raw = driver(connection)
            raw.set_progress_handler(step, 1)
            try:
                return unit(connection)
            finally:
                raw.set_progress_handler(None, 0)

        return await run(work, **options)

    with monkeypatch.context() as patch:
        patch.setattr(engine, "read", counted)
        token = _MEASURED.set(True)
        try:
            await read(store)
        finally:
            _MEASURED.reset(token)
    return taken


async def looked_at(store: SqlStore, sql: str, params: Sequence[Any]) -> tuple[int, str]:
    """Returns the most rows that a step of the statement's plan on PostgreSQL found or threw away, and the plan."""

    def explain(connection: Connection) -> str:
        lines = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, TIMING OFF) {sql}", tuple(params)).scalars()
        return "\n".join(lines)

    plan = await store._engine.read(explain)
    return max(map(int, re.findall(r"(?:Rows Removed by Filter: |actual rows=)(\d+)", plan))), plan
