"""The page and the example run, and print what is written there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs/integrations/strands.md"
EXAMPLE = ROOT / "client/python/examples/integrations/strands_agent.py"


def printed(program: str, address: str) -> str:
    """What a program prints."""
    command = [sys.executable, "-W", "ignore", "-c", program]
    environment = os.environ | {"THREADKEEP_ADDRESS": address}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_program_of_the_page_prints_what_the_page_shows(address: str) -> None:
    ((program, shown),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert printed(program.replace('"s1"', f'"{uuid.uuid4()}"'), address) == shown


def test_example_prints_its_run(address: str) -> None:
    assert printed(EXAMPLE.read_text(), address).splitlines() == [
        "agent: A hotel in Lisbon is booked.",
        "messages in another process: 4",
        "events: ['user', 'assistant', 'tool', 'assistant']",
        "snapshots: ['snapshot_latest.json']",
        "remembered: The hotel in Lisbon is booked.",
    ]
