"""The documentation page's block and the example run as they are printed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.integrations.suites.conftest import ROOT, run_block


async def test_block_of_the_page_runs(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    await run_block("integrations/agent-framework.md", address)
    assert capsys.readouterr().out == "You said: Is flight BA117 on time?\n"


def test_example_runs_twice(address: str) -> None:
    for _ in range(2):
        example = [sys.executable, str(ROOT / "client/python/examples/integrations/agent_framework_agent.py")]
        printed = subprocess.run(
            example, env=os.environ | {"THREADKEEP_ADDRESS": address}, capture_output=True, text=True, check=False
        )
        assert printed.returncode == 0, printed.stderr
        assert printed.stdout.splitlines() == [
            "agent: It is 21 degrees and clear in Lisbon.",
            "messages of this run: 4",
            "workflow: ['HELLO']",
            "checkpoint of superstep 2",
        ]
