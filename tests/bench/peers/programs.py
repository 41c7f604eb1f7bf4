"""The servers of peers as programs: from the PATH, or built from their Go module and kept between runs."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.bench.peers.environments import CACHE, CannotInstall, run

BUILD_SECONDS = 1800.0


@dataclass(frozen=True)
class Program:
    """An executable and how to get it."""

    # What it is called on the PATH; the first that is found is used.
    names: tuple[str, ...]
    install: str
    # The Go module that is built where none is found, and its build tags.
    module: str = ""
    tags: str = ""


REDIS = Program(("redis-server",), "install your system's redis-server (Debian: apt-get install redis-server)")
MEMORY_SERVICE = Program(
    ("memory-service",),
    "install Go 1.25 or later and a C compiler, with which it is built, or put memory-service on the PATH",
    module="github.com/chirino/memory-service",
    tags="sqlite_fts5",
)
KURRENTDB = Program(
    ("kurrentd", "eventstored"),
    "install KurrentDB from the packages of its maker, so that kurrentd is on the PATH; Debian, PyPI, npm, Maven and Go have "
    "at most clients of it",
)


def find(program: Program) -> Path:
    """The executable; builds it at first use if that is possible."""
    for name in program.names:
        if found := shutil.which(name):
            return Path(found)
    go = shutil.which("go") if program.module else None
    if go is None:
        raise CannotInstall(f"no {' or '.join(program.names)}: {program.install}")
    return _build(program, go)


def _build(program: Program, go: str) -> Path:
    folder = CACHE.absolute() / "go"
    built = folder / program.names[0]
    if not built.exists():
        folder.mkdir(parents=True, exist_ok=True)
        env = os.environ | {"GOBIN": str(folder), "CGO_ENABLED": "1", "GOFLAGS": ""}
        command = [go, "install", "-tags", program.tags, f"{program.module}@latest"]
        try:
            run(command, env, BUILD_SECONDS)
        except CannotInstall as error:
            otherwise = f"otherwise put {program.names[0]} on the PATH"
            raise CannotInstall(f"the Go module {program.module} cannot be built: {error}; {otherwise}") from error
    return built


def version(program: Path) -> str:
    """The version of a program that was built from a Go module, as it says itself; "" for others."""
    go = shutil.which("go")
    if go is None:
        return ""
    done = subprocess.run([go, "version", "-m", str(program)], capture_output=True, text=True, timeout=60, check=False)
    found = re.search(r"^\tmod\t\S+\t(\S+)", done.stdout, re.MULTILINE)
    return found[1] if found else ""
