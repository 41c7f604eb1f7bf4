"""Policies run in the background: old sessions leave the database, and `threadkeep import` brings them back."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path

from tests.api.conftest import ServerFactory
from tests.api.telemetry.pages import sample, samples
from threadkeep import Client, SessionRef, assistant, errors, user
from threadkeep.cli import main

POLICIES = """
[chats]
action = "archive"
idle = "1ms"
apps = ["shop"]
labels = { kind = "chat" }
keep = { "legal-hold" = "*" }

[drafts]
action = "delete"
idle = "1ms"
labels = { kind = "draft" }
"""


def ref(name: str, app: str = "shop") -> SessionRef:
    return SessionRef(app=app, user_id="ann", session_id=name)


def until(done: Callable[[], bool]) -> None:
    for _ in range(600):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen within 30 s")


def gone(client: Client, name: SessionRef) -> bool:
    try:
        client.get_session(name)
    except errors.SessionNotFound:
        return True
    return False


def test_policies_archive_and_delete_and_an_import_restores(start_server: ServerFactory, tmp_path: Path) -> None:
    policies, archive, audit = tmp_path / "policies.toml", tmp_path / "archive", tmp_path / "audit.log"
    policies.write_text(POLICIES)
    settings = {"retention_policies_file": policies, "retention_archive": str(archive), "retention_interval": "200ms"}
    server = start_server(data_dir=tmp_path / "data", audit_log=str(audit), **settings)
    with Client(f"127.0.0.1:{server.grpc_port}") as client:
        for name, app, labels in (
            ("kept", "shop", {"kind": "chat", "legal-hold": ""}),
            ("other", "desk", {"kind": "chat"}),
            ("plain", "shop", {}),
            ("draft", "desk", {"kind": "draft"}),
        ):
            client.append(ref(name, app), user("hello"), create_if_missing={"labels": labels})
        client.append(ref("old"), user("hello"), assistant("hi"), create_if_missing={})
        client.session(ref("old")).state().patch({"mood": "good"})
        client.clear(ref("old"))
        client.append(ref("old"), user("again"))
        before = [event.pb for event in client.events(ref("old"))]
        client.update_session(ref("old"), labels={"kind": "chat"})

        until(lambda: gone(client, ref("old")) and gone(client, ref("draft", "desk")))
        assert not any(gone(client, ref(name, app)) for name, app in (("kept", "shop"), ("other", "desk"), ("plain", "shop")))

        until(lambda: len(list(archive.glob("archives/**/*.json"))) == 2 and not list(archive.glob("pending/**/*.json")))
        receipts = [json.loads(path.read_text())["receipt"] for path in archive.glob("archives/**/*.json")]
        by_policy = {each["policy"]: each for each in receipts}
        assert {name: each["outcome"] for name, each in by_policy.items()} == {"chats": "deleted", "drafts": "deleted"}
        assert by_policy["drafts"]["archive"] is None
        [stored] = archive.glob("archives/tenant=default/app=shop/user=ann/session=old/*.jsonl.gz")
        assert stored.relative_to(archive).as_posix() == by_policy["chats"]["archive"]["name"]
        assert [json.loads(line)["outcome"] for line in audit.read_text().splitlines() if '"retention"' in line] == ["OK", "OK"]

        wanted = [sample("threadkeep_retention_sessions_total", outcome=each) for each in ("archived", "deleted")]
        runs, success = sample("threadkeep_retention_runs_total", outcome="done"), "threadkeep_retention_last_success_seconds"
        found = samples(server, *wanted, runs)
        assert [found[each] for each in wanted] == [1, 1]
        assert found[runs] >= 1
        assert found[sample(success)] >= found[sample("threadkeep_start_time_seconds")]

        lines = tmp_path / "old.jsonl"
        lines.write_bytes(gzip.decompress(stored.read_bytes()))
        policies.write_text("")
    restored = start_server(data_dir=tmp_path / "other")
    address = f"127.0.0.1:{restored.grpc_port}"
    assert main(["import", str(lines), "--address", address]) == 0
    with Client(address) as client:
        after = [event.pb for event in client.events(ref("old"))]
        assert client.session(ref("old")).state().get().texts == {"mood": '"good"'}
    for event in (*before, *after):
        event.ClearField("record_time")
    assert after == before
