"""The page and the example run, and print what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.integrations.suites.conftest import Server

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs/integrations/adk.md"
EXAMPLE = ROOT / "client/python/examples/integrations/adk.py"


def printed(program: str, server: Server) -> str:
    """What a program prints. The server is new, so that it prints the same every time."""
    command = [sys.executable, "-W", "ignore", "-c", program]
    environment = os.environ | {"THREADKEEP_ADDRESS": server.address}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_program_of_the_page_prints_what_the_page_shows(killable: Server) -> None:
    ((program, shown),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert printed(program, killable) == shown


def test_example_prints_its_run(killable: Server) -> None:
    for number in (1, 2):
        lines = printed(EXAMPLE.read_text(), killable).splitlines()
        assert lines[:2] == ["agent: It is 21 degrees.", "events of this session: 4"]
        assert lines[2] == f"questions of this user: {number}"
        assert lines[3] == f"remembered: {number}"  # the questions; the answers do not name the city
