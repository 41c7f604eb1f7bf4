"""Lists of sessions cost the same however many there are: on both engines, in every order and scope, with a total, with the
newest event and with the state of each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Column, Connection, Table

from tests.store.engines.test_plans import NO_INDEX
from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.runs.thoroughness import size
from tests.support.sessions import TENANT, append, create
from tests.support.statements import executed, looked_at, steps_of_read
from threadkeep_server.domain.model import SECOND_NS
from threadkeep_server.domain.state.state import StatePatch, StateScope
from threadkeep_server.store.contract.sessions import SessionOrder, SessionPage, SessionQuery
from threadkeep_server.store.sql.log import session_queries
from threadkeep_server.store.sql.schema.state import state_totals, state_values
from threadkeep_server.store.sql.schema.tables import events, sessions
from threadkeep_server.store.sql.store import SqlStore, open_store

MANY = size(100_000, 10_000)
COUNTED = 40
_STEP = 20 * SECOND_NS
_SCOPES: dict[str, dict[str, Any]] = {"all": {}, "user": {"user_id": "alice"}, "app": {"app": "shop"}}
_WITH: dict[str, dict[str, Any]] = {name: {name: True} for name in ("count", "newest", "states")}
_FORKS: dict[str, Any] = {"app": "shop", "user_id": "alice", "forked_from": "origin"}


async def _filled(store: SqlStore, count: int) -> None:
    """Adds sessions with an event and a state, each updated 20 s after the one before."""
    first = await create(store, "first")
    await append(store, draft("hello"), to=first.ref, state={StateScope.SESSION: StatePatch({"key": "1"})})

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
        for table, owner in (
            (events, events.c.session),
            (state_totals, state_totals.c.owner),
            (state_values, state_values.c.owner),
        ):
            _give_each(connection, table, owner, row["id"])
        connection.exec_driver_sql("ANALYZE")

    await store._engine.write(fill)


def _give_each(connection: Connection, table: Table, owner: Column[int], first: int) -> None:
    """Gives every other session what the first has."""
    row = connection.execute(sa.select(table)).one()._asdict()
    names = [column for column in table.c if column.key != "id"]
    values = [sessions.c.id if column is owner else sa.literal(row[column.key], column.type) for column in names]
    connection.execute(table.insert().from_select(names, sa.select(*values).where(sessions.c.id != first)))


def _queries() -> dict[str, SessionQuery]:
    """Returns pages in the middle of every order and scope."""
    pages = {
        f"{order.value} {scope}": SessionQuery(limit=20, order=order, cursor=(NOW + 60 * _STEP, 0), **fields)
        for order in SessionOrder
        for scope, fields in _SCOPES.items()
    }
    pages |= {f"{order.value} forks": SessionQuery(limit=20, order=order, **_FORKS) for order in SessionOrder}
    more = {f"{name} with {what}": replace(query, **fields) for name, query in pages.items() for what, fields in _WITH.items()}
    return pages | more


async def _listed(store: SqlStore, query: SessionQuery) -> SessionPage:
    page = await store.list_sessions(TENANT, query)
    assert len(page.sessions) == 20
    if query.newest:
        assert all(page.newest)
    if query.states:
        assert [state.values for state in page.states] == [{"key": "1"}] * 20
    assert page.total == (COUNTED + 1 if query.count else None)
    return page


@pytest.fixture(autouse=True)
def few_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """More sessions than this are not counted."""
    monkeypatch.setattr(session_queries, "MOST_COUNTED", COUNTED)


async def test_a_page_of_sessions_takes_as_many_steps_of_100_as_of_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: dict[str, list[int]] = {name: [] for name in _queries()}
    for count in (100, MANY):
        async with open_store(f"sqlite:///{tmp_path}/{count}.db", CODEC, options=NO_INDEX) as store:
            await _filled(store, count)
            for name, query in _queries().items():
                steps[name].append(await steps_of_read(store, partial(_listed, query=query), monkeypatch))
    assert all(0 < many <= few * 1.3 for few, many in steps.values()), steps


@pytest.mark.postgres
async def test_a_page_of_sessions_looks_at_a_few(postgres_url: str) -> None:
    async with open_store(postgres_url, CODEC, options=NO_INDEX) as store:
        await _filled(store, MANY)
        for name, query in _queries().items():
            found = await executed(_listed(store, query), "")
            assert len(found) > sum((query.count, query.newest, query.states))
            for sql, params in found:
                most, plan = await looked_at(store, sql, params)
                assert most <= 200, f"{name}\n{plan}"
