"""Every command of the pages on backups and upgrades runs, in order, next to a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.terminal import Terminal
from tests.support.documents import blocks_of

_PAGES = Path(__file__).parents[2] / "docs" / "operations"
NOT_RUN = {
    "sudo -u postgres pgbackrest": "test_point_in_time.py runs it, without sudo",
    "createdb": "needs a PostgreSQL of the reader; test_backup.py restores there",
    ".venv/bin/threadkeep db upgrade": "needs the server stopped; tests/migration runs it",
}
"""Blocks in `console`, by what they begin with, and why."""


@pytest.mark.parametrize("name", ["backup", "upgrade"])
def test_commands_run(name: str, tmp_path: Path) -> None:
    ran = 0
    with Terminal(tmp_path) as terminal:
        for block in blocks_of(_PAGES / f"{name}.md"):
            if block.language == "sh":
                terminal.run(block)
                ran += 1
            elif block.language != "ini":
                assert block.language == "console", block
                assert block.code.startswith(tuple(NOT_RUN)), block
    assert ran
