"""Deleting long sessions: nothing finds their events any more, and the events are removed behind, in slices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.candidates import caught_up
from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.feed import follow, kinds, settled
from tests.support.sessions import TENANT, append, create, new_session, read, ref, search
from threadkeep_server.domain.errors import AmbiguousSession, SessionNotFound
from threadkeep_server.domain.feed import FeedScope
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.events import Appended
from threadkeep_server.store.contract.maintenance import Totals
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.log.group_unit import Decided, GroupUnit, Request
from threadkeep_server.store.sql.log.slices.removals import REMOVED_AT_ONCE, removals
from threadkeep_server.store.sql.log.unit_runner import UnitRunner
from threadkeep_server.store.sql.schema.tables import event_text, events
from threadkeep_server.store.sql.store import SqlStore

from .slices import Opener, emptied, rows, without_slices

MANY = 2 * REMOVED_AT_ONCE + 500


class Paced:
    """Units of a remover, which continues after each slice when somebody has looked."""

    def __init__(self, units: UnitRunner) -> None:
        self.read, self._write = units.read, units.write
        self.looked = asyncio.Event()
        self.free = False

    async def write(self, unit: Callable[[sa.Connection], Any]) -> Any:
        removed = await self._write(unit)
        self.looked.clear()
        if not self.free:
            await self.looked.wait()
        return removed


async def filled(store: SqlStore, count: int, session_id: str = "s1", **fields: Any) -> None:
    await create(store, session_id, **fields)
    for start in range(0, count, 500):
        name = ref(session_id, user=fields.get("user", "alice"))
        await append(store, *(draft(f"hello {start + n}") for n in range(min(500, count - start))), to=name)


async def indexed(store: SqlStore) -> None:
    await settled(store)
    await caught_up(store)


async def removed(store: SqlStore, left: int) -> None:
    await emptied(store, removals)
    assert await rows(store, events) == left


async def test_nothing_finds_the_events_of_a_deleted_session_before_they_are_removed(opener: Opener) -> None:
    async with without_slices(opener) as store:
        await filled(store, MANY)
        await filled(store, 1, "s2", user="bob")
        await indexed(store)
        changes = await follow(store)
        assert sum(map(len, await store.change_events(changes, with_text=True))) == MANY + 1
        assert await store.delete_session(TENANT, ref()) == MANY
        with pytest.raises(SessionNotFound):
            await store.get_session(TENANT, ref())
        assert await read(store) == []
        assert await search(store, "hello", UserScope("alice")) == []
        assert sum(map(len, await store.change_events(changes, with_text=True))) == 1
        assert kinds(await follow(store, FeedScope(TENANT, *ref()))) == "deleted"
        assert (await store.info(TENANT, totals=True)).totals == Totals(1, 1)
        await indexed(store)
        assert (await rows(store, event_text), await rows(store, events)) == (1, MANY + 1)


async def test_a_server_removes_what_another_one_left(opener: Opener) -> None:
    async with without_slices(opener) as store:
        await filled(store, MANY)
        await store.delete_session(TENANT, ref())
        await filled(store, 3)
    async with opener() as store:
        await removed(store, left=3)
        assert [event.seq for event in await read(store)] == [1, 2, 3]


async def test_others_append_while_events_are_removed(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opener() as store:
        paced = Paced(store._units)
        monkeypatch.setattr(store._remover, "_units", paced)
        await filled(store, 6 * REMOVED_AT_ONCE)
        await create(store, "other")
        assert await store.delete_session(TENANT, ref()) == 6 * REMOVED_AT_ONCE
        left: list[int] = []
        for _ in range(1000):
            await append(store, draft("meanwhile"), to=ref("other"))
            left.append(await rows(store, events) - len(left) - 1)
            paced.free = not left[-1]
            paced.looked.set()
            if paced.free:
                break
        assert {count for count in left if 0 < count < 6 * REMOVED_AT_ONCE}, "removed in one transaction"
        await removed(store, left=len(left))


async def test_expired_sessions_are_removed_within_the_same_limit(opener: Opener) -> None:
    async with without_slices(opener) as store:
        for number in range(3):
            await filled(store, REMOVED_AT_ONCE // 2 + 100, f"s{number}", expire_time=NOW + 1)
        assert await store.delete_expired(TENANT, NOW + 2, 10) == 3
        assert await rows(store, removals) == 2
        assert (await store.info(TENANT, totals=True)).totals == Totals(0, 0)
    async with opener() as store:
        await removed(store, left=0)


async def test_deletions_at_the_same_time_are_one_transaction_within_the_same_limit(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = REMOVED_AT_ONCE // 2 + 100
    groups: list[int] = []
    decide = GroupUnit.__call__

    def counted(unit: GroupUnit, connection: sa.Connection, requests: Sequence[Request], wait_ms: int) -> Decided:
        groups.append(len(requests))
        return decide(unit, connection, requests, wait_ms)

    async with without_slices(opener) as store:
        for number in range(3):
            await filled(store, each, f"s{number}", labels={"a": "b"})
        monkeypatch.setattr(GroupUnit, "__call__", counted)
        deletions = [store.delete_session(TENANT, ref(f"s{number}")) for number in (0, 1, 2, 2, 3)]
        assert await asyncio.gather(*deletions) == [each, each, each, None, None]
        assert groups == [5]
        assert await rows(store, removals) == 2
        assert (await store.info(TENANT, totals=True)).totals == Totals(0, 0)
        assert kinds(await follow(store)).split().count("deleted") == 3
    async with opener() as store:
        await removed(store, left=0)


async def test_a_session_is_created_again_in_the_transaction_that_deletes_it(opener: Opener) -> None:
    async with opener() as store:
        await filled(store, 3)
        created, deleted, appended, missing = await asyncio.gather(
            store.create_session(TENANT, new_session(), return_existing=False),
            store.delete_session(TENANT, ref()),
            append(store, draft("again")),
            append(store, draft("lost"), to=ref("s2")),
            return_exceptions=True,
        )
        assert deleted == 3
        assert isinstance(created, tuple)
        assert created[1]
        assert isinstance(appended, Appended)
        assert [event.seq for event in appended.events] == [1]
        assert isinstance(missing, SessionNotFound)
        assert [event.seq for event in await read(store)] == [1]


async def test_a_deletion_of_an_ambiguous_session_fails_alone(opener: Opener) -> None:
    async with opener() as store:
        await filled(store, 1)
        for user in ("alice", "bob"):
            await create(store, "same", user=user)
        bare = store.delete_session(TENANT, SessionRef("", "", "same"))
        ambiguous, deleted = await asyncio.gather(bare, store.delete_session(TENANT, ref()), return_exceptions=True)
        assert isinstance(ambiguous, AmbiguousSession)
        assert deleted == 1
        for user in ("alice", "bob"):
            assert await store.delete_session(TENANT, SessionRef("shop", user, "same")) == 0


async def test_the_newest_session_dates_a_store_whose_feed_is_trimmed(opener: Opener) -> None:
    async with opener(options=SqlOptions(search_index=False)) as store:
        await create(store, create_time=NOW - 5)
        while not await store.trim_feed(NOW + 1, 100):  # noqa: ASYNC110 - on PostgreSQL, until the change is settled
            await asyncio.sleep(0)
        assert ((await store.feed_state()).oldest_time, (await store.sweep_facts(NOW)).newest) == (None, NOW - 5)
