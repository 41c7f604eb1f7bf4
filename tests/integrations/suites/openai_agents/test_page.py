"""The documentation page's block and the example run as they are printed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from agents import set_tracing_disabled
from agents.models.multi_provider import MultiProvider
from agents.testing import ScriptedModel, assistant_message

from tests.integrations.suites.conftest import ROOT, run_block


async def test_block_of_the_page_runs(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ScriptedModel([[assistant_message("It is on time.")]])
    monkeypatch.setattr(MultiProvider, "get_model", lambda provider, name: model)
    set_tracing_disabled(True)
    await run_block("integrations/openai-agents.md", address)
    assert capsys.readouterr().out == "It is on time.\n"


def test_example_runs_twice(address: str) -> None:
    for _ in range(2):
        example = [sys.executable, str(ROOT / "client/python/examples/integrations/openai_agents.py")]
        printed = subprocess.run(
            example, env=os.environ | {"THREADKEEP_ADDRESS": address}, capture_output=True, text=True, check=True
        )
        assert printed.stdout.splitlines() == [
            "agent: It is 21 degrees in Lisbon.",
            "items of this run: 4",
            "found in session lisbon",
        ]
