"""A fork answers what its origin answered, at any point of any history, and every store makes the same fork."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.store.properties.test_history import ACTIVE, ERASED, REMOVED, SOME, History, few
from tests.store.properties.test_removals import _delivered
from tests.store.properties.test_windows import LOGS, SPECS, _few_rows_at_first
from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.forks import copy_few_at_once
from tests.support.removals import operation
from tests.support.runs.thoroughness import on_each_engine, on_stores
from tests.support.sessions import TENANT, append, compact, placed, ref
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.filters import ALL
from threadkeep_server.domain.model import NOWHERE, Session
from threadkeep_server.store.contract.forks import ForkRequest
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.removals import RemovalRequest, Rewind
from threadkeep_server.store.contract.store import Store

__all__ = ["_few_rows_at_first", "few"]  # fixtures

pytestmark = on_each_engine("few", 1, 1000)

POINTS = st.tuples(st.sampled_from(["now", "seq", "seq", "version", "version"]), st.integers(0, 50))


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    copy_few_at_once(monkeypatch, 3)


def _at(point: tuple[str, int], version: int, last_seq: int) -> AsOf | None:
    kind, number = point
    if kind == "version":
        return AsOf(log_version=number % (version + 1))
    return AsOf(seq=1 + number % last_seq) if kind == "seq" and last_seq else None


async def _fork(store: Store, history: History, name: str, at: AsOf | None) -> Session:
    made = await store.fork(ForkRequest(TENANT, history.of, name, f"uid-{name}", NOW + 100, operation(name), at))
    return replace(made.session, parent=made.session.parent and replace(made.session.parent, uid=""))


async def _write_on(store: Store, history: History) -> None:
    """A fork is written like any other session."""
    for name in ("on-1", "on-2"):
        await append(store, draft(name, event_id=name), to=history.of, now=NOW + 200)
    window = await store.read_window(TENANT, history.of)
    oldest = window.events[0].event_id
    made = draft("summed", event_id="summed", synthetic=True)
    await compact(store, [oldest], placed("on-2", made), of=history.of, now=NOW + 201, compaction_id="on")


@on_stores(40)
@given(steps=LOGS | REMOVED | ERASED, point=POINTS, specs=st.lists(st.tuples(SPECS, st.none()), max_size=1))
def test_a_fork_answers_what_its_origin_answered(
    both: Both, steps: list[Any], point: tuple[str, int], specs: list[Any]
) -> None:
    queries = [(ALL, False, 1000, SOME), (ACTIVE, False, 3, SOME)]
    history = History(both, ref(both.next_name()), queries, [(ContextSpec(), None), *specs])
    copy = replace(history, of=ref(f"{history.of.session_id}-fork"))

    async def check() -> None:
        await history.write(steps)
        version, last_seq = await history._head()
        at = _at(point, version, last_seq)
        stores = (both.reference, both.tested)
        made = [await _fork(store, history, copy.of.session_id, at) for store in stores]
        assert made[0] == made[1]
        then = made[0].log_version - 1
        for earlier in range(then + 2):
            found = [await copy.read(store, AsOf(log_version=earlier)) for store in stores]
            assert found[0] == found[1]
            if earlier < then:
                assert found[1] == await history.read(both.tested, AsOf(log_version=earlier))
        assert await copy.read(both.tested) == found[1]
        for store in stores:
            await _write_on(store, copy)
        assert await copy.read(both.reference) == await copy.read(both.tested)
        assert await _delivered(both.reference, copy.of) == await _delivered(both.tested, copy.of)

    both.runner.run(check())


@on_stores(40)
@given(
    steps=LOGS | REMOVED,
    point=POINTS.filter(lambda point: point[0] == "version"),
    specs=st.lists(st.tuples(SPECS, st.none()), max_size=1),
)
def test_a_rewound_session_answers_what_it_answered_then(
    both: Both, steps: list[Any], point: tuple[str, int], specs: list[Any]
) -> None:
    history = History(both, ref(both.next_name()), [(ACTIVE, False, 1000, SOME)], [(ContextSpec(), None), *specs])

    async def check() -> None:
        await history.write(steps)
        version, last_seq = await history._head()
        at = _at(point, version, last_seq)
        assert at is not None
        then = _timeless(await history.read(both.tested, at))
        outcomes = [
            (await store.remove(RemovalRequest(TENANT, history.of, NOW + 300, Rewind(at), operation=operation()))).outcome
            for store in (both.reference, both.tested)
        ]
        assert outcomes[0] == outcomes[1]
        for store in (both.reference, both.tested):
            assert _timeless(await history.read(store)) == then
            # The history has not changed.
            for earlier, answer in history.answers.items():
                assert await history.read(store, AsOf(log_version=earlier)) == answer

    both.runner.run(check())


def _timeless(answer: Any) -> Any:
    """Without versions, which a rewind increases, and what depends on them."""
    lists, contexts = answer
    pages = [[replace(page, log_version=0, last_seq=0) for page in pages] for pages in lists]
    return pages, [replace(page, versions=NOWHERE, compactable_through_seq=0) for page in contexts]
