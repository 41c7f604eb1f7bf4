"""GetState, PatchState and state deltas over the wire: bad requests, access, and what subscriptions deliver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from threadkeep import text_of, user
from threadkeep.v1.state_pb2 import STATE_SCOPE_APP, STATE_SCOPE_SESSION, STATE_SCOPE_USER
from threadkeep.v1.subscription_pb2 import StateChange

from .streams import Streams, streams_on
from .test_isolation import ACME, ALICE, BOB, OTHER, TOKENS, ref

SESSION, USER, APP = (
    {"scope": STATE_SCOPE_SESSION, "session": {"session_id": "own"}},
    {"scope": STATE_SCOPE_USER, "session": {}},
    {"scope": STATE_SCOPE_APP, "session": {"app": "app"}},
)
OWN = {"session": SESSION["session"]}
PATCH = {"patch": {"set": {"k": "1"}}}


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    with streams_on(request.param, request, tmp_path_factory.mktemp("data"), auth_tokens=TOKENS) as opened:
        opened.call("CreateSession", session=ref("alice", "own", ""), state={"first": "1"}, token=ALICE)
        yield opened


def state(wire: Streams, token: str, **fields: Any) -> dict[str, str]:
    return dict(wire.call("GetState", token=token, **fields).state.values)


@pytest.mark.parametrize(
    ("method", "fields", "field"),
    [
        ("GetState", SESSION | {"scope": 9}, "scope"),
        ("GetState", SESSION | {"keys": [""]}, "keys[0]"),
        ("GetState", SESSION | {"keys": ["k"] * 1001}, "keys"),
        ("GetState", SESSION | {"page_size": -1}, "page_size"),
        ("GetState", SESSION | {"key_prefix": "k" * 256}, "key_prefix"),
        ("GetState", SESSION | {"after_key": "\x00"}, "after_key"),
        ("GetState", SESSION | {"as_of_log_version": -1}, "as_of_log_version"),
        ("GetState", USER | {"as_of_log_version": 1}, "as_of_log_version"),
        ("GetState", USER | {"session": {"session_id": "own"}}, "session.session_id"),
        ("GetState", {"scope": STATE_SCOPE_SESSION}, "session.session_id"),
        ("PatchState", SESSION | {"patch": {}}, "patch"),
        ("PatchState", SESSION | {"patch": {"set": {f"k{n}": "1" for n in range(1001)}}}, "patch.set"),
        ("PatchState", SESSION | {"patch": {"set": {f"k{n}": "1" for n in range(1000)}, "remove": ["k"]}}, "patch"),
        ("PatchState", SESSION | {"patch": {"set": {"k": "1"}, "remove": ["k"]}}, "patch.remove"),
        ("PatchState", SESSION | {"patch": {"remove": ["k" * 256]}}, "patch.remove[0]"),
        ("PatchState", SESSION | {"patch": {"set": {"": "1"}}}, "patch.set key"),
        ("PatchState", SESSION | {"patch": {"set": {"k": ""}}}, "patch.set['k']"),
        ("PatchState", SESSION | {"patch": {"set": {"k": "NaN"}}}, "patch.set['k']"),
        ("PatchState", SESSION | {"patch": {"set": {"k": "[" * 100_000}}}, "patch.set['k']"),
        ("PatchState", SESSION | {"patch": {"set": {"k": '"' + "x" * (1 << 20) + '"'}}}, "patch.set['k']"),
        ("PatchState", SESSION | PATCH | {"expected_version": -1}, "expected_version"),
        ("AppendEvents", {"session": SESSION["session"], "state_delta": {"session": PATCH["patch"]}}, "events"),
        (
            "AppendEvents",
            {"session": SESSION["session"], "events": [user("x")], "state_delta": {"session": {"set": {"k": "no"}}}},
            "state_delta.session.set['k']",
        ),
        ("CreateSession", {"session": {"session_id": "new"}, "state": {"k": "no"}}, "state['k']"),
        ("LoadSession", {}, "session.session_id"),
        ("LoadSession", OWN | {"state_scopes": [9]}, "state_scopes[0]"),
        ("LoadSession", OWN | {"state_scopes": [STATE_SCOPE_USER, STATE_SCOPE_USER]}, "state_scopes"),
        ("LoadSession", OWN | {"state_scopes": [STATE_SCOPE_USER] * 4}, "state_scopes"),
        ("LoadSession", OWN | {"filter": {"last_n": 0}}, "filter.last_n"),
        ("LoadSession", OWN | {"filter": {"last_n": 1}, "page_size": 1}, "page_size"),
        ("LoadSession", OWN | {"page_size": -1}, "page_size"),
        ("LoadSession", OWN | {"order": 9}, "order"),
        ("LoadSession", OWN | {"spec": {"max_turns": 0}}, "spec.max_turns"),
        ("LoadSession", OWN | {"spec": {}, "page_size": 1}, "spec"),
        ("LoadSession", OWN | {"exclude_events": True, "filter": {}}, "exclude_events"),
        ("LoadSession", OWN | {"exclude_events": True, "spec": {}}, "exclude_events"),
    ],
)
def test_a_bad_request_is_refused_with_its_field(wire: Streams, method: str, fields: dict[str, Any], field: str) -> None:
    refusal = wire.refused(method, token=ALICE, **fields)
    assert (refusal.reason, refusal.metadata["field"]) == ("INVALID_FIELD", field)
    assert state(wire, ALICE, **SESSION) == {"first": "1"}


def test_a_bare_session_has_no_user_or_app_whose_state_a_delta_may_change(wire: Streams) -> None:
    fields = {"session": {"session_id": "own"}, "events": [user("x")], "state_delta": {"user": PATCH["patch"]}}
    refusal = wire.refused("AppendEvents", token=ACME, **fields)
    assert refusal.metadata["field"] == "session.user_id"


def test_a_stale_version_is_refused_with_the_present_one(wire: Streams) -> None:
    refusal = wire.refused("PatchState", token=ALICE, **SESSION, **PATCH, expected_version=7)
    assert (refusal.reason, refusal.metadata["expected"], refusal.metadata["actual"]) == ("VERSION_MISMATCH", "7", "1")


def test_the_state_of_an_app_is_not_for_one_of_its_users(wire: Streams) -> None:
    append = {"session": {"session_id": "own"}, "events": [user("x")], "state_delta": {"app": PATCH["patch"]}}
    for method, fields in (("GetState", APP), ("PatchState", APP | PATCH), ("AppendEvents", append)):
        refusal = wire.refused(method, token=ALICE, **fields)
        assert refusal.reason == "PERMISSION_DENIED"
    assert state(wire, ACME, **APP) == {}


def test_a_session_is_loaded_with_the_state_that_its_reader_has_access_to(wire: Streams) -> None:
    session = ref("alice", "loaded", "loads")
    wire.call("CreateSession", session=session, state={"s": "1"}, token=ALICE)
    delta = {"user": {"set": {"u": "1"}}, "app": {"set": {"p": "1"}}}
    wire.call("AppendEvents", session=session, events=[user(str(n)) for n in range(3)], state_delta=delta, token=ACME)
    own = wire.call("LoadSession", session=session, page_size=2, with_newest_event=True, token=ALICE)
    assert (own.session.last_seq, dict(own.state.session.values), dict(own.state.user.values)) == (3, {"s": "1"}, {"u": "1"})
    assert not own.state.HasField("app")
    assert (text_of(own.newest_event), [text_of(event) for event in own.events.events]) == ("2", ["0", "1"])
    rest = wire.call("ListEvents", session=session, page_token=own.events.next_page_token, token=ALICE)
    assert [text_of(event) for event in rest.events] == ["2"]
    whole = wire.call("LoadSession", session=session, spec={"max_turns": 1}, token=ACME)
    assert (dict(whole.state.app.values), [text_of(event) for event in whole.context.events]) == ({"p": "1"}, ["2"])
    assert not whole.HasField("newest_event")
    only = wire.call("LoadSession", session=session, exclude_events=True, state_scopes=[STATE_SCOPE_USER], token=ALICE)
    assert (only.WhichOneof("log"), only.state.HasField("session"), only.state.user.version) == (None, False, 1)
    refusal = wire.refused("LoadSession", session=session, state_scopes=[STATE_SCOPE_APP], token=ALICE)
    assert (refusal.reason, refusal.metadata) == ("PERMISSION_DENIED", {"field": "state_scopes"})
    listed = wire.call("ListSessions", app="loads", with_state=True, token=ALICE)
    assert [dict(each.values) for each in listed.states] == [{"s": "1"}]


def test_the_state_of_a_user_is_its_own_in_its_tenant(wire: Streams) -> None:
    wire.call("PatchState", token=BOB, **USER, **PATCH)
    assert state(wire, BOB, **USER) == {"k": "1"}
    assert state(wire, ALICE, **USER) == {}
    refusal = wire.refused("GetState", token=ALICE, scope=STATE_SCOPE_USER, session={"user_id": "bob"})
    assert (refusal.reason, refusal.metadata) == ("PERMISSION_DENIED", {"field": "session.user_id"})
    bobs = {"scope": STATE_SCOPE_USER, "session": {"user_id": "bob"}}
    assert state(wire, ACME, **bobs) == {"k": "1"}
    assert state(wire, OTHER, **bobs) == {}


def test_subscriptions_deliver_every_change_of_state_that_they_cover_and_resume(wire: Streams) -> None:
    session = ref("alice", "watched", "seen")
    of_session, of_user = {"scope": STATE_SCOPE_SESSION, "session": session}, {"scope": STATE_SCOPE_USER}
    wire.call("CreateSession", session=session, state={"a": "0"}, token=ALICE)
    delta = {"session": {"set": {"a": "1"}}, "user": {"set": {"u": "1"}}, "app": {"set": {"p": "1"}}}
    wire.call("AppendEvents", session=session, events=[user("x")], state_delta=delta, token=ACME)
    wire.call("PatchState", **of_session, patch={"remove": ["a"]}, token=ALICE)
    wire.call("PatchState", **of_user, session={"app": "seen"}, patch={"set": {"u": "2"}}, token=ALICE)

    def seen(token: str, **fields: Any) -> list[tuple[StateChange, str]]:
        changes = wire.changes_so_far("WatchAll", token=token, **({"from_beginning": True} | fields))
        found = [(each.batch.state if each.HasField("batch") else each.state, each.resume_token) for each in changes]
        return [each for each in found if each[0].version]

    alices = seen(ALICE, scope={"app": "seen"})
    assert [(each.scope, each.version, dict(each.set), list(each.removed)) for each, _ in alices] == [
        (STATE_SCOPE_SESSION, 1, {"a": "0"}, []),
        (STATE_SCOPE_SESSION, 2, {"a": "1"}, []),
        (STATE_SCOPE_USER, 1, {"u": "1"}, []),
        (STATE_SCOPE_SESSION, 3, {}, ["a"]),
        (STATE_SCOPE_USER, 2, {"u": "2"}, []),
    ]
    assert seen(ALICE, scope={"app": "seen"}, from_beginning=None, resume_token=alices[1][1]) == alices[2:]
    tenants = seen(ACME, scope={"app": "seen"})
    assert {each.scope for each, _ in tenants} == {STATE_SCOPE_SESSION, STATE_SCOPE_USER, STATE_SCOPE_APP}
    assert len(tenants) == len(alices) + 1
    assert seen(BOB, scope={"app": "seen"}) == []


def test_a_filter_that_hides_the_events_still_delivers_their_change_of_state(wire: Streams) -> None:
    session = ref("alice", "filtered", "hidden")
    wire.call("CreateSession", session=session, token=ALICE)
    delta = {"session": {"set": {"a": "1"}}}
    wire.call("AppendEvents", session=session, events=[user("x")], state_delta=delta, token=ALICE)
    hidden = {"session": session, "filter": {"roles": ["ROLE_SYSTEM"]}, "after_seq": 0}
    batches = [each.batch for each in wire.changes_so_far("WatchSession", token=ALICE, **hidden) if each.HasField("batch")]
    assert [(len(each.events), dict(each.state.set)) for each in batches] == [(0, {"a": "1"})]
