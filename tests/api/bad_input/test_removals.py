"""PopEvents, ClearEvents, EraseEvents, ReplaceSuffix and replacing appends: what they refuse, and what they answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from threadkeep import user
from threadkeep.v1 import event_pb2, session_pb2

from .requests import Wire, wire_on
from .test_isolation import ref

KEY = Ed25519PrivateKey.generate()
ADMIN, WRITER, BOB = "Bearer token-admin-of-acme", "Bearer token-writer-of-acme", "Bearer token-bob-of-acme"
TOKENS = {
    "token-admin-of-acme": {"tenant": "acme"},
    "token-writer-of-acme": {"tenant": "acme", "roles": ["writer"]},
    "token-bob-of-acme": {"tenant": "acme", "user_id": "bob"},
}
ERASE = "REMOVAL_MODE_ERASE"


@pytest.fixture(scope="module")
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    folder: Path = tmp_path_factory.mktemp("data")
    path = folder / "receipts.pem"
    path.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)
    with wire_on("sqlite", request, folder, auth_tokens=TOKENS, receipt_key_file=path, sweep_interval="1h") as opened:
        yield opened


def filled(wire: Wire, name: str, *texts: str) -> session_pb2.SessionRef:
    session = ref("alice", name)
    wire.call("CreateSession", session=session, token=ADMIN)
    wire.append(session, *(user(text, event_id=text) for text in texts), token=ADMIN)
    return session


def log(wire: Wire, session: session_pb2.SessionRef) -> list[event_pb2.SessionEvent]:
    return list(wire.call("ListEvents", session=session, token=ADMIN).events)


@pytest.mark.parametrize(
    ("field", "method", "fields"),
    [
        ("count", "PopEvents", {"count": -1}),
        ("count", "PopEvents", {"count": 1001}),
        ("branch", "PopEvents", {"branch": "a..b"}),
        ("mode", "PopEvents", {"mode": 9}),
        ("operation_id", "PopEvents", {"operation_id": ""}),
        ("operation_id", "PopEvents", {"operation_id": "x" * 256}),
        ("operation_id", "ClearEvents", {"operation_id": "a\nb"}),
        ("operation_id", "ReplaceSuffix", {"operation_id": ""}),
        ("event_ids", "EraseEvents", {}),
        ("event_ids", "EraseEvents", {"event_ids": ["a", "a"]}),
        ("event_ids", "EraseEvents", {"event_ids": [f"e{i}" for i in range(1001)]}),
        ("event_ids[1]", "EraseEvents", {"event_ids": ["a", ""]}),
        ("branch", "EraseEvents", {"event_ids": ["a"], "branch": "b"}),
        ("branch", "EraseEvents", {"branch": "a..b"}),
        ("invocation_ids", "EraseEvents", {"event_ids": ["a"], "invocation_ids": ["i"]}),
        ("invocation_ids", "EraseEvents", {"invocation_ids": ["i"] * 65}),
        ("invocation_ids[0]", "EraseEvents", {"invocation_ids": [""]}),
        ("expected_event_ids", "ReplaceSuffix", {"expected_event_ids": ["a", "a"]}),
        ("events[1].event_id", "ReplaceSuffix", {"events": [user("a", event_id="x"), user("b", event_id="x")]}),
        ("events[0].message", "ReplaceSuffix", {"events": [{}]}),
        ("replaced", "AppendEvents", {"events": [user("a")], "replaced": ERASE}),
        ("if_exists", "AppendEvents", {"events": [user("a")], "if_exists": 9}),
    ],
)
def test_a_bad_request_names_its_field_and_changes_nothing(wire: Wire, field: str, method: str, fields: dict[str, Any]) -> None:
    session = ref("alice", "bad")
    wire.call("CreateSession", session=session, return_existing=True, token=ADMIN)
    refusal = wire.refused(method, token=ADMIN, **{"session": session, "operation_id": "op"} | fields)
    assert (refusal.reason, refusal.metadata["field"]) == ("INVALID_FIELD", field)
    assert wire.call("GetSession", session=session, token=ADMIN).session.log_version == 0


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        ("PopEvents", {"mode": ERASE, "operation_id": "o"}),
        ("ClearEvents", {"mode": ERASE, "operation_id": "o"}),
        ("ReplaceSuffix", {"mode": ERASE, "operation_id": "o"}),
        ("RewindSession", {"mode": ERASE, "operation_id": "o", "at_log_version": 0}),
        ("EraseEvents", {"event_ids": ["a"]}),
        ("EraseEvents", {"invocation_ids": ["i"]}),
        ("AppendEvents", {"events": [user("b", event_id="a")], "if_exists": "IF_EXISTS_REPLACE", "replaced": ERASE}),
    ],
)
def test_a_writer_may_archive_but_not_erase(wire: Wire, method: str, fields: dict[str, Any]) -> None:
    session = filled(wire, f"writer-{method}-{len(fields)}-{min(fields)}", "a")
    refusal = wire.refused(method, token=WRITER, session=session, **fields)
    assert (refusal.reason, refusal.metadata["role"]) == ("PERMISSION_DENIED", "admin")
    assert not log(wire, session)[0].archived
    if method != "EraseEvents":
        fields = {name: value for name, value in fields.items() if name not in ("mode", "replaced")}
        wire.call(method, token=WRITER, session=session, **fields)


def test_the_receipt_of_an_erasure_is_signed_and_returned_again(wire: Wire) -> None:
    session = filled(wire, "signed", "a", "b")
    fields = {"session": session, "event_ids": ["a"], "operation_id": "op-7"}
    first = wire.call("EraseEvents", token=ADMIN, **fields)
    KEY.public_key().verify(first.receipt.signature, first.receipt.statement.encode())
    stated = json.loads(first.receipt.statement)
    assert stated["scope"] == {"app": session.app, "user_id": "alice", "session_id": "signed", "events": True}
    assert (stated["deleted_events"], first.erased, first.receipt.request_id) == (1, 1, "op-7")
    again = wire.call("EraseEvents", token=ADMIN, **fields)
    assert again.replayed
    assert again.receipt == first.receipt
    refusal = wire.refused("EraseEvents", token=ADMIN, **fields | {"event_ids": ["b"]})
    assert (refusal.reason, refusal.metadata) == ("OPERATION_CONFLICT", {"operation_id": "op-7"})
    cleared = wire.call("ClearEvents", token=ADMIN, session=session, mode=ERASE, operation_id="c")
    assert (cleared.removed, cleared.receipt.deleted_events) == (1, 2)
    assert wire.call("ClearEvents", token=ADMIN, session=session, mode=ERASE, operation_id="c").receipt == cleared.receipt


def test_a_tombstone_is_read_as_such_and_cannot_be_written(wire: Wire) -> None:
    session = filled(wire, "tombs", "a")
    wire.call("EraseEvents", token=ADMIN, session=session, event_ids=["a"])
    read = wire.call("GetEvent", token=ADMIN, session=session, event_id="a").event
    assert (read.erased, read.archived, read.seq, len(read.message.parts)) == (True, True, 1, 0)
    wire.append(session, event_pb2.SessionEvent(event_id="b", erased=True, message=user("b").message), token=ADMIN)
    assert not log(wire, session)[1].erased


def test_an_operation_id_covers_the_content_but_not_generated_ids(wire: Wire) -> None:
    session = filled(wire, "ops", "a")
    fields: dict[str, Any] = {"session": session, "operation_id": "turn-1", "token": ADMIN}
    first = wire.call("AppendEvents", events=[user("hi")], **fields)
    again = wire.call("AppendEvents", events=[user("hi")], **fields)
    assert again.events[0].replayed
    assert again.events[0].event_id == first.events[0].event_id
    assert wire.refused("AppendEvents", events=[user("ho")], **fields).reason == "OPERATION_CONFLICT"
    assert wire.refused("PopEvents", **fields).reason == "OPERATION_CONFLICT"


def test_a_replacing_append_creates_a_missing_session_and_is_refused_in_a_stream(wire: Wire) -> None:
    session = ref("alice", "upserts")
    fields: dict[str, Any] = {"session": session, "if_exists": "IF_EXISTS_REPLACE", "token": ADMIN}
    assert wire.call("AppendEvents", events=[user("a", event_id="e")], create_if_missing={}, **fields).session_created
    replaced = wire.call(
        "AppendEvents", events=[user("b", event_id="e"), user("c", event_id="f")], create_if_missing={}, **fields
    )
    assert [(each.event_id, each.seq) for each in replaced.events] == [("e", 2), ("f", 3)]
    assert [(each.message.parts[0].text, each.archived) for each in log(wire, session)] == [
        *(("b", False), ("a", True), ("c", False))
    ]


def test_a_bound_caller_reaches_only_its_own_events(wire: Wire) -> None:
    session = filled(wire, "bound", "a")
    refusal = wire.refused("PopEvents", token=BOB, session=session, operation_id="o")
    assert refusal.reason == "PERMISSION_DENIED"
    assert not log(wire, session)[0].archived
