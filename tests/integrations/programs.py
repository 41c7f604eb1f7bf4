"""Programs of the adapters' tests, in environments other than this process's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.integrations.environments import ROOT, made
from tests.support.programs.python import threadkeep
from tests.support.runs.thoroughness import LONG

BIN = Path(sys.executable).parent
SUITES = ROOT / "tests/integrations/suites"
WITHIN = 500.0


def pytest_command(name: str, edition: str, tests: str = "") -> list[str]:
    """Runs the suite of an adapter, or one file of it, in the environment of its framework."""
    own = ["-c", str(SUITES / "pytest.ini"), "--rootdir", str(SUITES), "--confcutdir", str(SUITES)]
    return [str(made(name, edition)), "-m", "pytest", *own, "-q", str(SUITES / name / tests)]


def server_program() -> str:
    """The command `threadkeep`; in the short form its servers begin with their imports done."""
    return str(BIN / "threadkeep" if LONG else threadkeep())


def environment() -> dict[str, str]:
    """The sources, and nothing of the environment of this process that concerns its tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "THREADKEEP_", "COV_"))}
    return kept | {"PYTHONPATH": str(ROOT), "THREADKEEP_TEST_PROGRAM": server_program()}


def run(*command: str, **settings: str) -> str:
    """What a program prints. It sees the sources and these settings."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment() | settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-12_000:]}{done.stderr[-3_000:]}"
    return done.stdout
