"""When sessions expire, and what is deleted of them."""

from __future__ import annotations

import asyncio

import pytest

from tests.store.rows.sessions import HOUR, ids
from tests.support.clock import NOW
from tests.support.codec import draft, texts
from tests.support.sessions import TENANT, append, create, read, ref, search, session_with
from threadkeep_server.domain.errors import SessionAlreadyExists
from threadkeep_server.domain.model import SessionChange
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.maintenance import Totals
from threadkeep_server.store.contract.sessions import Expired
from threadkeep_server.store.contract.store import Store


class ExpiryRows:
    async def test_only_expired_sessions_are_deleted(self, store: Store) -> None:
        await create(store, "live", expire_time=NOW + HOUR)
        await create(store, "forever", expire_time=None)
        await create(store, "edge", expire_time=NOW)
        await session_with(store, draft("x"), session_id="gone", expire_time=NOW - HOUR)
        assert await store.delete_expired(TENANT, NOW, 100) == 2
        assert await ids(store) == ["forever", "live"]
        assert await read(store, of=ref("gone")) == []
        assert await search(store, "x", UserScope("alice")) == []
        assert await store.delete_expired(TENANT, NOW, 100) == 0

    async def test_without_expired_sessions_nothing_is_deleted(self, store: Store) -> None:
        assert await store.delete_expired(TENANT, NOW, 100) == 0
        await create(store, expire_time=NOW + 1)
        assert await store.delete_expired(TENANT, NOW, 100) == 0
        assert await store.delete_expired(None, NOW, 100) == 0

    async def test_the_facts_of_a_sweep_are_the_expired_sessions_and_the_time_of_the_newest_change(self, store: Store) -> None:
        assert await store.sweep_facts(NOW) == (0, 0, None, 0)
        await create(store, "s1", expire_time=NOW + 1)
        await create(store, "s2", tenant="other", expire_time=NOW + 2)
        await append(store, draft(), to=ref("s1"), now=NOW + 5)
        assert [(await store.sweep_facts(NOW + later)).expired for later in (0, 1, 2)] == [0, 1, 2]
        assert (await store.sweep_facts(NOW)).newest == NOW + 5

    async def test_a_sweep_respects_its_limit_and_continues_next_time(self, store: Store) -> None:
        for number in range(5):
            await create(store, f"s{number}", expire_time=1)
        assert [await store.delete_expired(TENANT, NOW, 2) for _ in range(4)] == [2, 2, 1, 0]

    async def test_without_a_tenant_every_tenant_is_swept(self, store: Store) -> None:
        for tenant in ("t1", "t2"):
            await create(store, tenant=tenant, expire_time=1)
        assert await store.delete_expired("t1", NOW, 100) == 1
        await create(store, tenant="t1", expire_time=1)
        assert await store.delete_expired(None, NOW, 100) == 2

    async def test_only_expired_sessions_of_an_app_a_user_and_a_time_are_deleted(self, store: Store) -> None:
        for name, user, app, expire_time in (
            ("s1", "alice", "shop", NOW),
            ("s2", "alice", "", NOW - 1),
            ("s3", "bob", "shop", NOW - 2),
            ("s4", "bob", "shop", NOW + 1),
            ("s5", "bob", "desk", NOW - HOUR),
        ):
            await create(store, name, user=user, app=app, expire_time=expire_time)
        for which, names in (
            (Expired(app="", user_id="bob"), []),
            (Expired(before=NOW - 3, app="shop"), []),
            (Expired(app=""), ["s2"]),
            (Expired(user_id="bob", before=NOW - 2), ["s5", "s3"]),
            (Expired(before=NOW + HOUR), ["s1"]),
        ):
            reported = await store.expired_sessions(TENANT, NOW, 10, which=which)
            assert [session.ref.session_id for _, session in reported] == names
            assert await store.delete_expired("other", NOW, 10, which) == 0
            assert await store.delete_expired(TENANT, NOW, 10, which) == len(names)
        assert await ids(store) == ["s4"]

    async def test_an_expired_session_works_until_it_is_swept(self, store: Store) -> None:
        await create(store, expire_time=1)
        await append(store, draft("hello"))
        assert texts(await read(store)) == ["hello"]
        assert await ids(store) == ["s1"]
        with pytest.raises(SessionAlreadyExists):
            await create(store)
        change = SessionChange(frozenset({"expiry"}), NOW, expire_time=NOW + HOUR)
        assert (await store.update_session(TENANT, ref(), change)).expire_time == NOW + HOUR
        assert await store.delete_expired(TENANT, NOW, 100) == 0
        assert texts(await read(store)) == ["hello"]

    async def test_several_sweeps_at_once_delete_each_session_once(self, store: Store) -> None:
        for number in range(20):
            await session_with(store, draft("x"), session_id=f"s{number}", expire_time=1)
        assert sum(await asyncio.gather(*(store.delete_expired(None, NOW, 7) for _ in range(6)))) == 20
        assert (await store.info(TENANT, totals=True)).totals == Totals(0, 0)
