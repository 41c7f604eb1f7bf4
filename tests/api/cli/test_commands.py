"""Commands that read from a running server, and server commands."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table

import threadkeep
from tests.api.conftest import Cli
from tests.support.programs.python import python
from threadkeep import Client
from threadkeep.cli import main
from threadkeep.cli.render import output


@pytest.fixture
def filled(address: str) -> str:
    """A session `s` of alice with four events, and one of bob."""
    with Client(address, user_id="alice", app="shop") as client:
        session = client.create_session("s", labels={"kind": "demo"}, metadata={"n": 1})
        client.append(
            session,
            threadkeep.user("Where is my order?", event_id="e1"),
            threadkeep.assistant(
                tool_calls=[threadkeep.tool_call("c1", "track", '{"order":  7}')], event_id="e2", author="bot"
            ),
            threadkeep.tool_result("c1", "in transit", name="track", event_id="e3"),
            threadkeep.assistant("On its [bold]way[/bold] \x1b[31m!", event_id="e4", author="bot"),
        )
    with Client(address, user_id="bob") as client:
        client.append("t", threadkeep.user("My ORDER is late"), create_if_missing=True)
    return "s"


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_info_prints_the_server(cli: Cli, filled: str, address: str) -> None:
    code, out, _ = cli("info", "--json")
    (facts,) = lines(out)
    assert code == 0
    assert facts.keys() >= {"version", "engine", "durability", "sessions", "events", "limits"}
    assert (facts["address"], facts["sessions"], facts["events"]) == (address, 2, 5)
    assert facts["limits"]["max_batch_events"] == 1000
    assert [(server["answering"], server["gone"]) for server in facts["servers"]] == [(True, False)]
    assert "synchronous=FULL" in cli("info")[1]


def test_options_before_the_command_are_used(filled: str, address: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--address", address, "--json", "info"]) == 0
    assert json.loads(capfd.readouterr().out)["events"] == 5


def test_sessions_are_listed(cli: Cli, filled: str) -> None:
    code, out, _ = cli("sessions", "list", "--json")
    assert code == 0
    assert [(each["app"], each["user_id"], each["session_id"], each["events"]) for each in lines(out)] == [
        ("", "bob", "t", 1),
        ("shop", "alice", "s", 4),
    ]
    assert "\x1b" not in cli("sessions", "list")[1]
    assert [each["session_id"] for each in lines(cli("sessions", "list", "--label", "kind=demo", "--json")[1])] == ["s"]
    code, out, err = cli("sessions", "list", "--limit", "1")
    assert "alice" not in out
    assert "--limit 0 shows all" in err
    assert "no sessions" in cli("sessions", "list", "--user", "nobody")[1]


def test_a_session_is_printed_and_deleted(cli: Cli, filled: str) -> None:
    (shown,) = lines(cli("sessions", "show", "s", "--json")[1])
    assert (shown["labels"], shown["metadata_json"], shown["window"]["turns"]) == ({"kind": "demo"}, '{"n":1}', 1)
    assert "kind=demo" in cli("sessions", "show", "s", "--user", "alice", "--app", "shop")[1]
    code, _, err = cli("sessions", "delete", "s")
    assert (code, "--yes" in err) == (2, True)
    (deleted,) = lines(cli("sessions", "delete", "s", "--yes", "--json")[1])
    assert (deleted["deleted"], deleted["deleted_events"]) == (True, 4)
    assert cli("sessions", "delete", "s", "--yes")[:2] == (0, "s is not there\n")
    assert cli("sessions", "show", "s")[0] == 3


def test_events_are_listed_by_any_filter(cli: Cli, filled: str) -> None:
    def seqs(*arguments: str) -> list[int]:
        return [each["seq"] for each in lines(cli("events", "list", "s", "--json", *arguments)[1])]

    assert seqs() == [1, 2, 3, 4]
    assert seqs("--role", "assistant") == [2, 4]
    assert seqs("--role", "user", "--role", "tool") == [1, 3]
    assert seqs("--keyword", "ORDER") == [1]
    assert seqs("--author", "bot") == [2, 4]
    assert seqs("--after-seq", "1", "--before-seq", "4") == [2, 3]
    assert seqs("--last-n", "1") == [1, 2, 3, 4]  # the complete turn
    assert seqs("--exact-last-n", "1") == [4]
    assert seqs("--exact-branch") == [1, 2, 3, 4]
    assert seqs("--exact-branch", "--branch", "b") == []
    assert seqs("--pattern", "^no such text") == seqs("--invocation", "none") == seqs("--metadata", "k=v") == []
    assert cli("events", "list", "s", "--last-n", "1", "--exact-last-n", "1")[0] == 2
    assert seqs("--active") == [1, 2, 3, 4]
    assert seqs("--to-time", "2001-01-01") == []
    assert seqs("--limit", "2") == [1, 2]


def test_an_event_table_contains_no_control_characters(cli: Cli, filled: str) -> None:
    code, out, err = cli("events", "list", "s")
    assert (code, err) == (0, "")
    assert "→ track({" in out
    assert "← track: in transit" in out
    assert "[bold]way[/bold] \ufffd[31m!" in out
    assert "\x1b" not in out


def test_an_event_is_printed_by_id_and_by_seq(cli: Cli, filled: str) -> None:
    (shown,) = lines(cli("events", "show", "s", "e2", "--json")[1])
    call = shown["message"]["parts"][0]["tool_call"]
    assert (shown["seq"], shown["role"], call["arguments_json"]) == (2, "assistant", '{"order":  7}')
    assert lines(cli("events", "show", "s", "2", "--json")[1]) == [shown]
    assert '{"order":  7}' in cli("events", "show", "s", "2")[1]
    assert cli("events", "show", "s", "nope")[0] == 3
    assert cli("events", "show", "nope", "e1")[0] == 3
    assert cli("events", "list", "nope")[0] == 3


def test_append_stores_events(cli: Cli, filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("events", "append", "new", "hi")[0] == 3
    (done,) = lines(cli("events", "append", "new", "--text", "hi", "--create", "--user", "u", "--event-id", "x", "--json")[1])
    assert done == {"event_id": "x", "seq": 1, "replayed": False, "log_version": 1, "session_created": True}
    code, out, _ = cli("events", "append", "new", "hi", "--event-id", "x")
    assert (code, out) == (0, "already there: event x, seq 1\n")
    code, _, err = cli("events", "append", "new", "other", "--event-id", "x", "--json")
    assert (code, json.loads(err)["error"]["reason"]) == (1, "EVENT_ID_CONFLICT")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("zwei\nZeilen é\n".encode())))
    assert cli("events", "append", "new", "-", "--role", "assistant", "--author", "bot")[0] == 0
    assert cli("events", "append", "new", "42", "--role", "tool", "--call-id", "c")[0] == 0
    found = lines(cli("events", "list", "new", "--json")[1])
    assert [(each["role"], each["text"]) for each in found] == [("user", "hi"), ("assistant", "zwei\nZeilen é"), ("tool", "")]


def test_search_prints_hits(cli: Cli, filled: str) -> None:
    def found(*arguments: str) -> list[tuple[str, int]]:
        return [(each["session"]["user_id"], each["seq"]) for each in lines(cli("search", *arguments, "--json")[1])]

    assert sorted(found("order", "--session", "s")) == [("alice", 1), ("alice", 2)], "tools' arguments too"
    assert found('"order"', "--session", "s") == [("alice", 1)]
    assert found("order", "--user", "bob") == [("bob", 1)]
    assert sorted(found('"order"')) == [("alice", 1), ("bob", 1)]
    assert found('"order"', "--app", "shop") == [("alice", 1)]
    assert found('"order"', "--role", "assistant") == []
    code, _, err = cli("search", '"order"', "--limit", "1")
    assert (code, "--limit 0" in err) == (0, True)
    assert cli("search", "zebras")[1] == "nothing found\n"
    assert cli("search", " ", "--user", "bob")[0] == 1
    assert cli("search", "x", "--session", "nope")[0] == 3


@pytest.fixture
def long(address: str) -> int:
    """More events of a session, and more sessions, than one table contains."""
    with Client(address, user_id="carl") as client:
        session = client.create_session("long")
        for start in range(0, 1100, 550):
            client.append(session, *(threadkeep.user(f"order {n}") for n in range(start, start + 550)))
    return 1100


@pytest.mark.parametrize("command", [("events", "list", "long"), ("search", "order", "--mode", "substring", "--user", "carl")])
def test_a_long_list_is_printed_as_several_tables_with_one_header(
    cli: Cli, long: int, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    most: list[int] = []
    add_row = Table.add_row

    def noting(table: Table, *cells: Any, **how: Any) -> None:
        add_row(table, *cells, **how)
        most.append(table.row_count)

    monkeypatch.setattr(Table, "add_row", noting)
    code, out, err = cli(*command, "--limit", "0")
    shown = out.splitlines()
    assert (code, err, len(shown), max(most)) == (0, "", long + 1, 1000)
    assert [each.split()[-1] for each in shown[1:]] == [str(n) for n in range(long)]
    assert sum("seq" in each for each in shown) == 1
    assert len(lines(cli(*command, "--limit", "0", "--json")[1])) == long


def test_a_long_list_is_printed_before_all_pages_are_read(
    filled: str, address: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uses tables of one row to check that rows are printed before later pages arrive."""
    monkeypatch.setattr(output, "_MOST_ROWS", 1)
    seen: list[str] = []

    async def sessions(*_: object, **__: object) -> AsyncIterator[threadkeep.Session]:
        for name in ("first", "second"):
            yield threadkeep.Session(ref=threadkeep.SessionRef(session_id=name))
            seen.append(capfd.readouterr().out)

    monkeypatch.setattr(threadkeep.AsyncClient, "sessions", sessions)
    assert main(["sessions", "list", "--limit", "0", "--address", address]) == 0
    assert ["first" in seen[0], "second" in seen[1]] == [True, True]


def test_a_token_is_sent(start_server: Any, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    server = start_server(data_dir=tmp_path / "auth", auth_tokens={"secret-0123456789": {"tenant": "t"}})
    address = f"127.0.0.1:{server.grpc_port}"
    assert main(["info", "--address", address]) == 1
    assert "THREADKEEP_TOKEN" in capfd.readouterr().err
    assert main(["info", "--address", address, "--token", "secret-0123456789"]) == 0
    file = tmp_path / "token"
    for content, code in (("secret-0123456789\n", 0), ("other-0123456789", 1), ("", 2), ("secret-0123456789\nmore", 2)):
        file.write_text(content)
        assert main(["info", "--address", address, "--token-file", str(file)]) == code
        assert main([f"--token-file={file}", "info", "--address", address]) == code
    capfd.readouterr()
    assert main(["info", "--address", address, "--token-file", str(tmp_path / "no")]) == 1
    assert capfd.readouterr().err == f"error: {tmp_path}/no: No such file or directory\n"


def test_settings_are_printed_without_secrets(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_DATABASE_URL", "postgresql://me:hunter2@db/x")
    monkeypatch.setenv("THREADKEEP_AUTH_TOKENS", '{"topsecret-0123456789": {"tenant": "t"}}')
    assert main(["config"]) == 0
    table = capfd.readouterr().out
    assert main(["config", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capfd.readouterr().out)}
    for out in (table, json.dumps(rows)):
        assert "hunter2" not in out
        assert "topsecret" not in out
        assert "THREADKEEP_GRPC_ADDRESS" in out
    assert "THREADKEEP_DATABASE_URL" in rows["database_url"]["source"]
    assert rows["grpc_address"]["value"] == "127.0.0.1:7443"


def test_an_invalid_setting_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--grpc-address", "nonsense"]) == 2
    assert "grpc_address (from flag)" in capfd.readouterr().err


def test_db_upgrade_and_current_print_the_schema_version(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'db' / 'x.db'}"
    (tmp_path / "db").mkdir()
    assert main(["db", "upgrade", "--database-url", url, "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["schema_version"] == found["newest"] >= 1
    assert main(["db", "current", "--database-url", url]) == 0
    assert "the newest" in capfd.readouterr().out


def test_db_current_creates_no_database(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data"
    assert main(["db", "current", "--data-dir", str(folder)]) == 0
    assert capfd.readouterr().out.startswith("no database yet; `threadkeep db upgrade`")
    assert main(["db", "current", "--data-dir", str(folder), "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["schema_version"], found["newest"] >= 1) == (0, True)
    assert list(tmp_path.iterdir()) == []


def test_serve_runs_until_sigterm(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "threadkeep.cli", "serve", "--data-dir", str(tmp_path), "--log-format", "text"]
    log = tmp_path / "log"
    with log.open("wb") as err:
        process = subprocess.Popen(
            [*command, "--grpc-address", "127.0.0.1:0", "--http-address", ""], stderr=err, env=os.environ | {"NO_COLOR": "1"}
        )
        try:
            deadline = time.monotonic() + 120
            while "serving gRPC" not in log.read_text() and time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.05)
            assert "synchronous=FULL" in log.read_text()
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(60)
    assert code == 0
    assert "Traceback" not in log.read_text()


def refused(tmp_path: Path, *flags: str, program: Sequence[str] = (), **variables: str) -> tuple[int, str]:
    """Returns the exit code and the output of a server that cannot start."""
    command = [*(program or python()), "-m", "threadkeep.cli", "serve", "--data-dir", str(tmp_path), "--log-format", "text"]
    own = {name: value for name, value in os.environ.items() if not name.startswith(("THREADKEEP_", "GRPC_"))}
    addresses = ["--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", *flags]
    done = subprocess.run([*command, *addresses], env=own | variables, capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr.count("\n") == 1, done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"THREADKEEP_SUMMARIZER": "openai"}, "set THREADKEEP_SUMMARIZER_MODEL"),
        ({"THREADKEEP_EMBEDDER": "gemini"}, "set THREADKEEP_EMBEDDER_MODEL"),
        ({"THREADKEEP_EMBEDDER": "gemini", "THREADKEEP_EMBEDDER_MODEL": "m"}, "needs an API key"),
        ({"THREADKEEP_SUMARIZER": "openai"}, "did you mean THREADKEEP_SUMMARIZER?"),
    ],
)
def test_serve_with_invalid_settings_prints_one_line_and_exits_with_2(
    tmp_path: Path, variables: dict[str, str], says: str
) -> None:
    code, said = refused(tmp_path, **variables)
    assert (code, says in said) == (2, True), said


@pytest.mark.parametrize("frontend", ["grpc", "envoy"])
def test_serve_with_what_it_cannot_use_prints_one_line(tmp_path: Path, frontend: str) -> None:
    """The database of another program is not changed."""
    foreign = tmp_path / "foreign.db"
    with contextlib.closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE accounts (id)")
    before = foreign.read_bytes()
    code, said = refused(tmp_path, "--frontend", frontend, "--database-url", f"sqlite:///{foreign}")
    assert (code, f"sqlite:///{foreign}: the database holds tables of another program (accounts); give" in said) == (1, True)
    assert foreign.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["foreign.db"]

    pem = tmp_path / "wrong.pem"
    pem.touch(mode=0o600)
    tls = {"THREADKEEP_TLS_CERTIFICATE": str(pem), "THREADKEEP_TLS_PRIVATE_KEY": str(pem)}
    code, said = refused(tmp_path, "--frontend", frontend, **tls)
    assert (code, "must be the PEM file of a certificate chain" in said) == (2, True)

    code, said = refused(tmp_path, "--frontend", frontend, "--config", str(tmp_path))
    assert (code, f"cannot read '{tmp_path}': Is a directory" in said) == (2, True)
    code, said = refused(tmp_path, "--frontend", frontend, "--grpc-address", "0.0.0.0:0")
    assert (code, "grpc_address (from flag): must be an address of this machine" in said) == (2, True)


@pytest.mark.parametrize("port", ["grpc", "http"])
def test_serve_on_a_port_in_use_names_the_flag_and_the_variable(tmp_path: Path, port: str) -> None:
    program = [sys.executable] if port == "grpc" else python()  # what gRPC prints when nothing is imported yet
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = refused(tmp_path, f"--{port}-address", f"127.0.0.1:{taken.getsockname()[1]}", program=program)
    assert code == 1
    assert f"set another --{port}-address (THREADKEEP_{port.upper()}_ADDRESS)" in said
