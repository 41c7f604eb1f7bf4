"""Branches of a session, and the usage of its turns."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.removals import erase_events
from tests.support.sessions import TENANT, append, compact, create, placed, read, ref
from threadkeep_server.domain.errors import AmbiguousSession, SessionNotFound
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import NO_USAGE, Role, SessionRef, Usage
from threadkeep_server.store.contract import breakdowns
from threadkeep_server.store.contract.breakdowns import Branch, Place, UsageEntry, UsageQuery
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.inmemory import session_reads as in_memory
from threadkeep_server.store.sql.session_reads import branches as in_sql

_ROOT = SessionRef("", "", "s1")


async def branches(store: Store, limit: int = 100) -> list[Branch]:
    """Returns the branches of all pages."""
    found: list[Branch] = []
    after = None
    while True:
        page = await store.list_branches(TENANT, ref(), limit, after)
        assert 0 < len(page.branches) <= limit or not found
        found += page.branches
        after = page.cursor
        if after is None:
            return found


async def usage(store: Store, limit: int = 1000, **selected: Any) -> list[UsageEntry]:
    """Returns the usage of all pages, parts of one group together."""
    found: dict[tuple[int, str, str], UsageEntry] = {}
    cursor = None
    while True:
        page = await store.list_usage(TENANT, ref(), UsageQuery(limit=limit, cursor=cursor, **selected))
        for entry in page.entries:
            key = (entry.turn_seq, entry.invocation_id, entry.branch)
            known = found.setdefault(key, UsageEntry(*key))
            known.seqs += entry.seqs
            known.usage += entry.usage
        cursor = page.cursor
        if cursor is None:
            return list(found.values())


class BranchListRows:
    async def test_branches_are_listed_with_their_extent(self, store: Store) -> None:
        await create(store)
        names = ["b", "", "a.b", "b", "é", "B", "", "\U0001f600", "b"]
        await append(store, *(draft(str(n), branch=name, time=NOW + n, event_id=f"e{n}") for n, name in enumerate(names)))
        places = {name: [Place(n + 1, NOW + n) for n, each in enumerate(names) if each == name] for name in names}
        expected = [
            Branch(name, len(places[name]), places[name][0], places[name][-1])
            for name in ["", "B", "a.b", "b", "é", "\U0001f600"]
        ]
        for limit in (1, 2, 3, 5, 6, 7):
            assert await branches(store, limit) == expected
        await compact(store, ["e0"])
        await erase_events(store, "e3")
        assert await branches(store) == expected, "archived events and tombstones are of the branch"

    async def test_a_log_without_root_or_without_events_has_no_root(self, store: Store) -> None:
        await create(store)
        assert await branches(store) == []
        await append(store, draft("x", branch="a", time=NOW))
        assert await branches(store) == [Branch("a", 1, Place(1, NOW), Place(1, NOW))]

    async def test_an_inserted_summary_is_first_in_window_order(self, store: Store) -> None:
        await create(store)
        await append(store, draft("one", branch="a", event_id="e1"), draft("two", branch="a", event_id="e2"))
        await compact(store, ["e1"], placed("e2", draft("summary", branch="a", synthetic=True, time=NOW + 5)))
        (found,) = await branches(store)
        assert found.last is not None
        assert (found.events, found.last.seq) == (3, 2)

    async def test_branches_of_an_unknown_or_ambiguous_session_are_an_error(self, store: Store) -> None:
        with pytest.raises(SessionNotFound):
            await branches(store)
        with pytest.raises(SessionNotFound):
            await usage(store)
        await create(store)
        await create(store, user="bob")
        with pytest.raises(AmbiguousSession):
            await store.list_branches(TENANT, _ROOT, 1, None)

    async def test_more_events_than_are_counted_are_reported_as_more(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in (breakdowns, in_memory, in_sql):
            monkeypatch.setattr(module, "MOST_COUNTED", 3)
            monkeypatch.setattr(module, "MOST_OTHERS", 5, raising=False)
        await create(store)
        await append(store, *(draft("x", branch="a", time=NOW) for _ in range(4)), draft("y", time=NOW))
        many = Branch("a", 4, Place(1, NOW), Place(4, NOW))
        assert await branches(store) == [Branch("", 1, None, Place(5, NOW)), many]
        await append(store, *(draft("z", branch="b", time=NOW) for _ in range(2)))
        two = Branch("b", 2, Place(6, NOW), Place(7, NOW))
        assert await branches(store) == [Branch("", None, None, Place(5, NOW)), many, two]

    async def test_events_of_exactly_one_branch_are_read(self, store: Store) -> None:
        await create(store)
        await append(store, *(draft(str(n), branch=["", "a", "a.b"][n % 3]) for n in range(9)))
        for branch, seqs in (("a", [2, 5, 8]), ("", [1, 4, 7]), ("a.b", [3, 6, 9]), ("c", [])):
            wanted = EventFilter(branch=branch, exact_branch=True)
            assert [event.seq for event in await read(store, wanted)] == seqs
            assert [event.seq for event in await read(store, wanted, descending=True)] == seqs[::-1]


class UsageRows:
    async def test_usage_is_summed_by_turn_invocation_and_branch(self, store: Store) -> None:
        await create(store)
        spent = [Usage(n, 2 * n, 3 * n, 4 * n, 5 * n) for n in range(10)]
        answer = {"role": Role.ASSISTANT}
        await append(
            store,
            draft("before", usage=spent[1], **answer),
            draft("question"),
            draft("a", usage=spent[2], invocation_id="i1", **answer),
            draft("b", usage=spent[3], invocation_id="i1", branch="x", event_id="b", **answer),
            draft("c", invocation_id="i1", **answer),
            draft("d", usage=spent[4], invocation_id="i1", **answer),
            draft("again", usage=spent[5], invocation_id="i2"),
            draft("e", usage=spent[6], invocation_id="i2", branch="x", **answer),
            draft("f", usage=spent[7], invocation_id="i1", **answer),
        )
        expected = [
            UsageEntry(0, "", "", [1], spent[1]),
            UsageEntry(2, "i1", "", [3, 6], spent[6]),
            UsageEntry(2, "i1", "x", [4], spent[3]),
            UsageEntry(7, "i2", "", [7], spent[5]),
            UsageEntry(7, "i2", "x", [8], spent[6]),
            UsageEntry(7, "i1", "", [9], spent[7]),
        ]
        for limit in (1, 2, 4, 9, 10):
            assert await usage(store, limit) == expected
        total = (await store.get_session(TENANT, ref())).usage
        assert sum((entry.usage for entry in expected), NO_USAGE) == total
        for branch in ("", "x", "y"):
            mine = [entry for entry in expected if entry.branch == branch]
            assert await usage(store, branch=branch) == await usage(store, 2, branch=branch) == mine
        assert await usage(store, after_seq=3, before_seq=7) == [
            UsageEntry(2, "i1", "x", [4], spent[3]),
            UsageEntry(2, "i1", "", [6], spent[4]),
        ]
        await erase_events(store, "b")
        assert await usage(store) == [entry for entry in expected if entry.seqs != [4]]
        assert (await store.get_session(TENANT, ref())).usage == total
