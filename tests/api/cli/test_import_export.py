"""`threadkeep import` and `export` with a real server: everything is stored once, and exported logs are identical."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import threadkeep
from tests.support.programs.python import python
from tests.support.runs.thoroughness import size
from threadkeep import Client
from threadkeep.cli import main
from threadkeep.cli.formats.log import end_line, event_bytes, header_line

from ..conftest import ServerFactory

Log = list[tuple[int, str, bytes]]
Run = Callable[..., Any]


@pytest.fixture
def run(address: str, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command; returns exit code, JSON output and standard error."""

    def invoke(*arguments: str | Path, at: str = address) -> tuple[int, Any, str]:
        code = main([*map(str, arguments), "--address", at, "--json"])
        out, err = capfd.readouterr()
        return code, json.loads(out) if out else None, err

    return invoke


@pytest.fixture
def other(start_server: ServerFactory, tmp_path: Path) -> str:
    """The address of a second, empty server."""
    return f"127.0.0.1:{start_server(data_dir=tmp_path / 'other').grpc_port}"


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client


def shared(name: str) -> Path:
    """A file of real conversations outside the repository."""
    folder = Path(os.environ.get("THREADKEEP_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
    if not (folder / name).is_file():
        pytest.skip(f"{folder / name} is not there; set THREADKEEP_SHARED_DATA to the folder with the real conversations")
    return folder / name


def logs(address: str) -> dict[tuple[str, str, str], Log]:
    """Returns the log of every session: seqs, ids and bytes."""
    with Client(address) as client:
        return {
            (each.ref.app, each.ref.user_id, each.ref.session_id): [
                (event.seq, event.event_id, event_bytes(event.pb)) for event in client.events(each, page_size=1000)
            ]
            for each in client.sessions(page_size=1000)
        }


def messages(path: Path, *contents: str) -> Path:
    path.write_text("".join(json.dumps({"role": "user", "content": each}) + "\n" for each in contents))
    return path


def test_agent_runs_are_imported_completely_and_once(
    run: Run, client: Client, address: str, other: str, tmp_path: Path
) -> None:
    every = shared("tau-bench-airline-gpt-4o.json")
    runs = json.loads(every.read_text())
    assert (len(runs), sum(len(each["traj"]) for each in runs)) == (200, 5308)
    source = tmp_path / every.name
    source.write_text(json.dumps(taken := runs[: size(200, 40)]))
    sessions, events_of_all = len(taken), sum(len(each["traj"]) for each in taken)
    code, first, _ = run("import", source)
    added = (first["sessions_created"], first["events_added"], first["events_already_there"])
    assert (code, *added) == (0, sessions, events_of_all, 0)
    before = logs(address)
    code, again, _ = run("import", source)
    assert (code, again["sessions_created"], again["events_added"], again["events_already_there"]) == (0, 0, 0, events_of_all)
    assert logs(address) == before

    calls = 0
    for record in taken:
        session = f"tau-bench-airline-gpt-4o-task{record['task_id']}-trial{record['trial']}"
        events = list(client.events(session, page_size=1000))
        assert [json.loads(event.native.content) for event in events] == record["traj"]
        for event, message in zip(events, record["traj"], strict=True):
            given = [
                (call["id"], call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", [])
            ]
            found = [part.tool_call for part in event.message.parts if part.HasField("tool_call")]
            assert [(call.id, call.name, call.arguments_json) for call in found] == given
            calls += len(found)
            if message["role"] == "tool":
                result = event.message.parts[0].tool_result
                assert (result.call_id, result.parts[0].text) == (message["tool_call_id"], message["content"])
            elif message["content"] is not None:
                assert threadkeep.text_of(event) == message["content"]
    assert calls == size(1164, 254)

    export = tmp_path / "all.jsonl"
    code, done, _ = run("export", "-o", export)
    assert (code, done["sessions"], done["events"]) == (0, sessions, events_of_all)
    code, restored, _ = run("import", export, at=other)
    assert (code, restored["sessions_created"], restored["events_added"]) == (0, sessions, events_of_all)
    assert logs(other) == before
    code, restored, _ = run("import", export, at=other)
    assert (code, restored["events_added"], restored["events_already_there"]) == (0, 0, events_of_all)


def test_dialogues_are_imported_with_labels(run: Run, client: Client) -> None:
    source = shared("sgd-test-dialogues-001.json")
    code, done, _ = run("import", source, "--user", "dora", "--app", "sgd")
    dialogues = json.loads(source.read_text())
    turns = sum(len(each["turns"]) for each in dialogues)
    assert (code, done["sessions_created"], done["events_added"]) == (0, len(dialogues), turns)
    service = dialogues[0]["services"][0]
    labelled = list(client.sessions(user_id="dora", app="sgd", labels={f"service.{service}": "yes"}))
    assert len(labelled) == sum(service in each["services"] for each in dialogues)


def test_sessions_are_restored_with_labels_metadata_and_expiry(run: Run, client: Client, other: str, tmp_path: Path) -> None:
    soon = time.time_ns() // 1_000_000_000 * 1_000_000_000 + 3 * 86_400_000_000_000 + 123_456_789
    client.create_session("s", user_id="u", app="a", labels={"k": "v"}, metadata='{"n":  1.0}', never_expires=True)
    client.create_session("s", user_id="u", expire_time=soon)  # the same id in another app, without events
    client.append(threadkeep.SessionRef(app="a", user_id="u", session_id="s"), threadkeep.user("hé\x00 你好 🎉", author="me"))
    export = tmp_path / "e.jsonl"
    assert run("export", "-o", export)[0] == 0
    code, done, _ = run("import", export, at=other)
    assert (code, done["sessions_created"], done["events_added"]) == (0, 2, 1)
    with Client(other) as restored:
        found = {each.ref.app: each for each in restored.sessions(user_id="u")}
    assert dict(found["a"].labels) == {"k": "v"}
    assert found["a"].metadata_json == '{"n":  1.0}'
    assert not found["a"].HasField("expire_time")
    assert found[""].expire_time.ToNanoseconds() == soon


def test_expired_sessions_are_restored_with_a_new_expiry(run: Run, client: Client, tmp_path: Path) -> None:
    session = {"type": "session", "user_id": "u", "session_id": "old", "expire_time": "2020-01-01T00:00:00Z", "labels": {}}
    path = tmp_path / "old.jsonl"
    path.write_text(header_line() + json.dumps(session) + "\n" + end_line(1, 0))
    code, done, _ = run("import", path)
    assert (code, done["sessions_created"], done["sessions_renewed"]) == (0, 1, 1)
    assert client.get_session("old").expire_time.ToDatetime(tzinfo=UTC) > datetime.now(UTC)


def test_an_export_never_mixes_with_other_events(run: Run, client: Client, other: str, tmp_path: Path) -> None:
    client.create_session("s", user_id="u")
    client.append("s", threadkeep.user("one"), threadkeep.user("two"))
    export = tmp_path / "e.jsonl"
    assert run("export", "-o", export)[0] == 0
    with Client(other, user_id="u") as foreign:
        foreign.create_session("s")
        foreign.append("s", threadkeep.user("mine"))
        code, done, err = run("import", export, at=other)
        assert (code, done["events_added"]) == (1, 0)
        assert json.loads(err)["error"]["reason"] == "VERSION_MISMATCH"
        assert "threadkeep sessions delete s --user u" in err
        assert [threadkeep.text_of(each) for each in foreign.events("s")] == ["mine"]


def test_a_longer_export_continues_a_restored_session(run: Run, client: Client, other: str, tmp_path: Path) -> None:
    client.create_session("s", user_id="u")
    export = tmp_path / "e.jsonl"
    for count in (3, 4):
        client.append("s", *(threadkeep.user(str(n)) for n in range(count)))
        assert run("export", "-o", export)[0] == 0
        code, done, _ = run("import", export, at=other)
        assert (code, done["events_added"]) == (0, count)
    assert [seq for seq, _, _ in logs(other)[("", "u", "s")]] == [1, 2, 3, 4, 5, 6, 7]


def test_a_truncated_export_is_imported_to_its_end_and_reported(run: Run, client: Client, other: str, tmp_path: Path) -> None:
    client.create_session("s", user_id="u")
    client.append("s", threadkeep.user("one"), threadkeep.user("two"))
    export = tmp_path / "e.jsonl"
    assert run("export", "-o", export)[0] == 0
    lines = export.read_text().splitlines(keepends=True)
    export.write_text("".join(lines[:3]))
    code, done, err = run("import", export, at=other)
    assert (code, done["events_added"]) == (1, 1)
    assert "truncated" in err
    export.write_text("".join(lines))
    code, done, _ = run("import", export, at=other)
    assert (code, done["events_added"], done["events_already_there"]) == (0, 1, 1)


def test_a_malformed_record_stops_the_import_or_is_skipped(run: Run, client: Client, tmp_path: Path) -> None:
    good, bad = {"messages": [{"role": "user", "content": "x"}]}, {"messages": [{"role": "user"}, {"role": "robot"}]}
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in (good, bad, good)))
    code, done, err = run("import", path)
    assert (code, done["sessions_created"]) == (1, 1)
    outcome = json.loads(err)["error"]
    place = {"file": str(path), "record": 2, "line": 2, "field": "messages[1].role", "reason": "MALFORMED"}
    assert outcome["metadata"].items() >= place.items()
    code, done, err = run("import", path, "--on-error", "skip")
    assert (code, done["sessions_created"], done["sessions_already_there"], len(done["problems"])) == (1, 1, 1, 1)
    path.write_text("".join(json.dumps(each) + "\n" for each in (good, good, good)))
    code, done, _ = run("import", path)
    assert (code, done["events_added"], done["events_already_there"]) == (0, 1, 2)


@pytest.mark.parametrize("options", [(), ("--on-error", "skip")])
def test_a_session_with_an_unreadable_beginning_is_not_created(
    run: Run, client: Client, tmp_path: Path, options: tuple[str, ...]
) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text('{"role": "robot", "content": "x"}\n')
    code, done, err = run("import", path, *options)
    assert (code, done["sessions"], json.loads(err)["error"]["metadata"]["field"]) == (1, 0, "role")
    assert list(client.sessions()) == []
    export = tmp_path / "export.jsonl"
    lines = [{"type": "session", "user_id": "u", "session_id": "s", "labels": {}}, {"type": "event", "session": "s", "seq": 1}]
    export.write_text(header_line() + "".join(json.dumps(each) + "\n" for each in lines) + end_line(1, 1))
    code, done, err = run("import", export, *options)
    assert (code, done["sessions"], json.loads(err)["error"]["metadata"]["field"]) == (1, 0, "event")
    assert list(client.sessions()) == []


def test_records_after_a_skipped_beginning_are_imported(run: Run, client: Client, tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text('{"role": "robot", "content": "x"}\n{"role": "user", "content": "y"}\n')
    assert run("import", path, "--on-error", "skip")[1]["sessions_created"] == 1
    assert [threadkeep.text_of(each) for each in client.events("chat")] == ["y"]


def test_other_content_with_the_same_ids_is_rejected(run: Run, client: Client, tmp_path: Path) -> None:
    run("import", messages(tmp_path / "chat.jsonl", "one", "two"))
    code, done, err = run("import", messages(tmp_path / "chat.jsonl", "one", "other"))
    assert (code, done["events_added"]) == (1, 0)
    assert json.loads(err)["error"]["reason"] == "EVENT_ID_CONFLICT"
    code, done, _ = run("import", messages(tmp_path / "chat.jsonl", "one", "two", "three"))
    assert (code, done["events_added"], done["events_already_there"]) == (0, 1, 2)


def test_a_killed_import_continues(run: Run, client: Client, address: str, tmp_path: Path) -> None:
    path = messages(tmp_path / "long.jsonl", *(f"message {n} {'x' * 200}" for n in range(8_000)))
    process = subprocess.Popen([sys.executable, "-m", "threadkeep.cli", "import", str(path), "--address", address])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None and client.info(totals=True).total_events < 1000:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    code, done, _ = run("import", path)
    assert code == 0
    assert done["events_added"] + done["events_already_there"] == 8_000
    assert done["events_already_there"] >= 1000
    assert [event.seq for event in client.events("long", page_size=1000)] == list(range(1, 8_001))
    assert client.get_session("long").last_seq == 8_000


def test_openai_messages_are_exported_as_imported(
    run: Run, client: Client, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":  1}'}}
    chat = [
        {"role": "system", "content": "be kind"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "你好 🎉"}, {"type": "image_url", "image_url": {"url": "https://x/y"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "42"},
    ]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"session_id": "c1", "user_id": "u", "labels": {"k": "v"}, "messages": chat}, indent=2))
    assert run("import", path)[0] == 0
    out = tmp_path / "out.jsonl"
    assert run("export", "--format", "openai", "-o", out)[0] == 0
    line = json.loads(out.read_text())
    assert (line["session_id"], line["user_id"], line["labels"], line["messages"]) == ("c1", "u", {"k": "v"}, chat)
    code, done, _ = run("import", out)
    assert (code, done["events_added"], done["events_already_there"]) == (0, 0, 4)


def test_a_user_exports_what_is_theirs_to_a_file_of_their_own(start_server: ServerFactory, tmp_path: Path) -> None:
    tokens = {"token-of-all-users": {"tenant": "t"}, "token-of-the-user": {"tenant": "t", "user_id": "ann"}}
    address = f"127.0.0.1:{start_server(data_dir=tmp_path / 'bound', auth_tokens=tokens).grpc_port}"
    with Client(address, token="token-of-all-users") as everyone:
        for user in ("ann", "bob"):
            everyone.append(everyone.create_session("s", user_id=user), threadkeep.user(f"{user}'s"))
    out = tmp_path / "own.jsonl"
    out.with_name("own.jsonl.partial").touch(mode=0o644)  # of an export that was killed
    command = ["export", "--format", "openai", "-o", str(out), "--address", address, "--token", "token-of-the-user"]
    assert main(command) == 0
    assert [json.loads(line)["user_id"] for line in out.read_text().splitlines()] == ["ann"]
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_an_interrupted_export_leaves_no_file(run: Run, tmp_path: Path) -> None:
    code, _, err = run("export", "--session", "nope", "-o", tmp_path / "e.jsonl")
    assert (code, json.loads(err)["error"]["reason"]) == (3, "SESSION_NOT_FOUND")
    assert list(tmp_path.glob("e.jsonl*")) == []


def test_export_writes_stdout_and_import_reads_stdin(client: Client, address: str, other: str) -> None:
    client.create_session("s", user_id="u")
    client.append("s", threadkeep.user("hé"))
    command = [*python(), "-m", "threadkeep.cli"]
    out = subprocess.run([*command, "export", "--address", address], check=True, capture_output=True)
    assert out.stderr.decode().startswith("1 session and 1 event")
    done = subprocess.run([*command, "import", "-", "--address", other], input=out.stdout, check=True, capture_output=True)
    assert done.stdout.decode().startswith("events: 1 added, 0 already there")
    assert b"\x1b" not in done.stdout + done.stderr + out.stderr
    assert logs(other) == logs(address)
