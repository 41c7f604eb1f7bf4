"""Creating and updating sessions, and listing archived events, from the command line."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import threadkeep
from tests.api.conftest import Cli
from tests.support.programs.python import python
from tests.support.servers.server_process import not_behind_envoy
from threadkeep import Client

TRIP = ("trip", "--user", "alice", "--app", "shop")


def created(cli: Cli, *arguments: str) -> dict[str, Any]:
    code, out, err = cli("sessions", "create", *arguments, "--json")
    assert code == 0, err
    return dict(json.loads(out))


def test_sessions_create_creates_the_named_session(cli: Cli, address: str) -> None:
    options = ("--metadata", '{"tier": "gold"}', "--label", "team=blue", "--label", "kind=demo", "--context-bytes", "9000")
    made = created(cli, *TRIP, "--ttl", "7d", *options)
    assert (made["session_id"], made["user_id"], made["app"]) == ("trip", "alice", "shop")
    assert (made["labels"], made["metadata_json"]) == ({"team": "blue", "kind": "demo"}, '{"tier": "gold"}')
    assert made["context_bytes"] == 9000
    expires = datetime.fromisoformat(made["expire_time"])
    assert timedelta(days=6, hours=23) < expires - datetime.now(UTC) <= timedelta(days=7)
    with Client(address, user_id="alice", app="shop") as client:
        assert client.get_session("trip").uid == made["uid"]
    code, _, err = cli("sessions", "create", *TRIP)
    assert (code, "trip" in err) == (1, True)
    assert created(cli, *TRIP, "--return-existing")["uid"] == made["uid"]
    assert "trip" in cli("sessions", "create", *TRIP, "--return-existing")[1]


def test_sessions_create_without_an_id_uses_a_generated_one(cli: Cli) -> None:
    assert created(cli, "--user", "alice", "--never-expires")["session_id"]
    assert created(cli, "--user", "alice", "--never-expires")["expire_time"] is None


def test_sessions_update_replaces_only_given_fields(cli: Cli) -> None:
    created(cli, *TRIP, "--metadata", '{"n": 1}', "--label", "team=blue")

    def updated(*arguments: str) -> tuple[Any, Any, Any]:
        code, out, err = cli("sessions", "update", *TRIP, *arguments, "--json")
        assert code == 0, err
        found = json.loads(out)
        return found["labels"], found["metadata_json"], found["expire_time"]

    assert updated("--label", "team=red", "--never-expires") == ({"team": "red"}, '{"n": 1}', None)
    assert updated("--metadata", "") == ({"team": "red"}, "", None)
    assert updated("--clear-labels", "--expire-time", "2040-01-02T03:04:05")[2].startswith("2040-01-0")
    assert cli("sessions", "update", "nope", "--user", "alice", "--never-expires")[0] == 3


def test_sessions_move_gives_a_session_to_another_user(cli: Cli, address: str) -> None:
    made = created(cli, *TRIP)
    code, _, err = cli("sessions", "move", "trip", "bob", *TRIP[1:])
    assert (code, "--yes" in err) == (2, True)
    code, out, err = cli("sessions", "move", "trip", "bob", *TRIP[1:], "--yes", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["user_id"], found["uid"]) == ("bob", made["uid"])
    assert cli("sessions", "show", *TRIP)[0] == 3
    assert cli("sessions", "move", "trip", "carol", *TRIP[1:], "--yes")[0] == 3
    with Client(address, user_id="bob", app="shop") as client:
        assert client.get_session("trip").uid == made["uid"]


def test_sessions_fork_copies_up_to_an_event_and_lists_the_fork(cli: Cli, address: str) -> None:
    with Client(address, user_id="alice", app="shop") as client:
        client.append(
            "trip", threadkeep.user("a", event_id="a"), threadkeep.user("b"), create_if_missing={"labels": {"team": "blue"}}
        )
    code, out, err = cli("sessions", "fork", "trip", "again", *TRIP[1:], "--at-event", "a", "--label", "kind=retry", "--json")
    assert code == 0, err
    made = json.loads(out)
    assert (made["session_id"], made["events"], made["labels"]) == ("again", 1, {"kind": "retry", "team": "blue"})
    assert (made["parent"]["session_id"], made["parent"]["at_seq"]) == ("trip", 1)
    assert "forked from" in cli("sessions", "show", "again", *TRIP[1:])[1]
    code, out, err = cli("sessions", "rewind", *TRIP, "--at-seq", "1")
    assert (code, out) == (0, "1 event left the window, 0 came back\n"), err
    assert json.loads(cli("sessions", "rewind", *TRIP, "--at-log-version", "1", "--json")[1])["restored"] == "1"
    listed = cli("sessions", "list", "--user", "alice", "--forked-from", "trip", "--json")[1]
    assert [json.loads(line)["session_id"] for line in listed.splitlines()] == ["again"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("rewind", "trip"), "give one of --at-seq"),
        (("rewind", "trip", "--at-seq", "1", "--erase", "--json"), "confirm with --yes"),
        (("fork", "trip", "--at-seq", "1", "--at-event", "a"), "give one of --at-seq"),
        (("update", "trip"), "update what? give --ttl"),
        (("update", "trip", "--clear-labels", "--label", "a=b"), "either --label or --clear-labels"),
        (("create", "trip", "--user", "alice", "--ttl", "soon"), "--ttl takes a duration as in 12h, 7d or 1h30m, not 'soon'"),
        (("create", "trip", "--user", "alice", "--ttl", "7d", "--never-expires"), "at most one of ttl"),
        (("list", "--user", "alice", "--all-users"), "either --user or --all-users"),
    ],
)
def test_wrong_usage_of_sessions_names_the_missing_option(cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    code, _, err = cli("sessions", *arguments)
    assert (code, says in err) == (2, True), err


def test_a_missing_user_is_reported_with_its_option(cli: Cli) -> None:
    for command in (("sessions", "create", "trip"), ("events", "append", "trip", "hi", "--create")):
        code, _, err = cli(*command)
        assert (code, err.count("\n")) == (1, 1)
        assert err.rstrip().endswith("; give --user"), err


def test_events_list_marks_archived_events_and_explains_the_order(cli: Cli, address: str) -> None:
    with Client(address, user_id="alice") as client:
        for number in range(3):
            client.append("s", threadkeep.user(f"q{number}"), threadkeep.assistant(f"a{number}"), create_if_missing=True)
        code, out, err = cli("events", "list", "s", "--user", "alice")
        assert (code, err, "archived" in out) == (0, "", False)
        context = client.get_context("s")
        client.apply_compaction("s", context=context, summary="They talked.", through_seq=4)
    code, out, err = cli("events", "list", "s", "--user", "alice")
    rows = [line.split()[:2] for line in out.splitlines()[1:]]
    assert (code, rows[:6]) == (0, [["1", "archived"], ["2", "archived"], ["3", "archived"], ["4", "archived"], *rows[4:6]])
    assert rows[4:6] == [["7", "summary"], ["8", "summary"]]
    assert [row[0] for row in rows[6:]] == ["5", "6"]
    assert err.startswith("note: seqs do not ascend: a summary is newer")
    assert "note" not in cli("events", "list", "s", "--user", "alice", "--json")[2]


def test_an_unreachable_server_is_reported_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(
        [*python(), "-m", "threadkeep.cli", "info", "--address", "http://127.0.0.1:1"],
        capture_output=True,
        text=True,
        check=False,
    )
    result = "error: no server at 127.0.0.1:1 (Connection refused); start one with `threadkeep serve`, or give --address\n"
    assert (done.returncode, done.stderr) == (4, result)


@not_behind_envoy("the HTTP port serves gRPC as well")
def test_the_http_port_as_address_is_reported(server: Any, capfd: pytest.CaptureFixture[str]) -> None:
    from threadkeep.cli import main

    assert main(["info", "--address", f"http://127.0.0.1:{server.http_port}"]) == 4
    assert "speaks HTTP, not gRPC: give the server's gRPC port, by default 7443" in capfd.readouterr().err


def test_a_token_to_another_machine_requires_tls_or_consent(capfd: pytest.CaptureFixture[str]) -> None:
    from threadkeep.cli import main

    assert main(["info", "--address", "192.0.2.1:1", "--token", "hush"]) == 2
    assert "can be read in transit" in capfd.readouterr().err


def test_sessions_users_lists_who_has_data_with_their_apps(cli: Cli, address: str) -> None:
    with Client(address, app="shop") as client:
        for user in ("ann", "bob"):
            client.create_session("s", user_id=user)
        client.create_session("t", user_id="ann")
        client.create_session("s", user_id="ann", app="desk")
    code, out, err = cli("sessions", "users", "--json")
    assert code == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["app"], row["user_id"]) for row in rows] == [("desk", "ann"), ("shop", "ann"), ("shop", "bob")]
    assert "desk" not in cli("sessions", "users", "--app", "shop")[1]
    assert "no users" in cli("sessions", "users", "--app", "none")[1]
    code, out, err = cli("sessions", "users", "--limit", "1")
    assert (code, "bob" in out, "--limit 0" in err) == (0, False, True)
