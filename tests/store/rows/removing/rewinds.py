"""Rewinds: the window and the state become those of an earlier moment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.store.rows.compaction import named, summary
from tests.store.rows.forking.forks import context, flags, state_of
from tests.store.rows.states.state import SESSION, patch, states
from tests.support.clock import NOW
from tests.support.codec import draft, texts
from tests.support.feed import follow, kinds
from tests.support.forks import fork
from tests.support.removals import clear, erase_events, operation, pop, replace_suffix, rewind, upsert
from tests.support.sessions import TENANT, append, compact, create, new_session, placed, ref, session_with
from threadkeep_server.domain.errors import InvalidField, SessionNotFound, VersionMismatch
from threadkeep_server.domain.feed import ChangeKind
from threadkeep_server.domain.removals import Removal, RemovalKind
from threadkeep_server.domain.state.state import StatePage
from threadkeep_server.store.contract import removals as contract
from threadkeep_server.store.contract.store import Store


class RewindRows:
    async def test_events_after_the_point_leave_and_the_log_goes_on(self, store: Store) -> None:
        await create(store)
        await append(store, *named("e1", "e2", "e3"))
        await append(store, *named("e4"))
        done = await rewind(store, 2)
        assert await flags(store, ref()) == "e1 e2 (e3) (e4)"
        outcome = done.outcome
        assert (outcome.removed, outcome.restored, outcome.versions.last_seq) == (2, 0, 4)
        session = await store.get_session(TENANT, ref())
        assert (session.log_version, session.window_version, session.window.events) == (3, 1, 2)
        assert session.versions == outcome.versions
        assert (await append(store, *named("e5"))).last_seq == 5
        assert await context(store, ref()) == ["e1", "e2", "e5"]
        assert await context(store, ref(), 2) == ["e1", "e2", "e3", "e4"]

    async def test_what_left_since_comes_back_but_what_was_erased(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3", "e4"))
        await erase_events(store, "e2")
        await compact(store, ["e1"], placed("e3", summary("sum")))
        await pop(store, 1)
        shown = {version: await context(store, ref(), version) for version in range(1, 8)}
        done = await rewind(store, 4)
        assert (done.outcome.removed, done.outcome.restored) == (1, 2)
        assert await flags(store, ref()) == "e1 () (sum) e3 e4"
        assert done.outcome.versions.window == (await store.get_session(TENANT, ref())).window
        assert {version: await context(store, ref(), version) for version in range(1, 8)} == shown
        await rewind(store, version=7)
        assert await context(store, ref()) == shown[7]
        assert await context(store, ref(), 8) == ["e1", "e3", "e4"]
        await fork(store, version=8)
        assert await context(store) == ["e1", "e3", "e4"]
        await fork(store, "g")
        assert [await context(store, ref("g"), version) for version in (6, 8, 9)] == [shown[6], ["e1", "e3", "e4"], shown[7]]

    async def test_a_clear_is_undone_unless_it_erased(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        await clear(store)
        await append(store, *named("e3"))
        await rewind(store, 2)
        assert await context(store, ref()) == ["e1", "e2"]
        await clear(store, erase=True)
        assert (await rewind(store, 2)).outcome.restored == 0
        assert await context(store, ref()) == []

    async def test_a_replaced_event_has_its_id_again(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        await upsert(store, draft("new", event_id="e1"))
        await replace_suffix(store, ["e2"], draft("other", event_id="e2"))
        await rewind(store, 2)
        assert [texts([await store.get_event(TENANT, ref(), name)])[0] for name in ("e1", "e2")] == ["e1", "e2"]
        assert await flags(store, ref()) == "(new) e1 e2 (other)"
        assert (await erase_events(store, "e1")).outcome.removed == 2
        await upsert(store, draft("third", event_id="e2"))
        assert texts([await store.get_event(TENANT, ref(), "e2")]) == ["third"]

    async def test_the_last_event_has_its_id_for_writers_also_if_it_was_replaced_by_an_earlier_version(
        self, store: Store
    ) -> None:
        await session_with(store, draft("once", event_id="e1"))
        await upsert(store, draft("twice", event_id="e1"))
        await rewind(store, 1)
        for refused in (append(store, *named("e2"), expected_last_event_id="x"), upsert(store, *named("e2"), last="x")):
            with pytest.raises(VersionMismatch) as caught:
                await refused
            assert caught.value.metadata["actual"] == "e1"
        assert (await append(store, *named("e2"), expected_last_event_id="e1")).last_seq == 3
        assert await flags(store, ref()) == "(twice) once e2"

    async def test_the_state_is_that_of_then(self, store: Store) -> None:
        await store.create_session(TENANT, replace(new_session(), state={"a": "1", "b": "2"}), return_existing=False)
        await append(store, *named("e1"))
        await patch(store, SESSION, "b", a="10", c="3")
        await append(store, *named("e2"))
        await patch(store, SESSION, "a", d="4")
        await rewind(store, 1)
        assert await state_of(store, ref()) == StatePage({"a": "10", "c": "3"}, 4)
        assert (await state_of(store, ref(), 2)).values == {"c": "3", "d": "4"}
        await rewind(store, version=0)
        assert (await state_of(store, ref())).values == {"a": "1", "b": "2"}
        assert await context(store, ref()) == []
        changes = [each for each in await follow(store) if each.kind in (ChangeKind.STATE, ChangeKind.REMOVED)]
        assert kinds(changes[-4:]) == "removed state removed state"
        assert states(changes)[-2] == ("s1", 4, {"a": "10"}, ("d",))
        assert changes[-1].log_version == changes[-2].log_version == 4

    async def test_a_rewind_can_erase_all_that_came_after(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await compact(store, ["e1", "e2"], placed("e3", summary("sum")))
        done = await rewind(store, 1, erase=True)
        assert (done.outcome.removed, done.outcome.restored) == (3, 1)
        assert await flags(store, ref()) == "e1 () () ()"
        assert done.outcome.erased is not None
        assert done.outcome.erased.events == 3

    async def test_a_rewind_to_where_the_session_is_changes_nothing(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        assert (await rewind(store, 1)).outcome.versions.log_version == 1
        assert kinds(await follow(store)) == "created appended"

    async def test_a_rewind_to_where_the_session_is_can_be_a_change(self, store: Store) -> None:
        await create(store)
        for number in range(3):  # also of an empty log
            before = await store.get_session(TENANT, ref())
            events = await flags(store, ref())
            at = before.log_version
            done = await rewind(store, version=at, always=True, expected_log_version=at, operation=operation(f"o{number}"))
            assert (done.outcome.removed, done.outcome.restored) == (0, 0)
            after = await store.get_session(TENANT, ref())
            assert (after.log_version, after.window_version) == (at + 1, before.window_version + 1)
            assert (after.last_seq, after.window, after.content_bytes) == (before.last_seq, before.window, before.content_bytes)
            assert done.outcome.versions == after.versions
            assert await flags(store, ref()) == events
            assert await context(store, ref(), at) == await context(store, ref(), at + 1) == await context(store, ref())
            again = await rewind(store, version=at, always=True, expected_log_version=at, operation=operation(f"o{number}"))
            assert (again.replayed, again.outcome) == (True, done.outcome)
            with pytest.raises(VersionMismatch):
                await rewind(store, version=at, always=True, expected_log_version=at)
            change = (await follow(store, None))[-1]
            assert change.removal == Removal(RemovalKind.REWOUND, False, 0, (), (), through_seq=before.last_seq)
            await append(store, *named(f"e{number}"))
            if number:
                await pop(store, 1)

    async def test_a_repeated_rewind_and_an_outdated_one_change_nothing(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        first = await rewind(store, 1, operation=operation())
        await append(store, *named("e3"))
        again = await rewind(store, 1, operation=operation())
        assert (again.replayed, again.outcome) == (True, first.outcome)
        assert await flags(store, ref()) == "e1 (e2) e3"
        with pytest.raises(VersionMismatch):
            await rewind(store, 1, expected_log_version=3)

    async def test_a_rewind_needs_a_session_and_a_point_that_is_near(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(SessionNotFound):
            await rewind(store, 1)
        await session_with(store, *named("e1", "e2", "e3"))
        monkeypatch.setattr(contract, "MOST_REWOUND", 1)
        points: list[tuple[dict[str, Any], str]] = [
            ({"seq": 4}, "at_seq"),
            ({"seq": 1}, "at_seq"),
            ({"version": 1}, "at_log_version"),
        ]
        for point, field in points:
            with pytest.raises(InvalidField) as caught:
                await rewind(store, **point)
            assert caught.value.metadata["field"] == field
        assert await flags(store, ref()) == "e1 e2 e3"

    async def test_the_feed_reports_what_left_and_what_came_back(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await pop(store, 1)
        await append(store, *named("e4"))
        await rewind(store, 3, now=NOW + 5)
        change = (await follow(store))[-1]
        assert change.removal == Removal(RemovalKind.REWOUND, False, 1, ("e4",), (4,), through_seq=3, restored=1)
        assert (change.kind, change.time, change.window_events) == (ChangeKind.REMOVED, NOW + 5, 3)
