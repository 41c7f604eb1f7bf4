"""Compactions of many events: archived at once for every reader, and marked behind it in slices."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from sqlalchemy.util import await_only

from tests.store.rows.compaction import ACTIVE, named, summary
from tests.support.clock import NOW
from tests.support.codec import call, draft, parse, result, texts
from tests.support.feed import follow
from tests.support.sessions import TENANT, append, compact, create, placed, read, ref, search
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.errors import EventIdConflict, EventNotFound
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Role
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.compaction import CompactionRequest
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.compaction import selections
from threadkeep_server.store.sql.compaction import store as compaction_store
from threadkeep_server.store.sql.log.slices import archivings as slices
from threadkeep_server.store.sql.log.slices.archivings import archivings, listed
from threadkeep_server.store.sql.log.writing.window_places import WindowPlaces
from threadkeep_server.store.sql.schema.tables import events
from threadkeep_server.store.sql.store import SqlStore

from .slices import Opener, emptied, rows, without_slices

FEW = 3
"""What the patched store archives at once, so that tests need few events."""


@pytest.fixture(autouse=True)
def _few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "ARCHIVED_AT_ONCE", FEW)
    monkeypatch.setattr(selections, "ARCHIVED_AT_ONCE", FEW)


def numbered(count: int) -> list[str]:
    return [f"e{number}" for number in range(1, count + 1)]


async def filled(store: Store, count: int, session_id: str = "s1") -> None:
    await create(store, session_id)
    await append(store, draft("prompt", event_id="prompt", role=Role.SYSTEM), to=ref(session_id))
    await append(store, *named(*numbered(count)), to=ref(session_id))


async def marked(store: SqlStore) -> int:
    return await rows(store, events, events.c.archived)


async def context(store: Store, last_n: int | None = None) -> list[str]:
    return texts((await store.get_context(TENANT, ref(), ContextSpec(last_n=last_n), 1 << 40)).events)


async def window(store: Store) -> Sequence[str]:
    return [event.event_id for event in (await store.read_window(TENANT, ref(), with_text=False)).events]


async def test_unmarked_events_are_archived_for_every_reader(opener: Opener) -> None:
    async with without_slices(opener) as store:
        await filled(store, 10)
        await filled(store, 10, "other")
        appended = await follow(store)
        await compact(store, numbered(8), placed("e9", summary("sum")), at=0)
        assert (await marked(store), await rows(store, archivings)) == (0, 1)
        left = ["prompt", "sum", "e9", "e10"]
        assert await context(store) == await context(store, last_n=4) == left
        assert await window(store) == texts(await read(store, ACTIVE)) == left
        assert {parse(event).event_id for event in await read(store) if event.archived} == set(numbered(8))
        assert (await store.get_event(TENANT, ref(), "e8")).archived
        assert not (await store.get_event(TENANT, ref(), "e9")).archived
        hits = await search(store, "e", UserScope("alice"))
        assert {(hit.ref.session_id, hit.event.seq) for hit in hits if hit.event.archived} == {("s1", n) for n in range(2, 10)}
        active = await search(store, EventFilter(keyword="e8", exclude_archived=True), UserScope("alice"))
        assert [hit.ref.session_id for hit in active] == ["other"]
        added = [event for change in await store.change_events(appended, with_text=False) for event in change]
        assert [event.archived for event in added] == [False, *[True] * 8, *[False] * 2, *[False] * 11]
        session = await store.get_session(TENANT, ref())
        assert session.window.events == 4
        await append(store, draft("next", event_id="next"))
        assert await context(store) == [*left, "next"]


EVEN = [f"e{number}" for number in range(2, 11, 2)]
ODD = [f"e{number}" for number in range(1, 11, 2)]
"""Of ten events; neither is a prefix."""


async def test_unmarked_events_between_active_ones_are_archived_for_every_reader(opener: Opener) -> None:
    async with without_slices(opener) as store:
        await filled(store, 10)
        await filled(store, 10, "other")
        appended = await follow(store)
        await compact(store, EVEN, placed("e3", summary("sum")), at=0)
        assert (await marked(store), await rows(store, archivings), await rows(store, listed)) == (0, 1, 5)
        left = ["prompt", "e1", "sum", *ODD[1:]]
        assert await window(store) == texts(await read(store, ACTIVE)) == left
        assert set(await context(store)) == set(await context(store, last_n=7)) == set(left)
        assert {parse(event).event_id for event in await read(store) if event.archived} == set(EVEN)
        hits = await search(store, EventFilter(keyword="e", exclude_archived=True), UserScope("alice"))
        assert len([hit for hit in hits if hit.ref.session_id == "s1"]) == len(ODD)
        assert len([hit for hit in hits if hit.ref.session_id == "other"]) == 10
        added = [event for change in await store.change_events(appended, with_text=False) for event in change]
        assert sum(event.archived for event in added) == 5
        assert (await store.get_session(TENANT, ref())).window.events == 7


async def test_a_server_marks_what_another_one_listed(opener: Opener) -> None:
    async with without_slices(opener) as store:
        await filled(store, 10)
        await compact(store, EVEN)
        before = await read(store)
    async with opener() as store:
        await emptied(store, archivings)
        assert (await marked(store), await rows(store, listed)) == (5, 0)
        assert await read(store) == before


async def test_a_compaction_marks_what_the_one_before_listed(opener: Opener) -> None:
    async with without_slices(opener) as store:
        await filled(store, 10)
        await compact(store, EVEN)
        await compact(store, ["e1"])
        assert (await marked(store), await rows(store, archivings), await rows(store, listed)) == (6, 0, 0)
        assert await window(store) == ["prompt", *ODD[1:]]


async def test_a_prefix_and_a_listing_are_archived_together(opener: Opener) -> None:
    async with without_slices(opener) as store:
        await filled(store, 14)
        await compact(store, [*numbered(4), *(f"e{number}" for number in range(6, 14, 2))])
        assert (await marked(store), await rows(store, listed)) == (0, 4)
        left = ["prompt", "e5", "e7", "e9", "e11", "e13", "e14"]
        assert await window(store) == await context(store) == left
    async with opener() as store:
        await emptied(store, archivings)
        assert (await marked(store), await rows(store, listed)) == (8, 0)
        assert await window(store) == left


async def test_the_listing_of_a_refused_compaction_is_removed(opener: Opener) -> None:
    async with without_slices(opener) as store:
        await filled(store, 10)
        with pytest.raises(EventIdConflict):
            await compact(store, EVEN, placed("e3", draft("again", event_id="e5")))
        assert (await rows(store, archivings), await rows(store, listed)) == (0, 0)
        assert await window(store) == ["prompt", *numbered(10)]


@pytest.mark.parametrize(("hours", "kept"), [(0, 5), (2, 0)])
async def test_the_listing_of_a_stopped_server_is_removed_after_an_hour(
    opener: Opener, monkeypatch: pytest.MonkeyPatch, hours: int, kept: int
) -> None:
    async def stopped(*_: object) -> None:
        raise ConnectionResetError

    now = time.time_ns()
    async with without_slices(opener) as store:
        await filled(store, 10)
        with monkeypatch.context() as patched:
            patched.setattr(compaction_store, "compact_queries", SimpleNamespace())
            patched.setattr(compaction_store.SqlCompactions, "_remove", stopped)
            with pytest.raises(ConnectionResetError):
                await compact(store, EVEN)
        assert await rows(store, listed) == 5
        monkeypatch.setattr(time, "time_ns", lambda: now + hours * 3600 * 10**9)
        await compact(store, ODD)
        assert await rows(store, listed) == kept + 5
        assert await window(store) == ["prompt", *EVEN]


async def test_others_append_while_events_are_listed(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    add, lengths = compaction_store.SqlCompactions._add, []

    async def adding(self: compaction_store.SqlCompactions, listing: int, keys: Sequence[int]) -> None:
        await add(self, listing, keys)
        lengths.append(len(keys))
        await append(store, draft("meanwhile"))

    monkeypatch.setattr(compaction_store.SqlCompactions, "_add", adding)
    async with without_slices(opener) as store:
        await filled(store, 10)
        await compact(store, EVEN)
        assert lengths == [FEW, 2]
        assert len(await window(store)) == 1 + 5 + 2


async def test_a_server_marks_what_another_one_left(opener: Opener) -> None:
    async with without_slices(opener) as store:
        await filled(store, 10)
        await compact(store, numbered(8))
        before = await read(store)
    async with opener() as store:
        await emptied(store, archivings)
        assert await marked(store) == 8
        assert await read(store) == before


async def test_a_compaction_marks_what_the_one_before_left(opener: Opener) -> None:
    async with without_slices(opener) as store:
        await filled(store, 12)
        await compact(store, numbered(5), placed("e6", summary("one")))
        with pytest.raises(EventNotFound):
            await compact(store, ["e5", "e6"])
        assert (await marked(store), await rows(store, archivings)) == (5, 0)
        await compact(store, ["one", *numbered(10)[5:]], placed("e11", summary("two")))
        assert await rows(store, archivings) == 1
        assert await window(store) == await context(store) == ["prompt", "two", "e11", "e12"]
        await compact(store, ["two"])
        assert (await marked(store), await rows(store, archivings)) == (12, 0)
        assert await window(store) == ["prompt", "e11", "e12"]


async def test_events_that_are_inserted_before_archived_ones_stay_active(opener: Opener) -> None:
    async with without_slices(opener) as store:
        await filled(store, 10)
        await append(store, draft("late", event_id="late", role=Role.SYSTEM))
        await append(store, draft("end", event_id="end"))
        await compact(store, numbered(10), placed("late", draft("new", event_id="new")))
        assert await window(store) == ["prompt", "new", "late", "end"]
        assert await context(store) == ["late", "new", "end"]
        await compact(store, ["new", "end"], placed("prompt", draft("first", event_id="first")))
        assert await window(store) == ["first", "prompt", "late"]


async def test_room_made_among_unmarked_events_keeps_them_archived(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = []
    make_room = WindowPlaces._make_room

    def noted(places: WindowPlaces, high: int) -> None:
        moved.append(high)
        make_room(places, high)

    monkeypatch.setattr(WindowPlaces, "_make_room", noted)
    async with without_slices(opener) as store:
        await filled(store, 2)
        spaced, dense = [f"i{number}" for number in range(6)], [f"z{number}" for number in range(10)]
        for name in spaced:
            await compact(store, [], placed("e2", draft(name, event_id=name)))
        for name in dense:  # each halves a gap of 1,024
            await compact(store, [], placed("i5", draft(name, event_id=name)))
        assert not moved
        await compact(store, ["e1", *spaced[:5], *dense], placed("i5", draft("x", event_id="x")))
        assert moved
        assert await rows(store, archivings) == 1
        assert await window(store) == await context(store) == ["prompt", "x", "i5", "e2"]


async def test_a_deleted_session_leaves_nothing_to_mark(opener: Opener) -> None:
    async with without_slices(opener) as store:
        await filled(store, 10)
        await compact(store, numbered(8))
        await store.delete_session(TENANT, ref())
        assert (await rows(store, archivings), await rows(store, events)) == (0, 0)


async def test_others_append_while_events_are_marked(opener: Opener) -> None:
    async with opener() as store:
        await filled(store, 60)
        await create(store, "other")
        await compact(store, numbered(60))
        seen = set()
        async with asyncio.timeout(60):
            while await rows(store, archivings):
                seen.add(await marked(store))
                await append(store, draft("meanwhile"), to=ref("other"), now=NOW)
        assert await marked(store) == 60
        assert seen - {0, 60}, "marked in one transaction"


async def test_a_window_without_text_has_the_bodies_of_tool_events_alone(opener: Opener) -> None:
    async with opener() as store:
        await filled(store, 5)
        await append(store, call("c", event_id="call"), result("c", event_id="result"))
        read = await store.read_window(TENANT, ref(), with_text=False)
        assert [event.event_id for event in read.events] == ["prompt", *numbered(5), "call", "result"]
        assert read.bodies.keys() == {"call", "result"}


async def test_others_append_while_events_are_selected(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engines hold a session, and SQLite all of them, from the first write of a transaction to its end."""
    loop = asyncio.get_running_loop()
    selected: list[CompactionRequest] = []

    def selecting(connection: sa.Connection, request: CompactionRequest) -> selections.Selection | None:
        meanwhile = asyncio.wait_for(append(store, draft("meanwhile", event_id="meanwhile")), 30)
        if connection.dialect.name == "sqlite":  # in the thread of its connection
            asyncio.run_coroutine_threadsafe(meanwhile, loop).result()
        else:
            await_only(meanwhile)
        selected.append(request)
        return selections.select_ahead(connection, request)

    monkeypatch.setattr(compaction_store, "select_ahead", selecting)
    async with opener() as store:
        await filled(store, 10)
        await compact(store, numbered(8))
        assert len(selected) == 1
        assert await window(store) == ["prompt", "e9", "e10", "meanwhile"]


async def test_an_outdated_selection_is_made_again(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    def outdated(connection: sa.Connection, request: CompactionRequest) -> selections.Selection:
        selection = selections.select_ahead(connection, request)
        assert selection is not None
        return replace(selection, window_version=99, seqs=(), mark=(), through=None)

    monkeypatch.setattr(compaction_store, "select_ahead", outdated)
    async with opener() as store:
        await filled(store, 10)
        assert (await compact(store, numbered(8))).compaction.archived == 8
        assert await window(store) == ["prompt", "e9", "e10"]
