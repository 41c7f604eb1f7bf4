"""Users who have data."""

from __future__ import annotations

from tests.support.clock import NOW
from tests.support.memories import memory, remember
from tests.support.sessions import TENANT, create
from threadkeep_server.domain.erasure import Erasure, ErasureScope
from threadkeep_server.domain.memories import MemoryScope
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.state.state import StateName, StatePatch, StateScope
from threadkeep_server.store.contract.erasure import UserName
from threadkeep_server.store.contract.store import Store

ALL = {("", "eve"), ("shop", "alice"), ("shop", "bob"), ("shop", "carol"), ("shop", "Zoë"), ("work", "alice")}


async def _set(store: Store, scope: StateScope, app: str, user_id: str) -> None:
    name = StateName(scope, SessionRef(app, user_id, ""))
    await store.patch_state(TENANT, name, StatePatch({"k": "1"}), NOW)


async def _fill(store: Store) -> None:
    """Gives users sessions, memories or state, some of them several of each; and others in another tenant."""
    for number in range(3):
        await create(store, f"s{number}", user="alice")
    for user, app in (("alice", "work"), ("eve", ""), ("Zoë", "shop")):
        await create(store, "s", user=user, app=app)
    await create(store, "s", user="mallory", tenant="other")
    for user in ("alice", "bob"):
        await remember(store, memory("a"), memory("b"), scope=MemoryScope("shop", user))
    await _set(store, StateScope.USER, "shop", "carol")
    await _set(store, StateScope.USER, "shop", "bob")
    await _set(store, StateScope.APP, "shop", "")
    await _set(store, StateScope.APP, "of-no-user", "")


async def _listed(store: Store, app: str | None = None, limit: int = 100) -> list[UserName]:
    page = await store.list_users(TENANT, app, limit)
    found = [*page.users]
    while page.cursor is not None:
        assert page.cursor == page.users[-1]
        page = await store.list_users(TENANT, app, limit, page.cursor)
        assert 0 < len(page.users) <= limit
        found += page.users
    return found


class UserListRows:
    async def test_users_with_sessions_memories_or_state_are_listed_once(self, store: Store) -> None:
        assert await _listed(store) == []
        await _fill(store)
        found = await _listed(store)
        assert len(found) == len(ALL)
        assert set(found) == ALL
        assert [app for app, _ in found] == ["", "shop", "shop", "shop", "shop", "work"], "app by app"
        for app in ("", "shop", "work", "of-no-user", "none"):
            assert set(await _listed(store, app)) == {user for user in ALL if user[0] == app}

    async def test_pages_of_users_have_each_once_in_the_same_order(self, store: Store) -> None:
        await _fill(store)
        for app in (None, "shop"):
            whole = await _listed(store, app)
            assert [await _listed(store, app, limit) for limit in (1, 2, 3, 6)] == [whole] * 4
        assert (await store.list_users(TENANT, None, len(ALL))).cursor is None

    async def test_an_erased_user_is_not_listed(self, store: Store) -> None:
        await _fill(store)
        for scope in (ErasureScope(user_id="alice", memories=True), ErasureScope(user_id="carol", app="shop", memories=True)):
            await store.erase(Erasure(TENANT, "", scope, NOW), 60)
        assert set(await _listed(store)) == ALL - {("shop", "alice"), ("work", "alice"), ("shop", "carol")}
