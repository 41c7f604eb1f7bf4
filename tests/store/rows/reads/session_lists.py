"""Lists of sessions: orders, conditions, counts, numbered pages, newest events; and ids that are unique in an app."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft, texts
from tests.support.sessions import TENANT, append, create, new_session, ref
from threadkeep_server.domain.errors import SessionAlreadyExists
from threadkeep_server.domain.model import SECOND_NS, SessionChange
from threadkeep_server.store.contract.sessions import SessionOrder, SessionQuery
from threadkeep_server.store.contract.store import Store

_MINUTE = 60 * SECOND_NS


async def listed(store: Store, **query: object) -> list[str]:
    """Returns the ids of all pages."""
    found: list[str] = []
    cursor = None
    while True:
        page = await store.list_sessions(TENANT, SessionQuery(cursor=cursor, **query))  # type: ignore[arg-type]
        found += [session.ref.session_id for session in page.sessions]
        cursor = page.cursor
        if cursor is None:
            return found


async def updated_at(store: Store, times: dict[str, int]) -> None:
    """Creates sessions in the order of the mapping, then updates each at its time, in seconds after NOW."""
    for name in times:
        await create(store, name, create_time=NOW - 10_000 * SECOND_NS, labels={"even": str(times[name] % 2 == 0)})
    for name, seconds in times.items():
        change = SessionChange(frozenset({"metadata_json"}), NOW + seconds * SECOND_NS)
        await store.update_session(TENANT, ref(name), change)


# Within one minute, and in others.
_TIMES = {"a": 3, "b": 1, "c": 500, "d": 2, "e": 1, "f": 130, "g": 501, "h": 129}
_FIRST = ["b", "e", "d", "a", "h", "f", "c", "g"]


class SessionListRows:
    @pytest.mark.parametrize("limit", [1, 2, 3, 8, 9])
    async def test_sessions_are_listed_by_update_in_both_directions(self, store: Store, limit: int) -> None:
        await updated_at(store, _TIMES)
        await create(store, "other", user="bob", create_time=NOW - 20_000 * SECOND_NS)
        for scope in ({}, {"app": "shop"}):
            first = await listed(store, order=SessionOrder.UPDATED_FIRST, limit=limit, **scope)
            assert first == ["other", *_FIRST]
            assert await listed(store, order=SessionOrder.UPDATED_LAST, limit=limit, **scope) == first[::-1]
        assert await listed(store, order=SessionOrder.UPDATED_LAST, limit=limit, user_id="alice") == _FIRST[::-1]
        even = [name for name in _FIRST if _TIMES[name] % 2 == 0]
        assert await listed(store, order=SessionOrder.UPDATED_FIRST, limit=limit, labels={"even": "True"}) == even

    async def test_an_append_moves_its_session_to_the_end(self, store: Store) -> None:
        await updated_at(store, _TIMES)
        await append(store, draft("x"), to=ref("e"), now=NOW + 9 * _MINUTE)
        await append(store, draft("x"), to=ref("b"), now=NOW + 9 * _MINUTE + 1)
        assert await listed(store, order=SessionOrder.UPDATED_LAST, limit=3) == ["b", "e", *_FIRST[:1:-1]]
        assert await listed(store, order=SessionOrder.CREATED_FIRST, limit=3) == list(_TIMES)

    async def test_conditions_on_update_time_exclude_their_bounds(self, store: Store) -> None:
        await updated_at(store, _TIMES)
        for after, before in ((1, 500), (None, 129), (130, None), (501, None), (-1, 1)):
            query = {
                "updated_after": None if after is None else NOW + after * SECOND_NS,
                "updated_before": None if before is None else NOW + before * SECOND_NS,
            }
            wanted = [
                name for name in _FIRST if (after is None or _TIMES[name] > after) and (before is None or _TIMES[name] < before)
            ]
            assert await listed(store, order=SessionOrder.UPDATED_FIRST, limit=2, **query) == wanted
            assert sorted(await listed(store, limit=2, **query)) == sorted(wanted)

    async def test_a_prefix_of_the_id_is_compared_exactly(self, store: Store) -> None:
        for number, name in enumerate(("chat-1", "Chat-2", "chat-3", "cha", "chat%", "éa", "chat_x")):
            await create(store, name, create_time=NOW + number)
        assert await listed(store, prefix="chat-", limit=1) == ["chat-3", "chat-1"]
        assert await listed(store, prefix="chat%") == ["chat%"]
        assert await listed(store, prefix="chat_") == ["chat_x"]
        assert await listed(store, prefix="é") == ["éa"]
        assert await listed(store, prefix="x") == []

    async def test_numbered_pages_and_counts(self, store: Store) -> None:
        await updated_at(store, _TIMES)
        for order, every in ((SessionOrder.UPDATED_FIRST, _FIRST), (SessionOrder.CREATED_LAST, list(_TIMES)[::-1])):
            for number in range(4):
                query = SessionQuery(order=order, limit=3, offset=3 * number, count=True)
                page = await store.list_sessions(TENANT, query)
                assert [each.ref.session_id for each in page.sessions] == every[3 * number : 3 * number + 3]
                assert page.total == 8
            assert await listed(store, order=order, limit=3) == every, "tokens continue"
        counted = await store.list_sessions(TENANT, SessionQuery(labels={"even": "True"}, count=True, limit=1))
        assert counted.total == sum(seconds % 2 == 0 for seconds in _TIMES.values())
        assert (await store.list_sessions(TENANT, SessionQuery())).total is None

    async def test_each_session_comes_with_its_newest_event_that_fits(self, store: Store) -> None:
        for number, name in enumerate(("a", "b", "c", "d")):
            await create(store, name, create_time=NOW + number)
        await append(store, draft("a1"), draft("a2"), to=ref("a"))
        await append(store, draft("c1"), draft("x" * 100_000), to=ref("c"))
        await append(store, draft("d1"), to=ref("d"))
        page = await store.list_sessions(TENANT, SessionQuery(newest=True, order=SessionOrder.CREATED_FIRST))
        assert [each and texts([each])[0][:3] for each in page.newest] == ["a2", None, "xxx", "d1"]
        small = await store.list_sessions(TENANT, SessionQuery(newest=True, order=SessionOrder.CREATED_FIRST, max_bytes=50_000))
        assert [each and texts([each])[0] for each in small.newest] == ["a2", None, None, "d1"]
        assert (await store.list_sessions(TENANT, SessionQuery())).newest == ()


class UniqueIdRows:
    async def test_an_id_of_another_user_of_the_app_is_refused(self, store: Store) -> None:
        await create(store, "s", user="alice")
        for return_existing in (False, True):
            taken = new_session("s", user="bob")
            with pytest.raises(SessionAlreadyExists):
                await store.create_session(TENANT, taken, return_existing=return_existing, unique=True)
        for free in (new_session("s", user="bob", app="other"), new_session("t", user="bob")):
            assert (await store.create_session(TENANT, free, return_existing=False, unique=True))[1]
        again = await store.create_session(TENANT, new_session("s", user="alice"), return_existing=True, unique=True)
        assert again[1] is False
        assert (await store.create_session(TENANT, new_session("s", user="bob"), return_existing=False))[1]

    async def test_of_users_who_create_an_id_at_once_one_wins(self, store: Store) -> None:
        users = [f"user-{number}" for number in range(12)]
        outcomes = await asyncio.gather(
            *(store.create_session(TENANT, new_session("s", user=user), return_existing=True, unique=True) for user in users),
            return_exceptions=True,
        )
        refused = [each for each in outcomes if isinstance(each, SessionAlreadyExists)]
        assert len(refused) == len(users) - 1
        assert len(await listed(store)) == 1
        assert all(first is not second for first, second in pairwise(refused))
