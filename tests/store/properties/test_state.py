"""After any changes of state, the SQL stores answer at every moment, and in every page, what the reference does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.store.properties.test_properties import EXAMPLES
from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.removals import operation
from tests.support.sessions import TENANT, append, compact, new_session, ref
from threadkeep_server.domain.errors import ThreadkeepError
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.state.state import StatePage, StatePatch, StateQuery, StateScope, state_name
from threadkeep_server.store.contract.events import EventQuery
from threadkeep_server.store.contract.forks import ForkRequest
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.loading import LoadQuery
from threadkeep_server.store.contract.removals import Pop, RemovalRequest, Rewind
from threadkeep_server.store.contract.store import Store

# Few keys, in an order of bytes that is not that of UTF-16; values that JSON libraries would change.
KEYS = st.sampled_from(["a", "a.b", "B", "\uffff", "\U0001f680", "ä"])
VALUES = st.sampled_from(["null", "1", "1.0", '"\\u00e4"', '{"z": 1, "a": [1e400]}'])
PATCHES = st.builds(
    lambda values, removed: StatePatch(values, tuple(sorted(removed - values.keys()))),
    st.dictionaries(KEYS, VALUES, max_size=3),
    st.frozensets(KEYS, max_size=2),
)
SCOPES = st.sampled_from(StateScope)
STEPS = st.one_of(
    st.tuples(st.just("append"), st.dictionaries(SCOPES, PATCHES, max_size=3)),
    st.tuples(st.just("patch"), SCOPES, PATCHES, st.none() | st.integers(0, 6)),
    st.tuples(st.just("patch"), st.just(StateScope.SESSION), PATCHES, st.none()),
    st.tuples(st.just("compact"), st.none()),
    st.tuples(st.just("pop"), st.none()),
    st.tuples(st.just("rewind"), st.integers(0, 20)),
    st.tuples(st.just("create"), st.dictionaries(KEYS, VALUES, max_size=3)),
    st.tuples(st.just("delete"), st.none()),
)
LOGS = st.lists(STEPS, min_size=1, max_size=12)
QUERIES = st.builds(
    StateQuery,
    keys=st.just(()) | st.lists(KEYS, min_size=1, max_size=3, unique=True).map(tuple),
    prefix=st.sampled_from(["", "", "a", "\U0001f680"]),
    limit=st.integers(1, 3),
    max_bytes=st.sampled_from([1, 12, 1 << 40]),
)


async def _step(store: Store, of: SessionRef, number: int, step: Sequence[Any]) -> Any:
    kind, *details = step
    now = NOW + number
    if kind == "append":
        appended = await append(store, draft(f"e{number}", event_id=f"e{number}"), to=of, now=now, state=details[0] or None)
        return appended.log_version, appended.last_seq
    if kind == "patch":
        scope, patch, expected = details
        return await store.patch_state(TENANT, state_name(scope, of), patch, now, expected_version=expected)
    if kind == "compact":
        active = (await store.read_window(TENANT, of)).events
        return await compact(store, [each.event_id for each in active[:1]], of=of, now=now, compaction_id=f"c{number}")
    if kind == "create":
        new = new_session(of.session_id, user=of.user_id, app=of.app, create_time=now)
        made = replace(new, uid=f"uid-{of.session_id}-{number}", state=details[0])
        return (await store.create_session(TENANT, made, return_existing=False))[1]
    if kind == "delete":
        return await store.delete_session(TENANT, of)
    what = Pop(1) if kind == "pop" else Rewind(AsOf(log_version=details[0] % (await _version(store, of) + 1)))
    return (await store.remove(RemovalRequest(TENANT, of, now, what))).outcome.versions


async def _version(store: Store, of: SessionRef) -> int:
    return (await store.list_events(TENANT, of, EventQuery(limit=1))).log_version


async def _answer(store: Store, of: SessionRef, number: int, step: Sequence[Any]) -> Any:
    try:
        return await _step(store, of, number, step)
    except ThreadkeepError as error:
        return type(error), error.metadata


async def _pages(store: Store, of: SessionRef, scope: StateScope, query: StateQuery) -> list[StatePage]:
    """Returns the pages of a query, to the last."""
    pages: list[StatePage] = []
    while not pages or pages[-1].more:
        after = list(pages[-1].values)[-1] if pages else ""
        page = await store.get_state(TENANT, state_name(scope, of), replace(query, after=after))
        pages.append(StatePage(dict(page.values), page.version, page.more))
    return pages


def _values(pages: Iterable[StatePage]) -> Mapping[str, str]:
    return {key: value for page in pages for key, value in page.values.items()}


async def _all(store: Store, of: SessionRef, queries: Sequence[StateQuery]) -> Any:
    """Returns what every read of state answers, now and as of each log version."""
    try:
        loaded = await store.load_session(TENANT, of, LoadQuery(None))
    except ThreadkeepError as error:
        shared = [await _pages(store, of, scope, each) for scope in (StateScope.USER, StateScope.APP) for each in queries]
        return type(error), shared
    moments = range(await _version(store, of) + 1)
    then = [await _pages(store, of, StateScope.SESSION, replace(each, as_of=at)) for each in queries for at in moments]
    present = [await _pages(store, of, scope, each) for scope in StateScope for each in queries]
    return {scope: (dict(page.values), page.version) for scope, page in loaded.states.items()}, then, present


@EXAMPLES
@given(steps=LOGS, queries=st.lists(QUERIES, min_size=1, max_size=3), point=st.integers(0, 20))
def test_state_is_that_of_the_reference_at_every_moment(
    both: Both, steps: list[Any], queries: list[StateQuery], point: int
) -> None:
    name = both.next_name()
    of = ref(name, user=f"user-{name}", app=f"app-{name}")
    stores = (both.tested, both.reference)

    async def check() -> None:
        known: dict[int, Mapping[str, str]] = {}
        for number, step in enumerate([("create", {"a": "1"}), *steps]):
            answers = [await _answer(store, of, number, step) for store in stores]
            assert answers[0] == answers[1], step
            if step[0] == "delete":
                known.clear()
            if await _exists(both.reference, of):
                known[await _version(both.reference, of)] = await _present(both.reference, of)
        tested, reference = [await _all(store, of, [StateQuery(), *queries]) for store in stores]
        assert tested == reference
        for version, values in known.items():
            found = await _pages(both.tested, of, StateScope.SESSION, StateQuery(as_of=version))
            assert _values(found) == values, "the values before the next change of the log"
        await _compare_forks(both, of, point, queries)

    both.runner.run(check())


async def _present(store: Store, of: SessionRef) -> Mapping[str, str]:
    return _values(await _pages(store, of, StateScope.SESSION, StateQuery())) if await _exists(store, of) else {}


async def _exists(store: Store, of: SessionRef) -> bool:
    try:
        await store.get_session(TENANT, of)
    except ThreadkeepError:
        return False
    return True


async def _compare_forks(both: Both, of: SessionRef, point: int, queries: Sequence[StateQuery]) -> None:
    """A fork has the state of then, and its history; what is changed in it is its own."""
    if not await _exists(both.tested, of):
        return
    at = AsOf(log_version=point % (await _version(both.tested, of) + 1))
    then = await both.tested.get_state(TENANT, state_name(StateScope.SESSION, of), StateQuery(as_of=at.log_version))
    fork, found = of._replace(session_id=f"{of.session_id}-fork"), []
    for store in (both.tested, both.reference):
        request = ForkRequest(TENANT, of, fork.session_id, f"uid-{fork.session_id}", NOW + 100, operation(fork.session_id), at)
        await store.fork(request)
        assert await _present(store, fork) == then.values
        before = await _present(store, of)
        await store.patch_state(TENANT, state_name(StateScope.SESSION, fork), StatePatch({"own": "1"}), NOW + 101)
        assert await _present(store, of) == before
        found.append(await _all(store, fork, [StateQuery(), *queries]))
    assert found[0] == found[1]
