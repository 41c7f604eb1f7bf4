"""The commands of the sizing page run."""

from __future__ import annotations

from pathlib import Path

from tests.support.documents import blocks_of

from .terminal import Terminal

_PAGE = Path(__file__).parents[2] / "docs" / "operations" / "sizing.md"


def test_commands_of_the_page_run(tmp_path: Path) -> None:
    blocks = [block for block in blocks_of(_PAGE) if block.language == "sh"]
    with Terminal(tmp_path) as terminal:
        printed = [terminal.run(block) for block in blocks]
    assert "lost 0, duplicated 0, out of order 0" in printed[0]
