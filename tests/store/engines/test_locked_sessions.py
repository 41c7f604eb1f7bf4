"""PostgreSQL: somebody else's transaction has locked a session; the other sessions are written, and it is when it is free."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, create, read, ref
from threadkeep_server.domain.errors import StoreUnavailable
from threadkeep_server.domain.model import SessionChange
from threadkeep_server.store.sql.engine.postgres_dialect import PostgresLocks
from threadkeep_server.store.sql.log import set_aside
from threadkeep_server.store.sql.store import SqlStore, open_store

pytestmark = pytest.mark.postgres

# By a person in a console, and by a server that is frozen between the statements of a transaction.
ROW = "SELECT 1 FROM sessions WHERE session_id = 's1' FOR UPDATE"
NAME = f"SELECT pg_advisory_xact_lock({PostgresLocks().keys([(TENANT, 's1')])[0]})"
LOCKS = pytest.mark.parametrize("lock", [ROW, NAME], ids=["row", "name"])


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[SqlStore]:
    async with open_store(postgres_url, CODEC) as store:
        for name in ("s1", "s2"):
            await create(store, name)
            await append(store, draft("first"), to=ref(name))
        yield store


@asynccontextmanager
async def holding(url: str, lock: str) -> AsyncIterator[None]:
    """Somebody holds the lock."""
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        async with connection.transaction():
            await connection.execute(lock)
            yield
    finally:
        await connection.close()


async def seqs(store: SqlStore, name: str) -> Sequence[int]:
    return [event.seq for event in await read(store, of=ref(name))]


@LOCKS
async def test_appends_to_other_sessions_are_answered_while_one_is_locked(
    store: SqlStore, postgres_url: str, lock: str
) -> None:
    async with holding(postgres_url, lock):
        stuck = [asyncio.ensure_future(append(store, draft(f"{n}"), to=ref("s1"))) for n in range(3)]
        async with asyncio.timeout(20):  # the statements of a transaction may wait for 30 s
            for _ in range(5):
                await append(store, draft("other"), to=ref("s2"))
            await create(store, "s3")
        assert not any(each.done() for each in stuck)
    answers = await asyncio.gather(*stuck)
    assert [each.last_seq for each in answers] == [2, 3, 4]
    assert await seqs(store, "s1") == [1, 2, 3, 4]
    assert await seqs(store, "s2") == [1, 2, 3, 4, 5, 6]


@LOCKS
async def test_a_write_of_a_session_that_stays_locked_says_so(
    store: SqlStore, postgres_url: str, lock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_aside, "LONGEST_WAIT_S", 0.1)
    writes: list[Any] = [
        lambda: append(store, draft("x"), to=ref("s1")),
        lambda: store.update_session(TENANT, ref("s1"), SessionChange(frozenset({"metadata_json"}), NOW, metadata_json="{}")),
        lambda: store.delete_session(TENANT, ref("s1")),
    ]
    async with holding(postgres_url, lock):
        for write in writes:
            with pytest.raises(StoreUnavailable, match="has locked session 's1'"):
                await write()
    assert await seqs(store, "s1") == [1]
