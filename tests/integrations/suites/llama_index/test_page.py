"""The documentation page's block and the example run as they are printed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.integrations.suites.conftest import ROOT, run_block


async def test_block_of_the_page_runs(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    await run_block("integrations/llama-index.md", address)
    assert "Is flight BA117 on time?" in capsys.readouterr().out


def test_example_runs_twice(address: str) -> None:
    for _ in range(2):
        example = [sys.executable, str(ROOT / "client/python/examples/integrations/llama_index_agent.py")]
        printed = subprocess.run(
            example, env=os.environ | {"THREADKEEP_ADDRESS": address}, capture_output=True, text=True, check=True
        )
        assert printed.stdout.splitlines() == [
            "agent: It is 21 degrees and clear in Lisbon.",
            "messages of this run: 4",
        ]
