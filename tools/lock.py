"""Writes the lock files from pyproject.toml: requirements.lock for all extras, requirements-serve.lock for the server
alone, and that of the image.

A locked package keeps its version as long as pyproject.toml admits it. Delete a package's lines to take its newest version.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_IMAGE = ("postgres", "oidc", "summarizer", "embedder", "webhook", "otel", "archive")
LOCKS = {
    "requirements.lock": ("--all-extras",),
    "requirements-serve.lock": ("--extra", "postgres"),
    "deploy/container/requirements.lock": tuple(option for extra in _IMAGE for option in ("--extra", extra)),
}
"""Each lock file with the extras that it is for; those of frameworks are locked by tests.integrations.environments."""

_PIN = re.compile(r"^([A-Za-z0-9][^\\\n]*==[^\\\n]*?)\s*\\?$", re.MULTILINE)


def pins(text: str) -> list[str]:
    """The requirements that a lock file names, with their markers and without their hashes."""
    return [match.strip() for match in _PIN.findall(text)]


def without_frameworks(text: str) -> str:
    """pyproject.toml without the extras of frameworks, which exclude each other."""
    return re.sub(r"^# Frameworks, one extra.*?(?=^# |^dev = )", "", text, flags=re.MULTILINE | re.DOTALL)


def export(extras: tuple[str, ...], constraints: list[str]) -> str:
    """A lock file's text. The project is copied, so that uv reads the constraints and leaves no lock file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        for name in ("README.md", "LICENSE"):
            shutil.copy(ROOT / name, project)
        settings = f"\n[tool.uv]\nconstraint-dependencies = {constraints!r}\n"
        (project / "pyproject.toml").write_text(without_frameworks((ROOT / "pyproject.toml").read_text()) + settings)
        uv = [str(Path(sys.executable).with_name("uv")), "export", "--quiet", "--python", sys.executable]
        command = [*uv, "--format", "requirements.txt", "--no-emit-project", "--no-header", *extras]
        return subprocess.run(command, cwd=project, stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> Iterator[str]:
    constraints = pins((ROOT / "requirements.lock").read_text())
    for name, extras in LOCKS.items():
        text = export(extras, constraints)
        (ROOT / name).write_text(text)
        yield f"{name}: {len(pins(text))} packages"


if __name__ == "__main__":
    print("\n".join(main()))
