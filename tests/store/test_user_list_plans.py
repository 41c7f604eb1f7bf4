"""Lists of users cost what they return, however many sessions, memories and users there are: on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection, Table

from tests.store.engines.test_plans import NO_INDEX
from tests.support.codec import CODEC
from tests.support.memories import memory, remember
from tests.support.sessions import TENANT, create
from tests.support.statements import executed, looked_at, steps_of
from threadkeep_server.store.contract.erasure import UserName
from threadkeep_server.store.sql.schema.memories import memories
from threadkeep_server.store.sql.schema.tables import sessions
from threadkeep_server.store.sql.store import SqlStore, open_store

USERS = 50
PLACES = {"all apps": (None, UserName("shop", "u20")), "an app": ("shop", UserName("shop", "u20")), "first": (None, None)}


async def _filled(store: SqlStore, count: int) -> None:
    """Gives each of the users so many sessions and memories."""
    uid = (await create(store, "first")).uid
    await remember(store, memory("first"))

    def fill(connection: Connection) -> None:
        for table, name in ((sessions, "session_id"), (memories, "memory_id")):
            row = connection.execute(sa.select(table)).one()._asdict()
            for user in range(USERS):
                connection.execute(table.insert(), _rows(table, row, name, user, count, uid))
        connection.exec_driver_sql("ANALYZE")

    await store._engine.write(fill)


def _rows(table: Table, row: dict[str, object], name: str, user: int, count: int, uid: str) -> list[dict[str, object]]:
    kept = {column: row[column] for column in row.keys() - {"id", "active_minute"}} | {"user_id": f"u{user:02}"}
    unique = [{name: f"n{number}"} | ({"uid": f"{uid}-{user}-{number}"} if "uid" in kept else {}) for number in range(count)]
    return [kept | each for each in unique]


async def _page(store: SqlStore, place: str) -> None:
    app, after = PLACES[place]
    page = await store.list_users(TENANT, app, 20, after)
    assert len(page.users) == 20
    assert page.cursor is not None


async def test_a_page_of_users_takes_as_many_steps_of_many_sessions(tmp_path: Path) -> None:
    steps: dict[str, list[int]] = {place: [] for place in PLACES}
    for count in (1, 200):
        async with open_store(f"sqlite:///{tmp_path}/{count}.db", CODEC, options=NO_INDEX) as store:
            await _filled(store, count)
            for place, taken in steps.items():
                taken.append(await steps_of(store, await executed(_page(store, place), "sessions")))
    assert all(0 < many <= few * 1.3 for few, many in steps.values()), steps


@pytest.mark.postgres
async def test_a_page_of_users_looks_at_a_few_rows(postgres_url: str) -> None:
    async with open_store(postgres_url, CODEC, options=NO_INDEX) as store:
        await _filled(store, 200)
        for place in PLACES:
            statements = await executed(_page(store, place), "sessions")
            assert 21 <= len(statements) <= 22, place
            for sql, params in statements:
                most, plan = await looked_at(store, sql, params)
                assert most <= 10, f"{place}\n{plan}"
