"""Running npm for the TypeScript client, with what it says where something fails."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from tests.conformance.drivers import ROOT, building, is_needed

from . import readme

PACKAGE = ROOT / "client" / "typescript"
_PACKED = ROOT / "build" / "typescript-packed"
_SOURCES = ("*.json", "README.md", "src/**/*.ts", "examples/**/*.mjs", "integrations/*.json", "integrations/src/**/*.ts")
"""What a package is made of."""


def run(*command: str, cwd: Path = PACKAGE, within: float = 300, **more: str) -> str:
    """What a command wrote. Fails with all that it said if it does not end well in time."""
    return readme.run(command, cwd, os.environ | more, seconds=within)


def install(package: Path = PACKAGE) -> None:
    """Installs what the lock file of a package names, unless it is installed already."""
    command = ("npm", "ci", "--no-audit", "--no-fund")
    if is_needed(command, package):
        run(*command, cwd=package, within=300)


def packed() -> Path:
    """The package as it is published, by the README's command. Packing compiles everything, so it is done once per sources."""
    with building("typescript"):
        install()
        folder = _PACKED / _digest()
        if not folder.exists():
            part = _PACKED / "part"
            shutil.rmtree(_PACKED, ignore_errors=True)
            part.mkdir(parents=True)
            run("npm", "pack", "--pack-destination", str(part), within=900)
            part.rename(folder)
    (file,) = folder.glob("*.tgz")
    return file


def _digest() -> str:
    digest = hashlib.sha256()
    for file in sorted({ROOT / "LICENSE", *(file for pattern in _SOURCES for file in PACKAGE.glob(pattern))}):
        digest.update(f"{file.relative_to(ROOT)}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]
