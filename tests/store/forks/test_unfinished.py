"""Forks that are not finished: nobody sees them, and what is left of them is removed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
import sqlalchemy as sa

from tests.store.engines.slices import emptied, rows
from tests.store.rows.compaction import named
from tests.support.codec import CODEC
from tests.support.forks import copy_few_at_once, fork
from tests.support.moves import move
from tests.support.removals import operation
from tests.support.sessions import TENANT, append, create, read, ref, search
from threadkeep_server.domain.errors import SessionNotFound, StoreUnavailable
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.domain.state.state import StateName, StatePatch, StateScope
from threadkeep_server.store.contract.sessions import SessionQuery
from threadkeep_server.store.sql.forks import copying
from threadkeep_server.store.sql.forks import store as forks_store
from threadkeep_server.store.sql.log.slices.removals import removals
from threadkeep_server.store.sql.schema.forks import unfinished_forks
from threadkeep_server.store.sql.schema.state import past_values, state_values
from threadkeep_server.store.sql.schema.tables import events, sessions
from threadkeep_server.store.sql.store import SqlStore, open_store

Opener = Callable[[], AbstractAsyncContextManager[SqlStore]]
COUNT = 9


@pytest.fixture
def opener(url: str) -> Opener:
    return lambda: open_store(url, CODEC)


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    copy_few_at_once(monkeypatch, 2)


async def filled(store: SqlStore) -> None:
    await create(store)
    name = StateName(StateScope.SESSION, ref())
    for number in range(COUNT):
        await append(store, *named(f"e{number}"))
        await store.patch_state(TENANT, name, StatePatch({"k": str(number)}), 1)


def stop_after(patch: pytest.MonkeyPatch, parts: int, then: Callable[[], Any]) -> None:
    """Has `then` run in the copy of the next part after so many."""
    copied, copy = 0, copying.copy_events

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal copied
        copied += 1
        if copied > parts:
            then()
        return copy(*args, **options)

    patch.setattr(forks_store, "copy_events", counted)


async def left(store: SqlStore) -> list[int]:
    """Returns the numbers of events and values without a session."""
    there = sa.select(sessions.c.id)
    tables = (events.c.session, state_values.c.owner, past_values.c.owner)
    return [await rows(store, column.table, column.not_in(there)) for column in tables]


async def nobody_sees_it(store: SqlStore, of: SessionRef) -> None:
    with pytest.raises(SessionNotFound):
        await store.get_session(TENANT, of)
    assert [each.ref for each in (await store.list_sessions(TENANT, SessionQuery())).sessions] == [ref()]
    assert {hit.ref for hit in await search(store, "e", UserScope("alice"))} == {ref()}
    assert await read(store, of=of) == []


async def removed(store: SqlStore) -> None:
    await emptied(store, unfinished_forks)
    await emptied(store, removals)
    assert await left(store) == [0, 0, 0]


async def test_a_failed_fork_is_removed_at_once(opener: Opener) -> None:
    async with opener() as store:
        await filled(store)
        with pytest.MonkeyPatch.context() as patch:
            stop_after(patch, 3, _fail)
            with pytest.raises(StoreUnavailable):
                await fork(store, operation=operation())
            await nobody_sees_it(store, ref("f"))
        await removed(store)
        made = await fork(store, operation=operation())
        assert (made.last_seq, len(await read(store, of=ref("f")))) == (COUNT, COUNT)


async def test_a_canceled_fork_is_removed_at_once(opener: Opener) -> None:
    async with opener() as store:
        await filled(store)
        started = asyncio.Event()
        with pytest.MonkeyPatch.context() as patch:
            loop = asyncio.get_running_loop()
            stop_after(patch, 1, lambda: loop.call_soon_threadsafe(started.set))
            making = asyncio.create_task(fork(store))
            await started.wait()
            making.cancel()
            with pytest.raises(asyncio.CancelledError):
                await making
        await nobody_sees_it(store, ref("f"))
        await removed(store)


async def test_what_a_server_left_is_removed_by_the_next_one(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opener() as store:
        await filled(store)
        with pytest.MonkeyPatch.context() as patch:
            # The server ends before it can do anything about it.
            patch.setattr(forks_store.SqlForks, "_give_up", _nothing)
            stop_after(patch, 2, _fail)
            with pytest.raises(StoreUnavailable):
                await fork(store)
            assert (await left(store))[:2] == [4, 1]
    monkeypatch.setattr(forks_store, "LEASE_NS", 0)
    monkeypatch.setattr(forks_store, "_POLL_S", 0.01)
    async with opener() as store:
        # PostgreSQL has other servers: there the time of the copy must pass, which it would in a minute.
        await store._units.write(lambda connection: connection.execute(unfinished_forks.update().values(until=1)))
        await removed(store)
        await nobody_sees_it(store, ref("f"))


async def _nothing(*_: object, **__: object) -> None:
    """Nothing."""


async def test_a_fork_that_is_being_copied_is_not_removed(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks_store, "LEASE_NS", 400_000_000)
    monkeypatch.setattr(forks_store, "_POLL_S", 0.001)
    async with opener() as store:
        await filled(store)
        stop_after(monkeypatch, 2, lambda: time.sleep(0.15))
        assert (await fork(store)).last_seq == COUNT
        await removed(store)


def _fail() -> None:
    raise StoreUnavailable("out of order")


async def test_a_fork_whose_session_moves_meanwhile_is_not_made(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new owner has not forked it, and the former one may not read it any more."""
    async with opener() as store:
        await filled(store)
        moving: list[asyncio.Future[Any]] = []
        loop = asyncio.get_running_loop()

        def then() -> None:
            if not moving:
                moving.append(asyncio.ensure_future(move(store), loop=loop))

        stop_after(monkeypatch, 2, lambda: loop.call_soon_threadsafe(then))
        with pytest.raises(SessionNotFound):
            await fork(store)
        assert (await moving[0]).ref == ref(user="bob")
        for user in ("alice", "bob"):
            with pytest.raises(SessionNotFound):
                await store.get_session(TENANT, ref("f", user=user))
