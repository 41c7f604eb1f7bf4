"""`threadkeep bench` with real servers: what it reports, what it leaves, and that it finds a lost event."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Iterator
from functools import partial
from typing import Any

import pytest

from tests.api.conftest import Cli as Command
from tests.api.conftest import running
from tests.support.databases.scratch import scratch_folder
from tests.support.programs.python import python
from threadkeep import AsyncClient, Client
from threadkeep.cli import main
from threadkeep.cli.commands.bench.command import _check_target
from threadkeep.cli.commands.bench.pace import Stop
from threadkeep.cli.commands.bench.plan import Plan
from threadkeep.cli.commands.bench.run import Run
from threadkeep.cli.options import Cli
from threadkeep.values.changes import Appended, Change

SMALL = ("--sessions", "5", "--writers", "3")
PLAN = Plan(
    run="r",
    app="shop",
    user="alice",
    sessions=2,
    writers=2,
    watchers=2,
    by_session=False,
    readers=0,
    searchers=0,
    seconds=0.3,
    rate=50,
    batch=2,
    event_bytes=20,
    seed=0,
    settle=0.5,
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """One server for all of them: each run has sessions of its own."""
    with scratch_folder() as folder, running(data_dir=folder / "data") as server:
        yield f"127.0.0.1:{server.grpc_port}"


def remaining(address: str) -> int:
    with Client(address) as client:
        return len(client.sessions_page(any_user=True, any_app=True).sessions)


def test_run_measures_every_operation_and_leaves_nothing(cli: Command, address: str) -> None:
    load = ("--watchers", "2", "--readers", "1", "--searchers", "1", "--duration", "1s", "--batch", "2", "--json")
    code, out, err = cli("bench", *SMALL, *load, "--interval", "0.4s")
    *intervals, last = [json.loads(line) for line in out.splitlines()]
    result = last["result"]
    assert (code, err) == (0, "")
    assert [each.keys() for each in intervals] == [{"interval"}, {"interval"}]
    check, operations = result["check"], result["operations"]
    assert check["exact"]
    assert check["delivered"] == 2 * check["acknowledged"] == 4 * operations["append"]["count"] > 0
    assert operations.keys() == {"append", "context", "create", "delete", "deliver", "list", "search"}
    assert operations["create"]["count"] == operations["delete"]["count"] == 5
    append = operations["append"]
    assert 0 < append["p50_ms"] <= append["p95_ms"] <= append["p99_ms"] <= append["max_ms"]
    assert remaining(address) == 0


def test_report_for_people_names_operations_and_findings(cli: Command, address: str) -> None:
    code, out, err = cli(
        "bench", *SMALL, "--duration", "0.5s", "--rate", "40", "--watchers", "7", "--watch", "session", "--keep"
    )
    assert code == 0
    assert out.startswith("sqlite 3.")
    assert "\noperation  calls  calls/s  p50 ms  p95 ms  p99 ms  max ms  errors\nappend " in out
    assert "\nlost 0, duplicated 0, out of order 0, with another id 0; of unknown outcome 0\n" in out
    assert err.startswith(
        "kept 5 sessions: `threadkeep sessions list --user bench --app threadkeep-bench --label threadkeep-bench="
    )
    assert remaining(address) == 5
    for found in json.loads(f"[{','.join(cli('sessions', 'list', '--user', 'bench', '--json')[1].splitlines())}]"):
        assert cli("sessions", "delete", found["session_id"], "--user", "bench", "--app", found["app"], "--yes")[0] == 0


@pytest.mark.parametrize("remote", ["db.example.org", "https://10.0.0.7:7443", "dns:///server.internal:7443"])
def test_server_on_another_machine_is_refused(capfd: pytest.CaptureFixture[str], remote: str) -> None:
    assert main(["bench", "--address", remote]) == 2
    err = capfd.readouterr().err
    assert "is another machine; give --allow-remote if nobody depends on it now" in err
    _check_target(Cli(remote), allow_remote=True)


def test_server_that_does_not_answer_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--address", "127.0.0.1:1"]) == 4
    assert "no server at 127.0.0.1:1" in capfd.readouterr().err


def test_ctrl_c_ends_the_load_and_deletes_the_sessions(address: str) -> None:
    command = [*python(), "-m", "threadkeep.cli", "bench", *SMALL, "--duration", "1h", "--interval", "0.2s", "--json"]
    pipe = subprocess.PIPE
    heeding = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    environment = os.environ | {"THREADKEEP_ADDRESS": address}
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, preexec_fn=heeding) as started:
        try:
            assert started.stdout is not None
            assert "append" in started.stdout.readline()
            assert remaining(address) == 5
            started.send_signal(signal.SIGINT)
            out, err = started.communicate(timeout=60)
        finally:
            started.kill()
    assert (started.returncode, err) == (130, "")
    assert json.loads(out.splitlines()[-1])["result"]["check"]["exact"]
    assert remaining(address) == 0


class Lossy(AsyncClient):
    """Does not deliver the second append of each subscription, or delivers it twice."""

    times = 0

    async def watch_all(self, **options: Any) -> AsyncGenerator[Change]:
        seen = 0
        async for change in super().watch_all(**options):
            seen += isinstance(change, Appended)
            for _ in range(self.times if seen == 2 and isinstance(change, Appended) else 1):
                yield change


@pytest.mark.parametrize("times", [0, 2])
async def test_lost_and_repeated_deliveries_are_found(address: str, times: int) -> None:
    async with AsyncClient(address) as calls, Lossy(address) as streams:
        streams.times = times
        result = await Run(PLAN, calls, streams, Stop()).go(10, lambda *_: None)
    found = result.findings
    assert not found.exact
    assert found.acknowledged > 10
    # Of each watcher one append of two events; both watchers lack the same one.
    assert (found.lost, found.duplicated, found.disordered) == ((2, 0, 0) if times == 0 else (0, 4, 0))
    assert result.remaining == 0
