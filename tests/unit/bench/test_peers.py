"""Peers: which of them can be had, what is said of the others, and what the program returns."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.bench.harness import Bench, Skip
from tests.bench.peers import __main__ as program
from tests.bench.peers import environments, programs, runner
from tests.bench.peers.catalog import PEERS, SERVERS, THREADKEEP, THREADKEEP_PLAIN, Peer
from tests.bench.peers.durability import Syncs
from tests.bench.peers.environments import CannotInstall, reason
from tests.bench.peers.runner import OPERATIONS, QUICK, SCRIPTS, Outcome
from tests.bench.peers.servers import SERVERS as STARTS
from tests.bench.peers.servers import program_for
from tests.bench.processes import ChildError

GO = """#!/bin/sh
echo "$@" >> "$0.log"
if [ "$1" = version ]; then printf 'x: go1.25\\n\\tpath\\tx\\n\\tmod\\tgithub.com/x/y\\tv1.2.3\\th1:a=\\n'; exit; fi
{work}
"""


def put_go(folder: Path, monkeypatch: pytest.MonkeyPatch, work: str) -> Path:
    """A `go` that is alone on the PATH."""
    go = folder / "go"
    go.write_text(GO.format(work=work))
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(programs, "CACHE", folder / "envs")
    return go


def test_every_peer_has_a_script_and_every_server_a_program() -> None:
    assert [peer.name for peer in PEERS if not (SCRIPTS / peer.script).is_file()] == []
    assert {peer.server for peer in SERVERS} == set(STARTS)
    assert len({peer.name for peer in PEERS}) == len(PEERS)


def test_threadkeep_is_measured_before_and_after_the_peers() -> None:
    assert program.order(list(SERVERS), "sqlite") == [THREADKEEP, *SERVERS, THREADKEEP_PLAIN, THREADKEEP]
    assert program.order(list(SERVERS), "postgres") == [THREADKEEP, THREADKEEP_PLAIN, THREADKEEP]


@pytest.mark.parametrize("peer", SERVERS, ids=lambda peer: peer.name)
def test_a_server_that_is_not_installed_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, peer: Peer
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotInstall, match=r"^no [a-z-]+( or [a-z]+)?: (install|put) "):
        program_for(peer)


def test_a_library_needs_no_server() -> None:
    assert program_for(next(peer for peer in PEERS if not peer.server)) is None


def test_a_go_module_is_built_once_and_reports_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = put_go(tmp_path, monkeypatch, ': > "$GOBIN/memory-service"')
    built = [programs.find(programs.MEMORY_SERVICE) for _ in range(2)]
    assert built == [tmp_path / "envs/go/memory-service"] * 2
    assert programs.version(built[0]) == "v1.2.3"
    assert go.with_name("go.log").read_text().splitlines() == [
        "install -tags sqlite_fts5 github.com/chirino/memory-service@latest",
        f"version -m {built[0]}",
    ]


def test_a_module_that_does_not_build_gives_the_reason_without_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_go(
        tmp_path,
        monkeypatch,
        "echo 'go: downloading a v1' >&2; echo 'reading https://me:key@mirror:8080/a/@v/list: 403' >&2; exit 1",
    )
    with pytest.raises(CannotInstall) as error:
        programs.find(programs.MEMORY_SERVICE)
    assert str(error.value) == (
        "the Go module github.com/chirino/memory-service cannot be built: reading /a/@v/list: 403; "
        "otherwise put memory-service on the PATH"
    )


@pytest.mark.parametrize(
    ("printed", "kept"),
    [
        ("error:\n  no package at https://index.example/simple/x/", "error: no package at /simple/x/"),
        ("http://host:8080/a and https://u:p@host/b", "/a and /b"),
        ("x" * 500, "x" * 400),
    ],
)
def test_a_reason_is_one_line_without_hosts(printed: str, kept: str) -> None:
    assert reason(printed) == kept


def test_an_installer_that_hangs_is_a_reason() -> None:
    with pytest.raises(CannotInstall, match=r"did not install within 0\.1 s"):
        environments.run([sys.executable, "-c", "import time; time.sleep(9)"], {}, 0.1)


@pytest.mark.parametrize(
    ("problem", "state"),
    [(Skip("no PostgreSQL"), "skipped"), (CannotInstall("no network"), "skipped"), (ChildError("ended"), "failed")],
)
def test_only_what_runs_can_fail(problem: Exception, state: str) -> None:
    class Broken:
        def say(self, _text: str) -> None: ...

        def database(self, _engine: str) -> None:
            raise problem

    outcome = runner.run(cast("Bench", Broken()), Syncs(None), THREADKEEP, "postgres", QUICK)
    assert (outcome.state, str(problem) in outcome.skipped + outcome.error) == (state, True)


def measured(peer: Peer) -> Outcome:
    times = {(operation, length): 2.0 for operation in OPERATIONS for length in QUICK.lengths}
    return Outcome(peer, "sqlite", "1.0", times, {60: 1024.0}, "WAL", 1.0)


@pytest.mark.parametrize(
    ("outcome", "code", "printed"),
    [
        ({"skipped": "no kurrentd: install it"}, 0, "skipped: KurrentDB over gRPC: no kurrentd: install it"),
        ({"error": "ChildError: ended with code 1"}, 1, "failed: KurrentDB over gRPC: ChildError: ended with code 1"),
        ({"note": "not beyond 20 events: slow"}, 0, "in part: KurrentDB over gRPC: not beyond 20 events: slow"),
    ],
)
def test_what_cannot_be_had_is_skipped_and_what_fails_is_an_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    outcome: dict[str, str],
    code: int,
    printed: str,
) -> None:
    @contextlib.contextmanager
    def nothing(*_: object) -> Iterator[Any]:
        yield Syncs(None)

    def run(_bench: object, _syncs: Syncs, peer: Peer, engine: str, _sizes: object) -> Outcome:
        return measured(peer) if peer.own else dataclasses.replace(Outcome(peer, engine), **cast("Any", outcome))

    monkeypatch.setattr(program, "bench", nothing)
    monkeypatch.setattr(program, "counting", nothing)
    monkeypatch.setattr(program, "end_on_signals", lambda: None)
    monkeypatch.setattr(runner, "run", run)
    file = tmp_path / "peers.json"
    assert program.main(["--quick", "--engine", "sqlite", "--only", "kurrentdb", "--output", str(file)]) == code
    shown = capsys.readouterr().out
    assert printed in shown
    assert "fsync, 1.0 per append; WAL" in " ".join(part.split("│")[6].strip() for part in shown.splitlines() if "│" in part)
    own, peer, _ = json.loads(file.read_text())["stores"]
    assert {key: peer[key] for key in ("skipped", "error", "note") if peer[key]} == outcome
    assert own["durability"] == {"fsyncs_per_append": 1.0, "setting": "WAL", "text": "fsync, 1.0 per append; WAL"}
