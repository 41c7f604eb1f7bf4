"""States that appends, patches, rewinds and removals change, on two servers: each store knows the same of every moment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.feed import follow
from tests.support.removals import pop, rewind
from tests.support.runs.thoroughness import on_stores
from tests.support.sessions import append, create, ref
from threadkeep_server.domain.errors import ThreadkeepError
from threadkeep_server.domain.feed import FeedScope, Position
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.state.state import StatePatch, StateQuery, StateScope, state_name
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.inmemory import InMemoryStore
from threadkeep_server.store.sql.store import open_store

KEYS, IDS = ("a", "b", "c", "d"), ("s1", "s2")
_VALUES = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["1", "2", "null"]), max_size=3)
PATCHES = st.builds(
    lambda values, gone: StatePatch(values, tuple(sorted(gone - values.keys()))),
    _VALUES,
    st.sets(st.sampled_from(KEYS), max_size=2),
).filter(bool)
_SESSION = PATCHES.map(lambda patch: {StateScope.SESSION: patch})
_EXPECTED = st.sampled_from([None, None, None, 0, 1, 2, 3, 4])
_APPENDS = st.tuples(
    st.just("append"),
    _SESSION | _SESSION | _SESSION | st.dictionaries(st.sampled_from(StateScope), PATCHES, min_size=1),
    st.sampled_from(["", "", "", "e1", "e2"]),
    _EXPECTED,
)
STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(IDS),
        _APPENDS
        | _APPENDS
        | st.tuples(st.just("group"), st.lists(_SESSION | st.none(), min_size=2, max_size=6))
        | st.tuples(st.just("patch"), st.sampled_from(StateScope), PATCHES, _EXPECTED)
        | st.tuples(st.just("rewind"), st.integers(0, 6))
        | st.tuples(st.just("pop"))
        | st.tuples(st.just("replace")),
    ),
    min_size=3,
    max_size=25,
)


@pytest.fixture
def two(url: str) -> Iterator[tuple[Both, Sequence[Store]]]:
    """Two servers on one database where it has several."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        count = 1 if url.startswith("sqlite") else 2
        opened = [runner.run(stack.enter_async_context(open_store(url, CODEC))) for _ in range(count)]
        try:
            yield Both(runner, opened[0], InMemoryStore(CODEC)), opened
        finally:
            runner.run(stack.aclose())


async def _step(store: Store, tenant: str, number: int, of: SessionRef, step: tuple[Any, ...]) -> Any:
    now = NOW + number
    try:
        match step:
            case ("append", delta, event_id, expected):
                event = draft(event_id or "x", event_id=event_id or f"x{number}")
                wanted = {"state": delta, "expected_log_version": expected}
                done = await append(store, event, to=of, tenant=tenant, now=now, **wanted)
                return done.log_version, done.events
            case ("group", deltas):
                events = [draft("x", event_id=f"x{number}-{place}") for place in range(len(deltas))]
                sent = (
                    append(store, event, to=of, tenant=tenant, now=now, state=delta)
                    for event, delta in zip(events, deltas, strict=True)
                )
                return [done.log_version for done in await asyncio.gather(*sent)]
            case ("patch", scope, patch, expected):
                return await store.patch_state(tenant, state_name(scope, of), patch, now, expected_version=expected)
            case ("rewind", version):
                return (await rewind(store, version=version, of=of, tenant=tenant, now=now)).outcome
            case ("pop",):
                return (await pop(store, of=of, tenant=tenant, now=now)).outcome
        await store.delete_session(tenant, of)
        return (await create(store, of.session_id, tenant=tenant)).ref
    except ThreadkeepError as error:
        return type(error), error.metadata


async def _known(store: Store, tenant: str, after: Position) -> list[Any]:
    """Returns the states of every moment, and what the feed reports of them."""
    found: list[Any] = []
    for name in IDS:
        session, own = await store.get_session(tenant, ref(name)), state_name(StateScope.SESSION, ref(name))
        found.append((session.log_version, session.update_time))
        versions = (None, *range(session.log_version + 1))
        found.append([await store.get_state(tenant, own, StateQuery(as_of=version)) for version in versions])
    shared = [state_name(scope, ref()) for scope in (StateScope.USER, StateScope.APP)]
    found.append([await store.get_state(tenant, name, StateQuery()) for name in shared])
    for session_id in (*IDS, None):
        changes = await follow(store, FeedScope(tenant, "shop", "alice", session_id), after=after)
        found.append([(each.kind, each.ref, each.log_version, each.state) for each in changes])
    return found


@on_stores(60)
@given(steps=STEPS)
def test_every_store_knows_the_same_states_of_every_moment(two: tuple[Both, Sequence[Store]], steps: list[Any]) -> None:
    both, servers = two
    tenant = both.next_name()

    async def check() -> None:
        starts = [await store.feed_head() for store in (both.tested, both.reference)]
        for store in (both.tested, both.reference):
            for name in IDS:
                await create(store, name, tenant=tenant)
        for number, (server, name, step) in enumerate(steps):
            stores = (servers[server % len(servers)], both.reference)
            answers = [await _step(store, tenant, number, ref(name), step) for store in stores]
            assert answers[0] == answers[1]
        known = [await _known(store, tenant, start) for store, start in zip((both.tested, both.reference), starts, strict=True)]
        assert known[0] == known[1]

    both.runner.run(check())
