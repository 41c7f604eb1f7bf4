"""ForkSession: what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from threadkeep import user
from threadkeep.v1 import session_pb2

from .requests import Wire, wire_on


@pytest.fixture(scope="module")
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with wire_on("sqlite", request, tmp_path_factory.mktemp("data")) as opened:
        yield opened


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("session.session_id", {"session": {}}),
        ("operation_id", {"operation_id": ""}),
        ("operation_id", {"operation_id": "x" * 256}),
        ("at_seq", {"at_seq": 0}),
        ("at_seq", {"at_seq": -1}),
        ("at_seq", {"at_seq": 3}),
        ("at_log_version", {"at_log_version": -1}),
        ("at_log_version", {"at_log_version": 1 << 62}),
        ("at_event_id", {"at_event_id": ""}),
        ("at_event_id", {"at_event_id": "a\nb"}),
        ("at_invocation_id", {"at_invocation_id": ""}),
        ("at_invocation_id", {"at_invocation_id": "x" * 256}),
        ("new_session_id", {"new_session_id": "x" * 256}),
        ("new_session_id", {"new_session_id": "a\x00b"}),
        ("metadata_json", {"metadata_json": "[]"}),
        ("labels", {"labels": {f"l{number}": "" for number in range(65)}}),
        ("labels", {"labels": {f"l{number}": "" for number in range(64)}}),
        ("context_bytes", {"context_bytes": -1}),
        ("expiry.ttl", {"expiry": {"ttl": {"seconds": -1}}}),
    ],
)
def test_an_invalid_field_is_named_and_nothing_is_made(wire: Wire, field: str, fields: dict[str, Any]) -> None:
    name = wire.new_session(labels={"own": "1"})
    wire.append(name, user("a"), user("b"))
    before = len(wire.call("ListSessions", page_size=1000).sessions)
    wire.invalid(field, "ForkSession", **({"session": name, "operation_id": "o"} | fields))
    assert len(wire.call("ListSessions", page_size=1000).sessions) == before


def test_a_list_of_forks_has_a_bounded_id(wire: Wire) -> None:
    wire.invalid("forked_from", "ListSessions", forked_from="x" * 256)


PARENT = {"session": {"session_id": "p"}, "uid": "u", "at_seq": 1, "at_log_version": 1}


@pytest.mark.parametrize(
    ("field", "changed"),
    [
        ("parent.session.session_id", {"session": {}}),
        ("parent.session.session_id", {"session": {"session_id": " "}}),
        ("parent.session.session_id", {"session": {"session_id": "x" * 256}}),
        ("parent.session.session_id", {"session": {"session_id": "a\nb"}}),
        ("parent.session.app", {"session": {"app": "other", "session_id": "p"}}),
        ("parent.session.user_id", {"session": {"user_id": "bob", "session_id": "p"}}),
        ("parent.uid", {"uid": ""}),
        ("parent.uid", {"uid": "x" * 256}),
        ("parent.uid", {"uid": "a\x00b"}),
        ("parent.at_seq", {"at_seq": -1}),
        ("parent.at_log_version", {"at_log_version": -1}),
    ],
)
def test_an_imported_fork_with_an_invalid_parent_is_not_created(wire: Wire, field: str, changed: dict[str, Any]) -> None:
    named = {"app": "app", "user_id": "alice", "session_id": "imported"}
    wire.invalid(field, "CreateSession", session=named, parent=PARENT | changed)
    assert not wire.call("ListSessions", forked_from="p").sessions


def test_an_imported_fork_has_its_parent_at_the_limits(wire: Wire) -> None:
    most: dict[str, Any] = {"uid": "u" * 255, "at_seq": (1 << 63) - 1, "at_log_version": (1 << 63) - 1}
    for number, owner in enumerate(({}, {"app": "app", "user_id": "alice"})):
        named = {"app": "app", "user_id": "alice", "session_id": f"at the limits {number}"}
        given = most | {"session": {"session_id": "x" * 255} | owner}
        made = wire.call("CreateSession", session=named, parent=given).session
        assert made.parent == session_pb2.SessionParent(**most | {"session": named | {"session_id": "x" * 255}})
        assert wire.call("GetSession", session=named).session == made
    assert len(wire.call("ListSessions", forked_from="x" * 255).sessions) == 2
