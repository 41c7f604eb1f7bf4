"""The simulation that the scaling page shows prints what the page shows, and everything that must hold does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.documents import blocks_of

_ROOT = Path(__file__).parents[2]


def test_simulation_prints_what_the_page_shows() -> None:
    [block] = [block for block in blocks_of(_ROOT / "docs" / "operations" / "scaling.md") if block.language == "sh"]
    command = block.code.strip().replace(".venv/bin/python", sys.executable).split()
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.stdout.strip() == (block.printed or "").strip()
    assert done.returncode == 0
