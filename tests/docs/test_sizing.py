"""The commands of the sizing page run, or it is said here why not."""

from __future__ import annotations

from pathlib import Path

from tests.support.documents import blocks_of

from .terminal import Terminal

_PAGE = Path(__file__).parents[2] / "docs" / "operations" / "sizing.md"
_NOT_RUN = {
    "make soak": "two hours; tests/operations/test_sizing.py runs a short one",
    ".venv/bin/python -m tests.sizing measure": "minutes; tests/operations/test_sizing.py runs it at tiny sizes",
}
"""Blocks in `console`, by what they begin with, and why."""


def test_commands_of_the_page_run(tmp_path: Path) -> None:
    printed = []
    with Terminal(tmp_path) as terminal:
        for block in blocks_of(_PAGE):
            if block.language == "sh":
                printed.append(terminal.run(block))
            else:
                assert block.language == "console", block
                assert block.code.startswith(tuple(_NOT_RUN)), block
    assert "lost 0, duplicated 0, out of order 0" in printed[0]
