"""Removals: what pops, clears, erasures and replacements take out, and what they leave."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.store.rows.compaction import ACTIVE, flags, named
from tests.support.clock import NOW
from tests.support.codec import call, draft, parse, result, texts
from tests.support.feed import follow, kinds
from tests.support.removals import clear, erase_events, operation, pop, replace_suffix, upsert
from tests.support.sessions import TENANT, append, compact, create, new_session, placed, read, ref, search, session_with
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.erasure import digest_of
from threadkeep_server.domain.errors import (
    EventIdConflict,
    EventNotFound,
    OperationConflict,
    SessionNotFound,
    VersionMismatch,
)
from threadkeep_server.domain.model import NO_COUNTERS, Usage
from threadkeep_server.domain.removals import (
    OPERATIONS_KEPT_NS,
    event_line,
)
from threadkeep_server.store.contract.store import Store


async def context(store: Store) -> list[str]:
    page = await store.get_context(TENANT, ref(), ContextSpec(), 1 << 20)
    return [parse(event).event_id for event in page.events]


def ids(events: Any) -> list[str]:
    return [parse(event).event_id for event in events]


async def tombstones(store: Store, **where: Any) -> list[int]:
    return [event.seq for event in await read(store, **where) if parse(event).erased]


class PopRows:
    async def test_a_pop_returns_the_newest_events_in_order_and_archives_them(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        popped = await pop(store, 2, now=NOW + 5)
        assert texts(popped.events) == ["e2", "e3"]
        assert all(event.archived for event in popped.events)
        assert await flags(store) == "e1 (e2) (e3)"
        session = await store.get_session(TENANT, ref())
        assert (session.log_version, session.window_version, session.last_seq, session.window.events) == (4, 1, 3, 1)
        assert session.versions == popped.outcome.versions
        assert session.update_time == NOW + 5
        assert (await append(store, draft("next"))).last_seq == 4

    async def test_a_pop_of_more_than_there_is_empties_the_window(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        assert len((await pop(store, 9)).events) == 2
        before = await store.get_session(TENANT, ref())
        assert before.window == NO_COUNTERS
        assert not (await pop(store, 9)).events
        assert await store.get_session(TENANT, ref()) == before

    async def test_a_pop_takes_the_newest_of_one_branch_only(self, store: Store) -> None:
        await session_with(store, draft("a"), draft("b", branch="x"), draft("c", branch="x.y"), draft("d"))
        assert texts((await pop(store, 1, "x")).events) == ["b"]
        assert texts((await pop(store, 1, "")).events) == ["d"]
        assert await flags(store) == "a (b) c (d)"

    async def test_a_pop_ends_before_it_exceeds_the_bytes_but_returns_one(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        assert texts((await pop(store, 3, max_bytes=1)).events) == ["e3"]
        assert texts((await pop(store, 3, max_bytes=1 << 20)).events) == ["e1", "e2"]

    async def test_a_pop_with_a_stale_version_or_of_an_unknown_session_is_refused(self, store: Store) -> None:
        with pytest.raises(SessionNotFound):
            await pop(store)
        await session_with(store, *named("e1"))
        with pytest.raises(VersionMismatch):
            await pop(store, expected_log_version=0)
        assert texts((await pop(store, expected_log_version=1)).events) == ["e1"]

    async def test_a_pop_takes_summaries_where_they_are_and_skips_what_a_compaction_archived(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await compact(store, ["e1", "e3"], placed("e2", draft("sum", event_id="sum", synthetic=True)))
        assert texts((await pop(store, 2)).events) == ["sum", "e2"]

    async def test_concurrent_pops_return_each_event_once(self, store: Store) -> None:
        await session_with(store)
        await append(store, *named(*(f"e{i}" for i in range(40))))
        popped = await asyncio.gather(*(pop(store, 1 + number % 2) for number in range(64)))
        found = [name for each in popped for name in texts(each.events)]
        assert sorted(found) == sorted(f"e{i}" for i in range(40))

    async def test_a_popped_result_leaves_its_call_and_a_popped_call_hides_its_result(self, store: Store) -> None:
        await session_with(store, draft("q", event_id="q"), call("c1", event_id="call"), result("c1", event_id="result"))
        assert ids((await pop(store)).events) == ["result"]
        assert await context(store) == ["q", "call"]
        await append(store, draft("b", event_id="b", branch="x"), result("c1", event_id="again", branch="x"))
        await pop(store, 1, "")
        assert await context(store) == ["q", "b"]

    async def test_popped_events_stay_searchable_and_erased_ones_do_not(self, store: Store) -> None:
        await session_with(store, draft("apple"), draft("pear"))
        await pop(store)
        assert len(await search(store, "pear")) == 1
        await pop(store, erase=True)
        assert await search(store, "apple") == []
        assert len(await search(store, "pear")) == 1


class ClearRows:
    @pytest.mark.parametrize("erase", [False, True])
    async def test_a_clear_empties_the_window_and_keeps_the_session(self, store: Store, erase: bool) -> None:
        await session_with(store, *named("e1", "e2", "e3"), labels={"a": "1"})
        await compact(store, ["e1"], placed("e2", draft("sum", event_id="sum", synthetic=True)))
        await append(store, draft("sys", role=3))
        cleared = await clear(store, erase=erase)
        session = await store.get_session(TENANT, ref())
        assert cleared.outcome.removed == 4
        assert session.versions == cleared.outcome.versions
        assert (session.log_version, session.window_version, session.last_seq) == (6, 2, 5)
        assert (session.window, session.labels) == (NO_COUNTERS, {"a": "1"})
        assert await context(store) == []
        assert await read(store, ACTIVE) == []
        assert [event.seq for event in await read(store)] == [1, 4, 2, 3, 5]
        assert len(await tombstones(store)) == (5 if erase else 0)
        await append(store, draft("next", event_id="next"))
        assert await context(store) == ["next"]

    async def test_a_clear_erases_what_was_archived_before(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        await pop(store)
        done = await clear(store, erase=True)
        assert await search(store, "e") == []
        assert done.outcome.erased is not None
        assert (done.outcome.removed, done.outcome.erased.events) == (1, 2)
        lines = sorted(event_line(*ref(), f"e{i}", i) for i in (1, 2))
        assert done.outcome.erased.ids_digest == digest_of(lines)

    async def test_a_writer_from_before_a_clear_that_expects_a_version_is_refused(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        version = (await store.get_session(TENANT, ref())).log_version
        await clear(store)
        with pytest.raises(VersionMismatch):
            await append(store, draft("late"), expected_log_version=version)
        await clear(store)  # also of an empty window
        assert (await store.get_session(TENANT, ref())).log_version == version + 2

    async def test_a_long_log_is_cleared_and_erased(self, store: Store) -> None:
        await session_with(store)
        for _ in range(3):
            await append(store, *(draft(f"word{i}") for i in range(500)))
        await clear(store, erase=True)
        assert len(await tombstones(store)) == 1500
        assert await search(store, "word7") == []
        await append(store, *named("next"))
        assert texts(await read(store, ACTIVE)) == ["next"]


class EraseRows:
    async def test_erased_events_leave_tombstones(self, store: Store) -> None:
        fields: dict[str, Any] = {"author": "bob", "author_role": "r", "branch": "x", "time": NOW - 5, "metadata_json": "{}"}
        await session_with(store, draft("secret", event_id="e1", usage=Usage(1, 2, 3), **fields), draft("b", event_id="e2"))
        before = parse((await read(store))[0])
        done = await erase_events(store, "e1")
        kept, _ = await read(store)
        left = parse(kept)
        assert (left.event_id, left.seq, left.branch, left.erased, left.archived) == ("e1", 1, "x", True, True)
        assert (left.record_time, left.event_time, left.message.role) == (
            before.record_time,
            before.event_time,
            before.message.role,
        )
        assert not left.HasField("usage")
        assert not any((left.message.parts, left.author, left.author_role, left.metadata_json))
        assert b"secret" not in kept.body
        session = await store.get_session(TENANT, ref())
        assert (session.window.events, session.usage) == (1, Usage(1, 2, 3))
        assert done.outcome.erased is not None
        assert done.outcome.erased.ids_digest == digest_of([event_line(*ref(), "e1", 1)])
        assert await store.get_event(TENANT, ref(), "e1") == kept

    async def test_erasing_again_changes_nothing_and_an_unknown_id_erases_nothing(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        await erase_events(store, "e1")
        before = await store.get_session(TENANT, ref()), await read(store)
        again = await erase_events(store, "e1")
        assert (again.outcome.removed, again.outcome.versions) == (0, before[0].versions)
        with pytest.raises(EventNotFound):
            await erase_events(store, "e2", "e3")
        assert (await store.get_session(TENANT, ref()), await read(store)) == before

    async def test_an_append_of_an_erased_id_is_a_conflict(self, store: Store) -> None:
        first = draft("a", event_id="e1")
        await session_with(store, first)
        await erase_events(store, "e1")
        with pytest.raises(EventIdConflict):
            await append(store, first)
        assert (await append(store, first, ignore_existing=True)).events[0].seq == 1

    async def test_archived_events_are_erased_too(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        await compact(store, ["e1"])
        await erase_events(store, "e1", "e2")
        assert await tombstones(store) == [1, 2]
        assert (await store.get_session(TENANT, ref())).window == NO_COUNTERS


class ReplaceRows:
    async def test_an_upsert_takes_the_place_of_the_event_and_gets_a_new_seq(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        done = await upsert(store, draft("new", event_id="e2"), draft("e4", event_id="e4"))
        assert done.outcome.added == (("e2", 4, False), ("e4", 5, False))
        assert await flags(store) == "e1 new (e2) e3 e4"
        assert ids(await read(store)) == ["e1", "e2", "e2", "e3", "e4"]
        assert texts([await store.get_event(TENANT, ref(), "e2")]) == ["new"]
        assert await context(store) == ["e1", "e2", "e3", "e4"]
        session = await store.get_session(TENANT, ref())
        assert (session.log_version, session.window_version, session.last_seq, session.window.events) == (4, 1, 5, 4)

    async def test_an_upsert_of_the_same_content_is_a_replay(self, store: Store) -> None:
        same = draft("a", event_id="e1")
        await session_with(store, same)
        before = await store.get_session(TENANT, ref())
        done = await upsert(store, same, expected_log_version=99)
        assert done.outcome.added == (("e1", 1, True),)
        assert await store.get_session(TENANT, ref()) == before
        with pytest.raises(VersionMismatch):
            await upsert(store, draft("b", event_id="e1"), last="other")
        with pytest.raises(VersionMismatch):
            await upsert(store, draft("b", event_id="e1"), expected_log_version=9)

    async def test_an_upsert_without_stored_ids_is_an_append(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await upsert(store, *named("e2"), last="e1")
        session = await store.get_session(TENANT, ref())
        assert (session.log_version, session.window_version) == (2, 0)
        assert kinds(await follow(store)) == "created appended appended"

    async def test_an_event_that_left_the_window_is_replaced_at_the_end(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        await compact(store, ["e1"])
        await upsert(store, draft("new", event_id="e1"))
        assert await flags(store) == "(e1) e2 new"

    async def test_an_erasure_erases_every_version(self, store: Store) -> None:
        await session_with(store, draft("one", event_id="e1"))
        await upsert(store, draft("two", event_id="e1"))
        await upsert(store, draft("three", event_id="e1"), erase=True)
        assert await tombstones(store) == [2]
        done = await erase_events(store, "e1")
        assert done.outcome.removed == 2
        assert sorted(await tombstones(store)) == [1, 2, 3]
        assert await search(store, "one") == []

    async def test_a_suffix_is_replaced_if_it_is_the_expected_one(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        for expected in (["e2"], ["e1", "e3"], ["e0", "e1", "e2", "e3"], ["e3", "e2"]):
            with pytest.raises(VersionMismatch):
                await replace_suffix(store, expected, draft("x"), operation=operation())
        done = await replace_suffix(store, ["e2", "e3"], draft("new", event_id="e3"), *named("e4"), operation=operation())
        assert (done.outcome.removed, done.outcome.added) == (2, (("e3", 4, False), ("e4", 5, False)))
        assert await flags(store) == "e1 (e2) (e3) new e4"
        session = await store.get_session(TENANT, ref())
        assert (session.log_version, session.window_version, session.window.events) == (4, 1, 3)
        with pytest.raises(EventIdConflict):
            await replace_suffix(store, ["e4"], draft("x", event_id="e1"))

    async def test_a_suffix_of_one_branch_is_replaced(self, store: Store) -> None:
        await session_with(store, draft("a", event_id="a"), draft("b", event_id="b", branch="x"), draft("c", event_id="c"))
        await replace_suffix(store, ["a", "c"], draft("d"), branch="")
        assert await flags(store) == "(a) b (c) d"

    async def test_an_empty_suffix_appends_and_an_empty_replacement_removes(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await replace_suffix(store, [], *named("e2"))
        await replace_suffix(store, ["e1", "e2"], erase=True)
        assert await tombstones(store) == [1, 2]
        before = await store.get_session(TENANT, ref())
        done = await replace_suffix(store, [], operation=operation())
        assert (done.outcome.versions, done.replayed) == (before.versions, False)
        assert (await replace_suffix(store, [], operation=operation())).replayed
        assert kinds(await follow(store)) == "created appended appended removed"

    async def test_of_concurrent_replacements_of_one_suffix_one_wins(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        tried = await asyncio.gather(
            *(replace_suffix(store, ["e2"], draft(f"r{i}")) for i in range(16)), return_exceptions=True
        )
        assert sum(isinstance(each, VersionMismatch) for each in tried) == 15
        assert (await store.get_session(TENANT, ref())).window.events == 2


class OperationRows:
    async def test_a_repeated_append_returns_the_first_outcome(self, store: Store) -> None:
        await create(store)
        first = await append(store, *named("e1", "e2"), operation=operation())
        await append(store, *named("e3"))
        again = await append(store, *named("x1", "x2"), operation=operation(), expected_log_version=77)
        assert [(each.event_id, each.seq, each.replayed) for each in again.events] == [("e1", 1, True), ("e2", 2, True)]
        assert (again.log_version, again.last_seq, again.window) == (first.log_version, first.last_seq, first.window)
        assert len(await read(store)) == 3
        with pytest.raises(OperationConflict) as caught:
            await append(store, draft("y"), operation=operation(fingerprint=b"other"))
        assert caught.value.metadata == {"operation_id": "op-1"}
        with pytest.raises(OperationConflict):
            await pop(store, operation=operation(fingerprint=b"other"))

    async def test_a_failed_append_does_not_use_its_operation_id(self, store: Store) -> None:
        await create(store)
        with pytest.raises(VersionMismatch):
            await append(store, draft("a"), operation=operation(), expected_log_version=9)
        assert not (await append(store, draft("a"), operation=operation(fingerprint=b"g"))).events[0].replayed

    async def test_of_concurrent_appends_of_one_operation_one_stores(self, store: Store) -> None:
        await create(store)
        done = await asyncio.gather(*(append(store, draft(f"a{i}"), operation=operation()) for i in range(64)))
        assert {each.events[0].seq for each in done} == {1}
        assert sum(not each.events[0].replayed for each in done) == 1
        assert len(await read(store)) == 1

    async def test_an_append_that_creates_the_session_is_repeated(self, store: Store) -> None:
        for replayed in (False, True):
            done = await append(store, draft("a"), operation=operation(), create=new_session())
            assert (done.session_created, done.events[0].replayed) == (not replayed, replayed)

    @pytest.mark.parametrize("erase", [False, True])
    async def test_a_repeated_pop_returns_the_same_events_or_their_tombstones(self, store: Store, erase: bool) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        first = await pop(store, 2, operation=operation(), erase=erase)
        again = await pop(store, 2, operation=operation(), erase=erase)
        assert (again.replayed, again.outcome) == (True, first.outcome)
        assert ids(again.events) == ids(first.events) == ["e2", "e3"]
        assert [parse(event).erased for event in again.events] == [erase, erase]
        assert (await store.get_session(TENANT, ref())).window.events == 1

    async def test_a_clear_forgets_operations_but_its_own(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await pop(store, operation=operation("a"))
        first = await clear(store, erase=True, operation=operation("b"))
        again = await clear(store, erase=True, operation=operation("b"))
        assert (again.replayed, again.outcome) == (True, first.outcome)
        assert not (await pop(store, operation=operation("a"))).replayed

    async def test_operations_are_forgotten_with_their_age_and_number(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await pop(store, operation=operation("old"))
        assert (await pop(store, operation=operation("old"), now=NOW + OPERATIONS_KEPT_NS)).replayed
        assert not (await pop(store, operation=operation("old"), now=NOW + OPERATIONS_KEPT_NS + 1)).replayed
