"""The documentation page's block and the example run as they are printed."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import claude_agent_sdk
import pytest
from claude_agent_sdk import ClaudeAgentOptions, Message

from tests.integrations.suites.claude_agent.scripted import Process
from tests.integrations.suites.conftest import ROOT, run_block


async def test_block_of_the_page_runs(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    query = claude_agent_sdk.query

    async def scripted(prompt: str, options: ClaudeAgentOptions) -> AsyncIterator[Message]:
        async for message in query(prompt=prompt, options=options, transport=Process(tmp_path, str(uuid.uuid4()))):
            yield message

    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr(claude_agent_sdk, "query", scripted)
    await run_block("integrations/claude-agent.md", address)
    printed = capsys.readouterr().out
    assert "There is a.txt." in printed
    assert "mirror_error" not in printed


def test_example_runs(address: str) -> None:
    example = [sys.executable, str(ROOT / "client/python/examples/integrations/claude_agent.py")]
    printed = subprocess.run(
        example, env=os.environ | {"THREADKEEP_ADDRESS": address}, capture_output=True, text=True, check=True
    )
    assert printed.stdout.splitlines()[0] == "session: Which files are here?"
    assert len(printed.stdout.splitlines()) == 3
