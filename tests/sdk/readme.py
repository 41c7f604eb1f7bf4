"""Runs the commands of a README as they stand there, and compares what they print with what it shows."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(readme: Path) -> list[tuple[str, str]]:
    """The language and the text of each block of code, in order."""
    return _BLOCK.findall(readme.read_text())


def shell(script: str, place: Path, env: Mapping[str, str], *, seconds: float = 300) -> str:
    """What a block of shell commands prints when it is run in `place`."""
    command = ["bash", "-c", f"set -e\n{script}"]
    given = {"cwd": place, "env": env, "timeout": seconds, "stdin": subprocess.DEVNULL}
    done = subprocess.run(command, capture_output=True, text=True, **given)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout
