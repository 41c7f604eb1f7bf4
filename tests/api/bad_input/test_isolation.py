"""G9: the credential identifies the caller; no field of a request extends what the caller may read, change or infer."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc

from threadkeep import text_of, user
from threadkeep.v1 import session_pb2

from .requests import METHODS, UNARY, Refusal, Wire, eventually, wire_on

ALICE, BOB, ACME, OTHER = (f"Bearer token-of-the-{name}" for name in ("alice", "bob", "acme", "other"))
TOKENS = {
    "token-of-the-alice": {"tenant": "acme", "user_id": "alice"},
    "token-of-the-bob": {"tenant": "acme", "user_id": "bob"},
    "token-of-the-acme": {"tenant": "acme"},
    "token-of-the-other": {"tenant": "other"},
}
# Only the tests delete expired sessions.
SETTINGS: dict[str, Any] = {"auth_tokens": TOKENS, "embedder": "hashing", "sweep_interval": "1h"}


def ref(user_id: str, session_id: str, app: str = "app") -> session_pb2.SessionRef:
    return session_pb2.SessionRef(app=app, user_id=user_id, session_id=session_id)


SECRET = ref("bob", "secret")
MISSING = ref("bob", "no-such-session")


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with wire_on(request.param, request, tmp_path_factory.mktemp("data"), **SETTINGS) as opened:
        opened.call("CreateSession", session=SECRET, labels={"team": "red"}, token=BOB)
        opened.append(SECRET, user("bob said swordfish", event_id="bobs"), token=BOB)
        opened.call("CreateSession", session=ref("alice", "own"), labels={"team": "red"}, token=ALICE)
        opened.append(ref("alice", "own"), user("alice said tuna", event_id="alices"), token=ALICE)
        yield opened


def requests(name: session_pb2.SessionRef) -> list[tuple[str, dict[str, Any]]]:
    """A call of every method that takes a session."""
    return [
        ("GetSession", {"session": name}),
        ("UpdateSession", {"session": name, "labels": {"k": "v"}, "update_mask": {"paths": ["labels"]}}),
        ("DeleteSession", {"session": name}),
        ("CreateSession", {"session": name}),
        ("CreateSession", {"session": name, "return_existing": True}),
        ("AppendEvents", {"session": name, "events": [user("mine", event_id="bobs")]}),
        ("AppendEvents", {"session": name, "events": [user("mine")], "create_if_missing": {}}),
        ("AppendEvents", {"session": name, "events": [user("mine")], "expected_log_version": 7}),
        ("AppendEvents", {"session": name, "events": [user("mine")], "state_delta": {"user": {"set": {"k": "1"}}}}),
        ("GetState", {"session": name}),
        ("PatchState", {"session": name, "patch": {"set": {"k": "1"}}}),
        ("GetEvent", {"session": name, "event_id": "bobs"}),
        ("ListEvents", {"session": name}),
        ("GetContext", {"session": name}),
        ("LoadSession", {"session": name, "with_newest_event": True}),
        ("LoadSession", {"session": name, "spec": {}}),
        ("ListBranches", {"session": name}),
        ("ListUsage", {"session": name}),
        ("AppendEvents", {"session": name, "events": [user("mine", event_id="bobs")], "if_exists": "IF_EXISTS_REPLACE"}),
        ("ForkSession", {"session": name, "operation_id": "o"}),
        ("ForkSession", {"session": name, "operation_id": "o", "at_event_id": "bobs", "new_session_id": "f"}),
        ("ForkSession", {"session": name, "operation_id": "o", "at_invocation_id": "bobs"}),
        ("PopEvents", {"session": name, "operation_id": "o"}),
        ("RewindSession", {"session": name, "operation_id": "o", "at_log_version": 0}),
        ("RewindSession", {"session": name, "operation_id": "o", "at_event_id": "bobs", "mode": "REMOVAL_MODE_ERASE"}),
        ("ClearEvents", {"session": name, "operation_id": "o", "mode": "REMOVAL_MODE_ERASE"}),
        ("EraseEvents", {"session": name, "event_ids": ["bobs"]}),
        ("ReplaceSuffix", {"session": name, "expected_event_ids": ["bobs"], "operation_id": "o"}),
        ("SearchEvents", {"session": name, "query": "swordfish"}),
        ("CompactSession", {"session": name, "strategy": {"sliding_window": {}}}),
        ("PlanCompaction", {"session": name, "strategy": {"sliding_window": {}}}),
        ("ApplyCompaction", {"session": name, "event_ids": {"ids": ["bobs"]}}),
        ("ApplyCompaction", {"session": name, "compaction_id": "bobs", "through_seq": 1}),
        ("ReplaceEvents", {"session": name, "expected_log_version": 1}),
        ("ListCompactions", {"session": name}),
        ("SetCompactionPolicy", {"scope": {"session": name}, "policy": {"disabled": True}}),
        ("SetCompactionPolicy", {"scope": {"session": name}}),
        ("GetCompactionPolicy", {"scope": {"session": name}}),
        ("SearchEvents", {"session": name, "query": "swordfish", "mode": "SEARCH_MODE_RANKED", "neighbors": 5}),
        ("SearchEvents", {"session": name, "query": "swordfish", "mode": "SEARCH_MODE_SEMANTIC"}),
        ("AddSessionToMemory", {"session": name}),
        ("AddSessionToMemory", {"session": name, "event_ids": ["bobs"]}),
        ("CallTool", {"session": name, "name": "conversation_search", "arguments_json": '{"query": "swordfish"}'}),
    ]


CALLS = [pytest.param(n, id=f"{n}-{method}") for n, (method, _) in enumerate(requests(SECRET))]


UNKNOWN = (None, "", "Bearer", "Bearer ", "Bearer nope", "Basic dG9rZW4=", "token-of-the-alice")


@pytest.mark.parametrize("name", UNARY)
def test_a_call_without_a_known_credential_is_rejected(wire: Wire, name: str) -> None:
    for credential in UNKNOWN:
        refusal = wire.refused(name, b"", token=credential)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED"), credential
        assert refusal.metadata == {}, credential
        assert "token-" not in refusal.message, credential


def test_a_stream_without_a_credential_is_rejected(wire: Wire) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        wire.stream(SECRET, [[user("x")]])
    assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_health_requires_no_credential(wire: Wire) -> None:
    check = health_pb2_grpc.HealthStub(wire.channel).Check
    assert check(health_pb2.HealthCheckRequest(), timeout=30).status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize("call", CALLS)
def test_another_users_session_is_denied_and_looks_missing(wire: Wire, call: int) -> None:
    refusals: list[Refusal] = []
    for name in (SECRET, MISSING):
        method, fields = requests(name)[call]
        refusals.append(wire.refused(method, token=ALICE, **fields))
    assert refusals[0] == refusals[1], "a response reveals what exists"
    assert (refusals[0].code, refusals[0].reason) == (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")
    within = "scope." if "scope" in fields else ""
    assert refusals[0].metadata == {"field": f"{within}session.user_id"}
    assert refusals[0].message == (
        f"{within}session.user_id: the credential is bound to one user, and this is beyond that user; "
        "leave it empty, or use a credential that reaches it"
    )
    _untouched(wire)


@pytest.mark.parametrize("app", ["app", ""])
@pytest.mark.parametrize("call", CALLS)
def test_an_omitted_user_is_the_bound_user(wire: Wire, call: int, app: str) -> None:
    """A bound caller sees no session under another user's id; creating one with this id creates the caller's own."""
    answers = []
    for session_id in ("secret", "no-such-session"):
        method, fields = requests(ref("", session_id, app))[call]
        try:
            answer: Message | Refusal = wire.call(method, token=ALICE, **fields)
        except grpc.RpcError:
            refusal = wire.refused(method, token=ALICE, **fields)
            assert refusal.reason in {"SESSION_NOT_FOUND", "EVENT_NOT_FOUND"}
            answer = refusal
        assert "bob" not in str(answer).replace("'bobs'", "").replace('"bobs"', "")
        answers.append(str(answer).replace("no-such-session", "secret"))
        wire.call("DeleteSession", session=ref("alice", session_id, app), token=ALICE)
    if method not in {"CreateSession", "AppendEvents"}:  # the results contain their own times and ids
        assert answers[0] == answers[1]
    _untouched(wire)


def _untouched(wire: Wire) -> None:
    session = wire.call("GetSession", session=SECRET, token=BOB).session
    assert (session.log_version, dict(session.labels)) == (1, {"team": "red"})
    events = wire.call("ListEvents", session=SECRET, token=BOB).events
    assert [text_of(event) for event in events] == ["bob said swordfish"]


def test_a_stream_has_the_access_of_its_credential(wire: Wire) -> None:
    results = wire.stream(SECRET, [[user("mine")]], token=ALICE)
    assert [result.error.reason for result in results] == ["PERMISSION_DENIED"]
    _untouched(wire)


def test_the_parent_of_an_imported_fork_reveals_and_reaches_nothing(wire: Wire) -> None:
    uid = wire.call("GetSession", session=SECRET, token=BOB).session.uid
    for token, owner in ((ALICE, ""), (OTHER, "bob")):
        answers = []
        for session_id, named in (("secret", uid), ("no-such-session", "no-such-uid")):
            parent = {"session": {"session_id": session_id}, "uid": named, "at_seq": 1, "at_log_version": 1}
            made = wire.call("CreateSession", session=ref(owner, "copy"), parent=parent, token=token).session
            assert not wire.call("ListEvents", session=ref(owner, "copy"), token=token).events
            wire.call("DeleteSession", session=ref(owner, "copy"), token=token)
            assert (made.parent.session.session_id, made.parent.uid) == (session_id, named)
            for name in ("parent", "uid", "create_time", "update_time", "expire_time", "etag"):
                made.ClearField(name)
            answers.append(made)
        assert answers[0] == answers[1]
    for session_id in ("secret", "no-such-session"):
        parent = {"session": {"user_id": "bob", "session_id": session_id}, "uid": uid}
        refusal = wire.refused("CreateSession", session=ref("", "copy"), parent=parent, token=ALICE)
        assert (refusal.reason, refusal.metadata["field"]) == ("INVALID_FIELD", "parent.session.user_id")
    own = {"session": {"user_id": "alice", "session_id": "secret"}, "uid": uid}
    wire.call("CreateSession", session=ref("", "copy"), parent=own, token=ALICE)
    assert not wire.call("ListSessions", forked_from="secret", token=BOB).sessions
    assert not wire.call("ListSessions", forked_from="secret", user_id="bob", token=ACME).sessions
    wire.call("DeleteSession", session=ref("", "copy"), token=ALICE)
    _untouched(wire)


def test_two_users_may_have_the_same_session_id(wire: Wire) -> None:
    for token, name in ((ALICE, "alice"), (BOB, "bob")):
        wire.call("CreateSession", session=ref("", "shared"), token=token)
        wire.append(ref("", "shared"), user(f"{name}'s", event_id="e"), token=token)
    assert text_of(wire.call("GetEvent", session=ref("", "shared"), event_id="e", token=ALICE).event) == "alice's"
    assert (
        wire.refused("GetSession", session=session_pb2.SessionRef(session_id="shared"), token=ACME).reason
        == "AMBIGUOUS_SESSION"
    )
    assert wire.call("DeleteSession", session=ref("", "shared"), token=ALICE).deleted
    assert text_of(wire.call("GetEvent", session=ref("", "shared"), event_id="e", token=BOB).event) == "bob's"
    wire.call("DeleteSession", session=ref("", "shared"), token=BOB)


@pytest.mark.parametrize("fields", [{}, {"app": "app"}, {"labels": {"team": "red"}}, {"user_id": "alice"}])
def test_lists_contain_only_accessible_sessions(wire: Wire, fields: dict[str, Any]) -> None:
    listed = wire.call("ListSessions", token=ALICE, **fields)
    assert {session.ref.user_id for session in listed.sessions} == {"alice"}
    denied = wire.refused("ListSessions", token=ALICE, **(fields | {"user_id": "bob"}))
    assert (denied.reason, denied.metadata) == ("PERMISSION_DENIED", {"field": "user_id"})
    assert denied == wire.refused("ListSessions", token=ALICE, **(fields | {"user_id": "nobody-there"}))


@pytest.mark.parametrize("fields", [{}, {"app": "app"}, {"user_id": "alice"}, {"filter": {"keyword": "s"}}])
def test_events_of_a_user_are_the_callers_own(wire: Wire, fields: dict[str, Any]) -> None:
    listed = wire.call("ListUserEvents", token=ALICE, **fields)
    assert {each.session.user_id for each in listed.events} == {"alice"}
    assert "alice said tuna" in [text_of(each.event) for each in listed.events]
    denied = wire.refused("ListUserEvents", token=ALICE, **(fields | {"user_id": "bob"}))
    assert (denied.reason, denied.metadata) == ("PERMISSION_DENIED", {"field": "user_id"})
    assert denied == wire.refused("ListUserEvents", token=ALICE, **(fields | {"user_id": "nobody-there"}))


def test_searches_return_only_accessible_events(wire: Wire) -> None:
    for scope in ({"user_id": "alice"}, {}, {"app": "app"}):
        hits = wire.call("SearchEvents", user=scope, query="said", token=ALICE).hits
        assert [text_of(hit.event) for hit in hits] == ["alice said tuna"]
        assert not wire.call("SearchEvents", user=scope, query="swordfish", token=ALICE).hits
    denied = wire.refused("SearchEvents", user={"user_id": "bob"}, query="swordfish", token=ALICE)
    assert (denied.reason, denied.metadata) == ("PERMISSION_DENIED", {"field": "user.user_id"})
    assert denied == wire.refused("SearchEvents", user={"user_id": "nobody-there"}, query="swordfish", token=ALICE)


def test_a_page_token_grants_no_access(wire: Wire) -> None:
    """A page token of another user is rejected, and one combined from two tokens too."""
    for n in range(3):
        for token in (ALICE, BOB):
            wire.call("CreateSession", session=ref("", f"paged-{n}", "paged"), token=token)
    events = [user(f"many {n}") for n in range(12)]
    for token in (ALICE, BOB):
        wire.append(ref("", "paged-0", "paged"), *events, token=token)
    check_page_tokens(wire, "ListSessions", {"app": "paged"})
    check_page_tokens(wire, "ListUserEvents", {"app": "paged"})
    check_page_tokens(wire, "SearchEvents", {"user": {}, "query": "many"})
    check_page_tokens(wire, "ListEvents", {"session": ref("", "paged-0", "paged")})
    check_page_tokens(wire, "ListUsage", {"session": ref("", "paged-0", "paged")})


def check_page_tokens(wire: Wire, method: str, fields: dict[str, Any]) -> None:
    """Checks that nobody else can use Bob's token, nor Alice parts of it."""
    theirs, own = (wire.call(method, **fields, page_size=1, token=token).next_page_token for token in (BOB, ALICE))
    assert theirs
    parts = [base64.urlsafe_b64decode(token + "==") for token in (own, theirs)]
    combined = [base64.urlsafe_b64encode(parts[0][:place] + parts[1][place:]).decode().rstrip("=") for place in (1, 17)]
    for token, page_token in (*((token, theirs) for token in (ALICE, ACME, OTHER)), *((ALICE, each) for each in combined)):
        refusal = wire.refused(method, **fields, page_token=page_token, token=token)
        assert (refusal.reason, refusal.violations) == ("INVALID_PAGE_TOKEN", ["page_token"])


def test_tenant_wide_calls_are_denied_to_a_user(wire: Wire) -> None:
    for name, fields, instead in (
        ("GetServerInfo", {"include_totals": True}, "leave it out, or use"),
        ("DeleteExpiredSessions", {"user_id": "bob"}, "leave it empty, or use"),
        ("SearchEvents", {"app": {"app": "app"}, "query": "tuna", "mode": "SEARCH_MODE_RANKED"}, "search by user, or use"),
        ("GetCompactionPolicy", {"scope": {"server": True}}, "name a user or a session, or use"),
    ):
        refusal = wire.refused(name, token=ALICE, **fields)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")
        assert refusal.message.endswith(f"beyond that user; {instead} a credential that reaches it")
    assert wire.call("GetServerInfo", token=ALICE).search_index.lag_batches == 0
    assert wire.call("GetServerInfo", token=ACME, include_totals=True).total_sessions >= 2


def test_a_user_deletes_only_its_own_expired_sessions(wire: Wire) -> None:
    # A TTL, because a time may have passed before the request arrives.
    for token, owner in ((ALICE, "alice"), (BOB, "bob")):
        wire.call("CreateSession", session=ref(owner, "gone"), expiry={"ttl": {"nanos": 1}}, token=token)
    created = time.time()
    eventually(lambda: time.time() > created)
    assert wire.call("DeleteExpiredSessions", token=OTHER).deleted_sessions == 0
    for fields in ({}, {"user_id": "alice"}):
        wire.call("DeleteExpiredSessions", token=ALICE, **fields)
        assert wire.refused("GetSession", session=ref("alice", "gone"), token=ALICE).reason == "SESSION_NOT_FOUND"
    assert wire.call("GetSession", session=ref("bob", "gone"), token=BOB).session.ref.user_id == "bob"
    assert wire.call("DeleteExpiredSessions", token=ACME).deleted_sessions == 1


def test_users_are_listed_for_credentials_of_their_tenant_only(wire: Wire) -> None:
    for fields in ({}, {"app": "app"}, {"app": "no-such-app"}):
        denied = wire.refused("ListUsers", token=ALICE, **fields)
        assert (denied.reason, denied.metadata) == ("PERMISSION_DENIED", {"field": "app"})
        assert not wire.call("ListUsers", token=OTHER, **fields).users
    users = [(user.app, user.user_id) for user in wire.call("ListUsers", app="app", token=ACME).users]
    assert users == [("app", "alice"), ("app", "bob")]
    assert not wire.call("ListUsers", app="no-such-app", token=ACME).users


def test_a_token_of_users_is_of_its_credential_and_request(wire: Wire) -> None:
    token = wire.call("ListUsers", app="app", page_size=1, token=ACME).next_page_token
    assert [each.user_id for each in wire.call("ListUsers", app="app", page_token=token, token=ACME).users] == ["bob"]
    others: list[tuple[str, dict[str, Any]]] = [(OTHER, {"app": "app"}), (ACME, {}), (ACME, {"app": ""})]
    for credential, fields in others:
        assert wire.refused("ListUsers", page_token=token, token=credential, **fields).reason == "INVALID_PAGE_TOKEN"


def test_a_tenant_sees_its_users_and_no_other_tenant(wire: Wire) -> None:
    assert {s.ref.user_id for s in wire.call("ListSessions", token=ACME).sessions} == {"alice", "bob"}
    assert wire.call("SearchEvents", user={"user_id": "bob"}, query="swordfish", token=ACME).hits
    assert not wire.call("ListSessions", token=OTHER).sessions
    assert not wire.call("SearchEvents", user={"user_id": "bob"}, query="swordfish", token=OTHER).hits
    assert wire.call("GetServerInfo", token=OTHER, include_totals=True).total_sessions == 0


@pytest.mark.parametrize("call", CALLS)
def test_another_tenants_session_looks_missing(wire: Wire, call: int) -> None:
    """The same reference selects another session in another tenant, or none."""
    answers = []
    for name in (SECRET, MISSING):
        method, fields = requests(name)[call]
        try:
            answers.append(str(wire.call(method, token=OTHER, **fields)))
        except grpc.RpcError:
            refusal = wire.refused(method, token=OTHER, **fields)
            assert refusal.reason == "SESSION_NOT_FOUND"
            answers.append(str(refusal).replace("no-such-session", "secret"))
        wire.call("DeleteSession", session=name, token=OTHER)
    if method not in {"CreateSession", "AppendEvents"}:
        assert answers[0] == answers[1]
    _untouched(wire)


def test_every_method_has_an_isolation_test() -> None:
    named = {method for method, _ in requests(SECRET)} | {
        "ListSessions",
        "ListUserEvents",
        "ListUsers",
        "DeleteExpiredSessions",
        "GetServerInfo",
        # in test_audit_records.py
        "ListAuditRecords",
        # in retention/test_on_demand.py
        "RunRetention",
        "ListRetentionReceipts",
        "RestoreSession",
        "AppendStream",
        # in test_moves.py
        "MoveSession",
        # in test_erasures.py
        "DeleteUser",
        "DeleteApp",
        "DeleteByLabel",
        # in tests/api/search/test_isolation.py
        "AddMemories",
        "SearchMemory",
        "ListMemories",
        "UpsertMemories",
        "GetMemories",
        "ListMemoryNamespaces",
        "DeleteMemories",
        "ListTools",
    }
    assert named == set(METHODS)
