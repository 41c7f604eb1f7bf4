"""Erasures: of a user, of an app, with labels; what stays, and what is reported."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.store.rows.consumers import join
from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.memories import ingest, memory, of_event, remember, remembered
from tests.support.sessions import TENANT, append, create, read, ref, search, session_with
from threadkeep_server.domain.erasure import Erased, Erasure, ErasureScope, digest_of
from threadkeep_server.domain.errors import InvalidField, StoreUnavailable
from threadkeep_server.domain.feed import ChangeKind, FeedScope
from threadkeep_server.domain.memories import MemoryScope
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.compaction import PolicyKey, PolicyScope, StoredPolicy
from threadkeep_server.store.contract.consumers import ConsumerKey
from threadkeep_server.store.contract.erasure import RECEIPTS_KEPT_NS
from threadkeep_server.store.contract.sessions import SessionQuery
from threadkeep_server.store.contract.store import Store

_LONG = 60.0
WHOLE_USER = ErasureScope(user_id="alice", memories=True)


async def erase(store: Store, scope: ErasureScope, request_id: str = "", *, now: int = NOW, seconds: float = _LONG) -> Erased:
    return await store.erase(Erasure(TENANT, request_id, scope, now), seconds)


async def fill(store: Store) -> None:
    """Sessions of two users in two apps, one with an event, and one of the same name in another tenant."""
    for name, fields in {
        "a-shop": {"user": "alice", "app": "shop", "labels": {"plan": "free", "run": "1"}},
        "a-desk": {"user": "alice", "app": "desk", "labels": {"plan": "free"}},
        "a-none": {"user": "alice", "app": ""},
        "b-shop": {"user": "bob", "app": "shop", "labels": {"plan": "free"}},
    }.items():
        session = await create(store, name, **fields)  # type: ignore[arg-type]
        await append(store, draft(f"text of {name}"), to=session.ref)
    await create(store, "a-shop", tenant="other", labels={"plan": "free"})


async def left(store: Store, tenant: str = TENANT) -> list[str]:
    page = await store.list_sessions(tenant, SessionQuery(None, None, {}, 100, None))
    return sorted(session.ref.session_id for session in page.sessions)


class ErasureRows:
    async def test_an_erasure_ends_after_its_last_step(self, store: Store) -> None:
        await fill(store)
        wanted, starts, answers = Erasure(TENANT, "", WHOLE_USER, NOW), [], [False, None, True]

        async def last(start_time: int) -> bool:
            starts.append(start_time)
            assert await left(store) == ["b-shop"], "the sessions are gone before"
            if (answer := answers.pop(0)) is None:
                raise StoreUnavailable("the archive failed")
            return answer

        unfinished = await store.erase(wanted, _LONG, last)
        assert (unfinished.finish_time, unfinished.ids_digest, unfinished.sessions) == (None, "", 3)
        later = replace(wanted, now=NOW + 1)
        with pytest.raises(StoreUnavailable):
            await store.erase(later, _LONG, last)
        ended = await store.erase(later, _LONG, last)
        assert (ended.finish_time is not None, ended.sessions, ended.start_time) == (True, 3, NOW)
        assert starts == [NOW] * 3

    @pytest.mark.parametrize(
        ("scope", "gone"),
        [
            (ErasureScope(user_id="alice"), {"a-shop", "a-desk", "a-none"}),
            (ErasureScope(user_id="alice", app="shop"), {"a-shop"}),
            (ErasureScope(app="shop"), {"a-shop", "b-shop"}),
            (ErasureScope(app=""), {"a-none"}),
            (ErasureScope(labels={"plan": "free"}), {"a-shop", "a-desk", "b-shop"}),
            (ErasureScope(labels={"plan": "free", "run": "1"}), {"a-shop"}),
            (ErasureScope(user_id="alice", app="desk", labels={"plan": "free"}), {"a-desk"}),
            (ErasureScope(user_id="nobody"), set()),
        ],
        ids=range(8),
    )
    async def test_sessions_of_the_scope_are_deleted_and_no_others(
        self, store: Store, scope: ErasureScope, gone: set[str]
    ) -> None:
        await fill(store)
        erased = await erase(store, scope)
        assert set(await left(store)) == {"a-shop", "a-desk", "a-none", "b-shop"} - gone
        assert (erased.sessions, erased.events) == (len(gone), len(gone))
        assert await left(store, "other") == ["a-shop"]
        found = await search(store, "text", UserScope("alice")) + await search(store, "text", UserScope("bob"))
        assert len(found) == 4 - len(gone)
        assert all([not await read(store, of=ref(name)) for name in gone])

    async def test_more_sessions_than_one_part_takes_are_deleted(self, store: Store) -> None:
        for number in range(45):
            await create(store, f"s{number}", labels={"even": str(number % 2 == 0)})
        assert (await erase(store, ErasureScope(labels={"even": "True"}))).sessions == 23
        assert (await erase(store, ErasureScope(user_id="alice"))).sessions == 22

    async def test_the_feed_reports_each_deleted_session(self, store: Store) -> None:
        await fill(store)
        before = await store.feed_head()
        await erase(store, ErasureScope(user_id="alice", app="shop"))
        page = await store.changes(before, 100, FeedScope(TENANT))
        assert [(each.kind, each.ref.session_id) for each in page.changes if each.ref] == [(ChangeKind.DELETED, "a-shop")]

    async def test_memories_of_a_user_go_with_them_if_wanted(self, store: Store) -> None:
        alice, other = MemoryScope("shop", "alice"), MemoryScope("desk", "alice")
        bob = MemoryScope("shop", "bob")
        for scope in (alice, other, bob):
            await remember(store, memory("x", id=f"{scope.app} {scope.user_id}"), scope=scope)
        await remember(store, memory("x"), tenant="other")
        assert (await erase(store, ErasureScope(user_id="alice"))).memories == 0
        assert (await erase(store, WHOLE_USER)).memories == 2
        assert [await remembered(store, scope=scope) for scope in (alice, other)] == [[], []]
        assert len(await remembered(store, scope=bob)) == len(await remembered(store, tenant="other")) == 1

    async def test_with_labels_memories_of_the_erased_sessions_go_and_are_not_ingested_again(self, store: Store) -> None:
        await create(store, "s1", labels={"k": "v"})
        await create(store, "s2")
        await ingest(store, of_event("one", "e1", "s1"), of_event("two", "e2", "s2"))
        await remember(store, memory("written", id="m1"))
        erased = await erase(store, ErasureScope(labels={"k": "v"}, memories=True))
        assert (erased.sessions, erased.memories) == (1, 1)
        assert {each.draft.id for each in await remembered(store)} == {"s2/e2", "m1"}
        await ingest(store, of_event("one", "e1", "s1"))
        assert {each.draft.id for each in await remembered(store)} == {"s2/e2", "m1"}

    async def test_policies_and_consumers_of_a_whole_user_go(self, store: Store) -> None:
        keys = [
            PolicyKey(TENANT, PolicyScope.USER, "", "alice", ""),
            PolicyKey(TENANT, PolicyScope.USER_OF_APP, "shop", "alice", ""),
            PolicyKey(TENANT, PolicyScope.USER, "", "bob", ""),
            PolicyKey("other", PolicyScope.USER, "", "alice", ""),
        ]
        for key in keys:
            await store.put_policy(StoredPolicy(key, b"x", NOW))
        mine, others = ConsumerKey(TENANT, "alice", "c"), ConsumerKey(TENANT, "", "c")
        await join(store, "m", key=mine)
        await join(store, "m", key=others)
        assert (await erase(store, ErasureScope(user_id="alice", app="shop"))).consumers == 0
        erased = await erase(store, WHOLE_USER)
        assert erased.consumers == 1
        assert {policy.key for policy in await store.policies(0) if policy.body} == set(keys[2:])
        assert [len(await store.consumers(TENANT, owner, 9, "")) for owner in ("alice", "")] == [0, 1]

    async def test_the_digest_represents_what_was_erased(self, store: Store) -> None:
        await session_with(store, draft("x"), session_id="s é")
        await create(store, "s2")
        await remember(store, memory("x", id="m1"))
        erased = await erase(store, WHOLE_USER)
        lines = ["memory\tshop\talice\tm1", "session\tshop\talice\ts2", "session\tshop\talice\ts é"]
        assert erased.ids_digest == digest_of(sorted(lines, key=str.encode))
        assert erased.finish_time is not None

    async def test_a_repeated_request_returns_its_result_and_erases_nothing_new(self, store: Store) -> None:
        await create(store, "s1")
        first = await erase(store, WHOLE_USER, "r1")
        await create(store, "s2")
        assert await erase(store, WHOLE_USER, "r1", now=NOW + 5) == first
        assert await left(store) == ["s2"]
        assert (await erase(store, WHOLE_USER, now=NOW + 5)).sessions == 1

    async def test_the_id_of_a_request_with_another_scope_is_refused(self, store: Store) -> None:
        await erase(store, WHOLE_USER, "r1")
        with pytest.raises(InvalidField, match="request_id"):
            await erase(store, ErasureScope(user_id="bob"), "r1")

    async def test_a_result_is_returned_again_for_its_time_only(self, store: Store) -> None:
        first = await erase(store, WHOLE_USER, "r1")
        assert first.finish_time is not None
        await create(store, "s1")
        later = first.finish_time + RECEIPTS_KEPT_NS
        assert await erase(store, WHOLE_USER, "r1", now=later) == first
        assert (await erase(store, WHOLE_USER, "r1", now=later + 1)).sessions == 1

    async def test_concurrent_calls_of_one_request_erase_once_and_agree(self, store: Store) -> None:
        await fill(store)
        results = await asyncio.gather(*(erase(store, WHOLE_USER, "r1", now=NOW + each) for each in range(4)))
        assert {result.sessions for result in results} == {3}
        assert len({result.ids_digest for result in results}) == 1

    async def test_sessions_created_while_an_erasure_runs_stay(self, store: Store) -> None:
        for number in range(60):
            await create(store, f"s{number}")

        async def write() -> None:
            for number in range(20):
                await create(store, f"new{number}")

        erased, _ = await asyncio.gather(erase(store, WHOLE_USER), write())
        assert erased.sessions + len(await left(store)) == 80
        assert all(name.startswith("new") for name in await left(store))


class DurableErasureRows:
    async def test_a_call_without_time_leaves_the_rest_to_the_next_one(self, store: Store) -> None:
        for number in range(50):
            await create(store, f"s{number}")
        await remember(store, memory("x", id="m1"))
        seen: list[Any] = []
        while not seen or seen[-1].finish_time is None:
            seen.append(await erase(store, WHOLE_USER, "r1", seconds=-1))
        assert [each.sessions for each in seen][:3] == [20, 40, 50]
        assert (seen[-1].sessions, seen[-1].memories) == (50, 1)
        assert len({each.start_time for each in seen}) == 1
        assert await left(store) == []
