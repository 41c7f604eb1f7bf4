"""Lists of sessions cost the same however many there are: on both engines, in every order and scope."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from tests.store.engines.test_plans import NO_INDEX
from tests.support.clock import NOW
from tests.support.codec import CODEC
from tests.support.runs.thoroughness import size
from tests.support.sessions import TENANT, create
from tests.support.statements import Executed, executed, looked_at, steps_of
from threadkeep_server.domain.model import SECOND_NS
from threadkeep_server.store.contract.sessions import SessionOrder, SessionPage, SessionQuery
from threadkeep_server.store.sql.schema.tables import sessions
from threadkeep_server.store.sql.store import SqlStore, open_store

MANY = size(100_000, 10_000)
_STEP = 20 * SECOND_NS
_SCOPES: dict[str, dict[str, Any]] = {"all": {}, "user": {"user_id": "alice"}, "app": {"app": "shop"}}
_FORKS: dict[str, Any] = {"app": "shop", "user_id": "alice", "forked_from": "origin"}


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
        for forked in rows[:60]:
            forked |= {"parent_session_id": "origin", "parent_uid": "u", "parent_seq": 0, "parent_log_version": 0}
        connection.execute(sessions.insert(), rows)
        connection.exec_driver_sql("ANALYZE")

    await store._engine.write(fill)


def _queries() -> dict[str, SessionQuery]:
    """Returns pages in the middle of every order and scope."""
    pages = {
        f"{order.value} {scope}": SessionQuery(limit=20, order=order, cursor=(NOW + 60 * _STEP, 0), **fields)
        for order in SessionOrder
        for scope, fields in _SCOPES.items()
    }
    return pages | {f"{order.value} forks": SessionQuery(limit=20, order=order, **_FORKS) for order in SessionOrder}


async def _listed(store: SqlStore, query: SessionQuery) -> SessionPage:
    page = await store.list_sessions(TENANT, query)
    assert len(page.sessions) == 20
    return page


async def test_a_page_of_sessions_takes_as_many_steps_of_100_as_of_many(tmp_path: Path) -> None:
    steps: dict[str, list[int]] = {name: [] for name in _queries()}
    for count in (100, MANY):
        async with open_store(f"sqlite:///{tmp_path}/{count}.db", CODEC, options=NO_INDEX) as store:
            await _filled(store, count)
            for name, query in _queries().items():
                await _listed(store, query)
                steps[name].append(await _steps_of(store, query))
    assert all(many <= few * 1.3 for few, many in steps.values()), steps


async def _steps_of(store: SqlStore, query: SessionQuery) -> int:
    return await steps_of(store, await _statements(store, query))


async def _statements(store: SqlStore, query: SessionQuery) -> Executed:
    """Returns the statements that a page runs, with their parameters."""
    found = await executed(_listed(store, query), "sessions")
    assert found
    return found


@pytest.mark.postgres
async def test_a_page_of_sessions_looks_at_a_few(postgres_url: str) -> None:
    async with open_store(postgres_url, CODEC, options=NO_INDEX) as store:
        await _filled(store, MANY)
        for name, query in _queries().items():
            for sql, params in await _statements(store, query):
                most, plan = await looked_at(store, sql, params)
                assert most <= 200, f"{name}\n{plan}"
