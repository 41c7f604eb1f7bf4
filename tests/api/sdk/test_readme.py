"""The Python blocks of the client's README run as they are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.sdk.readme import blocks
from tests.support.programs.python import python

README = Path(__file__).parents[3] / "client/python/README.md"
EXAMPLES = README.parent / "examples"
PRINTED = (
    "user Is BA117 on time?\nassistant Yes, it leaves at 10:05.\n",
    (
        "{'flight': 'BA117'}\n"
        "{'role': 'tool', 'tool_call_id': 'c1', 'content': '18:40'}\n"
        "{'role': 'user', 'content': [{'type': 'tool_result', 'tool_use_id': 'c1', 'content': '18:40'}]}\n"
    ),
    "20 events archived\n",
    "expected 0 actual 1\n",
    "['BA117 is late.']\n",
)


@pytest.mark.parametrize("n", range(len(PRINTED)))
def test_a_block_of_the_readme_prints_what_it_should(n: int, address: str) -> None:
    found = [text for language, text in blocks(README) if language == "python"]
    assert len(found) == len(PRINTED)
    env = os.environ | {"THREADKEEP_ADDRESS": address}
    done = subprocess.run([*python(), "-c", found[n]], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (PRINTED[n], "", 0)


def test_the_quickstart_prints_the_output_in_the_readme(address: str) -> None:
    env = os.environ | {"THREADKEEP_ADDRESS": address}
    command = [*python(), str(EXAMPLES / "quickstart.py")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout in [text for language, text in blocks(README) if not language]
