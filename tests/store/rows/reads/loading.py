"""Sessions that are loaded with their state and their log, as of one moment."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft, texts
from tests.support.sessions import TENANT, append, create, new_session, ref
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.errors import AmbiguousSession, SessionNotFound, VersionMismatch
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Role, SessionRef
from threadkeep_server.domain.state.state import StatePage, StatePatch, StateScope
from threadkeep_server.store.contract.events import ContextPage, EventPage, EventQuery
from threadkeep_server.store.contract.loading import Loaded, LoadQuery
from threadkeep_server.store.contract.sessions import SessionOrder, SessionQuery
from threadkeep_server.store.contract.store import Store

DELTA = {
    StateScope.SESSION: StatePatch({"s": "1"}),
    StateScope.USER: StatePatch({"u": "2"}),
    StateScope.APP: StatePatch({"a": "3"}),
}
WRITERS, ROUNDS = 8, 6


async def load(store: Store, to: SessionRef | None = None, **query: Any) -> Loaded:
    return await store.load_session(TENANT, to or ref(), LoadQuery(**query))


class LoadRows:
    async def test_a_session_is_loaded_as_its_own_reads_return_it(self, store: Store) -> None:
        await create(store)
        await append(store, draft("one"), draft("two", role=Role.ASSISTANT), draft("three"), state=DELTA)
        query = EventQuery(EventFilter(exact_last_n=2), limit=10)
        for to in (ref(), SessionRef("", "", "s1")):
            loaded = await load(store, to, log=query, newest=True)
            assert loaded.session == await store.get_session(TENANT, ref())
            assert loaded.states == {
                StateScope.SESSION: StatePage({"s": "1"}, 1),
                StateScope.USER: StatePage({"u": "2"}, 1),
                StateScope.APP: StatePage({"a": "3"}, 1),
            }
            assert loaded.newest is not None
            assert texts([loaded.newest]) == ["three"]
            assert loaded.log == await store.list_events(TENANT, ref(), query)
        context = await load(store, log=ContextSpec(last_n=1), context_bytes=1 << 20, scopes=[StateScope.USER])
        assert context.log == await store.get_context(TENANT, ref(), ContextSpec(last_n=1), 1 << 20)
        assert list(context.states) == [StateScope.USER]
        assert (context.newest, (await load(store)).log) == (None, None)

    async def test_a_session_without_events_and_state_is_loaded(self, store: Store) -> None:
        created = await create(store)
        loaded = await load(store, log=EventQuery(), newest=True)
        assert loaded == Loaded(created, dict.fromkeys(StateScope, StatePage()), None, EventPage([]))

    async def test_a_session_that_is_unknown_or_ambiguous_is_not_loaded(self, store: Store) -> None:
        with pytest.raises(SessionNotFound):
            await load(store, log=EventQuery())
        await create(store)
        await create(store, user="bob")
        with pytest.raises(AmbiguousSession):
            await load(store, SessionRef("", "", "s1"))

    async def test_a_page_of_a_loaded_session_continues_in_its_list(self, store: Store) -> None:
        await create(store)
        await append(store, *(draft(str(n)) for n in range(5)))
        first = (await load(store, log=EventQuery(limit=2))).log
        assert isinstance(first, EventPage)
        rest = await store.list_events(TENANT, ref(), EventQuery(cursor=first.cursor))
        assert texts([*first.events, *rest.events]) == list("01234")

    async def test_everything_together_is_limited(self, store: Store) -> None:
        await create(store)
        large = dict.fromkeys("abc", '"' + "x" * 300 + '"')
        await append(store, *(draft("y" * 400) for _ in range(5)), state=dict.fromkeys(DELTA, StatePatch(large)))
        loaded = await load(store, log=EventQuery(), newest=True, max_bytes=2000)
        own, of_user, of_app = (loaded.states[scope] for scope in StateScope)
        assert (list(own.values), own.more) == (["a", "b", "c"], False)
        assert (of_user.values, of_user.more, of_user.version, of_app.more) == ({}, True, 1, True)
        assert loaded.newest is not None
        assert isinstance(loaded.log, EventPage)
        assert (len(loaded.log.events), loaded.log.cursor is None) == (1, False)
        assert (await load(store, newest=True, max_bytes=600)).newest is None
        context = (await load(store, log=ContextSpec(), max_bytes=3000)).log
        assert isinstance(context, ContextPage)
        assert context.truncated

    async def test_what_concurrent_writers_commit_together_is_loaded_together(self, store: Store) -> None:
        """Each append writes the number of its event into the state of all scopes."""
        await create(store)
        running = WRITERS

        async def write(writer: int) -> None:
            nonlocal running
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
                seen = await load(store, scopes=[StateScope.APP])
                number = str(seen.session.last_seq + 1)
                delta = dict.fromkeys(StateScope, StatePatch({"seq": number, str(writer): number}))
                with suppress(VersionMismatch):
                    await append(store, draft(number), expected_log_version=seen.session.log_version, state=delta)
            running -= 1

        async def read(log: EventQuery | ContextSpec) -> int:
            seen = set()
            while running:
                await asyncio.sleep(0)  # memory suspends nowhere
                loaded = await load(store, log=log, newest=True, context_bytes=1 << 20)
                seen.add(loaded.session.last_seq)
                if not loaded.session.last_seq:
                    continue
                number = str(loaded.session.last_seq)
                assert [page.values["seq"] for page in loaded.states.values()] == [number] * 3
                assert isinstance(loaded.log, EventPage | ContextPage)
                assert loaded.newest is not None
                assert texts([loaded.newest]) == texts(loaded.log.events[-1:]) == [number]
                assert [page.version for page in loaded.states.values()] == [loaded.session.log_version] * 3
            return len(seen)

        readers = [read(EventQuery(EventFilter(exact_last_n=3), limit=3)), read(ContextSpec(last_n=2))]
        counts = await asyncio.gather(*readers, *(write(n) for n in range(WRITERS)))
        assert (await store.get_session(TENANT, ref())).last_seq >= ROUNDS
        assert min(each for each in counts if each is not None) > 1, "reads and writes alternated"


class ListedStateRows:
    async def test_each_session_is_listed_with_its_state_if_it_fits(self, store: Store) -> None:
        large = '"' + "x" * 1000 + '"'
        for number, state in enumerate(({"n": "1"}, {}, {"large": large, "m": "1"}, {"é": "null", "e": "2"})):
            new = new_session(f"s{number}", create_time=NOW + number)
            new.state = state
            await store.create_session(TENANT, new, return_existing=False)
        listed = SessionQuery(states=True, order=SessionOrder.CREATED_FIRST, max_bytes=200)
        page = await store.list_sessions(TENANT, listed)
        assert page.states == [
            StatePage({"n": "1"}, 1),
            StatePage(),
            StatePage({}, 1, more=True),
            StatePage({"e": "2", "é": "null"}, 1),
        ]
        assert (await store.list_sessions(TENANT, SessionQuery())).states == ()
