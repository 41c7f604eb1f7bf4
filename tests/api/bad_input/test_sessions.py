"""Invalid session requests: ids, expiry, labels, metadata and references."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from threadkeep.v1 import session_pb2

from .requests import Wire, eventually, wire_on

LONG = "x" * 256
# 64 emoji of four bytes each: few characters, too many bytes.
WIDE = "\U0001f600" * 64


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with wire_on(request.param, request, tmp_path_factory.mktemp("data"), sweep_interval="1h") as opened:
        yield opened  # only a test deletes expired sessions


def ref(**fields: str) -> session_pb2.SessionRef:
    return session_pb2.SessionRef(**({"app": "app", "user_id": "alice", "session_id": "s"} | fields))


def sessions(wire: Wire) -> list[str]:
    return [session.ref.session_id for session in wire.call("ListSessions", page_size=1000).sessions]


@pytest.mark.parametrize("bad", [LONG, WIDE, "a\x00b", "line\nbreak", "\x7f"], ids=["long", "wide", "nul", "newline", "del"])
@pytest.mark.parametrize("field", ["app", "user_id", "session_id"])
def test_ids_that_are_too_long_or_contain_controls_are_rejected(wire: Wire, field: str, bad: str) -> None:
    before = sessions(wire)
    for method in ("CreateSession", "GetSession", "DeleteSession", "ListEvents"):
        wire.invalid(f"session.{field}", method, session=ref(**{field: bad}))
    assert sessions(wire) == before


@pytest.mark.parametrize("name", ["UpdateSession", "GetSession", "DeleteSession", "ListEvents", "GetEvent", "AppendEvents"])
def test_an_empty_or_blank_session_id_is_rejected(wire: Wire, name: str) -> None:
    fields: dict[str, Any] = {}
    if name == "UpdateSession":
        fields = {"update_mask": {"paths": ["labels"]}}
    elif name == "GetEvent":
        fields = {"event_id": "e"}
    elif name == "AppendEvents":
        fields = {"events": [{"message": {"role": 1}}]}
    wire.invalid("session.session_id", name, session=ref(session_id=""), **fields)
    wire.invalid("session.session_id", name, session=ref(session_id="  "), **fields)
    wire.invalid("session.session_id", name, **fields)


def test_a_session_requires_a_user(wire: Wire) -> None:
    wire.invalid("session.user_id", "CreateSession", session=ref(user_id=""))
    wire.invalid("session.user_id", "CreateSession", session=ref(user_id=" "))
    create = {"session": ref(user_id="", session_id="new"), "events": [{"message": {"role": 1}}], "create_if_missing": {}}
    wire.invalid("session.user_id", "AppendEvents", **create)
    assert "new" not in sessions(wire)


def test_ids_at_the_limit_and_in_any_script_are_accepted(wire: Wire) -> None:
    for session_id in ("x" * 255, "\U0001f600" * 63, "e\u0301 \u00e9", "50% off_'\"\\", "日本語", "--", "a b"):
        name = ref(session_id=session_id, user_id="ünï")
        assert wire.call("CreateSession", session=name).session.ref == name
        assert wire.call("GetSession", session=name).session.ref == name


def test_an_unknown_session_is_reported(wire: Wire) -> None:
    missing = ref(session_id="missing")
    for method, fields in (
        ("GetSession", {}),
        ("GetEvent", {"event_id": "e"}),
        ("AppendEvents", {"events": [{"message": {"role": 1}}]}),
        ("UpdateSession", {"update_mask": {"paths": ["labels"]}}),
    ):
        refusal = wire.refused(method, session=missing, **fields)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND")
        assert refusal.metadata == {"app": "app", "user_id": "alice", "session_id": "missing"}
        assert "google.rpc.ResourceInfo" in refusal.details
    search = wire.refused("SearchEvents", session=missing, query="x")
    assert search.reason == "SESSION_NOT_FOUND"
    assert not wire.call("ListEvents", session=missing).events
    assert not wire.call("DeleteSession", session=missing).deleted


def test_an_ambiguous_id_is_rejected(wire: Wire) -> None:
    for user_id in ("alice", "bob"):
        wire.call("CreateSession", session=ref(session_id="twice", user_id=user_id))
    bare = session_pb2.SessionRef(session_id="twice")
    for method, fields in (
        ("GetSession", {}),
        ("ListEvents", {}),
        ("DeleteSession", {}),
        ("GetEvent", {"event_id": "e"}),
        ("AppendEvents", {"events": [{"message": {"role": 1}}]}),
        ("UpdateSession", {"update_mask": {"paths": ["labels"]}}),
        ("SearchEvents", {"query": "x"}),
    ):
        refusal = wire.refused(method, session=bare, **fields)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "AMBIGUOUS_SESSION"), method
        assert refusal.metadata == {"session_id": "twice"}
    for user_id in ("alice", "bob"):
        session = wire.call("GetSession", session=ref(session_id="twice", user_id=user_id)).session
        assert session.last_seq == 0, "nothing was stored"


def test_creating_an_existing_session_is_rejected(wire: Wire) -> None:
    name = wire.new_session(labels={"k": "v"})
    refusal = wire.refused("CreateSession", session=name)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.ALREADY_EXISTS, "SESSION_ALREADY_EXISTS")
    assert refusal.metadata["session_id"] == name.session_id


@pytest.mark.parametrize(
    ("expiry", "field"),
    [
        ({"expire_time": {"seconds": 1}}, "expiry.expire_time"),
        ({"expire_time": {"seconds": -62135596800}}, "expiry.expire_time"),
        ({"expire_time": {"seconds": 253402300799}}, "expiry.expire_time"),
        ({"expire_time": {"seconds": 4_000_000_000, "nanos": 1_000_000_000}}, "expiry.expire_time.nanos"),
        ({"ttl": {}}, "expiry.ttl"),
        ({"ttl": {"seconds": -1}}, "expiry.ttl"),
        ({"ttl": {"seconds": 201 * 365 * 86_400}}, "expiry.ttl"),
        ({"never_expires": False}, "expiry.never_expires"),
    ],
    ids=["past", "year 1", "year 9999", "nanos", "zero", "negative", "201 years", "not never"],
)
def test_an_invalid_expiry_is_rejected(wire: Wire, expiry: dict[str, Any], field: str) -> None:
    before = sessions(wire)
    wire.invalid(field, "CreateSession", session=ref(session_id="e"), expiry=expiry)
    appended: dict[str, Any] = {"session": ref(session_id="e"), "events": [{"message": {"role": 1}}]}
    refused = wire.refused("AppendEvents", **appended, create_if_missing={"expiry": expiry})
    assert refused.metadata["field"] == f"create_if_missing.{field}"
    assert sessions(wire) == before
    name = wire.new_session()
    with wire.unchanged(name):
        wire.invalid(field, "UpdateSession", session=name, expiry=expiry, update_mask={"paths": ["expiry"]})


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"labels": {f"k{n}": "v" for n in range(65)}}, "labels"),
        ({"labels": {"k" * 64: "v"}}, "labels key"),
        ({"labels": {"": "v"}}, "labels key"),
        ({"labels": {"k": "v" * 256}}, "labels['k']"),
        ({"labels": {"k": "a\x00b"}}, "labels['k']"),
        ({"metadata_json": "[1]"}, "metadata_json"),
        ({"metadata_json": "null"}, "metadata_json"),
        ({"metadata_json": "{"}, "metadata_json"),
        ({"metadata_json": '{"a": NaN}'}, "metadata_json"),
        ({"metadata_json": '{"a": 1} x'}, "metadata_json"),
        ({"metadata_json": '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"}, "metadata_json"),
        ({"metadata_json": '{"a": "' + "x" * (256 << 10) + '"}'}, "metadata_json"),
    ],
    ids=["65", "long key", "no key", "long value", "nul", "array", "null", "broken", "NaN", "more", "deep", "large"],
)
def test_invalid_labels_and_metadata_are_rejected(wire: Wire, fields: dict[str, Any], field: str) -> None:
    before = sessions(wire)
    wire.invalid(field, "CreateSession", session=ref(session_id="m"), **fields)
    appended: dict[str, Any] = {"session": ref(session_id="m"), "events": [{"message": {"role": 1}}]}
    assert wire.refused("AppendEvents", **appended, create_if_missing=fields).metadata["field"] == f"create_if_missing.{field}"
    assert sessions(wire) == before
    name = wire.new_session(labels={"k": "v"}, metadata_json='{"a": 1.0}')
    with wire.unchanged(name):
        wire.invalid(field, "UpdateSession", session=name, update_mask={"paths": list(fields)}, **fields)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"metadata_patch_json": "[]"}, "metadata_patch_json"),
        ({"metadata_patch_json": '{"a":' * 40 + "1" + "}" * 40}, "metadata_patch_json"),
        ({"metadata_patch_json": '{"b": "' + "x" * (256 << 10) + '"}'}, "metadata_patch_json"),
        ({"metadata_patch_json": '{"b": "' + "x" * ((256 << 10) - 12) + '"}'}, "metadata_patch_json"),
        ({"metadata_patch_json": "{}", "update_mask": {"paths": ["metadata_json"]}}, "metadata_patch_json"),
        ({"set_labels": {"k" * 64: "v"}}, "set_labels key"),
        ({"set_labels": {f"k{n}": "v" for n in range(64)}}, "set_labels"),
        ({"set_labels": {"a": "b"}, "update_mask": {"paths": ["labels"]}}, "set_labels"),
        ({"remove_labels": [""]}, "remove_labels[0]"),
        ({"remove_labels": ["k"], "update_mask": {"paths": ["labels"]}}, "remove_labels"),
        ({"remove_labels": ["k"], "etag": "x" * 256}, "etag"),
        ({"etag": "x"}, "update_mask"),
        ({"remove_labels": ["k"], "operation_id": "a\nb"}, "operation_id"),
    ],
)
def test_invalid_patches_are_rejected(wire: Wire, fields: dict[str, Any], field: str) -> None:
    name = wire.new_session(labels={"k": "v"}, metadata_json='{"a": 1.0}')
    with wire.unchanged(name):
        wire.invalid(field, "UpdateSession", session=name, **fields)


def test_a_create_time_in_the_past_is_stored_and_orders_lists(wire: Wire) -> None:
    names = {}
    for age in (5, 1, 3):
        names[age] = wire.new_session(create_time={"seconds": 1_600_000_000 - age, "nanos": 7}, labels={"imported": "yes"})
    session = wire.call("GetSession", session=names[5]).session
    assert session.create_time.ToNanoseconds() == (1_600_000_000 - 5) * 10**9 + 7
    assert abs(session.update_time.seconds - time.time()) < 60
    assert abs(session.expire_time.seconds - session.update_time.seconds - 60 * 86_400) < 2, "a TTL counts from now"
    listed, token = [], ""
    while True:
        page = wire.call("ListSessions", labels={"imported": "yes"}, page_size=1, page_token=token)
        listed += [session.ref for session in page.sessions]
        token = page.next_page_token
        if not token:
            break
    assert listed == [names[1], names[3], names[5]]
    again = wire.call("CreateSession", session=names[5], return_existing=True, create_time={"seconds": 5})
    assert (again.created, again.session) == (False, session)


def test_a_create_time_within_the_clock_skew_is_accepted(wire: Wire) -> None:
    ahead = int(time.time()) + 30
    name = wire.new_session(create_time={"seconds": ahead})
    assert wire.call("GetSession", session=name).session.create_time.seconds == ahead


@pytest.mark.parametrize(
    ("late", "seconds", "nanos", "field"),
    [(True, 90, 0, ""), (True, 10**8, 0, ""), (False, -1, 0, ""), (False, 1, -1, ".nanos"), (False, 253402300799, 0, "")],
)
def test_a_time_in_the_future_is_rejected(wire: Wire, late: bool, seconds: int, nanos: int, field: str) -> None:
    before = sessions(wire)
    value = {"seconds": seconds + (int(time.time()) if late else 0), "nanos": nanos}
    wire.invalid(f"create_time{field}", "CreateSession", session=ref(session_id="t"), create_time=value)
    wire.invalid(f"before{field}", "DeleteExpiredSessions", before=value)
    assert sessions(wire) == before


def test_expired_sessions_are_deleted_by_app_user_and_time(wire: Wire) -> None:
    began = time.time()
    expiry = {"ttl": {"nanos": 1}}  # a time may have passed before the request arrives
    for app, user in (("x", "carol"), ("y", "carol"), ("x", "dave")):
        wire.call("CreateSession", session={"app": app, "user_id": user, "session_id": "gone"}, expiry=expiry)
    created = time.time()
    eventually(lambda: time.time() > created)
    earlier = {"seconds": int(began) - 10}
    assert wire.call("DeleteExpiredSessions", user_id="carol", before=earlier).deleted_sessions == 0
    assert wire.call("DeleteExpiredSessions", user_id="carol", app="y").deleted_sessions == 1
    assert wire.call("DeleteExpiredSessions", user_id="carol", app="").deleted_sessions == 0
    assert wire.call("DeleteExpiredSessions", app="x", before={"seconds": int(time.time()) + 30}).deleted_sessions == 2


def test_metadata_is_kept_verbatim(wire: Wire) -> None:
    text = '{ "big": 9007199254740993, "f": 230.0, "nul": "\\u0000", "half": "\\ud83d", "dup": 1, "dup": 2, "é": "e\u0301" }'
    name = wire.new_session(metadata_json=text)
    assert wire.call("GetSession", session=name).session.metadata_json == text


@pytest.mark.parametrize("paths", [[], ["nonsense"], ["labels", "uid"], ["session"]])
def test_an_update_mask_without_a_mutable_field_is_rejected(wire: Wire, paths: list[str]) -> None:
    name = wire.new_session(labels={"k": "v"})
    with wire.unchanged(name):
        wire.invalid("update_mask", "UpdateSession", session=name, update_mask={"paths": paths})


def test_invalid_pages_of_sessions_are_rejected(wire: Wire) -> None:
    for _ in range(3):
        wire.new_session(labels={"page": "y"})
    wire.invalid("page_size", "ListSessions", page_size=-1)
    first = wire.call("ListSessions", page_size=1, labels={"page": "y"})
    for fields in ({"labels": {"page": "n"}}, {"user_id": "alice", "labels": {"page": "y"}}, {}):
        refusal = wire.refused("ListSessions", page_size=1, page_token=first.next_page_token, **fields)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PAGE_TOKEN")
        assert refusal.violations == ["page_token"]
    assert len(wire.call("ListSessions", page_size=5000, page_token=first.next_page_token, labels={"page": "y"}).sessions) == 2
