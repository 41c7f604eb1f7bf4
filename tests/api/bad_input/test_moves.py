"""MoveSession: what it refuses, and what neither owner receives of the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.bad_input.streams import Streams, streams_on
from threadkeep import user

from .test_isolation import ACME, ALICE, BOB, TOKENS, ref


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)], scope="module")
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    with streams_on(request.param, request, tmp_path_factory.mktemp("data"), auth_tokens=TOKENS) as opened:
        yield opened


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("session.session_id", {"session": {}}),
        ("operation_id", {"operation_id": ""}),
        ("operation_id", {"operation_id": "x" * 256}),
        ("new_user_id", {"new_user_id": ""}),
        ("new_user_id", {"new_user_id": "  "}),
        ("new_user_id", {"new_user_id": "x" * 256}),
        ("new_user_id", {"new_user_id": "a\nb"}),
    ],
)
def test_an_invalid_field_is_named_and_nothing_moves(wire: Streams, field: str, fields: dict[str, Any]) -> None:
    name = ref("alice", "stays")
    wire.call("CreateSession", session=name, return_existing=True, token=ACME)
    given = {"session": name, "new_user_id": "bob", "operation_id": "o"} | fields
    refusal = wire.refused("MoveSession", **given, token=ACME)
    assert (refusal.reason, refusal.metadata["field"]) == ("INVALID_FIELD", field)
    wire.call("GetSession", session=name, token=ALICE)


def test_a_caller_bound_to_a_user_moves_nothing(wire: Streams) -> None:
    name = ref("alice", "own")
    wire.call("CreateSession", session=name, token=ALICE)
    for new_user_id in ("alice", "bob"):
        refusal = wire.refused("MoveSession", session=name, new_user_id=new_user_id, operation_id="o", token=ALICE)
        assert (refusal.reason, refusal.metadata) == ("PERMISSION_DENIED", {"field": "new_user_id"})
    refusal = wire.refused("MoveSession", session=ref("bob", "nope"), new_user_id="bob", operation_id="o", token=ALICE)
    assert refusal.reason == "PERMISSION_DENIED"


def test_neither_owner_learns_of_the_other(wire: Streams) -> None:
    name, moved = ref("alice", "secret trip"), ref("bob", "secret trip")
    wire.call("CreateSession", session=name, token=ALICE)
    wire.append(name, user("first"), token=ALICE)
    before = wire.call("GetSession", session=name, token=ALICE).session
    fork = wire.call("ForkSession", session=name, new_session_id="copy", operation_id="f", token=ALICE).session
    alices = wire.watch("WatchAll", token=ALICE)
    bobs = wire.watch("WatchAll", token=BOB)
    for call in (alices, bobs):
        assert next(call).changes[0].checkpoint.kind == 1
    after = wire.call("MoveSession", session=name, new_user_id="bob", operation_id="o", token=ACME).session
    assert (after.ref.user_id, after.uid, after.last_seq) == ("bob", before.uid, 1)
    wire.append(moved, user("swordfish"), token=BOB)
    wire.append(ref("alice", "copy"), user("other"), token=ALICE)
    seen_by_alice, seen_by_bob = (_until(call, "other" if call is alices else "swordfish") for call in (alices, bobs))
    assert "bob" not in seen_by_alice
    assert "swordfish" not in seen_by_alice
    assert "MOVED_OUT" in seen_by_alice
    assert "alice" not in seen_by_bob
    assert "MOVED_IN" in seen_by_bob
    for token, word in ((ALICE, "secret trip"), (BOB, "copy")):
        refusal = wire.refused("GetSession", session=ref("", word), token=token)
        assert refusal.reason == "SESSION_NOT_FOUND"
    wire.call("MoveSession", session=fork.ref, new_user_id="bob", operation_id="o2", token=ACME)
    parent = wire.call("GetSession", session=ref("bob", "copy"), token=BOB).session.parent
    assert (parent.session.user_id, parent.session.session_id, parent.uid) == ("", "secret trip", before.uid)
    for token, gone in ((ALICE, "bob"), (BOB, "alice")):
        late = wire.changes_so_far("WatchAll", from_beginning=True, token=token)
        assert gone not in str(late)
        assert ("first" in str(late)) is False


def _until(call: Any, text: str) -> str:
    """Returns what a subscriber receives up to an event with this text."""
    received = ""
    for response in call:
        received += str(response)
        if text in received:
            break
    call.cancel()
    return received
