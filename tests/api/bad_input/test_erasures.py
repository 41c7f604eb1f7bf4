"""DeleteUser, DeleteApp and DeleteByLabel: what they erase, for whom, and their receipts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from threadkeep import user
from threadkeep.v1.erasure_pb2 import ErasureReceipt

from .requests import Wire, wire_on
from .test_isolation import ACME, ALICE, OTHER, TOKENS, ref

KEY = Ed25519PrivateKey.generate()


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    folder = tmp_path_factory.mktemp("data")
    path = folder / "receipts.pem"
    path.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)
    with wire_on(request.param, request, folder, auth_tokens=TOKENS, receipt_key_file=path, sweep_interval="1h") as opened:
        yield opened


def fill(wire: Wire, app: str) -> None:
    """Sessions and memories of two users in an app, and the same in another tenant."""
    for token in (ACME, OTHER):
        for owner in ("alice", "bob"):
            name = ref(owner, f"{app}-{owner}", app)
            wire.call("CreateSession", session=name, labels={"run": app}, token=token)
            wire.append(name, user(f"{owner} wrote walrus", event_id="e1"), user("more", event_id="e2"), token=token)
            wire.call("AddSessionToMemory", session=name, token=token)


def left(wire: Wire, app: str, token: str = ACME) -> set[str]:
    return {each.ref.user_id for each in wire.call("ListSessions", app=app, token=token).sessions}


def remembered(wire: Wire, app: str, token: str = ACME) -> set[str]:
    owners = ("alice", "bob")
    lists = {each: wire.call("ListMemories", scope={"app": app, "user_id": each}, token=token).entries for each in owners}
    return {owner for owner, entries in lists.items() if entries}


def erased(wire: Wire, method: str, token: str = ACME, **fields: Any) -> ErasureReceipt:
    answer = wire.call(method, token=token, **fields)
    assert not answer.more
    return answer.receipt


def test_deleting_a_user_leaves_nothing_of_it(wire: Wire) -> None:
    fill(wire, "one")
    receipt = erased(wire, "DeleteUser", user_id="alice", app="one")
    assert (receipt.deleted_sessions, receipt.deleted_events, receipt.deleted_memories) == (1, 2, 2)
    assert (left(wire, "one"), remembered(wire, "one")) == ({"bob"}, {"bob"})
    assert not wire.call("SearchEvents", user={"user_id": "alice"}, query="walrus", token=ACME).hits
    assert (left(wire, "one", OTHER), remembered(wire, "one", OTHER)) == ({"alice", "bob"}, {"alice", "bob"})


def test_deleting_an_app_leaves_the_others(wire: Wire) -> None:
    fill(wire, "two")
    fill(wire, "three")
    receipt = erased(wire, "DeleteApp", app="two")
    assert (receipt.deleted_sessions, receipt.deleted_memories) == (2, 4)
    assert (left(wire, "two"), remembered(wire, "two")) == (set(), set())
    assert (left(wire, "three"), remembered(wire, "three")) == ({"alice", "bob"}, {"alice", "bob"})
    assert left(wire, "two", OTHER) == {"alice", "bob"}


def test_deleting_by_label_purges_memories_only_if_wanted(wire: Wire) -> None:
    fill(wire, "four")
    receipt = erased(wire, "DeleteByLabel", labels={"run": "four"}, user_id="alice")
    assert (receipt.deleted_sessions, receipt.deleted_memories) == (1, 0)
    assert (left(wire, "four"), remembered(wire, "four")) == ({"bob"}, {"alice", "bob"})
    receipt = erased(wire, "DeleteByLabel", labels={"run": "four"}, purge_memories=True)
    assert (receipt.deleted_sessions, receipt.deleted_memories) == (1, 2)
    assert remembered(wire, "four") == {"alice"}


def test_a_deleted_session_takes_its_memories_along_if_wanted(wire: Wire) -> None:
    fill(wire, "five")
    session = ref("alice", "five-alice", "five")
    refusal = wire.refused("DeleteSession", session=session, uid="another", purge_memories=True, token=ACME)
    assert refusal.reason == "VERSION_MISMATCH"
    assert remembered(wire, "five") == {"alice", "bob"}
    answer = wire.call("DeleteSession", session=session, purge_memories=True, token=ACME)
    assert (answer.deleted, answer.deleted_events, answer.deleted_memories) == (True, 2, 2)
    wire.call("DeleteSession", session=ref("bob", "five-bob", "five"), token=ACME)
    assert remembered(wire, "five") == {"bob"}
    answer = wire.call("DeleteSession", session=ref("bob", "five-bob", "five"), purge_memories=True, token=ACME)
    assert (answer.deleted, answer.deleted_memories) == (False, 2)
    wire.invalid("session.user_id", "DeleteSession", session={"session_id": "none"}, purge_memories=True, token=ACME)


def test_a_receipt_is_signed_and_states_what_was_erased(wire: Wire) -> None:
    fill(wire, "six")
    receipt = erased(wire, "DeleteApp", app="six", request_id="request-1")
    KEY.public_key().verify(receipt.signature, receipt.statement.encode())
    stated = json.loads(receipt.statement)
    for name in ("request_id", "deleted_sessions", "deleted_events", "deleted_memories", "deleted_embeddings", "ids_digest"):
        assert stated[name] == getattr(receipt, name)
    assert (stated["start_time"][:19], stated["finish_time"][:19]) == (
        receipt.start_time.ToJsonString()[:19],
        receipt.finish_time.ToJsonString()[:19],
    )
    assert stated["scope"] == {"user_id": None, "app": "six", "labels": {}, "memories": True}
    assert stated["store_id"] == wire.call("GetServerInfo", token=ACME).store_id
    wire.call("CreateSession", session=ref("bob", "new", "six"), token=ACME)
    assert erased(wire, "DeleteApp", app="six", request_id="request-1") == receipt
    assert left(wire, "six") == {"bob"}
    wire.invalid("request_id", "DeleteApp", app="seven", request_id="request-1", token=ACME)


def test_a_caller_that_is_bound_to_a_user_erases_own_data_only(wire: Wire) -> None:
    fill(wire, "eight")
    for method, fields, field in (
        ("DeleteUser", {"user_id": "bob"}, "user_id"),
        ("DeleteApp", {"app": "eight"}, "app"),
        ("DeleteByLabel", {"labels": {"run": "eight"}, "user_id": "bob"}, "user_id"),
    ):
        refusal = wire.refused(method, token=ALICE, **fields)
        assert (refusal.reason, refusal.metadata["field"]) == ("PERMISSION_DENIED", field)
    assert left(wire, "eight") == {"alice", "bob"}
    assert erased(wire, "DeleteByLabel", ALICE, labels={"run": "eight"}, purge_memories=True).deleted_sessions == 1
    assert (left(wire, "eight"), remembered(wire, "eight")) == ({"bob"}, {"bob"})
    wire.call("CreateSession", session=ref("alice", "own", "eight"), token=ALICE)
    assert erased(wire, "DeleteUser", ALICE, app="eight").deleted_sessions == 1
    assert left(wire, "eight") == {"bob"}


@pytest.mark.parametrize(
    ("method", "field", "fields"),
    [
        ("DeleteUser", "user_id", {}),
        ("DeleteUser", "user_id", {"user_id": "x" * 256}),
        ("DeleteUser", "app", {"user_id": "u", "app": "a\nb"}),
        ("DeleteUser", "request_id", {"user_id": "u", "request_id": "x" * 256}),
        ("DeleteApp", "app", {}),
        ("DeleteApp", "app", {"app": "x" * 256}),
        ("DeleteByLabel", "labels", {}),
        ("DeleteByLabel", "labels", {"labels": {f"k{number}": "v" for number in range(65)}}),
        ("DeleteByLabel", "user_id", {"labels": {"k": "v"}, "user_id": "a\nb"}),
    ],
)
def test_an_invalid_erasure_is_rejected_and_names_the_field(
    wire: Wire, method: str, field: str, fields: dict[str, Any]
) -> None:
    wire.invalid(field, method, token=ACME, **fields)
