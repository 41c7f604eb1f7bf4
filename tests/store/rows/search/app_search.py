"""Searching the sessions of an app."""

from __future__ import annotations

import pytest

from tests.support.candidates import twice
from tests.support.codec import draft, texts
from tests.support.sessions import append, create, ref, search, search_in_pages, session_with
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Role
from threadkeep_server.domain.scopes import AppScope
from threadkeep_server.store.contract.search import SearchHit
from threadkeep_server.store.contract.store import Store

SHOP = AppScope("shop")


async def said(store: Store, wanted: EventFilter | str, scope: AppScope = SHOP, **options: str) -> list[str]:
    return texts(hit.event for hit in await search(store, wanted, scope, **options))  # type: ignore[arg-type]


class AppSearchRows:
    @pytest.mark.parametrize("term", ["needle", "ee", "n"], ids=["indexed", "short", "shortest"])
    async def test_hits_of_an_app_are_those_of_all_its_users_only(self, store: Store, term: str) -> None:
        await session_with(store, draft("needle alice", time=2))
        await session_with(store, draft("needle bob", time=1), user="bob")
        await session_with(store, draft("needle bank", time=3), app="bank")
        await create(store, tenant="other")
        await append(store, draft("needle other"), tenant="other")
        async for _ in twice(store):
            assert await said(store, term) == ["needle bob", "needle alice"]
            assert await said(store, term, AppScope("bank")) == ["needle bank"]
            assert await said(store, term, SHOP, tenant="other") == ["needle other"]
            assert await said(store, term, AppScope("")) == []
            assert await said(store, term, AppScope("SHOP")) == []

    async def test_conditions_apply_together_with_the_text(self, store: Store) -> None:
        await session_with(store, draft("apple pie", time=1), draft("apple tart", time=2, role=Role.ASSISTANT))
        await session_with(store, draft("apple cake", time=3, synthetic=True), draft("pie", time=4), user="bob")
        async for _ in twice(store):
            assert await said(store, EventFilter(keyword="apple", from_time=2)) == ["apple tart", "apple cake"]
            assert await said(store, EventFilter(keyword="apple", exclude_synthetic=True)) == ["apple pie", "apple tart"]
            assert await said(store, EventFilter(keywords=("pie", "cake"))) == ["apple pie", "apple cake", "pie"]
            assert await said(store, EventFilter(keywords=("pie", "apple"), match_all=True)) == ["apple pie"]
            assert await said(store, EventFilter(keyword="apple", page=1, page_size=2)) == ["apple cake"]

    async def test_hits_of_an_app_come_by_time_session_and_position_in_pages(self, store: Store) -> None:
        users = ("alice", "bob", "carol")
        for user in users:
            await create(store, user=user)
        for turn in range(3):
            for user in reversed(users):
                await append(store, draft(f"hit {turn} {user}", time=100 - turn // 2), to=ref(user=user))
        expected = [f"hit 2 {user}" for user in users] + [f"hit {turn} {user}" for user in users for turn in (0, 1)]
        async for _ in twice(store):
            assert await said(store, "hit") == expected
            for limit in (1, 2, 4, 9):
                pages: list[list[SearchHit]] = await search_in_pages(store, EventFilter(keyword="hit"), SHOP, limit=limit)
                assert texts(hit.event for page in pages for hit in page) == expected
