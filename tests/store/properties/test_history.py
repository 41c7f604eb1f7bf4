"""A read as of a version answers what was answered then, with any later changes, and every store answers the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.store.engines.slices import stop_slices
from tests.store.properties.test_properties import QUERIES
from tests.store.properties.test_removals import REMOVALS, Removing, id_of
from tests.store.properties.test_windows import (
    AMOUNTS,
    BATCHES,
    LOGS,
    PLANS,
    SPECS,
    Plan,
    _few_rows_at_first,
    _renamed,
)
from tests.support.clock import NOW
from tests.support.runs.thoroughness import on_each_engine, on_stores
from tests.support.sessions import TENANT, append, new_session, read, ref
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.errors import ThreadkeepError
from threadkeep_server.domain.filters import ALL, EventFilter
from threadkeep_server.domain.model import POSITION_STEP, SessionRef
from threadkeep_server.store.contract.compaction import spread
from threadkeep_server.store.contract.events import EventPage, EventQuery
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.inmemory import compaction as inmemory_compaction
from threadkeep_server.store.sql.compaction import selections
from threadkeep_server.store.sql.event_removals import remove_queries
from threadkeep_server.store.sql.history import moments
from threadkeep_server.store.sql.log import append_group
from threadkeep_server.store.sql.log.slices import archivings
from threadkeep_server.store.sql.log.writing import window_places

__all__ = ["_few_rows_at_first"]  # a fixture

SOME = 1 << 40
ACTIVE = EventFilter(exclude_archived=True)
READS = st.lists(QUERIES, min_size=1, max_size=2)
CONTEXTS = st.lists(st.tuples(SPECS, AMOUNTS), min_size=1, max_size=2)


REMOVED, ERASED = (
    st.tuples(BATCHES, st.lists(BATCHES | PLANS | removals | removals, min_size=1, max_size=8)).map(
        lambda log: [log[0], *log[1]]
    )
    for removals in (REMOVALS.map(lambda removal: replace(removal, erase=False)), REMOVALS)
)


pytestmark = on_each_engine("few", 1, 1000)


@pytest.fixture(autouse=True)
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third event has counters, and gaps between events are small, so that inserted ones are moved. With 1, events of
    compactions wait to be marked."""
    stop_slices(monkeypatch)
    for module in (archivings, selections, remove_queries):
        monkeypatch.setattr(module, "ARCHIVED_AT_ONCE", request.param)
    monkeypatch.setattr(append_group, "COUNTED_EVERY", 3)
    monkeypatch.setattr(moments, "_MOMENT", moments._MOMENT.replace("+ 64)", "+ 3)"))
    for module in (window_places, inmemory_compaction):
        monkeypatch.setattr(module, "spread", _spread)


def _spread(low: int, high: int, count: int) -> list[int] | None:
    return spread(low, high, count) if high - low >= POSITION_STEP // 2 else None


@dataclass
class History:
    """A session in both stores, and what they answered after each change."""

    both: Both
    of: SessionRef
    queries: Sequence[Any]
    specs: Sequence[tuple[ContextSpec, int | None]]
    answers: dict[int, Any] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    """By seq: the log version of the change that stored it."""

    async def write(self, steps: Sequence[Any]) -> None:
        for number, step in enumerate(steps):
            before = await self._head()
            for store in (self.both.tested, self.both.reference):
                await self._step(store, step, number)
            version, last_seq = await self._head()
            self.versions |= dict.fromkeys(range(before[1] + 1, last_seq + 1), version)
            if version > before[0]:
                self.answers[version] = await self.read(self.both.reference)

    async def _step(self, store: Store, step: Any, number: int) -> None:
        try:
            if isinstance(step, Plan):
                await store.compact(step.request(number, self.of, await self.both.reference.read_window(TENANT, self.of)))
            elif isinstance(step, Removing):
                window = await self.both.reference.read_window(TENANT, self.of)
                log = await read(self.both.reference, of=self.of)
                await store.remove(step.request(number, self.of, window, list(dict.fromkeys(map(id_of, log)))))
            else:
                new = new_session(self.of.session_id, user=self.of.user_id)
                await append(store, *_renamed(step, f"{number}"), to=self.of, create=new, now=NOW + number)
        except ThreadkeepError:
            return

    async def _head(self) -> tuple[int, int]:
        page = await self.both.reference.list_events(TENANT, self.of, EventQuery(limit=1))
        return page.log_version, page.last_seq

    async def read(self, store: Store, as_of: AsOf | None = None) -> Any:
        lists = [await self._list(store, query, as_of) for query in self.queries]
        contexts = [await store.get_context(TENANT, self.of, spec, default or SOME, as_of) for spec, default in self.specs]
        return lists, [replace(page, events=list(page.events)) for page in contexts]

    async def _list(self, store: Store, query: Any, as_of: AsOf | None) -> list[EventPage]:
        wanted, descending, limit, max_bytes = query
        asked = EventQuery(wanted, descending, limit, max_bytes, as_of=as_of)
        pages = [await store.list_events(TENANT, self.of, asked)]
        while pages[-1].cursor is not None:
            pages.append(await store.list_events(TENANT, self.of, replace(asked, cursor=pages[-1].cursor)))
        # Where a page continues is a store's own affair.
        return [replace(page, cursor=None, events=list(page.events)) for page in pages]


@on_stores(40)
@given(steps=LOGS, queries=READS, specs=CONTEXTS)
def test_a_read_as_of_any_version_answers_what_was_answered_then(
    both: Both, steps: list[Any], queries: list[Any], specs: list[Any]
) -> None:
    history = History(
        both,
        ref(both.next_name()),
        [(ALL, False, 1000, SOME), (ACTIVE, False, 3, SOME), (ACTIVE, True, 2, SOME), *queries],
        [(ContextSpec(), None), *specs],
    )

    async def check() -> None:
        await history.write(steps)
        for store in (both.reference, both.tested):
            for version, answer in history.answers.items():
                assert await history.read(store, AsOf(log_version=version)) == answer
            for seq, version in history.versions.items():
                assert await history.read(store, AsOf(seq=seq)) == history.answers[version]
            assert (await history.read(store, AsOf(log_version=0)))[0][0] == [EventPage([])]

    both.runner.run(check())


@on_stores(40)
@given(steps=REMOVED, queries=READS, specs=CONTEXTS)
def test_a_read_as_of_any_version_answers_what_was_answered_before_removals(
    both: Both, steps: list[Any], queries: list[Any], specs: list[Any]
) -> None:
    """Of removals that archive: an erased event is a tombstone at every moment."""
    history = History(both, ref(both.next_name()), [(ALL, False, 1000, SOME), *queries], [(ContextSpec(), None), *specs])

    async def check() -> None:
        await history.write(steps)
        for store in (both.reference, both.tested):
            for version, answer in history.answers.items():
                assert await history.read(store, AsOf(log_version=version)) == answer

    both.runner.run(check())


@on_stores(40)
@given(steps=ERASED, specs=CONTEXTS)
def test_a_read_as_of_any_version_after_erasures_is_the_same_in_every_store(
    both: Both, steps: list[Any], specs: list[Any]
) -> None:
    history = History(
        both, ref(both.next_name()), [(ALL, False, 1000, SOME), (ACTIVE, False, 3, SOME)], [(ContextSpec(), None), *specs]
    )

    async def check() -> None:
        await history.write(steps)
        for version, answer in history.answers.items():
            found = [await history.read(store, AsOf(log_version=version)) for store in (both.reference, both.tested)]
            assert found[0] == found[1]
            assert [event.seq for page in found[0][0][0] for event in page.events] == [
                event.seq for page in answer[0][0] for event in page.events
            ]

    both.runner.run(check())
