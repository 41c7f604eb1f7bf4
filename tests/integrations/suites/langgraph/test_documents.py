"""The example and the page of the documentation run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
PRINTED = """\
user - How is the weather in Oslo?
assistant - Let me look.
tool - ['4 °C']
assistant - It is 4 °C in Oslo.
assistant planner Rain from six o'clock.
user - Do I need an umbrella?
assistant - The planner says: Rain from six o'clock.
8 checkpoints
['Ada visits Oslo in June']
"""


def run(*command: str, address: str) -> str:
    env = os.environ | {"THREADKEEP_ADDRESS": address, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def example_output(name: str, address: str) -> str:
    """What an example prints."""
    return run(str(ROOT / "client/python/examples/integrations" / name), address=address)


def page_output(name: str, address: str) -> str:
    """What the program of a page prints."""
    page = (ROOT / "docs/integrations" / name).read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return run("-c", program.replace("127.0.0.1:7443", address), address=address)


def test_example_prints_the_conversation(address: str) -> None:
    assert example_output("langgraph_agent.py", address) == PRINTED


def test_ten_lines_of_the_page_run(address: str) -> None:
    assert page_output("langgraph.md", address) == "You said: hello\n"
