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
TESTED_BY = {
    "backup": "tests/operations/test_pages.py",
    "deployment": "tests/deploy/test_page.py",
    "high-availability": "tests/availability/test_page.py",
    "observability": "tests/api/telemetry/test_observability_page.py",
    "retention": "tests/api/retention/test_page.py",
    "scaling": "tests/docs/test_scaling.py",
    "sizing": "tests/docs/test_sizing.py",
    "two-servers": "tests/operations/test_two_servers.py",
    "upgrade": "tests/operations/test_pages.py",
}
"""The test of the commands of each page that has any."""


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


def test_each_page_with_commands_has_a_test_of_them() -> None:
    pages = {page.stem for page in _PAGES.glob("*.md") if blocks_of(page)}
    assert pages == TESTED_BY.keys()
    assert [test for test in TESTED_BY.values() if not (_PAGES.parents[1] / test).is_file()] == []
