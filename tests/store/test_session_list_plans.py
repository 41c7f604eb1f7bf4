"""Lists of sessions cost the same however many there are: on both engines, in every order and scope."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from tests.support.clock import NOW
from tests.support.codec import CODEC
from tests.support.sessions import TENANT, create
from threadkeep_server.domain.model import SECOND_NS
from threadkeep_server.store.contract.sessions import SessionOrder, SessionPage, SessionQuery
from threadkeep_server.store.sql.engine.sqlite_driver import driver
from threadkeep_server.store.sql.schema.tables import sessions
from threadkeep_server.store.sql.store import SqlStore, open_store

_STEP = 20 * SECOND_NS
_SCOPES: dict[str, dict[str, Any]] = {"all": {}, "user": {"user_id": "alice"}, "app": {"app": "shop"}}


async def _filled(store: SqlStore, count: int) -> None:
    """Adds sessions, each updated 20 s after the one before."""
    first = await create(store, "first")

    def fill(connection: Connection) -> None:
        row = connection.execute(sa.select(sessions)).one()._asdict()
        names = row.keys() - {"id", "active_minute"}
        rows = [
            {name: row[name] for name in names}
            | {"session_id": f"s{n}", "uid": f"{first.uid}-{n}", "create_time": NOW + n * _STEP, "update_time": NOW + n * _STEP}
            for n in range(count)
        ]
        connection.execute(sessions.insert(), rows)
        connection.exec_driver_sql("ANALYZE")

    await store._engine.write(fill)


def _queries() -> dict[str, SessionQuery]:
    """Returns pages in the middle of every order and scope."""
    return {
        f"{order.value} {scope}": SessionQuery(limit=20, order=order, cursor=(NOW + 60 * _STEP, 0), **fields)
        for order in SessionOrder
        for scope, fields in _SCOPES.items()
    }


async def _listed(store: SqlStore, query: SessionQuery) -> SessionPage:
    page = await store.list_sessions(TENANT, query)
    assert len(page.sessions) == 20
    return page


async def test_a_page_of_sessions_takes_as_many_steps_of_100_as_of_10_000(tmp_path: Path) -> None:
    steps: dict[str, list[int]] = {name: [] for name in _queries()}
    for count in (100, 10_000):
        async with open_store(f"sqlite:///{tmp_path}/{count}.db", CODEC) as store:
            await _filled(store, count)
            for name, query in _queries().items():
                await _listed(store, query)
                steps[name].append(await _steps_of(store, query))
    assert all(many <= few * 1.3 for few, many in steps.values()), steps


async def _steps_of(store: SqlStore, query: SessionQuery) -> int:
    """Returns the steps of SQLite's virtual machine for the statement of a page."""
    taken = 0

    def step() -> int:
        nonlocal taken
        taken += 1
        return 0

    statements = await _statements(store, query)

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


async def _statements(store: SqlStore, query: SessionQuery) -> list[tuple[str, Sequence[Any]]]:
    """Returns the statements that a page runs, with their parameters."""
    found: list[tuple[str, Sequence[Any]]] = []

    def before(_connection: Any, _cursor: Any, sql: str, params: Any, *_: object) -> None:
        if "FROM sessions" in sql:
            found.append((sql, params))

    sa.event.listen(sa.Engine, "before_cursor_execute", before)
    try:
        await _listed(store, query)
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", before)
    assert found
    return found


@pytest.mark.postgres
async def test_a_page_of_sessions_looks_at_a_few(postgres_url: str) -> None:
    async with open_store(postgres_url, CODEC) as store:
        await _filled(store, 10_000)
        for name, query in _queries().items():
            for sql, params in await _statements(store, query):

                def explain(connection: Connection, sql: str = sql, params: Any = params) -> str:
                    lines = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, TIMING OFF) {sql}", tuple(params)).scalars()
                    return "\n".join(lines)

                plan = await store._engine.read(explain)
                counts = re.findall(r"(?:Rows Removed by Filter: |actual rows=)(\d+)", plan)
                assert max(map(int, counts)) <= 200, f"{name}\n{plan}"
