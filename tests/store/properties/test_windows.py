"""After any appends and compactions the lists, searches and contexts of the SQL stores equal the reference's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.store.engines.slices import stop_slices
from tests.store.properties.test_properties import AUTHORS, BRANCHES, DRAFTS, EXAMPLES, FILTERS, QUERIES, STEPS, WORDS, indexed
from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.runs.thoroughness import on_each_engine
from tests.support.sessions import TENANT, append, new_session, read_in_pages, ref
from threadkeep.v1 import message_pb2
from threadkeep_server.domain.context import ContextMode, ContextSpec, is_lead, select_context
from threadkeep_server.domain.filters import EventFilter, select
from threadkeep_server.domain.model import EventDraft, SessionRef, WindowEvent
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.compaction import CompactionRequest, WindowRead
from threadkeep_server.store.contract.events import ContextPage, EventQuery
from threadkeep_server.store.contract.search import SearchQuery
from threadkeep_server.store.sql.compaction import selections
from threadkeep_server.store.sql.log import context_queries
from threadkeep_server.store.sql.log.slices import archivings

CALL_IDS = st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True)


def _draft(fields: dict[str, Any], calls: Sequence[str], results: Sequence[str]) -> EventDraft:
    parts = [message_pb2.Part(tool_call=message_pb2.ToolCallPart(id=each)) for each in calls]
    parts += [message_pb2.Part(tool_result=message_pb2.ToolResultPart(call_id=each)) for each in results]
    return draft(**fields, parts=parts)


EVENTS = st.builds(_draft, DRAFTS, st.just([]), st.just([])) | st.builds(_draft, DRAFTS, CALL_IDS, CALL_IDS)
PLACES = st.none() | st.integers(0, 50)


@dataclass(frozen=True)
class Plan:
    """A compaction by places in the window that it finds: each is taken round the window's length."""

    archive: Sequence[int]
    inserts: Sequence[tuple[int | None, Sequence[EventDraft]]]
    expected: int

    def request(self, number: int, of: SessionRef, window: WindowRead) -> CompactionRequest:
        ids = [event.event_id for event in window.events]
        gone = {ids[place % len(ids)] for place in self.archive if ids}
        inserts: defaultdict[str | None, list[EventDraft]] = defaultdict(list)
        for index, (place, drafts) in enumerate(self.inserts):
            before = None if place is None or not ids else ids[place % len(ids)]
            if before not in gone:
                # Each example makes new drafts; otherwise the ids of two plans would collide.
                inserts[before] += _renamed(drafts, f"{number}-{index}")
        expected = window.session.window_version + self.expected
        return CompactionRequest(TENANT, of, f"c{number}", NOW + number, sorted(gone), inserts, expected)


def _renamed(drafts: Sequence[EventDraft], name: str) -> list[EventDraft]:
    return [replace(each, event_id=f"{name}-{index}") for index, each in enumerate(drafts)]


BATCHES = st.lists(EVENTS, min_size=1, max_size=6)
# One plan in nine is out of date.
PLANS = st.builds(
    Plan,
    st.lists(st.integers(0, 50), max_size=6),
    st.lists(st.tuples(PLACES, st.lists(EVENTS, min_size=1, max_size=2)), max_size=3),
    st.sampled_from([0] * 8 + [1]),
)
LOGS = st.tuples(BATCHES, st.lists(BATCHES | PLANS, min_size=1, max_size=8)).map(lambda log: [log[0], *log[1]])
FLAGS = st.booleans()
LIMITS = st.none() | st.integers(1, 8)
AMOUNTS = st.none() | st.sampled_from([1, 5, 20, 60, 200, 1000])
SPECS = st.builds(
    ContextSpec,
    mode=st.sampled_from([ContextMode.READ_WRITE] * 9 + [ContextMode.NONE]),
    authors=st.lists(STEPS, max_size=2).map(tuple),
    author_roles=st.dictionaries(AUTHORS, AUTHORS, max_size=2),
    last_n=LIMITS,
    max_turns=LIMITS,
    max_bytes=AMOUNTS,
    max_tokens=AMOUNTS,
    max_size=AMOUNTS,
    branch=BRANCHES,
    include_system=st.booleans(),
)


@pytest.fixture(autouse=True)
def _few_rows_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that short logs, too, are read in several goes."""
    monkeypatch.setattr(context_queries, "_ROWS_AT_FIRST", 2)
    monkeypatch.setattr(context_queries, "_ROWS_BEYOND_LAST_N", 1)


pytestmark = on_each_engine("archived_at_once", 1, 1000)


@pytest.fixture(autouse=True)
def archived_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 1, compactions of two events leave theirs to be marked, which nothing does before the next compaction."""
    stop_slices(monkeypatch)
    for module in (archivings, selections):
        monkeypatch.setattr(module, "ARCHIVED_AT_ONCE", request.param)


async def _write(both: Both, of: SessionRef, log: Sequence[Any]) -> None:
    """The same appends and compactions for both; what they answer is compared."""
    new = new_session(of.session_id, user=of.user_id)
    for number, step in enumerate(log):
        window = None if number == 0 else await both.reference.read_window(TENANT, of)
        answers = []
        for store in (both.tested, both.reference):
            if isinstance(step, Plan):
                assert window is not None
                answers.append(await _outcome(store.compact(step.request(number, of, window))))
            else:
                events = _renamed(step, f"{number}")
                answers.append(await _outcome(append(store, *events, to=of, create=new, now=NOW + number)))
        assert answers[0] == answers[1]


async def _outcome(work: Any) -> Any:
    try:
        return await work
    except Exception as error:
        return type(error), getattr(error, "metadata", str(error))


def _unplaced(window: WindowRead) -> Any:
    """Positions are a store's own affair. Texts, and what only filters read, are not promised."""
    only_filtered = {"text": "", "invocation_id": "", "native_format": "", "metadata_json": ""}
    events = [replace(_plain(event), position=0, **only_filtered) for event in window.events]
    return events, list(window.bodies.values()), window.session


def _plain(event: Any) -> Any:
    return WindowEvent(**{name: getattr(event, name) for name in WindowEvent.__dataclass_fields__})


@EXAMPLES
@given(log=LOGS, queries=st.lists(QUERIES, min_size=1, max_size=6))
def test_lists_of_a_compacted_log(both: Both, log: list[Any], queries: list[Any]) -> None:
    of = ref(both.next_name())

    async def check() -> None:
        await _write(both, of, log)
        for wanted, descending, limit, max_bytes in [(EventFilter(), False, 1000, 1 << 40), *queries]:
            query = {"of": of, "descending": descending, "limit": limit, "max_bytes": max_bytes}
            expected = await read_in_pages(both.reference, wanted, **query)
            assert await read_in_pages(both.tested, wanted, **query) == expected
        window = await both.reference.read_window(TENANT, of)
        assert _unplaced(await both.tested.read_window(TENANT, of)) == _unplaced(window)
        reported = [await store.list_compactions(TENANT, of, 1000, None) for store in (both.tested, both.reference)]
        assert list(reported[0].compactions) == list(reported[1].compactions)
        active = await both.tested.list_events(TENANT, of, EventQuery(EventFilter(exclude_archived=True), limit=1000))
        assert [event.seq for event in active.events] == [event.seq for event in select(window.events, EventFilter())]

    both.runner.run(check())


@EXAMPLES
@given(log=LOGS, specs=st.lists(st.tuples(SPECS, AMOUNTS), min_size=1, max_size=10))
def test_contexts_of_a_compacted_log(both: Both, log: list[Any], specs: list[tuple[ContextSpec, int | None]]) -> None:
    of = ref(both.next_name())

    async def check() -> None:
        await _write(both, of, log)
        window = await both.reference.read_window(TENANT, of)
        for spec, default in [(ContextSpec(), None), *specs]:
            page = await both.tested.get_context(TENANT, of, spec, default or 1 << 40)
            assert page.versions == window.session.versions
            assert _told(page) == _specified(window, spec, default or 1 << 40)

    both.runner.run(check())


def _told(page: ContextPage) -> Any:
    return (
        [(event.seq, event.body, event.archived) for event in page.events],
        *(page.truncated, page.first_seq, page.last_seq, page.over_budget, page.context),
    )


def _specified(window: WindowRead, spec: ContextSpec, default: int) -> Any:
    """What the executable specification makes of the whole window."""
    lead = [event for event in window.events if is_lead(event)]
    conversation = [event for event in window.events if not is_lead(event)]
    found = select_context(lead, conversation, spec if spec.max_bytes else replace(spec, max_bytes=default))
    assert found is not None
    bodies = {event.seq: body for event, body in zip(window.events, window.bodies.values(), strict=True)}
    return (
        [(event.seq, bodies[event.seq], False) for event in found.events],
        *(found.truncated, found.first_seq, found.last_seq, found.over_budget, found.window),
    )


@EXAMPLES
@given(
    logs=st.lists(LOGS, min_size=1, max_size=2), searches=st.lists(st.tuples(FILTERS, WORDS), max_size=6), wait=st.booleans()
)
def test_searches_of_compacted_logs(both: Both, logs: list[Any], searches: list[tuple[EventFilter, str]], wait: bool) -> None:
    user = both.next_name()
    names = [ref(f"{user}-{number}", user=user) for number in range(len(logs))]

    async def check() -> None:
        for of, log in zip(names, logs, strict=True):
            await _write(both, of, log)
        if wait:
            await indexed(both.tested)
        for wanted, word in searches:
            found = replace(wanted, last_n=None, exact_last_n=None, page=None, page_size=None, keyword=wanted.keyword or word)
            found = found if found.terms else replace(found, keyword="a")
            for scope in (names[0], UserScope(user)):
                query = SearchQuery(scope, found, limit=1000)
                expected = (await both.reference.search(TENANT, query)).hits
                assert list((await both.tested.search(TENANT, query)).hits) == list(expected)

    both.runner.run(check())
