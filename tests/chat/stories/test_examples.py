"""The examples of the agent kit, each run in a process of its own as documented, with the stand-in for a model."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.api.search.searching import ENGINES
from tests.support.programs.python import python
from threadkeep_server.app.server import Running

from ..conversations import server

__all__ = ["server"]
# One engine is enough: an example does not see which.
pytestmark = pytest.mark.parametrize("server", ENGINES[:1], indirect=True)
Run = Callable[..., str]
REPOSITORY = Path(__file__).parents[3]


def command(name: str, *arguments: str) -> list[str]:
    return [*python(), *_module(name), *arguments]


def _module(name: str) -> tuple[str, str]:
    return "-m", f"examples.chat.{name}"


@contextmanager
def running(command: Sequence[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Starts an example and kills it at the end if it still runs."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=REPOSITORY, env=environment, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as program:
        try:
            yield program
        finally:
            program.kill()


def interrupted(program: subprocess.Popen[str]) -> tuple[int, str]:
    """Interrupts a program and returns its exit code and error output."""
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=120)
    return program.returncode, errors


@pytest.fixture
def environment(server: Running) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("THREADKEEP_", "OPENAI_"))}
    return kept | {"THREADKEEP_ADDRESS": f"127.0.0.1:{server.grpc_port}", "COLUMNS": "100"}


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    """Returns a function that runs an example with this input and returns its output."""

    def started(name: str, *arguments: str, said: str = "") -> str:
        done = subprocess.run(
            command(name, *arguments),
            cwd=REPOSITORY,
            env=environment,
            input=said,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return started


def test_terminal_example_remembers_across_runs(run: Run) -> None:
    assert "What is it?" in run("terminal", "t1", said="hello\n")
    run("terminal", "t1", said="my name is Ada\n")
    printed = run("terminal", "t1", said="what day is today?\nwho am I?\n")
    assert "Today is 20" in printed
    assert "remember you, Ada" in printed


def test_orchestration_example_shares_a_session_by_branches(run: Run) -> None:
    printed = run("orchestration")
    assert "planner says: Take Lisbon. Lisbon: mild" in printed
    assert "on branch planner: [1, 2, 11, 12]" in printed
    assert "on branch planner.oslo: [1, 2, 7, 8, 9, 10, 11, 12]" in printed


def test_tool_heavy_example_compacts_its_history(run: Run) -> None:
    printed = run("tool_heavy")
    assert printed.count("is at depot 7, and there are lamps in stock.") == 12
    assert " 0 compactions" not in printed
    assert "48 events stored" in printed
    assert "found in event 3, archived: True" in printed


def test_auditing_example_logs_every_round(run: Run) -> None:
    first, second, answer = run("auditing").splitlines()
    assert '"tools": ["refund"]' in first
    assert '"messages": 1,' in first
    assert '"messages": 3,' in second
    assert answer == "It is refunded."


@pytest.mark.parametrize("name", ["auditing", "orchestration", "tool_heavy", "terminal"])
def test_example_interrupted_during_model_call_exits_quietly(environment: dict[str, str], name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(120)
        model = {"OPENAI_BASE_URL": f"http://127.0.0.1:{silent.getsockname()[1]}/v1"}
        with running(command(name), environment | model) as program:
            assert program.stdin is not None
            program.stdin.write("hello\n")
            program.stdin.flush()
            connection, _ = silent.accept()
            with connection:
                assert connection.recv(1), "the request is sent"
                assert interrupted(program) == (130, "")


def test_terminal_example_interrupted_at_its_prompt_exits_quietly(environment: dict[str, str]) -> None:
    real = [sys.executable, *_module("terminal")]  # a signal reaches it before the end of its input
    with running(real, environment) as program:
        assert program.stdout is not None
        assert program.stdout.read(2) == "> "
        assert interrupted(program) == (130, "")
