"""On PostgreSQL a session's changes ascend in the feed as in its log, however the transactions that make them overlap."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.util import await_only

from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, compact, create, new_session, placed, ref
from threadkeep_server.domain.errors import SessionAlreadyExists
from threadkeep_server.domain.model import SessionChange
from threadkeep_server.store.contract.events import AppendRequest
from threadkeep_server.store.sql.engine.base import SessionName
from threadkeep_server.store.sql.engine.postgres_dialect import PostgresLocks
from threadkeep_server.store.sql.log import group_commit
from threadkeep_server.store.sql.schema.tables import APPENDED, CREATED, changes
from threadkeep_server.store.sql.store import SqlStore, open_store

pytestmark = pytest.mark.postgres

# By the connection that looks. Not of pg_stat_activity: within a transaction it shows no connection that is made later.
_BLOCKED = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"


@pytest.fixture
async def servers(postgres_url: str) -> AsyncIterator[tuple[SqlStore, SqlStore]]:
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(open_store(postgres_url, CODEC)) for _ in range(2)]
        yield one, other


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres_url.replace("+asyncpg", ""))
    yield connection
    await connection.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No group sets a locked session aside, or a slow machine lets the rival write first."""
    monkeypatch.setattr(group_commit, "LOCK_WAIT_MS", 20_000)


@asynccontextmanager
async def held(database: asyncpg.Connection, session_id: str) -> AsyncIterator[None]:
    """The session's row is locked, as by somebody who gives it a policy: without a turn, for no change is recorded."""
    async with database.transaction():
        await database.execute("SELECT 1 FROM sessions WHERE session_id = $1 FOR UPDATE", session_id)
        yield


async def blocked(database: asyncpg.Connection, count: int) -> None:
    """Returns when as many transactions wait for this one."""
    async with asyncio.timeout(60):
        while await database.fetchval(_BLOCKED) < count:  # noqa: ASYNC110 - the database sends no signal
            await asyncio.sleep(0.01)


async def feed(store: SqlStore) -> dict[int, list[Any]]:
    """The changes of each session, in the order of the feed."""
    query = sa.select(changes).order_by(*store._engine.sql.change_order)
    found = defaultdict(list)
    for row in await store._engine.read(lambda connection: connection.execute(query).all()):
        found[row.session].append(row)
    return found


def check(rows: Sequence[Any]) -> None:
    """They begin with the creation, and each has the state of the session after it and after the one before."""
    assert rows[0].kind == CREATED
    for earlier, later in pairwise(rows):
        assert later.kind != CREATED
        assert later.log_version >= earlier.log_version
        if later.kind == APPENDED:
            assert (later.first, later.log_version) == (earlier.last_seq + 1, earlier.log_version + 1)
            assert later.window_events == earlier.window_events + later.last - later.first + 1


def appended(store: SqlStore, *session_ids: str) -> asyncio.Future[Any]:
    """Appends to several sessions at once: one group, one transaction."""
    return asyncio.gather(*(store.append(AppendRequest(TENANT, ref(name), [draft("x")], NOW)) for name in session_ids))


@pytest.mark.usefixtures("patient")
async def test_a_group_that_began_before_a_rival_but_wrote_after_it(
    servers: tuple[SqlStore, SqlStore], database: asyncpg.Connection
) -> None:
    one, other = servers
    for name in ("s1", "s2", "s3"):
        await create(one, name)
    async with held(database, "s2"):
        group = appended(one, "s1", "s2", "s3")  # has s1, waits for s2
        await blocked(database, 1)
        rival = appended(other, "s3")
        await asyncio.wait([rival], timeout=0.3)
    await asyncio.gather(group, rival)
    for rows in (await feed(one)).values():
        check(rows)


@pytest.mark.usefixtures("patient")
async def test_a_session_that_two_create_at_once(servers: tuple[SqlStore, SqlStore], database: asyncpg.Connection) -> None:
    one, other = servers
    for name in ("s1", "s2"):
        await create(one, name)

    async def creator() -> None:
        await create(other, "new")
        await append(other, draft("rival"), to=ref("new"))

    async with held(database, "s2"):
        request = AppendRequest(TENANT, ref("new"), [draft("x")], NOW, create=new_session("new"))
        group = asyncio.gather(appended(one, "s1", "s2"), one.append(request))
        await blocked(database, 1)
        rival = asyncio.create_task(creator())
        await asyncio.wait([rival], timeout=0.3)
    await group
    with pytest.raises(SessionAlreadyExists):
        await rival
    for rows in (await feed(one)).values():
        check(rows)


async def test_groups_of_two_servers_over_the_same_sessions(servers: tuple[SqlStore, SqlStore]) -> None:
    names = [f"s{number}" for number in range(5)]

    async def work(store: SqlStore, order: Sequence[str]) -> None:
        for turn in range(15):
            requests = [AppendRequest(TENANT, ref(name), [draft("x")], NOW, create=new_session(name)) for name in order]
            await asyncio.gather(*(store.append(request) for request in requests))
            name = order[turn % len(order)]
            await store.update_session(TENANT, ref(name), SessionChange(frozenset({"labels"}), NOW, labels={"turn": str(turn)}))
            await compact(store, [], placed(None, draft("summary", synthetic=True)), of=ref(name))

    async with asyncio.timeout(60):
        await asyncio.gather(*(work(store, order) for store in servers for order in (names, names[::-1], names[1:4])))
    found = await feed(servers[0])
    assert len(found) == len(names)
    for rows in found.values():
        assert len({row.xid for row in rows}) > 15
        check(rows)


async def test_a_session_that_is_extended_while_it_is_about_to_be_swept_survives(
    servers: tuple[SqlStore, SqlStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = servers
    for name in ("s1", "s2"):
        await create(one, name, expire_time=NOW - 1)
    free, change = PostgresLocks.try_acquire, SessionChange(frozenset({"expiry"}), NOW, expire_time=NOW + 1)

    def late(
        locks: PostgresLocks, connection: Connection, names: Collection[SessionName], **options: int
    ) -> Collection[SessionName]:
        await_only(other.update_session(TENANT, ref("s1"), change))
        return free(locks, connection, names, **options)

    monkeypatch.setattr(PostgresLocks, "try_acquire", late)
    assert await one.delete_expired(TENANT, NOW, 10) == 1
    assert (await one.get_session(TENANT, ref("s1"))).expire_time == NOW + 1
