"""G9 for subscriptions: no change, error, number or name reveals data of another caller."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import grpc
import pytest

from threadkeep import user
from threadkeep.v1 import session_pb2
from threadkeep.v1 import subscription_pb2 as pb

from ..bad_input.requests import Refusal, eventually
from ..bad_input.streams import METHODS, UNARY, Streams, path_of, streams_on
from ..bad_input.test_isolation import ACME, ALICE, BOB, MISSING, OTHER, SECRET, TOKENS, ref

BOUND = TOKENS | {"token-of-the-bob-elsewhere": {"tenant": "other", "user_id": "bob"}}
BOB_ELSEWHERE = "Bearer token-of-the-bob-elsewhere"
SESSION, ALL = "WatchSession", "WatchAll"
QUOTA = 40


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)], scope="module")
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    settings = {"auth_tokens": BOUND, "max_subscriptions_per_caller": QUOTA}
    with streams_on(request.param, request, tmp_path_factory.mktemp("data"), **settings) as opened:
        opened.call("CreateSession", session=SECRET, labels={"team": "azure"}, token=BOB)
        opened.append(SECRET, user("bob said swordfish"), token=BOB)
        opened.call("CreateSession", session=ref("bob", "gone"), labels={"team": "azure"}, token=BOB)
        opened.call("DeleteSession", session=ref("bob", "gone"), token=BOB)
        opened.call("CreateSession", session=ref("alice", "own"), labels={"team": "azure"}, token=ALICE)
        opened.append(ref("alice", "own"), user("alice said tuna"), token=ALICE)
        yield opened
        opened.holds_nothing()


def users(changes: list[pb.Change]) -> set[str]:
    return {each.session.user_id for each in changes}


# changes


@pytest.mark.parametrize(
    "scope",
    [{}, {"user_id": "alice"}, {"app": "app"}, {"labels": {"team": "azure"}}, {"app": "app", "labels": {"team": "azure"}}],
)
def test_a_bound_caller_receives_changes_of_its_own_sessions(wire: Streams, scope: dict[str, Any]) -> None:
    changes = wire.changes_so_far(ALL, scope=scope, from_beginning=True, token=ALICE)
    assert users(changes) == {"alice"}
    assert "swordfish" not in str(changes)
    assert users(wire.changes_so_far(ALL, scope={"labels": {"team": "azure"}}, from_beginning=True, token=BOB)) == {"bob"}


def test_a_tenant_receives_changes_of_its_users_only(wire: Streams) -> None:
    assert users(wire.changes_so_far(ALL, from_beginning=True, token=ACME)) == {"alice", "bob"}
    for token in (OTHER, BOB_ELSEWHERE):
        assert not wire.changes_so_far(ALL, from_beginning=True, token=token)
        assert not wire.changes_so_far(SESSION, session=SECRET, after_seq=0, token=token)
    assert not wire.changes_so_far(ALL, scope={"user_id": "bob"}, from_beginning=True, token=OTHER)


def test_live_changes_reach_only_their_owner(wire: Streams) -> None:
    """Includes creation, update and deletion."""
    outsiders = [
        wire.watch(ALL, token=ALICE),
        wire.watch(ALL, scope={"labels": {"team": "blue"}}, token=ALICE),
        wire.watch(SESSION, session=ref("", "live"), token=ALICE),
        wire.watch(ALL, token=OTHER),
        wire.watch(SESSION, session=ref("bob", "live"), token=OTHER),
        wire.watch(SESSION, session=ref("bob", "live"), token=BOB_ELSEWHERE),
    ]
    for call in outsiders:
        _caught_up(call)
    inside = wire.watch(ALL, scope={"labels": {"team": "blue"}}, token=ACME)
    _caught_up(inside)
    live = ref("bob", "live")
    # Each change is received before the next: the scope decides by the labels at the time of the read.
    wire.call("CreateSession", session=live, labels={"team": "blue"}, token=BOB)
    received = [_next(inside)]
    wire.append(live, user("bob said swordfish"), token=BOB)
    received.append(_next(inside))
    wire.call("UpdateSession", session=live, labels={}, update_mask={"paths": ["labels"]}, token=BOB)
    received.append(_next(inside))
    wire.call("DeleteSession", session=live, token=BOB)
    assert users(received) == {"bob"}
    # The last change: everything before it has been delivered, or never will be.
    for token, name in ((ALICE, ref("", "live")), (OTHER, ref("bob", "live"))):
        wire.call("CreateSession", session=name, labels={"team": "blue"}, token=token)
    for call in outsiders:
        first = _next(call)
        assert (first.session.session_id, first.session_change.kind) == ("live", pb.SESSION_CHANGE_KIND_CREATED)
        assert first.session_change.session.labels == {"team": "blue"}
    for call in (*outsiders, inside):
        call.cancel()
    for token, name in ((ALICE, ref("", "live")), (OTHER, ref("bob", "live"))):
        wire.call("DeleteSession", session=name, token=token)


def _caught_up(call: Any) -> None:
    while not any(each.checkpoint.kind == pb.CHECKPOINT_KIND_CAUGHT_UP for each in next(call).changes):
        pass


def _next(call: Any) -> pb.Change:
    """Returns the next change that is no checkpoint, the first of its response."""
    while True:
        for each in next(call).changes:
            if not each.HasField("checkpoint"):
                return each


# requests


@pytest.mark.parametrize("start", [{}, {"after_seq": 0}, {"after_seq": 99}, {"live_only": True}, {"resume_token": "forged"}])
def test_another_users_session_is_denied_and_looks_missing(wire: Streams, start: dict[str, Any]) -> None:
    refusals = [
        wire.stream_refused(SESSION, session=name, token=ALICE, **start) for name in (SECRET, MISSING, ref("bob", "gone"))
    ]
    assert refusals[0] == refusals[1] == refusals[2], "a response reveals what exists"
    assert (refusals[0].code, refusals[0].reason) == (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")
    assert refusals[0].metadata == {"field": "session.user_id"}


def test_another_users_changes_are_denied(wire: Streams) -> None:
    for start in ({}, {"from_beginning": True}, {"resume_token": "forged"}):
        refusals = [
            wire.stream_refused(ALL, scope={"user_id": name}, token=ALICE, **start) for name in ("bob", "no", "Alice", "alice ")
        ]
        assert {str(each) for each in refusals} == {str(refusals[0])}
        assert (refusals[0].reason, refusals[0].metadata) == ("PERMISSION_DENIED", {"field": "scope.user_id"})


@pytest.mark.parametrize("app", ["app", ""])
@pytest.mark.parametrize("start", [{"after_seq": 0}, {"after_seq": 99}, {"live_only": True}])
def test_the_id_of_another_users_session_is_unknown(wire: Streams, app: str, start: dict[str, Any]) -> None:
    """The id selects a session of the bound caller, which need not exist."""
    for session_id in ("secret", "gone", "no-such-session"):
        assert not wire.changes_so_far(SESSION, session=ref("", session_id, app), token=ALICE, **start)


def test_a_bare_id_is_resolved_within_the_tenant(wire: Streams) -> None:
    bare = [session_pb2.SessionRef(session_id=name) for name in ("secret", "no-such-session")]
    assert users(wire.changes_so_far(SESSION, session=bare[0], after_seq=0, token=ACME)) == {"bob"}
    refusals = [wire.stream_refused(SESSION, session=name, token=OTHER) for name in bare]
    assert str(refusals[0]).replace("secret", "no-such-session") == str(refusals[1])
    assert refusals[0].reason == "SESSION_NOT_FOUND"


# --- tokens


def test_a_resume_token_of_another_caller_is_rejected(wire: Streams) -> None:
    callers = {ALICE: "alice", BOB: "bob", ACME: "", OTHER: "", BOB_ELSEWHERE: "bob"}
    tokens = {token: wire.changes(ALL, 1, token=token)[0].resume_token for token in callers}
    for caller in callers:
        for owner, resume_token in tokens.items():
            if owner == caller:
                assert wire.changes(ALL, 1, resume_token=resume_token, token=caller)
            else:
                assert wire.stream_refused(ALL, resume_token=resume_token, token=caller).reason == "INVALID_RESUME_TOKEN"
    theirs = wire.changes(SESSION, 1, session=SECRET, token=BOB)[0].resume_token
    for caller in (OTHER, BOB_ELSEWHERE):
        assert wire.stream_refused(SESSION, session=SECRET, resume_token=theirs, token=caller).reason == "INVALID_RESUME_TOKEN"
    assert wire.changes(SESSION, 1, session=SECRET, resume_token=theirs, token=ACME), "a caller with access may resume from it"


# --- consumers


@pytest.fixture
def parked(wire: Streams) -> Iterator[str]:
    """Every caller has a consumer with the same name; bob's has a parked change, whose id is returned."""
    for token in (ALICE, ACME, OTHER, BOB_ELSEWHERE):
        with wire.consuming(token) as stream:
            stream.joined(name="shared", member_id="member-of-" + token[-5:], partitions=3)
    with wire.consuming(BOB) as stream:
        joined = stream.joined(name="shared", member_id="member-of-bob", filter={"keyword": "swordfish"}, partitions=5)
        assert joined.consumer.scope.user_id == "bob"
        batches = iter(lambda: stream.hear().deliveries, None)
        for delivery in chain.from_iterable(batches):
            if delivery.change.HasField("batch"):
                stream.say(reject={"delivery_id": delivery.delivery_id, "reason": "swordfish is out", "park": True})
                break
            stream.say(acknowledge={"delivery_ids": [delivery.delivery_id]})
        eventually(lambda: wire.unary("GetConsumer", name="shared", token=BOB).parked_changes == 1)
        [one] = wire.unary("ListParkedChanges", name="shared", token=BOB).parked_changes
        yield one.parked_id
    for token in (ALICE, BOB, ACME, OTHER, BOB_ELSEWHERE):
        wire.unary("DeleteConsumer", name="shared", token=token)


def test_consumers_of_different_callers_with_one_name_are_separate(wire: Streams, parked: str) -> None:
    for token in (ALICE, ACME, OTHER, BOB_ELSEWHERE):
        [seen] = wire.unary("ListConsumers", token=token).consumers
        state = wire.unary("GetConsumer", name="shared", token=token)
        assert (seen.partitions, state.parked_changes) == (3, 0)
        assert "member-of-bob" not in str(state)
        assert "swordfish" not in str(state)
        assert not wire.unary("ListParkedChanges", name="shared", token=token).parked_changes
        for ids in ([], [parked]):
            assert wire.unary("ReplayParkedChanges", name="shared", parked_ids=ids, token=token).replayed == 0
            assert wire.unary("DeleteParkedChanges", name="shared", parked_ids=ids, token=token).deleted == 0
        assert wire.unary("DeleteConsumer", name="shared", token=token).deleted
    assert wire.unary("GetConsumer", name="shared", token=BOB).parked_changes == 1
    assert len(wire.unary("GetConsumer", name="shared", token=BOB).members) == 1


def test_another_callers_consumer_looks_missing(wire: Streams, parked: str) -> None:
    assert parked
    wire.unary("DeleteConsumer", name="shared", token=ALICE)
    for name in ("GetConsumer", "ListParkedChanges", "ReplayParkedChanges", "DeleteParkedChanges"):
        refusals = [wire.unary_error(name, name=which, token=ALICE) for which in ("shared", "no-such")]
        assert str(refusals[0]).replace("shared", "no-such") == str(refusals[1])
        assert refusals[0].reason == "CONSUMER_NOT_FOUND"
    assert not wire.unary("DeleteConsumer", name="shared", token=ALICE).deleted


def test_a_page_token_of_consumers_grants_no_access(wire: Streams, parked: str) -> None:
    assert parked
    with wire.consuming(BOB) as stream:
        stream.joined(name="zulu")
    theirs = wire.unary("ListConsumers", page_size=1, token=BOB).next_page_token
    assert [each.name for each in wire.unary("ListConsumers", page_token=theirs, token=BOB).consumers] == ["zulu"]
    assert wire.unary_error("ListConsumers", page_token=theirs, token=ALICE).reason == "INVALID_PAGE_TOKEN"
    wire.unary("DeleteConsumer", name="zulu", token=BOB)


def test_a_consumer_receives_only_accessible_changes(wire: Streams) -> None:
    refusals: list[Refusal] = []
    for user_id in ("bob", "nobody"):
        with wire.consuming(ALICE) as stream:
            stream.say(join={"name": "wide", "scope": {"user_id": user_id}, "from_beginning": True})
            refusals.append(stream.refusal())
    assert refusals[0] == refusals[1]
    assert (refusals[0].reason, refusals[0].metadata) == ("PERMISSION_DENIED", {"field": "scope.user_id"})
    for token, expected in ((ALICE, {"alice"}), (ACME, {"alice", "bob"})):
        with wire.consuming(token) as stream:
            stream.joined(name="wide")
            seen: set[str] = set()
            while seen != expected:
                seen |= {each.change.session.user_id for each in stream.hear().deliveries}
                assert seen <= expected
        wire.unary("DeleteConsumer", name="wide", token=token)
    with wire.consuming(OTHER) as stream:
        stream.joined(name="wide", from_beginning=False)
        wire.append(SECRET, user("bob said swordfish"), token=BOB)
        assert {each.lag for each in wire.unary("GetConsumer", name="wide", token=OTHER).partitions} == {0}
    wire.unary("DeleteConsumer", name="wide", token=OTHER)


# credentials and metrics


@pytest.mark.parametrize("credential", [None, "", "Bearer", "Bearer nope", "token-of-the-alice"])
def test_a_call_without_a_known_credential_is_rejected(wire: Streams, credential: str | None) -> None:
    refusals = [wire.stream_refused(name, b"", token=credential) for name in (SESSION, ALL)]
    refusals += [wire.unary_error(name, b"", token=credential) for name in UNARY]
    with wire.consuming(credential) as stream:
        refusals.append(stream.refusal())
    assert {(each.code, each.reason) for each in refusals} == {(grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")}
    assert len(refusals) == len(METHODS)
    assert wire.connect_error(ALL, b"")["reason"] == "UNAUTHENTICATED"
    assert wire.post(path_of("ListConsumers"), "application/json", b"{}")[0] == 401


def test_the_metrics_page_contains_no_names(wire: Streams, parked: str) -> None:
    assert parked
    calls = [wire.watch(ALL, token=token) for token in (ALICE, BOB, OTHER)]
    for call in calls:
        next(call)
    eventually(lambda: wire.gauges()["threadkeep_subscription_channels"] == 3)  # those of earlier tests are released later
    page = "\n".join(line for line in wire.metrics_page().splitlines() if not line.startswith("# HELP"))  # plain English
    for name in ("alice", "bob", "acme", "other", "shared", "secret", "azure", "swordfish", "member-of"):
        assert name not in page
    for call in calls:
        call.cancel()


def test_each_caller_has_its_own_quota(wire: Streams) -> None:
    wire.holds_nothing()  # streams of earlier tests count until they are released
    calls = [wire.watch(ALL, token=ALICE) for _ in range(QUOTA)]
    for call in calls:
        next(call)
    refusal = wire.stream_refused(ALL, token=ALICE)
    assert (refusal.reason, refusal.metadata["limit"]) == ("QUOTA_EXCEEDED", str(QUOTA))
    with wire.consuming(ALICE) as stream:
        stream.say(join={"name": "one-too-many"})
        assert stream.refusal() == refusal
    for token in (BOB, ACME, OTHER, BOB_ELSEWHERE):
        assert wire.changes(ALL, 1, token=token)
    for call in calls:
        call.cancel()
    eventually(lambda: _admitted(wire, ALICE))


def _admitted(wire: Streams, token: str) -> bool:
    try:
        return bool(wire.changes(ALL, 1, token=token))
    except grpc.RpcError:
        return False
