"""Events that are erased because of their branch or invocation."""

from __future__ import annotations

import pytest

from tests.store.rows.compaction import named
from tests.support.codec import draft
from tests.support.removals import erase_events, upsert
from tests.support.sessions import TENANT, append, compact, create, ref, session_with
from threadkeep_server.domain.errors import SessionNotFound
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.store.contract.removals import Erasable
from threadkeep_server.store.contract.store import Store

BRANCH = EventFilter(branch="a", exact_branch=True)
RUNS = EventFilter(invocation_ids=frozenset({"i1", "i2"}))


async def erasable(store: Store, wanted: EventFilter, limit: int = 100) -> list[list[str]]:
    """Returns the ids, page by page."""
    pages: list[list[str]] = []
    cursor = None
    while True:
        page = await store.erasable(TENANT, ref(), wanted, limit, cursor)
        pages.append(list(page.event_ids))
        cursor = page.cursor
        if cursor is None:
            return pages


class ErasableRows:
    async def test_events_of_a_branch_and_of_invocations_are_found_until_they_are_erased(self, store: Store) -> None:
        await create(store)
        runs, names = ["i1", "", "i2", "i3", "i1", "i2"], ["a", "a", "", "a.b", "a", ""]
        both = enumerate(zip(runs, names, strict=True))
        await append(store, *(draft(str(n), event_id=f"e{n}", invocation_id=run, branch=name) for n, (run, name) in both))
        await compact(store, ["e0"])
        assert await erasable(store, BRANCH) == [["e0", "e1", "e4"]]
        assert await erasable(store, BRANCH, 2) == [["e0", "e1"], ["e4"]]
        assert await erasable(store, RUNS) == await erasable(store, RUNS, 4) == [["e0", "e2", "e4", "e5"]]
        assert await erasable(store, RUNS, 3) == [["e0", "e2", "e4"], ["e5"]]
        await erase_events(store, "e0", "e2")
        assert await erasable(store, BRANCH) == [["e1", "e4"]]
        assert await erasable(store, RUNS, 1) == [["e4"], ["e5"]]
        await erase_events(store, "e1", "e4", "e5")
        assert await store.erasable(TENANT, ref(), RUNS, 1) == await store.erasable(TENANT, ref(), BRANCH, 1) == Erasable([])

    async def test_versions_of_an_event_are_named_once(self, store: Store) -> None:
        await session_with(store, draft("old", event_id="e1", branch="a"), *named("e2"))
        await upsert(store, draft("new", event_id="e1", branch="a"))
        assert await erasable(store, BRANCH) == [["e1"]]

    async def test_nothing_is_found_in_an_unknown_session(self, store: Store) -> None:
        with pytest.raises(SessionNotFound):
            await erasable(store, BRANCH)
