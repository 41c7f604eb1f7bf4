"""The environments of frameworks: each has the framework, this SDK and pytest, in the versions of a lock file.

python -m tests.integrations.environments            makes the environments of all frameworks
python -m tests.integrations.environments adk        makes those of one
python -m tests.integrations.environments --lock adk writes the lock files of one from pyproject.toml, then makes them
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCKS = Path(__file__).parent / "locks"
MADE = ROOT / "build" / "integrations"
EDITIONS = {"newest": "highest", "oldest": "lowest-direct"}
"""The editions of an environment, with uv's resolution: the newest and the oldest versions of the tested range."""
_UV = str(Path(sys.executable).with_name("uv"))
_TESTING = ("pytest>=9", "pytest-asyncio>=1.3", "pytest-timeout>=2.4", "types-grpcio>=1.0.0.20250703", "types-protobuf>=6.32")
_DATABASES = ("aiosqlite>=0.21", "asyncpg>=0.30", "sqlalchemy[asyncio]>=2.0.40")
_KITS = {
    "adk": _DATABASES,
    "langgraph": (
        "langgraph-checkpoint-conformance>=0.0.2",
        "langgraph-checkpoint-postgres>=3.1",
        "langgraph-checkpoint-sqlite>=3.1",
        "psycopg[binary]>=3.2.9",
    ),
    "openai_agents": _DATABASES,
}
"""The kits by which makers of a framework test its stores, and the stores of the framework's own that `import` reads."""


def frameworks() -> list[str]:
    """The names of the adapters, which are their modules' names."""
    folder = ROOT / "client/python/threadkeep/integrations"
    return sorted(path.stem for path in folder.iterdir() if not path.name.startswith("_"))


def extra_of(name: str) -> str:
    """The extra of pyproject.toml that installs a framework."""
    return name.replace("_", "-")


def requirements(name: str) -> list[str]:
    """What the environment of a framework needs: its extra, the dependencies of the SDK and the tests' own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["optional-dependencies"][extra_of(name)], *project["dependencies"], *_TESTING, *_KITS.get(name, ())]


def lock(name: str) -> None:
    """Writes the lock files of a framework, with hashes."""
    for edition, resolution in EDITIONS.items():
        with tempfile.NamedTemporaryFile("w", suffix=".in") as wanted:
            wanted.write("\n".join(requirements(name)))
            wanted.flush()
            command = [_UV, "pip", "compile", "--quiet", "--generate-hashes", "--no-annotate", "--no-header", wanted.name]
            options = ["--python-version", "3.11", "--resolution", resolution, "--no-emit-index-url"]
            found = subprocess.run([*command, *options], stdout=subprocess.PIPE, text=True, check=True)
        LOCKS.mkdir(exist_ok=True)
        _lock_file(name, edition).write_text(found.stdout)


def made(name: str, edition: str) -> Path:
    """Returns the Python of an environment, which it makes if there is none of this lock file."""
    folder = MADE / f"{name}-{edition}"
    wanted = _lock_file(name, edition)
    stamp = folder / "locked"
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()
    with _locked(MADE / f"{name}-{edition}.lock"):
        if not stamp.exists() or stamp.read_text() != digest:
            _run("venv", "--quiet", "--clear", "--python", sys.executable, str(folder))
            python = str(folder / "bin/python")
            _run("pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", str(wanted))
            _run("pip", "install", "--quiet", "--python", python, "--no-deps", "--editable", str(ROOT))
            stamp.write_text(digest)
    return folder / "bin/python"


def _lock_file(name: str, edition: str) -> Path:
    return LOCKS / f"{name}-{edition}.txt"


def _run(*command: str) -> None:
    done = subprocess.run([_UV, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"uv {command[0]}: {done.stdout[-3000:]}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Test processes share the environments."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Makes or locks what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a framework; by default all")
    parser.add_argument("--lock", action="store_true", help="write the lock files first")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.names) - set(frameworks())):
        parser.error(f"{unknown[0]} is no framework; choose from {', '.join(frameworks())}")
    for name in arguments.names or frameworks():
        if arguments.lock:
            lock(name)
        for edition in EDITIONS:
            print(f"==> {name}, {edition}: {made(name, edition).parents[1]}", flush=True)


if __name__ == "__main__":
    main()
