"""Retention on demand: dry runs, runs, receipts and restores, for an admin of the tenant only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.api.conftest import running
from threadkeep import Client, SessionEvent, SessionRef, assistant, errors, user
from threadkeep.cli import main
from threadkeep.cli.commands.retention import commands
from threadkeep_server.domain.sweeping import Hold, SweepGuard
from threadkeep_server.service.retention.guard import Look, RetentionGuard

TOKENS = {
    "token-of-the-acme": {"tenant": "acme"},
    "token-of-the-other": {"tenant": "other"},
    "token-of-the-ann": {"tenant": "acme", "user_id": "ann"},
    "token-of-the-writer": {"tenant": "acme", "roles": ["writer", "compactor", "ops"]},
}
POLICIES = """
[chats]
action = "archive"
idle = "1ms"
labels = { kind = "chat" }

[drafts]
action = "delete"
idle = "1ms"
labels = { kind = "draft" }
"""


class Place(NamedTuple):
    address: str
    archive: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    data = tmp_path_factory.mktemp("data")
    policies, archive = data / "policies.toml", data / "archive"
    policies.write_text(POLICIES)
    settings = {"retention_policies_file": policies, "retention_archive": str(archive)}
    with running(data_dir=data, auth_tokens=TOKENS, **settings) as server:
        yield Place(f"127.0.0.1:{server.grpc_port}", archive)


def client_of(place: Place, name: str = "acme") -> Client:
    return Client(place.address, app="shop", user_id="ann", token=f"token-of-the-{name}")


def stored(client: Client, name: str, kind: str = "chat") -> SessionRef:
    """Makes a session with a window that was compacted, labels and state."""
    client.append(name, user("hello"), assistant("hi"), create_if_missing={"labels": {"kind": kind}})
    client.session(name).state().patch({"mood": "good"})
    client.clear(name)
    client.append(name, user("again"))
    return SessionRef(app="shop", user_id="ann", session_id=name)


def log_of(client: Client, name: str) -> list[SessionEvent]:
    events = [event.pb for event in client.events(name)]
    for event in events:
        event.ClearField("record_time")
    return events


def test_a_session_is_planned_archived_listed_and_restored(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    where = ["--address", place.address, "--token", "token-of-the-acme"]
    with client_of(place) as client, client_of(place, "other") as other:
        stored(client, "old")
        stored(client, "draft", "draft")
        stored(client, "kept", "other")
        stored(other, "old")
        before, uid = log_of(client, "old"), client.get_session("old").uid

        assert main(["retention", "plan", *where]) == 0
        shown = capfd.readouterr().out
        assert "chats: 1 session, 3 events" in shown
        assert "drafts: 1 session, 3 events" in shown
        assert main(["retention", "plan", "--policy", "chats", "--json", *where]) == 0
        [planned] = json.loads(capfd.readouterr().out)["receipts"]
        assert (planned["session"]["session_id"], planned["outcome"]) == ("old", "RETENTION_OUTCOME_PLANNED")
        assert len(list(client.sessions())) == 3
        assert not place.archive.exists()

        assert main(["retention", "run", *where]) == 2, "it is confirmed"
        capfd.readouterr()
        assert main(["retention", "run", "--yes", *where]) == 0
        assert "chats: deleted 1 session, 3 events" in capfd.readouterr().out
        assert [each.ref.session_id for each in client.sessions()] == ["kept"]
        assert len(log_of(other, "old")) == 3
        assert main(["retention", "run", "--yes", *where]) == 0
        assert "no policy selects a session" in capfd.readouterr().out

        assert main(["retention", "list", *where]) == 0
        shown = capfd.readouterr().out
        assert shown.count("archived") == shown.count("deleted") == 1
        [first, second] = client.retention_receipts(page_size=1)
        assert first.id > second.id
        [receipt] = client.retention_receipts(session_id="old")
        assert (receipt.uid, receipt.events, receipt.policy) == (uid, 3, "chats")
        assert list(client.retention_receipts(app="desk")) == list(client.retention_receipts(user_id="bob")) == []
        assert list(other.retention_receipts()) == []

        assert main(["retention", "restore", "old", "--user", "ann", "--app", "shop", *where]) == 0
        assert "restored session old: 3 events" in capfd.readouterr().out
        assert log_of(client, "old") == before
        session = client.get_session("old")
        assert (dict(session.labels), session.uid != uid) == ({"kind": "chat"}, True)
        assert client.session("old").state().get().texts == {"mood": '"good"'}
        assert client.restore_session("old").found_events == 3
        [receipt] = client.retention_receipts(session_id="old")
        assert receipt.HasField("restore_time")


def test_only_an_admin_of_the_tenant_may_run_policies(place: Place) -> None:
    with client_of(place, "writer") as writer, client_of(place, "ann") as ann, client_of(place) as acme:
        calls = (writer.run_retention, lambda: list(writer.retention_receipts()), lambda: writer.restore_session("s"))
        for call in calls:
            with pytest.raises(errors.PermissionDenied) as denied:
                call()
            assert denied.value.metadata == {"role": "admin"}
        with pytest.raises(errors.PermissionDenied):
            list(ann.retention_receipts(user_id="bob"))
        with pytest.raises(errors.PermissionDenied):
            ann.restore_session(SessionRef(app="shop", user_id="bob", session_id="s"))
        stored(acme, "own")
        stored(acme, "theirs")
        acme.move_session("theirs", "bob")
        reached = {each.session.session_id for each in ann.run_retention(dry_run=True).receipts}
        assert ("own" in reached, "theirs" in reached) == (True, False)
        acme.run_retention()
        assert {each.session.session_id for each in acme.retention_receipts()} >= {"own", "theirs"}
        assert "own" in {each.session.session_id for each in ann.retention_receipts()}
        assert "theirs" not in {each.session.session_id for each in ann.retention_receipts()}
        assert ann.restore_session("own").restored_events == 3


def test_a_run_of_several_calls_looks_at_the_clock_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[RetentionGuard] = []
    look = RetentionGuard.look

    async def counted(guard: RetentionGuard) -> Look:
        looks.append(guard)
        return await look(guard)

    monkeypatch.setattr(RetentionGuard, "look", counted)
    monkeypatch.setattr(commands, "_AT_ONCE", 1)
    with client_of(place) as client, client_of(place, "ann") as ann:
        for number in range(3):
            client.append(f"part{number}", user("hello"), create_if_missing={"labels": {"kind": "draft"}})
        assert main(["retention", "run", "--yes", "--address", place.address, "--token", "token-of-the-acme"]) == 0
        assert len(looks) == 1
        for number in range(3):
            client.append(f"part{number}", user("hello"), create_if_missing={"labels": {"kind": "draft"}})
        first = client.run_retention(["drafts"], max_sessions=1)
        assert (first.more, bool(first.next_run_token)) == (True, True)
        token = first.next_run_token
        for caller, policies, how in (
            (ann, ["drafts"], {}),
            (client, ["chats"], {}),
            (client, ["drafts"], {"ignore_hold": True}),
            (client, ["drafts"], {"dry_run": True}),
        ):
            with pytest.raises(errors.InvalidField, match="run_token"):
                caller.run_retention(policies, run_token=token, **how)
        monkeypatch.setattr(SweepGuard, "held", lambda *_: Hold.JUMP)
        refused = client.run_retention(["drafts"])
        assert (refused.held, len(refused.receipts)) == (Hold.JUMP.value, 0)
        [stored_run] = place.archive.glob(f"runs/=acme/{refused.run_id}.json")
        assert json.loads(stored_run.read_text())["held"] == Hold.JUMP.value
        rest = client.run_retention(["drafts"], run_token=token)
        assert (len(rest.receipts), rest.more, rest.next_run_token) == (2, False, "")


def test_unknown_policies_and_sessions_are_refused(place: Place) -> None:
    with client_of(place) as client:
        with pytest.raises(errors.InvalidField, match="'chat' is none"):
            client.run_retention(["chat"])
        with pytest.raises(errors.SessionNotFound):
            client.restore_session("never-there")
        client.append("gone", user("hello"), create_if_missing={"labels": {"kind": "draft"}})
        client.run_retention()
        with pytest.raises(errors.SessionNotFound):
            client.restore_session("gone")


@pytest.mark.parametrize("harm", ["archive", "receipt", "both", "other"])
def test_an_archive_that_was_changed_is_not_restored(place: Place, harm: str) -> None:
    name = f"harmed-{harm}"
    with client_of(place) as client:
        stored(client, name)
        [receipt] = [each for each in client.run_retention().receipts if each.session.session_id == name]
        packed = place.archive / receipt.archive.name
        written = packed.parent / f"{receipt.id}.json"
        if harm in ("archive", "both"):
            packed.write_bytes(packed.read_bytes()[:-9] + b"harmed!!!")
        if harm == "receipt":
            written.write_bytes(written.read_bytes().replace(b'"events": 3', b'"events": 4'))
        if harm == "both":
            own = hashlib.sha256(packed.read_bytes()).hexdigest()
            written.write_bytes(written.read_bytes().replace(receipt.archive.sha256.encode(), own.encode()))
        if harm == "other":
            client.append(name, user("another conversation"), create_if_missing={})
        with pytest.raises(errors.ArchiveFailed) as failed:
            client.restore_session(name)
        expected = {"archive": "its checksum differs", "other": "holds other events"}
        assert expected.get(harm, "was changed, or written by a server of another database") in failed.value.message
        if harm != "other":
            with pytest.raises(errors.SessionNotFound):
                client.get_session(name)


def test_a_server_without_policies_says_so(tmp_path: Path) -> None:
    with running(data_dir=tmp_path) as server, Client(f"127.0.0.1:{server.grpc_port}", user_id="ann") as client:
        calls = (client.run_retention, lambda: list(client.retention_receipts()), lambda: client.restore_session("s"))
        for call in calls:
            with pytest.raises(errors.RetentionNotConfigured):
                call()
