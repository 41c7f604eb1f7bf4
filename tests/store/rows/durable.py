"""What a store that outlives the process owes: rows that close and open it again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from tests.store.rows.compaction import named, summary
from tests.support.clock import NOW
from tests.support.codec import draft, parse, texts
from tests.support.sessions import TENANT, append, compact, create, placed, read, ref, search, session_with
from threadkeep_server.domain.errors import EventIdConflict, VersionMismatch
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Usage
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.compaction import PolicyKey, PolicyScope, StoredPolicy
from threadkeep_server.store.contract.store import Store

Opener = Callable[[], AbstractAsyncContextManager[Store]]


class DurableRows:
    """`open_again` opens the same database each time it is called."""

    async def test_reopening_keeps_the_schema_and_all_data(self, open_again: Opener) -> None:
        async with open_again() as store:
            await session_with(store, draft("a\x00ä", event_id="e1"), draft("b"), labels={"x": "y"}, metadata_json="{}")
            before, events = await store.get_session(TENANT, ref()), await read(store)
            info = await store.info(TENANT, totals=True)
        for _ in range(2):
            async with open_again() as store:
                assert await store.get_session(TENANT, ref()) == before
                assert await read(store) == events
                assert texts(hit.event for hit in await search(store, "Ä", UserScope("alice"))) == ["a\x00ä"]
                reported = await store.info(TENANT, totals=True)
                assert (reported.store_id, reported.schema_version, reported.totals) == (
                    info.store_id,
                    info.schema_version,
                    info.totals,
                )

    async def test_replays_and_conflicts_are_known_after_opening_again(self, open_again: Opener) -> None:
        once = draft("a", event_id="e1")
        async with open_again() as store:
            await create(store)
            await append(store, once)
        async with open_again() as store:
            again = await append(store, once)
            assert [(event.seq, event.replayed) for event in again.events] == [(1, True)]
            with pytest.raises(EventIdConflict):
                await append(store, draft("other", event_id="e1"))
            assert (await append(store, draft("b"))).last_seq == 2

    async def test_closing_completes_accepted_appends(self, open_again: Opener) -> None:
        async with open_again() as store:
            await create(store)
            appends = [asyncio.create_task(append(store, draft(f"m{number}"))) for number in range(20)]
            await asyncio.sleep(0)
        outcomes = await asyncio.gather(*appends, return_exceptions=True)
        acknowledged = {outcome.last_seq for outcome in outcomes if not isinstance(outcome, BaseException)}
        async with open_again() as store:
            stored = {event.seq for event in await read(store)}
        assert acknowledged
        assert acknowledged <= stored

    async def test_compactions_are_stored_after_reopening(self, open_again: Opener) -> None:
        async with open_again() as store:
            await session_with(store, *named("e1", "e2", "e3"))
            await compact(store, ["e1"], placed("e2", summary("sum")), compaction_id="c1", usage=Usage(1, 2, 3))
            await compact(store, (), placed("e2", *named("x")))
            await store.put_policy(StoredPolicy(PolicyKey(TENANT, PolicyScope.SESSION, *ref()), b"body", NOW))
            assert await store.lease(TENANT, ref(), "one", NOW, NOW + 10)
            before = await _everything(store)
        async with open_again() as store:
            assert await _everything(store) == before
            assert not await store.lease(TENANT, ref(), "two", NOW, NOW + 10)
            assert (await compact(store, ["e1"], compaction_id="c1")).replayed
            await compact(store, ["sum"], placed("e2", *named("y")), at=2)
            assert texts(await read(store)) == ["e1", "sum", "x", "y", "e2", "e3"]
            assert (await append(store, *named("e4"))).last_seq == 7


async def _everything(store: Store) -> Any:
    window = await store.read_window(TENANT, ref())
    hits = await search(store, "e", UserScope("alice"))
    compactions = list((await store.list_compactions(TENANT, ref(), 10, None)).compactions)
    return await read(store), window, sorted(hit.event.seq for hit in hits), compactions, list(await store.policies(0))


class SharedRows:
    """Several servers on one database; `open_again` opens it while it is open."""

    async def test_two_openings_at_once_share_one_log(self, open_again: Opener) -> None:
        async with open_again() as one, open_again() as other:
            await create(one)
            await asyncio.gather(*(append(store, draft(f"m{n}")) for n in range(10) for store in (one, other)))
            assert [event.seq for event in await read(one)] == list(range(1, 21))
            assert await read(one) == await read(other)
            await other.delete_session(TENANT, ref())
            await create(other)
            assert (await append(one, draft("new life"))).last_seq == 1
            assert texts(await read(other)) == ["new life"]

    async def test_two_servers_that_compact_and_append_at_once_lose_nothing(self, open_again: Opener) -> None:
        async with open_again() as one, open_again() as other:
            await session_with(one, *named("e"))
            done = await asyncio.gather(
                *(_append_all(store, name) for store, name in ((one, "a"), (other, "b"))),
                *(_compact_often(store, name) for store, name in ((one, "x"), (other, "y"))),
            )
            inserted = [*done[2], *done[3]]
            events = await read(one)
            assert await read(other) == events
            assert sorted(event.seq for event in events) == list(range(1, 42 + len(inserted)))
            stored = [parse(event) for event in events]
            appended = [event for event in stored if not event.synthetic]
            assert [event.seq for event in appended] == sorted(event.seq for event in appended)
            for name in "ab":
                mine = [event.event_id for event in appended if event.event_id.startswith(name)]
                assert mine == [f"{name}{number}" for number in range(20)]
            assert sorted(event.event_id for event in stored if event.synthetic) == sorted(inserted)
            session = await one.get_session(TENANT, ref())
            assert (session.window_version, session.log_version) == (len(inserted), 41 + len(inserted))
            assert session.window.events == sum(not event.archived for event in events)
            hits = await search(other, EventFilter(keywords=tuple("eabxy")), UserScope("alice"))
            assert sorted(hit.event.seq for hit in hits) == sorted(event.seq for event in events)
            records = (await other.list_compactions(TENANT, ref(), 100, None)).compactions
            assert [record.window_version for record in records] == list(range(len(inserted), 0, -1))

    async def test_of_two_servers_one_compacts(self, open_again: Opener) -> None:
        async with open_again() as one, open_again() as other:
            await session_with(one, *named("e1", "e2"))
            attempts = [compact(store, ["e1"], placed("e2", *named(f"{n}")), at=0) for n, store in enumerate((one, other) * 4)]
            outcomes = await asyncio.gather(*attempts, return_exceptions=True)
            assert [type(each) for each in outcomes if isinstance(each, BaseException)] == [VersionMismatch] * 7
            assert len(await read(one)) == 3

    async def test_of_two_servers_one_has_the_lease(self, open_again: Opener) -> None:
        async with open_again() as one, open_again() as other:
            await create(one)
            requested = [store.lease(TENANT, ref(), f"{n}", NOW, NOW + 10) for n, store in enumerate((one, other) * 4)]
            taken = await asyncio.gather(*requested)
            assert sum(taken) == 1
            for store in (one, other):
                await store.release(TENANT, ref(), str(1 - taken.index(True) % 2))
                assert not await store.lease(TENANT, ref(), "new", NOW + 1, NOW + 10)
            await other.release(TENANT, ref(), str(taken.index(True)))
            assert await one.lease(TENANT, ref(), "new", NOW + 1, NOW + 10)

    async def test_a_policy_set_by_one_server_is_returned_by_another(self, open_again: Opener) -> None:
        async with open_again() as one, open_again() as other:
            key = PolicyKey(TENANT, PolicyScope.SERVER)
            bodies = [b"%d" % n for n in range(8)]
            puts = zip((one, other) * 4, bodies, strict=True)
            await asyncio.gather(*(store.put_policy(StoredPolicy(key, body, NOW)) for store, body in puts))
            (reported,) = await one.policies(0)
            assert reported.body in bodies
            assert list(await other.policies(0)) == [reported]


async def _append_all(store: Store, name: str) -> list[str]:
    return [(await append(store, *named(f"{name}{number}"))).events[0].event_id for number in range(20)]


async def _compact_often(store: Store, name: str) -> list[str]:
    """Archives the oldest and inserts before the newest; what was inserted."""
    inserted = []
    for number in range(15):
        window = await store.read_window(TENANT, ref())
        oldest, newest = window.events[0].event_id, window.events[-1].event_id
        made = summary(f"{name}{number}")
        with contextlib.suppress(VersionMismatch):
            gone = [oldest] if oldest != newest else []
            await compact(store, gone, placed(newest, made), at=window.session.window_version)
            inserted.append(made.event_id)
    return inserted
