"""After any changes of state, on two servers where there may be two, every store answers at every moment what the reference
does: in pages, loads, forks and the feed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.feed import follow
from tests.support.removals import operation, pop, rewind
from tests.support.runs.thoroughness import on_stores
from tests.support.sessions import append, compact, new_session, ref
from threadkeep_server.domain.errors import ThreadkeepError
from threadkeep_server.domain.feed import FeedScope, Position
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.state.state import StatePage, StatePatch, StateQuery, StateScope, state_name
from threadkeep_server.store.contract.events import EventQuery
from threadkeep_server.store.contract.forks import ForkRequest
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.loading import LoadQuery
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.inmemory import InMemoryStore
from threadkeep_server.store.sql.store import open_store

IDS = ("s1", "s2")
EVERY = 3
"""A query is read as of one log version in so many, each of an example from another one on; the whole state as of all."""
SHARED = (StateScope.USER, StateScope.APP)
# Few keys, in an order of bytes that is not that of UTF-16; values that JSON libraries would change.
KEYS = st.sampled_from(["a", "a.b", "B", "\uffff", "\U0001f680", "ä"])
VALUES = st.sampled_from(["null", "1", "1.0", '"\\u00e4"', '{"z": 1, "a": [1e400]}'])
PATCHES = st.builds(
    lambda values, removed: StatePatch(values, tuple(sorted(removed - values.keys()))),
    st.dictionaries(KEYS, VALUES, max_size=3),
    st.frozensets(KEYS, max_size=2),
)
SCOPES = st.sampled_from(StateScope)
_SESSION = PATCHES.filter(bool).map(lambda patch: {StateScope.SESSION: patch})
_EXPECTED = st.sampled_from([None, None, None, 0, 1, 2, 3, 4])
_APPENDS = st.tuples(
    st.just("append"),
    _SESSION | _SESSION | _SESSION | st.dictionaries(SCOPES, PATCHES, max_size=3),
    st.sampled_from(["", "", "", "e1", "e2"]),
    _EXPECTED,
)
_CHANGES = (
    _APPENDS
    | _APPENDS
    | st.tuples(st.just("group"), st.lists(_SESSION | st.none(), min_size=2, max_size=6))
    | st.tuples(st.just("patch"), SCOPES, PATCHES, _EXPECTED)
    | st.tuples(st.just("patch"), st.just(StateScope.SESSION), PATCHES, st.none())
    | st.tuples(st.just("compact"))
    | st.tuples(st.just("pop"))
    | st.tuples(st.just("rewind"), st.integers(0, 20))
    | st.tuples(st.just("create"), st.dictionaries(KEYS, VALUES, max_size=3))
    | st.tuples(st.just("delete"))
    | st.tuples(st.just("replace"))
)
STEPS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(IDS), _CHANGES), min_size=3, max_size=25)
QUERIES = st.builds(
    StateQuery,
    keys=st.just(()) | st.lists(KEYS, min_size=1, max_size=3, unique=True).map(tuple),
    prefix=st.sampled_from(["", "", "a", "\U0001f680"]),
    limit=st.integers(1, 3),
    max_bytes=st.sampled_from([1, 12, 1 << 40]),
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


async def _answer(step: Any) -> Any:
    try:
        return await step
    except ThreadkeepError as error:
        return type(error), error.metadata


async def _step(store: Store, tenant: str, number: int, of: SessionRef, step: tuple[Any, ...]) -> Any:
    now = NOW + number
    at: dict[str, Any] = {"of": of, "tenant": tenant, "now": now}
    match step:
        case ("append", delta, event_id, expected):
            event = draft(event_id or "x", event_id=event_id or f"x{number}")
            wanted = {"state": delta or None, "expected_log_version": expected}
            done = await append(store, event, to=of, tenant=tenant, now=now, **wanted)
            return done.log_version, done.events
        case ("group", deltas):
            events = [draft("x", event_id=f"x{number}-{place}") for place in range(len(deltas))]
            pairs = zip(events, deltas, strict=True)
            sent = (append(store, event, to=of, tenant=tenant, now=now, state=delta) for event, delta in pairs)
            return [getattr(done, "log_version", done) for done in await asyncio.gather(*map(_answer, sent))]
        case ("patch", scope, patch, expected):
            return await store.patch_state(tenant, state_name(scope, of), patch, now, expected_version=expected)
        case ("compact",):
            active = (await store.read_window(tenant, of)).events
            return await compact(store, [each.event_id for each in active[:1]], compaction_id=f"c{number}", **at)
        case ("pop",):
            return (await pop(store, **at)).outcome
        case ("rewind", point):  # to one that is, and to the one that is next
            return (await rewind(store, version=point % (await _version(store, tenant, of) + 2), **at)).outcome
        case ("delete",):
            return await store.delete_session(tenant, of)
        case ("replace",):
            return await store.delete_session(tenant, of), await _create(store, tenant, number, of)
    return await _create(store, tenant, number, of, step[1])


async def _create(store: Store, tenant: str, number: int, of: SessionRef, state: Mapping[str, str] | None = None) -> SessionRef:
    new = new_session(of.session_id, create_time=NOW + number)
    made = replace(new, uid=f"uid-{of.session_id}-{number}", state=state or {})
    return (await store.create_session(tenant, made, return_existing=False))[0].ref


async def _version(store: Store, tenant: str, of: SessionRef) -> int:
    return (await store.list_events(tenant, of, EventQuery(limit=1))).log_version


async def _exists(store: Store, tenant: str, of: SessionRef) -> bool:
    return not isinstance(await _answer(store.get_session(tenant, of)), tuple)


async def _pages(store: Store, tenant: str, of: SessionRef, scope: StateScope, query: StateQuery) -> list[StatePage]:
    """Returns the pages of a query, to the last."""
    pages: list[StatePage] = []
    while not pages or pages[-1].more:
        after = list(pages[-1].values)[-1] if pages else ""
        page = await store.get_state(tenant, state_name(scope, of), replace(query, after=after))
        pages.append(StatePage(dict(page.values), page.version, page.more))
    return pages


def _values(pages: Iterable[StatePage]) -> Mapping[str, str]:
    return {key: value for page in pages for key, value in page.values.items()}


async def _present(store: Store, tenant: str, of: SessionRef) -> Mapping[str, str]:
    return _values(await _pages(store, tenant, of, StateScope.SESSION, StateQuery()))


async def _of_session(store: Store, tenant: str, of: SessionRef, queries: Sequence[StateQuery]) -> Any:
    """Returns what every read of a session's state answers, now and as of each log version."""
    loaded = await _answer(store.load_session(tenant, of, LoadQuery(None)))
    if isinstance(loaded, tuple):
        return loaded
    states = {scope: (dict(page.values), page.version) for scope, page in loaded.states.items()}
    moments = range(loaded.session.log_version + 1)
    then = [StateQuery(as_of=at) for at in (None, *moments)]
    then += [replace(each, as_of=at) for place, each in enumerate(queries) for at in (None, *moments[place::EVERY])]
    pages = [await _pages(store, tenant, of, StateScope.SESSION, each) for each in then]
    return loaded.session.log_version, loaded.session.update_time, states, pages


async def _everything(store: Store, tenant: str, queries: Sequence[StateQuery], after: Position) -> Any:
    """Returns what every read of state answers, and what the feed reports."""
    found = [await _of_session(store, tenant, ref(name), queries) for name in IDS]
    found += [await _pages(store, tenant, ref(), scope, each) for scope in SHARED for each in (StateQuery(), *queries)]
    for session_id in (*IDS, None):
        changes = await follow(store, FeedScope(tenant, "shop", "alice", session_id), after=after)
        found.append([(each.kind, each.ref, each.log_version, each.state) for each in changes])
    return found


class _Known:
    """The values of a session after each step, by its log version then."""

    def __init__(self, store: Store, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self._values: dict[SessionRef, dict[int, Mapping[str, str]]] = {ref(name): {} for name in IDS}

    async def note(self, of: SessionRef, kind: str) -> None:
        if kind in ("delete", "replace"):
            self._values[of].clear()
        if await _exists(self._store, self._tenant, of):
            version = await _version(self._store, self._tenant, of)
            self._values[of][version] = await _present(self._store, self._tenant, of)

    async def check(self, tested: Store) -> None:
        for of, values in self._values.items():
            for version, expected in values.items():
                found = await _pages(tested, self._tenant, of, StateScope.SESSION, StateQuery(as_of=version))
                assert _values(found) == expected, "the values before the next change of the log"


@on_stores(50)
@given(steps=STEPS, queries=st.lists(QUERIES, min_size=1, max_size=3), point=st.integers(0, 20))
def test_state_is_that_of_the_reference_at_every_moment(
    two: tuple[Both, Sequence[Store]], steps: list[Any], queries: list[StateQuery], point: int
) -> None:
    both, servers = two
    tenant, stores = both.next_name(), (both.tested, both.reference)

    async def check() -> None:
        starts = [await store.feed_head() for store in stores]
        known = _Known(both.reference, tenant)
        created = [(0, name, ("create", {"a": "1"})) for name in IDS]
        for number, (server, name, step) in enumerate([*created, *steps]):
            asked = (servers[server % len(servers)], both.reference)
            answers = [await _answer(_step(store, tenant, number, ref(name), step)) for store in asked]
            assert answers[0] == answers[1], step
            await known.note(ref(name), step[0])
        found = [await _everything(store, tenant, queries, start) for store, start in zip(stores, starts, strict=True)]
        assert found[0] == found[1]
        await known.check(both.tested)
        for name in IDS[point % len(IDS) :]:
            if await _exists(both.tested, tenant, ref(name)):
                await _compare_forks(both, tenant, ref(name), point, queries)

    both.runner.run(check())


async def _compare_forks(both: Both, tenant: str, of: SessionRef, point: int, queries: Sequence[StateQuery]) -> None:
    """A fork has the state of then, and its history; what is changed in it is its own."""
    at = AsOf(log_version=point % (await _version(both.tested, tenant, of) + 1))
    then = await both.tested.get_state(tenant, state_name(StateScope.SESSION, of), StateQuery(as_of=at.log_version))
    fork, found = of._replace(session_id=f"{of.session_id}-fork"), []
    for store in (both.tested, both.reference):
        request = ForkRequest(tenant, of, fork.session_id, f"uid-{fork.session_id}", NOW + 100, operation(fork.session_id), at)
        await store.fork(request)
        assert await _present(store, tenant, fork) == then.values
        before = await _present(store, tenant, of)
        await store.patch_state(tenant, state_name(StateScope.SESSION, fork), StatePatch({"own": "1"}), NOW + 101)
        assert await _present(store, tenant, of) == before
        found.append(await _of_session(store, tenant, fork, queries))
    assert found[0] == found[1]
