"""The page and the example run, and print what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integrations.suites.conftest import Server

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs/integrations/adk.md"
EXAMPLE = ROOT / "client/python/examples/integrations/adk.py"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server without data, so that a program prints the same every time."""
    server = Server(tmp_path_factory.mktemp("fresh"))
    try:
        yield server.start()
    finally:
        server.kill()


def printed(program: str, server: Server) -> str:
    """What a program prints."""
    command = [sys.executable, "-W", "ignore", "-c", program]
    environment = os.environ | {"THREADKEEP_ADDRESS": server.address}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_program_of_the_page_prints_what_the_page_shows(fresh: Server) -> None:
    ((program, shown),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert printed(program, fresh) == shown


def test_example_prints_its_run(fresh: Server) -> None:
    for number in (1, 2):
        lines = printed(EXAMPLE.read_text(), fresh).splitlines()
        assert lines[:2] == ["agent: It is 21 degrees.", "events of this session: 4"]
        assert lines[2] == f"questions of this user: {number}"
        assert lines[3] == f"remembered: {number}"  # the questions; the answers do not name the city
