"""Policies: who may set them, which one applies, and how a server keeps up with what others set."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.support.sessions import TENANT, ref
from tests.unit.service.bench import ALICE, CALLER, SLIDING_2, Bench, key
from threadkeep.v1 import compaction_pb2
from threadkeep_server.domain.errors import InvalidField, PermissionDenied, SessionNotFound, StoreUnavailable
from threadkeep_server.domain.model import SECOND_NS, Caller, SessionRef
from threadkeep_server.service.compaction import policies as module
from threadkeep_server.service.compaction.policies import PolicyBook, PolicyService
from threadkeep_server.store.contract.compaction import PolicyKey, PolicyScope, StoredPolicy
from threadkeep_server.transport.convert.strategies import policy_from_json, stored_policy

OTHER = Caller("other")
DISABLED = policy_from_json('{"disabled": true}')
SERVER = key(PolicyScope.SERVER)
SESSION = key(PolicyScope.SESSION, app="shop", user_id="alice", session_id="s1")
USER_OF_APP = key(PolicyScope.USER_OF_APP, app="shop", user_id="alice")
USER = key(PolicyScope.USER, user_id="alice")
APP = key(PolicyScope.APP, app="shop")
WIDEST_FIRST = [SERVER, APP, USER, USER_OF_APP, SESSION]


def policy(events: int) -> bytes:
    return policy_from_json(f'{{"trigger": {{"events": {events}}}, "strategy": {{"slidingWindow": {{}}}}}}')


def applying(bench: Bench, of: SessionRef | None = None, tenant: str = TENANT) -> bytes | None:
    effective = bench.book.effective(tenant, of or ref())
    return None if effective is None else effective.body


async def test_the_narrowest_policy_applies() -> None:
    bench = Bench(default=policy(9))
    await bench.session()
    assert applying(bench) == policy(9)
    for number, each in enumerate(WIDEST_FIRST, 10):
        await bench.policies.set(CALLER, each, policy(number))
        assert applying(bench) == policy(number)
        _, effective = await bench.policies.get(CALLER, SESSION)
        assert effective is not None
        assert effective.key == each._replace(tenant=TENANT)
    for number, each in reversed([*enumerate(WIDEST_FIRST, 10)]):
        assert applying(bench) == policy(number)
        await bench.policies.set(CALLER, each, None)
    assert applying(bench) == policy(9)


async def test_the_policy_that_applies_at_each_scope(bench: Bench) -> None:
    await bench.session()
    for number, each in enumerate(WIDEST_FIRST, 10):
        await bench.policies.set(CALLER, each, policy(number))
    for number, each in enumerate(WIDEST_FIRST, 10):
        stored, effective = await bench.policies.get(CALLER, each)
        assert stored is not None
        assert effective is not None
        assert stored.body == effective.body == policy(number)
    await bench.policies.set(CALLER, USER, None)
    stored, effective = await bench.policies.get(CALLER, USER)
    assert stored is None
    assert effective is not None
    assert effective.body == policy(10), "an app's policy says nothing of a user in all apps"


@pytest.mark.parametrize(
    ("scope", "reached"),
    [
        (USER, {"s1": True, "of-bob": False, "in-other-app": True}),
        (USER_OF_APP, {"s1": True, "of-bob": False, "in-other-app": False}),
        (APP, {"s1": True, "of-bob": True, "in-other-app": False}),
        (SERVER, {"s1": True, "of-bob": True, "in-other-app": True}),
        (SESSION, {"s1": True, "of-bob": False, "in-other-app": False}),
        (key(PolicyScope.USER_OF_APP, user_id="alice"), {"s1": False, "of-bob": False, "in-other-app": False}),
    ],
)
async def test_the_sessions_that_a_policy_applies_to(bench: Bench, scope: PolicyKey, reached: dict[str, bool]) -> None:
    await bench.session()
    await bench.policies.set(CALLER, scope, policy(5))
    sessions = {"s1": ref(), "of-bob": ref(user="bob"), "in-other-app": ref(app="lab")}
    assert {name: applying(bench, each) is not None for name, each in sessions.items()} == reached
    assert applying(bench, tenant="other") is None
    assert (bench.book.any(TENANT), bench.book.any("other")) == (True, False)


async def test_a_policy_that_disables_beats_wider_ones() -> None:
    bench = Bench(default=policy(9))
    await bench.session()
    await bench.policies.set(CALLER, SERVER, policy(5))
    await bench.policies.set(CALLER, USER, DISABLED)
    assert applying(bench) is None
    stored, effective = await bench.policies.get(CALLER, USER)
    assert (stored and stored.body, effective) == (DISABLED, None)
    with pytest.raises(InvalidField) as caught:
        await bench.run()
    assert caught.value.metadata["field"] == "strategy"
    await bench.policies.set(CALLER, SESSION, policy(7))
    assert applying(bench) == policy(7)


async def test_a_policy_is_replaced_and_removed(bench: Bench) -> None:
    for body in (policy(5), policy(6), policy(6), None, None):
        bench.clock.advance(1)
        await bench.policies.set(CALLER, SERVER, body)
        stored, _ = await bench.policies.get(CALLER, SERVER)
        assert (stored and (stored.body, stored.time)) == (body and (body, bench.clock.now))
    assert not bench.book.any(TENANT)


async def test_a_policy_of_a_bare_session_id_has_the_full_key(bench: Bench) -> None:
    """A bare id sets the policy of the session with that id."""
    await bench.session()
    await bench.policies.set(CALLER, key(PolicyScope.SESSION, session_id="s1"), policy(5))
    assert applying(bench) == policy(5)
    _, effective = await bench.policies.get(CALLER, key(PolicyScope.SESSION, session_id="s1"))
    assert effective is not None
    assert effective.key == SESSION._replace(tenant=TENANT)


async def test_an_unknown_session_is_an_error(bench: Bench) -> None:
    with pytest.raises(SessionNotFound):
        await bench.policies.set(CALLER, SESSION, policy(5))
    with pytest.raises(SessionNotFound):
        await bench.policies.get(CALLER, SESSION)


async def test_the_policy_of_a_deleted_session_is_deleted(bench: Bench) -> None:
    await bench.session()
    await bench.policies.set(CALLER, SESSION, policy(5))
    await bench.store.delete_session(TENANT, ref())
    await bench.session()
    stored, effective = await bench.policies.get(CALLER, SESSION)
    assert (stored, effective) == (None, None)


@pytest.mark.parametrize(
    ("scope", "field"),
    [
        (SERVER, "scope"),
        (APP, "scope"),
        (key(PolicyScope.USER, user_id="bob"), "scope.user.user_id"),
        (key(PolicyScope.USER_OF_APP, app="shop", user_id="bob"), "scope.user.user_id"),
        (key(PolicyScope.SESSION, app="shop", user_id="bob", session_id="theirs"), "scope.session.user_id"),
        (key(PolicyScope.SESSION, app="shop", user_id="bob", session_id="no-such"), "scope.session.user_id"),
    ],
)
async def test_a_bound_caller_reaches_its_own_scopes_only(bench: Bench, scope: PolicyKey, field: str) -> None:
    await bench.session(session_id="theirs", user="bob")
    for attempt in (bench.policies.set(ALICE, scope, policy(5)), bench.policies.get(ALICE, scope)):
        with pytest.raises(PermissionDenied) as caught:
            await attempt
        assert caught.value.metadata == {"field": field}
    assert not bench.book.any(TENANT)


@pytest.mark.parametrize(
    "scope",
    [key(PolicyScope.USER), key(PolicyScope.USER_OF_APP, app="shop"), key(PolicyScope.SESSION, app="shop", session_id="s1")],
)
async def test_a_bound_caller_need_not_name_itself(bench: Bench, scope: PolicyKey) -> None:
    await bench.session()
    await bench.policies.set(ALICE, scope, policy(5))
    assert applying(bench) == policy(5)


@pytest.mark.parametrize("scope", [PolicyScope.USER, PolicyScope.USER_OF_APP])
async def test_a_user_policy_without_a_user_is_refused(bench: Bench, scope: PolicyScope) -> None:
    for attempt in (bench.policies.set(CALLER, key(scope, app="shop"), policy(5)), bench.policies.get(CALLER, key(scope))):
        with pytest.raises(InvalidField) as caught:
            await attempt
        assert caught.value.metadata["field"] == "scope.user.user_id"


async def test_a_key_cannot_name_another_tenant(bench: Bench) -> None:
    await bench.policies.set(OTHER, SERVER._replace(tenant=TENANT), policy(5))
    assert (bench.book.any(TENANT), bench.book.any("other")) == (False, True)


# --- several servers


def elsewhere(bench: Bench, behind_s: float = 0) -> tuple[PolicyBook, PolicyService]:
    """Another server on the same store, whose clock is behind."""
    book = PolicyBook(bench.store, stored_policy)
    return book, PolicyService(bench.store, book, lambda: bench.clock.now - round(behind_s * SECOND_NS))


@pytest.mark.parametrize("behind_s", [0, 59, 3600, -3600])
async def test_a_policy_set_by_a_server_with_another_clock_is_applied(bench: Bench, behind_s: float) -> None:
    book, service = elsewhere(bench, behind_s)
    await bench.policies.set(CALLER, SERVER, policy(5))
    await book.refresh()
    await service.set(CALLER, SERVER, policy(6))
    await bench.book.refresh()
    assert applying(bench) == policy(6)
    await bench.policies.set(CALLER, SERVER, None)
    await book.refresh()
    assert not book.any(TENANT)


async def test_an_unreadable_policy_neither_disables_nor_stops_compaction(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """A newer server knows strategies that this one does not."""
    unknown = compaction_pb2.CompactionPolicy(trigger=compaction_pb2.CompactionTrigger(events=5)).SerializeToString()
    await bench.session()
    await bench.store.put_policy(StoredPolicy(USER._replace(tenant=TENANT), unknown, bench.clock.now))
    await bench.policies.set(CALLER, SERVER, policy(5))
    await bench.policies.set(CALLER, key(PolicyScope.USER, user_id="bob"), policy(6))
    with caplog.at_level(logging.WARNING):
        await PolicyBook(bench.store, stored_policy).refresh()
    assert "policy.strategy" in caplog.text
    assert applying(bench) is None
    assert applying(bench, ref(user="bob")) == policy(6)
    stored, _ = await bench.policies.get(CALLER, USER)
    assert stored is not None
    assert stored.body == unknown


async def test_of_two_concurrent_refreshes_the_newer_one_wins(bench: Bench) -> None:
    await bench.policies.set(CALLER, SERVER, policy(5))
    read, go_on = asyncio.Event(), asyncio.Event()
    read_policies = bench.store.policies

    async def slowly(since: int) -> object:
        found = await read_policies(since)
        read.set()
        await go_on.wait()
        return found

    bench.store.policies = slowly  # type: ignore[method-assign]
    older = asyncio.create_task(bench.book.refresh())
    await read.wait()
    newer = asyncio.create_task(bench.policies.set(CALLER, SERVER, policy(6)))
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(older, newer)
    assert applying(bench) == policy(6)


async def test_the_policy_cache_stays_current_despite_failures(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_POLL_S", 0.001)

    async def fail() -> None:
        raise StoreUnavailable("secret details")

    bench.store.before["policies"] = fail
    _, service = elsewhere(bench)
    following = asyncio.create_task(bench.book.run())
    async with asyncio.timeout(60):
        while "policies" in bench.store.before:  # noqa: ASYNC110 - the failure is for `run`, not for `set`
            await asyncio.sleep(0.001)
    await service.set(CALLER, SERVER, SLIDING_2)
    async with asyncio.timeout(60):
        while applying(bench) != SLIDING_2:  # noqa: ASYNC110 - there is no signal for it
            await asyncio.sleep(0.001)
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    assert "StoreUnavailable" in caplog.text
    assert "secret" not in caplog.text
