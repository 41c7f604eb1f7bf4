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


def test_example_prints_the_conversation(address: str) -> None:
    assert run(str(ROOT / "client/python/examples/integrations/langgraph_agent.py"), address=address) == PRINTED


def test_ten_lines_of_the_page_run(address: str) -> None:
    page = (ROOT / "docs/integrations/langgraph.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert run("-c", program.replace("127.0.0.1:7443", address), address=address) == "You said: hello\n"
