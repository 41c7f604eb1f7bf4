"""Erasures reach archives: the receipt has their number, and without the archive there is no receipt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.api.conftest import running
from threadkeep import Client, SessionRef, errors, user
from threadkeep.cli import main

POLICY = '[old]\naction = "archive"\nidle = "1ms"\n'


class Place(NamedTuple):
    address: str
    archive: Path
    audit: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    data = tmp_path_factory.mktemp("data")
    policies, archive, audit = data / "policies.toml", data / "archive", data / "audit.log"
    policies.write_text(POLICY)
    settings = {"retention_policies_file": policies, "retention_archive": str(archive), "audit_log": str(audit)}
    with running(data_dir=data, **settings) as server:
        yield Place(f"127.0.0.1:{server.grpc_port}", archive, audit)


def archived(client: Client, *refs: SessionRef, labels: dict[str, str] | None = None) -> None:
    for ref in refs:
        client.append(ref, user("hello"), create_if_missing={"labels": labels or {}})
    assert len(client.run_retention().receipts) == len(refs)


def ref(session_id: str, user_id: str = "ann", app: str = "shop") -> SessionRef:
    return SessionRef(app=app, user_id=user_id, session_id=session_id)


def archives_of(client: Client, user_id: str = "") -> list[str]:
    return sorted(each.session.session_id for each in client.retention_receipts(user_id=user_id))


def test_what_was_archived_of_a_user_an_app_and_labels_is_erased(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    with Client(place.address) as client:
        archived(client, ref("a1"), ref("a2", app="desk"), ref("b1", "bob"))
        archived(client, ref("b2", "bob", "desk"), labels={"kind": "chat"})
        client.append(ref("a3"), user("not archived"), create_if_missing={})
        request = ["erase", "user", "ann", "--request-id", "r1", "--yes", "--address", place.address]
        for _ in range(2):
            assert main(request) == 0
            assert "erased 1 session, 1 event, 0 memories, 0 consumers, 2 archives" in capfd.readouterr().out
        assert main([*request, "--json"]) == 0
        receipt = json.loads(capfd.readouterr().out)
        assert (receipt["deleted_archives"], json.loads(receipt["statement"])["deleted_archives"]) == ("2", 2)
        assert archives_of(client) == ["b1", "b2"]
        assert not list(place.archive.glob("archives/**/user=ann"))
        with pytest.raises(errors.SessionNotFound):
            client.restore_session(ref("a1"))
        records = [json.loads(line) for line in place.audit.read_text().splitlines()]
        [record] = [each for each in records if each["outcome"] == "ERASED"]
        assert (record["method"], record["target"]["user_id"], record["target"]["archives"]) == ("retention", "ann", 2)

        erased = client.delete_by_label({"kind": "chat"}, any_user=True, any_app=True)
        assert (erased.deleted_archives, archives_of(client)) == (1, ["b1"])
        assert client.delete_app("shop").deleted_archives == 1
        assert archives_of(client) == []
        empty = client.delete_user("nobody")
        assert (empty.HasField("deleted_archives"), empty.deleted_archives) == (True, 0)


def test_what_was_archived_of_a_session_is_erased_with_its_memories(place: Place) -> None:
    with Client(place.address) as client:
        archived(client, ref("s1", "eve"), ref("s2", "eve"))
        plain = client.delete_session(ref("s1", "eve"))
        assert (plain.HasField("deleted_archives"), archives_of(client, "eve")) == (False, ["s1", "s2"])
        gone = client.delete_session(ref("s1", "eve"), purge_memories=True)
        assert (gone.deleted, gone.deleted_archives, archives_of(client, "eve")) == (False, 1, ["s2"])


def test_an_erasure_without_its_archive_fails_and_a_repeated_call_continues(place: Place) -> None:
    with Client(place.address) as client:
        archived(client, ref("s1", "zoe"))
        client.append(ref("s2", "zoe"), user("not archived"), create_if_missing={})
        folder = place.archive / "archives"
        folder.rename(place.archive / "moved")
        folder.write_text("the disk is not mounted")
        for _ in range(2):
            with pytest.raises(errors.ArchiveFailed, match="archives may be left; repeat the call"):
                client.delete_user("zoe", request_id="r2")
        folder.unlink()
        (place.archive / "moved").rename(folder)
        receipt = client.delete_user("zoe", request_id="r2")
        assert (receipt.deleted_sessions, receipt.deleted_archives) == (1, 1)
        assert archives_of(client, "zoe") == []


def test_archives_are_erased_without_policies_and_a_server_without_an_archive_says_so(tmp_path: Path) -> None:
    policies, archive = tmp_path / "policies.toml", str(tmp_path / "archive")
    policies.write_text(POLICY)
    both = {"retention_policies_file": policies, "retention_archive": archive}
    with running(data_dir=tmp_path, **both) as server, Client(f"127.0.0.1:{server.grpc_port}") as client:
        archived(client, ref("s1"), ref("s2", "bob"))
    with running(data_dir=tmp_path, retention_archive=archive) as server, Client(f"127.0.0.1:{server.grpc_port}") as client:
        assert client.delete_user("ann").deleted_archives == 1
    with running(data_dir=tmp_path) as server, Client(f"127.0.0.1:{server.grpc_port}") as client:
        receipt = client.delete_user("bob")
        assert not receipt.HasField("deleted_archives")
        assert "deleted_archives" not in receipt.statement
    assert len(list(tmp_path.glob("archive/archives/**/*.jsonl.gz"))) == 1
