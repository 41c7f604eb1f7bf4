"""Compaction policies, the leases under which they are carried out, and who listens for their triggers."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.sessions import TENANT, append, compact, create, new_session, placed, ref
from threadkeep_server.domain.errors import AmbiguousSession, SessionNotFound, VersionMismatch
from threadkeep_server.domain.model import SECOND_NS, SessionRef
from threadkeep_server.store.contract.compaction import PolicyKey, PolicyScope, StoredPolicy
from threadkeep_server.store.contract.store import Store

OF_SESSION = PolicyKey(TENANT, PolicyScope.SESSION, *ref())
KEYS = [
    OF_SESSION,
    PolicyKey(TENANT, PolicyScope.USER_OF_APP, "shop", "alice"),
    PolicyKey(TENANT, PolicyScope.USER, "", "alice"),
    PolicyKey(TENANT, PolicyScope.APP, "shop"),
    PolicyKey(TENANT, PolicyScope.SERVER),
    PolicyKey("other", PolicyScope.SERVER),
]


async def known(store: Store, since: int = 0) -> dict[PolicyKey, tuple[bytes | None, int]]:
    policies = await store.policies(since)
    by_key = {policy.key: (policy.body, policy.time) for policy in policies}
    assert len(by_key) == len(policies), "each policy is returned once"
    return by_key


class PolicyRows:
    async def test_each_scope_has_a_policy_of_its_own(self, store: Store) -> None:
        await create(store)
        for number, key in enumerate(KEYS):
            await store.put_policy(StoredPolicy(key, b"body\x00%d" % number, NOW))
        assert await known(store) == {key: (b"body\x00%d" % number, NOW) for number, key in enumerate(KEYS)}
        assert {type(policy.key.scope) for policy in await store.policies(0)} == {PolicyScope}

    @pytest.mark.parametrize("key", KEYS)
    async def test_a_policy_is_set_replaced_and_removed(self, store: Store, key: PolicyKey) -> None:
        await create(store)
        for number, body in enumerate((b"one", b"", None, b"two")):
            await store.put_policy(StoredPolicy(key, body, NOW + number))
            assert await known(store) == {key: (body, NOW + number)}

    async def test_policies_changed_since_a_time_are_returned_with_removals(self, store: Store) -> None:
        for number, key in enumerate(KEYS[1:]):
            await store.put_policy(StoredPolicy(key, b"x", NOW + number))
        await store.put_policy(StoredPolicy(KEYS[1], None, NOW + 10))
        assert list(await known(store, NOW + 3)) != []
        assert await known(store, NOW + 3) == {
            KEYS[4]: (b"x", NOW + 3),
            KEYS[5]: (b"x", NOW + 4),
            KEYS[1]: (None, NOW + 10),
        }
        assert await known(store, NOW + 11) == {}

    async def test_a_policy_needs_an_existing_session(self, store: Store) -> None:
        with pytest.raises(SessionNotFound):
            await store.put_policy(StoredPolicy(OF_SESSION, b"x", NOW))
        await create(store, tenant="other")
        with pytest.raises(SessionNotFound):
            await store.put_policy(StoredPolicy(OF_SESSION, b"x", NOW))
        assert await known(store) == {}

    async def test_a_policy_is_deleted_with_its_session(self, store: Store) -> None:
        await create(store)
        for key in KEYS:
            await store.put_policy(StoredPolicy(key, b"x", NOW))
        await store.delete_session(TENANT, ref())
        reported = await known(store)
        body, time = reported.pop(OF_SESSION)
        assert body is None
        assert time > NOW
        assert reported == dict.fromkeys(KEYS[1:], (b"x", NOW))
        assert list(await known(store, time)) == [OF_SESSION]
        await create(store)
        assert (await known(store))[OF_SESSION] == (None, time)

    async def test_the_policy_of_an_expired_session_is_deleted_at_the_sweep(self, store: Store) -> None:
        await create(store, expire_time=NOW + 1)
        await store.put_policy(StoredPolicy(OF_SESSION, b"x", NOW))
        assert await store.delete_expired(None, NOW + 5, 10) == 1
        assert await known(store) == {OF_SESSION: (None, NOW + 5)}

    async def test_a_session_without_a_policy_leaves_no_removal(self, store: Store) -> None:
        await create(store)
        await store.delete_session(TENANT, ref())
        assert await known(store) == {}

    async def test_concurrent_policy_updates_leave_one_policy(self, store: Store) -> None:
        bodies = [b"%d" % number for number in range(8)]
        await asyncio.gather(*(store.put_policy(StoredPolicy(KEYS[4], body, NOW)) for body in bodies))
        ((body, _),) = (await known(store)).values()
        assert body in bodies


class LeaseRows:
    async def test_a_lease_is_taken_refused_extended_and_runs_out(self, store: Store) -> None:
        await create(store)
        assert await store.lease(TENANT, ref(), "one", NOW, NOW + 10)
        assert not await store.lease(TENANT, ref(), "two", NOW + 9, NOW + 30)
        assert await store.lease(TENANT, ref(), "one", NOW + 9, NOW + 20)
        assert not await store.lease(TENANT, ref(), "two", NOW + 19, NOW + 30)
        assert await store.lease(TENANT, ref(), "two", NOW + 20, NOW + 30)
        assert not await store.lease(TENANT, ref(), "one", NOW + 20, NOW + 30)

    async def test_a_released_lease_can_be_taken_by_another_owner(self, store: Store) -> None:
        await create(store)
        assert await store.lease(TENANT, ref(), "one", NOW, NOW + 10)
        await store.release(TENANT, ref(), "two")
        assert not await store.lease(TENANT, ref(), "two", NOW, NOW + 10)
        await store.release(TENANT, ref(), "one")
        await store.release(TENANT, ref(), "one")
        assert await store.lease(TENANT, ref(), "two", NOW, NOW + 10)

    async def test_a_lease_is_on_one_session(self, store: Store) -> None:
        await create(store)
        await create(store, "other")
        await create(store, tenant="other")
        for tenant, of in ((TENANT, ref()), (TENANT, ref("other")), ("other", ref())):
            assert await store.lease(tenant, of, f"{tenant} {of}", NOW, NOW + 10)

    async def test_a_lease_is_deleted_with_its_session(self, store: Store) -> None:
        await create(store)
        assert await store.lease(TENANT, ref(), "one", NOW, NOW + 10)
        await store.delete_session(TENANT, ref())
        with pytest.raises(SessionNotFound):
            await store.lease(TENANT, ref(), "one", NOW, NOW + 10)
        await store.release(TENANT, ref(), "one")
        await create(store)
        assert await store.lease(TENANT, ref(), "two", NOW, NOW + 10)

    async def test_a_lease_changes_nothing_of_the_session(self, store: Store) -> None:
        session = await create(store)
        await store.lease(TENANT, ref(), "one", NOW + SECOND_NS, NOW + 2 * SECOND_NS)
        await store.release(TENANT, ref(), "one")
        assert await store.get_session(TENANT, ref()) == session

    async def test_of_concurrent_leases_one_succeeds(self, store: Store) -> None:
        await create(store)
        taken = await asyncio.gather(*(store.lease(TENANT, ref(), f"owner {n}", NOW, NOW + 10) for n in range(8)))
        assert sorted(taken) == [False] * 7 + [True]

    async def test_a_bare_id_must_name_one_session(self, store: Store) -> None:
        await create(store)
        bare = SessionRef("", "", "s1")
        assert await store.lease(TENANT, bare, "one", NOW, NOW + 10)
        assert not await store.lease(TENANT, ref(), "two", NOW, NOW + 10)
        await create(store, user="bob")
        with pytest.raises(AmbiguousSession):
            await store.lease(TENANT, bare, "one", NOW, NOW + 10)
        with pytest.raises(AmbiguousSession):
            await store.release(TENANT, bare, "one")


class ListenerRows:
    async def test_a_listener_is_called_for_each_append_before_its_caller_returns(self, store: Store) -> None:
        heard: list[tuple[str, int]] = []
        store.on_append(lambda request, appended: heard.append((request.ref.session_id, appended.last_seq)))
        await append(store, draft("a"), create=new_session())
        assert heard == [("s1", 1)]
        await append(store, draft("b"), draft("c"))
        assert heard[1:] == [("s1", 3)]
        with pytest.raises(SessionNotFound):
            await append(store, draft("d"), to=ref("no"))
        with pytest.raises(VersionMismatch):
            await append(store, draft("d"), expected_log_version=9)
        await compact(store, (), placed(None, draft("sum")))
        assert len(heard) == 2

    async def test_every_listener_is_called_for_every_append(self, store: Store) -> None:
        await create(store)
        heard: list[tuple[str, int]] = []
        for name in ("one", "two"):
            store.on_append(lambda _, appended, name=name: heard.append((name, appended.last_seq)))  # type: ignore[misc]
        await asyncio.gather(*(append(store, draft("a")) for _ in range(20)))
        assert sorted(heard) == [(name, seq) for name in ("one", "two") for seq in range(1, 21)]
