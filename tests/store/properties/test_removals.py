"""After any appends, compactions and removals the SQL stores answer, list, select and deliver what the reference does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.store.engines.slices import stop_slices
from tests.store.properties.test_properties import BRANCHES, EXAMPLES
from tests.store.properties.test_windows import BATCHES, EVENTS, PLANS, Plan
from tests.support.clock import NOW
from tests.support.sessions import TENANT, append, new_session, read, ref
from threadkeep.v1 import event_pb2
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.feed import FeedScope, Position
from threadkeep_server.domain.model import EventDraft, NewSession, SessionRef, StoredEvent
from threadkeep_server.domain.removals import Operation
from threadkeep_server.store.contract.compaction import WindowRead
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.removals import Chosen, Clear, Pop, RemovalRequest, Removed, Rewind, Suffix, Upsert, What
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.compaction import selections
from threadkeep_server.store.sql.event_removals import remove_queries
from threadkeep_server.store.sql.log.slices import archivings

PLACES = st.lists(st.integers(0, 50), max_size=4)


@dataclass(frozen=True)
class Removing:
    """A removal by places in the window, or the log, that it finds: each is taken round its length."""

    form: str
    places: Sequence[int]
    drafts: Sequence[EventDraft]
    branch: str | None
    erase: bool
    operation: int

    def request(self, number: int, of: SessionRef, window: WindowRead, log: Sequence[str]) -> RemovalRequest:
        # Few operations, so that some are repeated, with the same or another request.
        operation = Operation(f"o{self.operation}", self.form.encode()) if self.operation < 3 else None
        return RemovalRequest(TENANT, of, NOW + number, self._what(number, window, log), self.erase, operation=operation)

    def _what(self, number: int, window: WindowRead, log: Sequence[str]) -> What:
        named = [f"r{number}-{index}" for index in range(len(self.drafts))]
        places = sorted({place % len(log) for place in self.places}) if log else []
        match self.form:
            case "pop":
                return Pop(1 + len(self.places), self.branch)
            case "clear":
                return Clear()
            case "erase":
                return Chosen(list(dict.fromkeys(log[place] for place in places)))
            case "rewind":
                session, place = window.session, sum(self.places)
                if self.branch is None and session.last_seq:
                    return Rewind(AsOf(seq=1 + place % session.last_seq))
                return Rewind(AsOf(log_version=place % (session.log_version + 1)))
            case "suffix":
                active = [event.event_id for event in window.events if self.branch in (None, event.branch)]
                expected = active[len(active) - min(len(active), len(self.places)) :]
                # Some take over the ids of removed events.
                names = [expected[i] if i < len(expected) and i % 2 else name for i, name in enumerate(named)]
                return Suffix(expected, _renamed(self.drafts, names), self.branch)
            case _:
                taken = list(dict.fromkeys(log[place] for place in places))
                names = [taken[i] if i < len(taken) else name for i, name in enumerate(named)]
                return Upsert(_renamed(self.drafts, names))


def _renamed(drafts: Sequence[EventDraft], names: Sequence[str]) -> list[EventDraft]:
    return [replace(each, event_id=name) for each, name in zip(drafts, names, strict=True)]


REMOVALS = st.builds(
    Removing,
    st.sampled_from(["pop", "pop", "clear", "erase", "suffix", "upsert", "upsert", "rewind", "rewind"]),
    PLACES,
    st.lists(EVENTS, max_size=3),
    st.none() | BRANCHES,
    st.booleans(),
    st.integers(0, 9),
)
LOGS = st.tuples(BATCHES, st.lists(BATCHES | PLANS | REMOVALS | REMOVALS, min_size=1, max_size=9)).map(
    lambda log: [log[0], *log[1]]
)


@pytest.fixture(autouse=True, params=[1, 1000])
def _archived_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 1, what compactions and clears archive waits to be marked, which nothing does before the next of them."""
    stop_slices(monkeypatch)
    for module in (archivings, selections, remove_queries):
        monkeypatch.setattr(module, "ARCHIVED_AT_ONCE", request.param)


async def _step(store: Store, new: NewSession, number: int, step: Any, window: WindowRead | None, log: Sequence[str]) -> Any:
    of = new.ref
    try:
        if isinstance(step, Plan):
            assert window is not None
            return await store.compact(step.request(number, of, window))
        if isinstance(step, Removing):
            assert window is not None
            return _timeless(await store.remove(step.request(number, of, window, log)))
        drafts = _renamed(step, [f"{number}-{index}" for index in range(len(step))])
        return await append(store, *drafts, to=of, create=new, now=NOW + number)
    except Exception as error:
        return type(error), getattr(error, "metadata", str(error))


def _timeless(removed: Removed) -> Any:
    """An erasure of a long log ends when it ends."""
    outcome, erased = removed.outcome, removed.outcome.erased
    if erased is not None:
        outcome = replace(outcome, erased=replace(erased, start_time=0, finish_time=0))
    return outcome, list(removed.events), removed.replayed


async def _delivered(store: Store, of: SessionRef) -> Any:
    page = await store.changes(Position(0, 0), 1000, FeedScope(TENANT, *of))
    events = await store.change_events(page.changes, with_text=True)
    changes = [
        (each.kind, each.removal, each.log_version, each.window_version, each.last_seq, each.window_bytes, each.time)
        for each in page.changes
    ]
    return changes, [[(each.seq, each.body, each.archived, each.text) for each in added] for added in events]


@EXAMPLES
@given(log=LOGS)
def test_a_log_with_removals(both: Both, log: list[Any]) -> None:
    of = ref(both.next_name())
    new = new_session(of.session_id, user=of.user_id)

    async def check() -> None:
        known: list[str] = []
        for number, step in enumerate(log):
            window = None if number == 0 else await both.reference.read_window(TENANT, of)
            answers = [await _step(store, new, number, step, window, known) for store in (both.tested, both.reference)]
            assert answers[0] == answers[1]
            known = list(dict.fromkeys(id_of(event) for event in await read(both.reference, of=of)))
        stores = (both.tested, both.reference)
        lists = [await read(store, of=of) for store in stores]
        assert lists[0] == lists[1]
        assert sorted(event.seq for event in lists[0]) == list(range(1, len(lists[0]) + 1)), "no seq is reused or missing"
        contexts = [await store.get_context(TENANT, of, ContextSpec(), 1 << 40) for store in stores]
        assert [replace(each, events=list(each.events)) for each in contexts[:1]] == [
            replace(each, events=list(each.events)) for each in contexts[1:]
        ]
        assert await both.tested.get_session(TENANT, of) == await both.reference.get_session(TENANT, of)
        assert await _delivered(both.tested, of) == await _delivered(both.reference, of)

    both.runner.run(check())


def id_of(event: StoredEvent) -> str:
    return event_pb2.SessionEvent.FromString(event.body).event_id
