"""The examples of the agent kit run as the README says, each in a process of its own, with the stand-in for a model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from threadkeep_server.app import Running

from .serving import server

__all__ = ["server"]
Run = Callable[..., str]


@pytest.fixture
def run(server: Running) -> Run:
    """Runs an example with this input; what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("THREADKEEP_", "OPENAI_"))}
    environment = kept | {"THREADKEEP_ADDRESS": f"127.0.0.1:{server.grpc_port}", "COLUMNS": "100"}

    def started(name: str, *arguments: str, said: str = "") -> str:
        command = [sys.executable, "-m", f"examples.chat.{name}", *arguments]
        done = subprocess.run(
            command,
            cwd=Path(__file__).parents[2],
            env=environment,
            input=said,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return started


def test_a_chat_in_the_terminal_remembers_across_runs(run: Run) -> None:
    assert "What is it?" in run("terminal", "t1", said="hello\n")
    run("terminal", "t1", said="my name is Ada\n")
    told = run("terminal", "t1", said="what day is today?\nwho am I?\n")
    assert "Today is 20" in told
    assert "remember you, Ada" in told


def test_agents_share_a_session_by_branches(run: Run) -> None:
    told = run("orchestration")
    assert "planner says: Take Lisbon. Lisbon: mild" in told
    assert "on branch planner: [1, 2, 11, 12]" in told
    assert "on branch planner.oslo: [1, 2, 7, 8, 9, 10, 11, 12]" in told


def test_a_history_of_many_tools_is_compacted_while_it_is_used(run: Run) -> None:
    told = run("tool_heavy")
    assert told.count("is at depot 7, and there are lamps in stock.") == 12
    assert " 0 compactions" not in told
    assert "48 events stored" in told
    assert "found in event 3, archived: True" in told


def test_an_advisor_audits_every_round(run: Run) -> None:
    first, second, answer = run("auditing").splitlines()
    assert '"tools": ["refund"]' in first
    assert '"messages": 1,' in first
    assert '"messages": 3,' in second
    assert answer == "It is refunded."
