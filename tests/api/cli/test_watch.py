"""`threadkeep watch` with a real server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import threadkeep
from tests.api.conftest import Cli, running
from tests.support.programs.python import python
from tests.support.servers.server_process import free_port
from threadkeep import Client, compaction


@pytest.fixture
def filled(address: str) -> None:
    """Sessions of alice, compacted once, and of bob."""
    with Client(address, user_id="alice", app="shop") as client:
        client.create_session("s", labels={"team": "blue"})
        for n in range(3):
            client.append("s", threadkeep.user(f"question {n}"), threadkeep.assistant(f"answer {n}", author="bot"))
        client.compact("s", compaction.turn_window(1))
    with Client(address, user_id="bob") as client:
        client.append("t", threadkeep.user("hello"), create_if_missing=True)


@contextmanager
def process(address: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Runs the command in a process that ends with the context."""
    command = [*python(), "-m", "threadkeep.cli", "watch", *arguments, "--address", address]
    pipe = subprocess.PIPE
    environment = os.environ | {"PYTHONUTF8": "1"}
    # A shell may start background processes with Ctrl-C ignored; this restores it.
    heeding = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, encoding="utf-8", env=environment, preexec_fn=heeding
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def line(stream: Any) -> str:
    """Returns the next line; the time limit of the test ends the wait."""
    text = stream.readline()
    assert isinstance(text, str)
    return text


def kinds(out: str) -> list[str]:
    return [
        next(key for key in json.loads(each) if key in ("batch", "compaction", "session_change")) for each in out.splitlines()
    ]


def test_a_session_is_watched_from_its_start(cli: Cli, filled: None) -> None:
    code, out, err = cli("watch", "s", "--user", "alice", "--app", "shop", "--from-beginning", "--count", "5")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert "created" in lines[0]
    assert lines[1].endswith("#1  user       question 0")
    assert "#2  assistant  bot: answer 0  1 turn, ~" in lines[2]
    assert "compacted  3 → 1 turns" in lines[-1]
    assert "\x1b" not in out


def test_changes_are_printed_as_json_and_resumed(cli: Cli, filled: None) -> None:
    whole = cli("watch", "--all-users", "--from-beginning", "--count", "7", "--json")[1]
    assert kinds(whole) == ["session_change", "batch", "batch", "batch", "compaction", "session_change", "batch"]
    changes = [json.loads(each) for each in whole.splitlines()]
    assert changes[1]["versions"]["window"]["turns"] == 1
    resumed = cli("watch", "--all-users", "--resume-token", changes[3]["resume_token"], "--count", "3", "--json")[1]
    assert [json.loads(each) for each in resumed.splitlines()] == changes[4:]
    code, _, err = cli("watch", "--user", "bob", "--resume-token", changes[3]["resume_token"], "--count", "1", "--json")
    assert (code, json.loads(err)["error"]["reason"]) == (1, "INVALID_RESUME_TOKEN")


def test_scopes_and_filters_select_changes(cli: Cli, filled: None) -> None:
    def seqs(*arguments: str) -> list[tuple[str, int]]:
        found = [json.loads(each) for each in cli("watch", *arguments, "--from-beginning", "--json")[1].splitlines()]
        return [
            (each["session"]["session_id"], event["seq"]) for each in found for event in each.get("batch", {}).get("events", [])
        ]

    assert seqs("--user", "bob", "--count", "2") == [("t", 1)]
    assert seqs("--all-users", "--app", "shop", "--role", "assistant", "--count", "4") == [("s", 2), ("s", 4), ("s", 6)]
    assert seqs("--all-users", "--label", "team=blue", "--keyword", "QUESTION 2", "--count", "2") == [("s", 5)]
    assert seqs("--all-users", "--author", "bot", "--count", "3") == [("s", 2), ("s", 4)]


def test_watch_starts_after_a_seq(cli: Cli, filled: None) -> None:
    out = cli("watch", "s", "--user", "alice", "--app", "shop", "--after-seq", "4", "--count", "2", "--json")[1]
    assert kinds(out) == ["batch", "compaction"]
    assert [event["seq"] for event in json.loads(out.splitlines()[0])["batch"]["events"]] == [5, 6]


def test_tail_prints_the_newest_events_and_then_changes(filled: None, address: str) -> None:
    with process(address, "s", "--user", "alice", "--app", "shop", "-n", "2", "--count", "2") as tail:
        assert line(tail.stdout).endswith("question 2\n")
        assert "answer 2" in line(tail.stdout)
        assert "compacted" in line(tail.stdout)  # appended after the last event
        with Client(address, user_id="alice", app="shop") as client:
            client.append("s", threadkeep.user("and now?"))
        assert "and now?" in line(tail.stdout)
        assert tail.wait(60) == 0


def test_an_unknown_session_is_reported_and_tail_waits_for_it(cli: Cli, filled: None, address: str) -> None:
    assert cli("watch", "nowhere")[0] == 3
    with process(address, "later", "--user", "carol", "-n", "5") as tail:
        with Client(address, user_id="carol") as client:
            client.append("later", threadkeep.user("here I am"), create_if_missing=True)
        first = line(tail.stdout)
        assert "here I am" in (line(tail.stdout) if "created" in first else first)


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_prints_the_resume_token(filled: None, address: str, cli: Cli, as_json: bool) -> None:
    with process(address, "--all-users", "--from-beginning", *(["--json"] if as_json else [])) as tail:
        for _ in range(7 if as_json else 10):
            line(tail.stdout)
        tail.send_signal(signal.SIGINT)
        _, err = tail.communicate(timeout=60)
    assert tail.returncode == 0
    if as_json:
        assert err == ""
        return
    token = err.split("--resume-token ")[1].strip()
    with Client(address, user_id="bob") as client:
        client.append("t", threadkeep.user("once more"))
    out = cli("watch", "--all-users", "--resume-token", token, "--count", "1")[1]
    assert out.count("\n") == 1
    assert "once more" in out


def test_watch_continues_after_a_server_restart(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    with running(data_dir=tmp_path, grpc_address=address):
        with Client(address, user_id="bob") as client:
            client.append("t", threadkeep.user("before"), create_if_missing=True)
        tail = process(address, "t", "--user", "bob", "--from-beginning", "--count", "3")
        started = tail.__enter__()
        assert "created" in line(started.stdout)
        assert "before" in line(started.stdout)
    try:
        assert line(started.stderr) == "server gone, retrying\n"
        with running(data_dir=tmp_path, grpc_address=address), Client(address, user_id="bob") as client:
            client.append("t", threadkeep.user("after"))
            assert "after" in line(started.stdout)
            assert line(started.stderr) == "back\n"
            assert started.wait(60) == 0
    finally:
        tail.__exit__(None, None, None)
