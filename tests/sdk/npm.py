"""Running npm for the TypeScript client, with what it says where something fails."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "client" / "typescript"


def run(*command: str, cwd: Path = PACKAGE, within: float = 120, **more: str) -> str:
    """What a command wrote. Fails with all that it said if it does not end well in time."""
    done = subprocess.run(command, cwd=cwd, env=os.environ | more, capture_output=True, text=True, timeout=within, check=False)
    assert done.returncode == 0, f"{' '.join(command)} in {cwd} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def install() -> None:
    """Installs what the lock file names, unless it is installed already."""
    installed, lock = PACKAGE / "node_modules" / ".package-lock.json", PACKAGE / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        run("npm", "ci", "--no-audit", "--no-fund", within=300)
