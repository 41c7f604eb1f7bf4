"""Compiles what the tests import, once, before their processes start: each would compile all of it, at the same time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

_FEW = 50
"""So many files the test processes compile themselves."""
_PROCESSES = 2
_COLLECT = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "--numprocesses", "0")


def compile_first(config: pytest.Config) -> None:
    """Collects the tests in a few processes, if several will run them and most have not been collected since they changed."""
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.getoption("numprocesses", None) or sys.dont_write_bytecode:
        return
    files = sorted(
        {file for name in config.args for file in _test_files(config.invocation_params.dir / name.partition("::")[0])}
    )
    if sum(not _is_compiled(file) for file in files) <= _FEW:
        return
    collecting = [
        subprocess.Popen(
            [*_COLLECT, *map(str, share)],
            cwd=config.rootpath,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for share in shares(files, _PROCESSES)
    ]
    for process in collecting:
        process.wait()  # what failed there fails in the test processes too, and is reported


def shares(files: Sequence[Path], number: int) -> list[Sequence[Path]]:
    """Returns the files in so many parts of nearly equal size; files of a folder stay together, as they import the same."""
    sizes = [file.stat().st_size for file in files]
    found: list[list[Path]] = [[] for _ in range(number)]
    before = 0
    for file, size in zip(files, sizes, strict=True):
        found[before * number // max(sum(sizes), 1)].append(file)
        before += size
    return [part for part in found if part]


def _test_files(place: Path) -> Iterator[Path]:
    """Returns those that run here: suites run elsewhere, where their frameworks are installed. A path that does not exist has
    none; pytest reports it."""
    found = place.rglob("test_*.py") if place.is_dir() else iter([place])
    return (file for file in found if "suites" not in file.parts and file.exists())


def _is_compiled(file: Path) -> bool:
    """Whether pytest has kept the module since it changed."""
    changed = file.stat().st_mtime
    return any(kept.stat().st_mtime >= changed for kept in (file.parent / "__pycache__").glob(f"{file.stem}.*-pytest-*.pyc"))
