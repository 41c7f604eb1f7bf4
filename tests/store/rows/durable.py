"""What a store that outlives the process owes: rows that close and open it again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from recollect_server.domain.errors import EventIdConflict
from recollect_server.store.base import Store, UserScope
from tests.support.codec import draft, texts
from tests.support.sessions import TENANT, append, create, read, ref, search, session_with

Opener = Callable[[], AbstractAsyncContextManager[Store]]


class DurableRows:
    """`open_again` opens the same database each time it is called."""

    async def test_r_41_opening_again_makes_no_schema_anew_and_finds_everything(self, open_again: Opener) -> None:
        async with open_again() as store:
            await session_with(store, draft("a\x00ä", event_id="e1"), draft("b"), labels={"x": "y"}, metadata_json="{}")
            before, events = await store.get_session(TENANT, ref()), await read(store)
            info = await store.info(TENANT, totals=True)
        for _ in range(2):
            async with open_again() as store:
                assert await store.get_session(TENANT, ref()) == before
                assert await read(store) == events
                assert texts(hit.event for hit in await search(store, "Ä", UserScope("alice"))) == ["a\x00ä"]
                told = await store.info(TENANT, totals=True)
                assert (told.store_id, told.schema_version, told.totals) == (info.store_id, info.schema_version, info.totals)

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

    async def test_closing_completes_what_was_accepted(self, open_again: Opener) -> None:
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
