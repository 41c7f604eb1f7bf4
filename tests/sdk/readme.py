"""Runs programs for the tests of the clients, and the commands of their READMEs unchanged."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.documents import blocks_of


def blocks(readme: Path) -> list[tuple[str, str]]:
    """The language and the text of each block of code, in order."""
    return [(block.language, block.code) for block in blocks_of(readme)]


def run(command: Sequence[str], place: Path, env: Mapping[str, str], *, seconds: float = 300) -> str:
    """What a command prints that runs in `place`. Fails with all that it said if it does not end well in time."""
    done = subprocess.run(
        command, cwd=place, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False
    )
    said = f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    assert done.returncode == 0, f"{' '.join(command)} in {place} ended with {done.returncode}:\n{said}"
    return done.stdout


def shell(script: str, place: Path, env: Mapping[str, str], *, seconds: float = 300) -> str:
    """The same for a block of shell commands, of which none may fail."""
    return run(("bash", "-euc", script), place, env, seconds=seconds)
