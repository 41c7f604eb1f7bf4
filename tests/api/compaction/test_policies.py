"""Policies: permissions, isolation of tenants, and the policy of the configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from threadkeep import user
from threadkeep.v1 import compaction_service_pb2, session_pb2
from threadkeep_server.app.fronts import serve
from threadkeep_server.config.settings import ConfigError, Settings, load_settings

from ..bad_input.requests import Wire, eventually, wire, wire_on
from ..bad_input.test_isolation import ACME, ALICE, BOB, OTHER, TOKENS, ref

POLICY = {"trigger": {"events": 3}, "strategy": {"sliding_window": {"max_events": 1}}}
HARMLESS = {"trigger": {"events": 1 << 40}, "strategy": {"turn_window": {}}}
DEFAULT = '{"trigger": {"events": 3}, "strategy": {"slidingWindow": {"maxEvents": 1}}}'


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with wire_on(request.param, request, tmp_path_factory.mktemp("data"), auth_tokens=TOKENS) as each:
        for name, token in (("alice", ALICE), ("bob", BOB)):
            each.call("CreateSession", session=ref(name, "own"), token=token)
        yield each


@pytest.fixture(autouse=True)
def no_policies(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "opened" in request.fixturenames:
        opened: Wire = request.getfixturevalue("opened")
        for scope in ({"server": True}, {"app": "app"}, {"user": {"user_id": "alice"}}, {"user": {"user_id": "bob"}}):
            for token in (ACME, OTHER):
                opened.call("SetCompactionPolicy", scope=scope, token=token)


def effective(opened: Wire, scope: Any, token: str) -> compaction_service_pb2.GetCompactionPolicyResponse:
    return opened.call("GetCompactionPolicy", scope=scope, token=token)


@pytest.mark.parametrize(
    ("scope", "field"),
    [
        ({"server": True}, "scope"),
        ({"app": "app"}, "scope"),
        ({"user": {"user_id": "bob"}}, "scope.user.user_id"),
        ({"user": {"user_id": "nobody"}}, "scope.user.user_id"),
        ({"user": {"user_id": "bob", "app": "app"}}, "scope.user.user_id"),
        ({"session": ref("bob", "own")}, "scope.session.user_id"),
        ({"session": ref("bob", "no-such-session")}, "scope.session.user_id"),
    ],
)
def test_a_bound_caller_may_not_set_or_read_anothers_policy(opened: Wire, scope: Any, field: str) -> None:
    for name, fields in (("SetCompactionPolicy", {"policy": POLICY}), ("SetCompactionPolicy", {}), ("GetCompactionPolicy", {})):
        refusal = opened.refused(name, scope=scope, token=ALICE, **fields)
        assert (refusal.code, refusal.metadata) == (grpc.StatusCode.PERMISSION_DENIED, {"field": field})
    assert not effective(opened, {"session": ref("bob", "own")}, BOB).ListFields()


@pytest.mark.parametrize("scope", [{"user": {}}, {"user": {"user_id": "alice"}}])
def test_a_bound_caller_sets_its_own_policy(opened: Wire, scope: Any) -> None:
    opened.call("SetCompactionPolicy", scope=scope, policy=HARMLESS, token=ALICE)
    mine = effective(opened, {"session": ref("", "own")}, ALICE)
    assert mine.effective_policy.strategy.HasField("turn_window")
    assert mine.effective_scope.user.user_id == "alice"
    assert not mine.effective_scope.user.HasField("app")
    assert not effective(opened, {"session": ref("", "own")}, BOB).ListFields()
    assert effective(opened, {"user": {"user_id": "alice"}}, ACME).policy == mine.effective_policy


def test_a_bound_caller_reads_its_effective_policy(opened: Wire) -> None:
    opened.call("SetCompactionPolicy", scope={"server": True}, policy=HARMLESS, token=ACME)
    found = effective(opened, {"session": ref("", "own")}, ALICE)
    assert not found.HasField("policy")
    assert found.effective_scope.server
    opened.call("SetCompactionPolicy", scope={"user": {}}, policy={"disabled": True}, token=ALICE)
    disabled = effective(opened, {"user": {}}, ALICE)
    assert disabled.policy.disabled
    assert not disabled.HasField("effective_policy")


@pytest.mark.parametrize("scope", [{"server": True}, {"app": "app"}, {"user": {"user_id": "alice"}}])
def test_policies_of_tenants_are_separate(opened: Wire, scope: Any) -> None:
    opened.call("SetCompactionPolicy", scope=scope, policy=POLICY, token=OTHER)
    assert effective(opened, scope, OTHER).HasField("policy")
    assert not effective(opened, scope, ACME).ListFields()
    assert not effective(opened, {"session": ref("alice", "own")}, ALICE).ListFields()
    session = ref("alice", "untouched")
    opened.call("CreateSession", session=session, return_existing=True, token=ALICE)
    for _ in range(5):
        opened.append(session, user("hello"), token=ALICE)
    assert not opened.call("ListCompactions", session=session, token=ALICE).compactions


# --- the policy of the configuration


def said(wire: Wire, session: session_pb2.SessionRef, number: int) -> None:
    for _ in range(number):
        wire.append(session, user("hello"))


def compactions(wire: Wire, session: session_pb2.SessionRef) -> int:
    return len(wire.call("ListCompactions", session=session).compactions)


def test_the_configured_policy_applies_without_a_narrower_one(tmp_path: Path) -> None:
    with wire(tmp_path, compaction_policy=DEFAULT) as opened:
        configured, disabled = opened.new_session(), opened.new_session()
        found = opened.call("GetCompactionPolicy", scope={"session": configured})
        assert found.effective_policy.strategy.sliding_window.max_events == 1
        assert found.effective_scope.WhichOneof("kind") == "server"
        assert not found.effective_scope.server
        assert not found.HasField("policy")
        opened.call("SetCompactionPolicy", scope={"session": disabled}, policy={"disabled": True})
        said(opened, disabled, 5)
        said(opened, configured, 3)
        eventually(lambda: compactions(opened, configured) == 1)
        assert compactions(opened, disabled) == 0


def test_a_bare_id_selects_the_policy_of_its_session(tmp_path: Path) -> None:
    with wire(tmp_path) as opened:
        session = opened.new_session()
        opened.call("SetCompactionPolicy", scope={"user": {"user_id": "alice"}}, policy=POLICY)
        said(opened, session_pb2.SessionRef(session_id=session.session_id), 3)
        eventually(lambda: compactions(opened, session) == 1)


def test_policies_survive_a_restart(tmp_path: Path) -> None:
    with wire(tmp_path) as opened:
        opened.call("SetCompactionPolicy", scope={"app": "app"}, policy=POLICY)
        before = opened.call("GetCompactionPolicy", scope={"app": "app"})
    with wire(tmp_path) as opened:
        assert opened.call("GetCompactionPolicy", scope={"app": "app"}) == before
        session = opened.new_session()
        said(opened, session, 3)
        eventually(lambda: compactions(opened, session) == 1)


@pytest.mark.postgres
def test_a_policy_set_on_one_server_is_applied_by_another(postgres_url: str, tmp_path: Path) -> None:
    with wire(tmp_path, database_url=postgres_url) as one, wire(tmp_path, database_url=postgres_url) as two:
        session = one.new_session()
        one.call("SetCompactionPolicy", scope={"session": session}, policy=POLICY)

        def compacted() -> bool:
            said(two, session, 1)
            return compactions(one, session) > 0

        eventually(compacted)
        one.call("SetCompactionPolicy", scope={"session": session})
        assert not two.call("GetCompactionPolicy", scope={"session": session}).ListFields()


async def _start(settings: Settings) -> None:
    async with serve(settings):
        pytest.fail("it has started")


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ("{", "is not valid JSON"),
        ("7", "must be a JSON object"),
        ("{}", "trigger must set one of"),
        ('{"trigger": {"tokens": 0}, "strategy": {"turnWindow": {}}}', "trigger.tokens must be at least 1"),
        ('{"trigger": {"tokes": 5}}', "trigger.tokes is not a field"),
        ('{"trigger": {"tokens": 5}, "strategy": {"turnWindow": {"maxTurns": -1}}}', "strategy.turn_window.max_turns"),
    ],
)
async def test_an_invalid_configured_policy_prevents_the_start(tmp_path: Path, policy: str, says: str) -> None:
    settings = load_settings(data_dir=tmp_path, compaction_policy=policy)
    with pytest.raises(ConfigError) as caught:
        await _start(settings)
    [line] = str(caught.value).splitlines()
    assert line.startswith("compaction_policy: ")
    assert says in line


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"token_counter": "abacus"}, "token_counter: "),
        ({"summarizer": "openai"}, "summarizer_model: "),
        ({"summarizer": "openai", "summarizer_model": "m", "summarizer_base_url": "ftp://secret@host"}, "summarizer: "),
    ],
)
async def test_other_invalid_settings_prevent_the_start(tmp_path: Path, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        await _start(load_settings(data_dir=tmp_path, **settings))
    assert str(caught.value).startswith(says)
    assert "secret" not in str(caught.value)
