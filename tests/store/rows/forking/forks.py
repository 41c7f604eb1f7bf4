"""Forks: what they contain, at every kind of point."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.store.rows.compaction import named, summary
from tests.store.rows.states.state import patch
from tests.support.clock import NOW
from tests.support.codec import draft, parse, texts
from tests.support.forks import copy_few_at_once, fork, forked
from tests.support.removals import clear, erase_events, operation, pop, replace_suffix, upsert
from tests.support.sessions import TENANT, append, compact, create, new_session, placed, read, ref, search, session_with
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.errors import (
    InvalidField,
    OperationConflict,
    QuotaExceeded,
    SessionAlreadyExists,
    SessionNotFound,
)
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import NO_USAGE, Counters, Parent, SessionRef, Usage
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.domain.state.state import StateName, StatePage, StateQuery, StateScope
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.sessions import SessionOrder, SessionQuery
from threadkeep_server.store.contract.store import Store

FORK = ref("f")
ENOUGH = 1 << 40


async def flags(store: Store, of: SessionRef = FORK, version: int | None = None) -> str:
    """The log in window order; what is archived in parentheses."""
    events = await read(store, of=of, as_of=None if version is None else AsOf(log_version=version))
    return " ".join(f"({text})" if event.archived else text for event in events for text in texts([event]))


async def context(store: Store, of: SessionRef = FORK, version: int | None = None) -> list[str]:
    as_of = None if version is None else AsOf(log_version=version)
    return texts((await store.get_context(TENANT, of, ContextSpec(), ENOUGH, as_of)).events)


async def state_of(store: Store, of: SessionRef = FORK, version: int | None = None) -> StatePage:
    return await store.get_state(TENANT, StateName(StateScope.SESSION, of), StateQuery(as_of=version))


class ForkRows:
    async def test_a_fork_of_the_present_has_everything_of_its_origin(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"), labels={"a": "1"}, metadata_json='{"m": 1}')
        await append(store, draft("e4", event_id="e4", usage=Usage(1, 2, 3)))
        done = await compact(store, ["e1", "e2"], placed("e3", summary("sum")))
        origin, before = await store.get_session(TENANT, ref()), await read(store)
        made = await fork(store, expire_time=NOW + 100)
        assert made == replace(
            origin,
            ref=FORK,
            uid=made.uid,
            create_time=NOW + 9,
            update_time=NOW + 9,
            expire_time=NOW + 100,
            log_version=6,
            window_version=2,
            usage=NO_USAGE,
            parent=Parent("s1", origin.uid, 5, 5),
        )
        assert await store.get_session(TENANT, FORK) == made
        assert await read(store, of=FORK) == before
        assert await flags(store) == "(e1) (e2) sum e3 e4"
        assert await context(store) == ["sum", "e3", "e4"]
        assert list((await store.list_compactions(TENANT, FORK, 10, None)).compactions) == [done.compaction]
        assert await store.get_session(TENANT, ref()) == origin

    async def test_both_sessions_are_independent(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        made = await fork(store)
        assert (await append(store, *named("f3"), to=FORK)).last_seq == 3
        assert (await append(store, *named("e3"))).log_version == made.log_version
        await compact(store, ["e1"], placed("e2", summary("sum")), of=FORK)
        await erase_events(store, "e2")
        assert await flags(store) == "(e1) sum e2 f3"
        assert await flags(store, ref()) == "e1 () e3"
        await store.delete_session(TENANT, ref())
        assert await context(store) == ["sum", "e2", "f3"]
        assert (await store.get_session(TENANT, FORK)).parent == made.parent

    async def test_a_fork_at_a_seq_in_an_append_ends_with_it(self, store: Store) -> None:
        await create(store)
        await append(store, *named("e1", "e2", "e3"))
        await append(store, *named("e4"))
        made = await fork(store, seq=2)
        assert await flags(store) == "e1 e2"
        assert made.parent is not None
        assert (made.last_seq, made.log_version, made.window.events, made.parent.seq) == (2, 2, 2, 2)
        assert (await append(store, *named("e3"), to=FORK)).last_seq == 3
        assert await context(store, version=1) == ["e1", "e2"]

    async def test_a_fork_at_a_seq_of_a_compaction_has_all_of_it(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await compact(store, ["e1", "e2"], placed("e3", summary("a"), summary("b")))
        await append(store, *named("e4"))
        assert (await fork(store, seq=4)).last_seq == 5
        assert await flags(store) == "(e1) (e2) a b e3"

    async def test_a_fork_of_the_past_has_the_window_of_then(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await compact(store, ["e1"], placed("e2", summary("sum")))
        await append(store, *named("e4"))
        await compact(store, ["sum", "e2"], placed("e3", summary("sum2")))
        await pop(store, 1)
        versions = {version: await context(store, ref(), version) for version in range(1, 8)}
        for version in range(1, 8):
            name = f"f{version}"
            made = await fork(store, name, version=version)
            assert (made.log_version, await context(store, ref(name))) == (version + 1, versions[version])
            for earlier in range(1, version + 1):
                assert await context(store, ref(name), earlier) == versions[earlier]
        assert await flags(store, ref("f5")) == "(e1) sum e2 e3 e4"
        assert len((await store.list_compactions(TENANT, ref("f5"), 10, None)).compactions) == 1

    async def test_a_fork_at_version_0_is_empty(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        made = await fork(store, version=0)
        assert (made.last_seq, made.log_version, made.window) == (0, 1, Counters())
        assert await flags(store) == ""
        assert (await append(store, *named("x"), to=FORK)).last_seq == 1

    async def test_what_was_erased_since_is_a_tombstone_outside_the_window(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await erase_events(store, "e1")
        await pop(store, 1, erase=True)
        made = await fork(store, seq=3)
        assert await flags(store) == "() e2 ()"
        assert [parse(event).erased for event in await read(store, of=FORK)] == [True, False, True]
        assert made.window == (await store.read_window(TENANT, FORK)).session.window
        assert (made.window.events, await context(store)) == (1, ["e2"])

    async def test_nothing_of_a_cleared_log_comes_back(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        await clear(store, erase=True)
        assert (await fork(store, seq=2)).window.events == 0
        assert await flags(store) == "() ()"

    async def test_an_event_that_was_replaced_since_has_its_id_again(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2", "e3"))
        await upsert(store, draft("once", event_id="e1"))
        await replace_suffix(store, ["e3"], draft("twice", event_id="e1x"), draft("other", event_id="e3"))
        await upsert(store, draft("again", event_id="e1"))
        for version, found in ((3, "e1"), (4, "once"), (5, "once"), (6, "again")):
            name = f"f{version}"
            await fork(store, name, version=version)
            assert texts([await store.get_event(TENANT, ref(name), "e1")]) == [found]
        assert await flags(store, ref("f4")) == "once (e1) e2 e3"
        erased = await erase_events(store, "e1", of=ref("f4"))
        assert (erased.outcome.removed, await flags(store, ref("f4"))) == (2, "() () e2 e3")

    async def test_a_fork_has_the_state_of_then_and_its_history(self, store: Store) -> None:
        await store.create_session(TENANT, replace(new_session(), state={"a": "1", "b": "2"}), return_existing=False)
        await append(store, *named("e1"))
        await patch(store, a="10", c="3")
        await append(store, *named("e2"))
        await patch(store, StateName(StateScope.SESSION, ref()), "b", a="100")
        await fork(store, "f1", version=1)
        assert await state_of(store, ref("f1")) == StatePage({"a": "10", "b": "2", "c": "3"}, 1)
        assert (await state_of(store, ref("f1"), 0)).values == {"a": "1", "b": "2"}
        await fork(store, "f0", version=0)
        assert (await state_of(store, ref("f0"))).values == {"a": "1", "b": "2"}
        await fork(store)
        assert (await state_of(store)).values == {"a": "100", "c": "3"}
        assert (await state_of(store, version=1)).values == {"a": "10", "b": "2", "c": "3"}
        assert await patch(store, StateName(StateScope.SESSION, FORK), "c", a="0", at=1) == 2
        assert (await state_of(store, ref())).values == {"a": "100", "c": "3"}

    async def test_a_fork_of_a_fork_names_its_own_origin(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        first = await fork(store)
        await append(store, *named("e3"), to=FORK)
        second = await fork(store, "g", of=FORK, seq=3)
        assert second.parent == Parent("f", first.uid, 3, 4)
        assert await flags(store, ref("g")) == "e1 e2 e3"
        assert (await fork(store, "h", of=FORK, version=3)).last_seq == 2

    async def test_copied_events_are_found_by_search(self, store: Store) -> None:
        await session_with(store, *named("apple", "pear"))
        await compact(store, ["apple"], placed("pear", summary("sum")))
        await fork(store)
        assert [hit.ref for hit in await search(store, "apple", FORK)] == [FORK]
        found = [hit.ref.session_id for hit in await search(store, "apple", UserScope("alice"))]
        assert sorted(found) == ["f", "s1"]

    async def test_labels_metadata_and_context_size_are_the_callers_or_the_origins(self, store: Store) -> None:
        await session_with(store, labels={"a": "1", "b": "2"}, metadata_json='{"m": 1}')
        made = await fork(store, labels={"b": "3", "c": "4"}, metadata_json="", context_bytes=7)
        assert (made.labels, made.metadata_json, made.context_bytes) == ({"a": "1", "b": "3", "c": "4"}, "", 7)
        assert (await fork(store, "g", labels={"c": "4"}, without_labels=True)).labels == {"c": "4"}
        with pytest.raises(InvalidField):
            await fork(store, "h", labels={f"l{number}": "" for number in range(63)})

    async def test_a_log_copied_in_parts_is_whole(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        copy_few_at_once(monkeypatch, 2)
        await session_with(store, *named(*(f"e{number}" for number in range(1, 10))))
        await compact(store, ["e1", "e2", "e3"], placed("e4", summary("sum")))
        await compact(store, ["e5"], placed("e4", draft("x", event_id="x")))
        before = await read(store)
        made = await fork(store)
        assert await read(store, of=FORK) == before
        assert made.window == (await store.get_session(TENANT, ref())).window


class ForkRefusalRows:
    async def test_a_fork_needs_an_origin_an_unused_id_and_a_point_that_was(self, store: Store) -> None:
        with pytest.raises(SessionNotFound):
            await fork(store)
        await session_with(store, *named("e1"))
        for name in ("s1", "s2"):
            await create(store, "s2") if name == "s2" else None
            with pytest.raises(SessionAlreadyExists):
                await fork(store, name)
        points: list[tuple[dict[str, Any], str]] = [({"seq": 2}, "at_seq"), ({"version": 2}, "at_log_version")]
        for point, field in points:
            with pytest.raises(InvalidField) as caught:
                await fork(store, **point)
            assert caught.value.metadata["field"] == field
        assert (await store.list_sessions(TENANT, SessionQuery(count=True))).total == 2

    async def test_a_repeated_operation_returns_the_same_fork(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        first = await fork(store, "f", operation=operation())
        await append(store, *named("e2"), to=FORK)
        again = await forked(store, "another", operation=operation())
        assert again.replayed
        assert (again.session.uid, again.session.last_seq) == (first.uid, 2)
        with pytest.raises(OperationConflict):
            await fork(store, "g", operation=operation(fingerprint=b"other"))
        await store.delete_session(TENANT, FORK)
        with pytest.raises(SessionNotFound):
            await fork(store, "f", operation=operation())

    async def test_of_concurrent_calls_one_makes_the_fork(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        made = await asyncio.gather(*(forked(store, "f", operation=operation(), uid=f"u{n}") for n in range(4)))
        assert len({each.session.uid for each in made}) == 1
        assert sorted(each.replayed for each in made) == [False, True, True, True]
        others: list[Any] = await asyncio.gather(*(forked(store, "g") for _ in range(3)), return_exceptions=True)
        assert sorted(type(each).__name__ for each in others) == ["Forked", "SessionAlreadyExists", "SessionAlreadyExists"]

    async def test_what_a_quota_refuses_leaves_nothing(self, store: Store) -> None:
        await session_with(store, *named("e1", "e2"))
        admitted: list[int] = []

        def admit(events: int) -> None:
            admitted.append(events)
            raise QuotaExceeded("events_per_tenant", 1)

        with pytest.raises(QuotaExceeded):
            await fork(store, seq=1, admit=admit)
        assert admitted == [1]
        with pytest.raises(SessionNotFound):
            await store.get_session(TENANT, FORK)

    async def test_writers_continue_while_a_session_is_copied(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        copy_few_at_once(monkeypatch, 3)
        await session_with(store, *named(*(f"e{number}" for number in range(1, 31))))
        before = await read(store)

        async def write() -> None:
            for number in range(5):
                await append(store, *named(f"x{number}"))
                await compact(store, [f"e{number + 1}"], placed(f"e{number + 2}", summary(f"sum{number}")))
            await erase_events(store, "e30")
            await upsert(store, draft("new", event_id="e29"))

        made, _ = await asyncio.gather(fork(store, seq=30), write())
        copied = await read(store, of=FORK)
        # An erasure may come before or after the copy of its event.
        assert [event.seq for event in copied] == [event.seq for event in before]
        assert [event.body for event in copied[:-1]] == [event.body for event in before[:-1]]
        window = (await store.read_window(TENANT, FORK)).events
        assert (len(window), sum(event.size for event in window)) == (made.window.events, made.window.bytes)
        assert len(window) in (29, 30)
        assert texts([await store.get_event(TENANT, FORK, "e29")]) == ["e29"]

    async def test_a_fork_is_whole_or_refused_if_its_origin_is_deleted_meanwhile(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        copy_few_at_once(monkeypatch, 1)
        await session_with(store, *named(*(f"e{number}" for number in range(1, 21))))
        made, _ = await asyncio.gather(fork(store), store.delete_session(TENANT, ref()), return_exceptions=True)
        if isinstance(made, SessionNotFound):
            with pytest.raises(SessionNotFound):
                await store.get_session(TENANT, FORK)
        else:
            assert len(await read(store, of=FORK)) == 20


class ForkListRows:
    async def test_the_forks_of_a_session_are_listed_in_pages(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await session_with(store, session_id="s2")
        for number in range(5):
            await fork(store, f"f{number}", now=NOW + number)
        await fork(store, "other", of=ref("s2"))
        await fork(store, "second", of=ref("f0"))
        await store.delete_session(TENANT, ref())
        for order in SessionOrder:
            expected = [f"f{number}" for number in range(5)]
            query = SessionQuery("shop", "alice", order=order, limit=2, forked_from="s1")
            found: list[str] = []
            cursor = None
            while cursor is not None or not found:
                page = await store.list_sessions(TENANT, replace(query, cursor=cursor))
                found += [session.ref.session_id for session in page.sessions]
                cursor = page.cursor
            assert found == (expected if order.ascending else expected[::-1])
        assert not (await store.list_sessions(TENANT, SessionQuery(user_id="bob", forked_from="s1"))).sessions
        assert not (await store.list_sessions("other", SessionQuery(forked_from="s1"))).sessions
        assert (await store.list_sessions(TENANT, SessionQuery(forked_from="s1", count=True, limit=1))).total == 5

    async def test_events_of_a_fork_are_filtered_like_those_of_its_origin(self, store: Store) -> None:
        await create(store)
        await append(store, *(draft(name, event_id=name, invocation_id=name[0]) for name in ("a1", "a2", "b1")))
        await fork(store)
        wanted = EventFilter(invocation_ids=frozenset(["a"]))
        assert texts(await read(store, wanted, of=FORK)) == ["a1", "a2"]
