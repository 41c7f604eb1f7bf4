"""Running npm for the TypeScript client, with what it says where something fails."""

from __future__ import annotations

import os
from pathlib import Path

from tests.conformance.drivers import is_needed

from . import readme

PACKAGE = Path(__file__).parents[2] / "client" / "typescript"


def run(*command: str, cwd: Path = PACKAGE, within: float = 300, **more: str) -> str:
    """What a command wrote. Fails with all that it said if it does not end well in time."""
    return readme.run(command, cwd, os.environ | more, seconds=within)


def install() -> None:
    """Installs what the lock file names, unless it is installed already."""
    command = ("npm", "ci", "--no-audit", "--no-fund")
    if is_needed(command):
        run(*command, within=300)
