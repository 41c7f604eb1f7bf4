"""The environments of frameworks: each has frameworks, this SDK and pytest, in the versions of a lock file.

Frameworks share an environment unless their versions exclude each other: making one and compiling its modules takes longer
than most of the tests in it.

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
APART = {"oldest": ("adk", "langgraph")}
"""The frameworks with an environment of their own: in the others', their oldest versions are not admitted."""
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


def environment_of(name: str, edition: str) -> str:
    """The environment in which a framework is installed, and the name of its lock file."""
    return f"{name}-{edition}" if name in APART.get(edition, ()) else edition


def residents(environment: str) -> list[str]:
    """The frameworks that are installed in an environment."""
    return [name for name in frameworks() for edition in EDITIONS if environment_of(name, edition) == environment]


def requirements(environment: str) -> list[str]:
    """What an environment needs: the extras of its frameworks, the dependencies of the SDK and the tests' own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    own = {
        each
        for name in residents(environment)
        for each in (*project["optional-dependencies"][extra_of(name)], *_KITS.get(name, ()))
    }
    return [*sorted(own), *project["dependencies"], *_TESTING]


def lock(environment: str, edition: str) -> None:
    """Writes the lock file of an environment, with hashes."""
    with tempfile.NamedTemporaryFile("w", suffix=".in") as wanted:
        wanted.write("\n".join(requirements(environment)))
        wanted.flush()
        command = [_UV, "pip", "compile", "--quiet", "--generate-hashes", "--no-annotate", "--no-header", wanted.name]
        options = ["--python-version", "3.11", "--resolution", EDITIONS[edition], "--no-emit-index-url"]
        found = subprocess.run([*command, *options], stdout=subprocess.PIPE, text=True, check=True)
    LOCKS.mkdir(exist_ok=True)
    lock_file(environment).write_text(found.stdout)


def made(name: str, edition: str) -> Path:
    """Returns the Python of a framework's environment, which it makes if there is none of this lock file."""
    environment = environment_of(name, edition)
    folder = MADE / environment
    wanted = lock_file(environment)
    stamp = folder / "locked"
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()
    with _locked(MADE / f"{environment}.lock"):
        if not stamp.exists() or stamp.read_text() != digest:
            _run("venv", "--quiet", "--clear", "--python", sys.executable, str(folder))
            python = str(folder / "bin/python")
            _run("pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", str(wanted))
            _run("pip", "install", "--quiet", "--python", python, "--no-deps", "--editable", str(ROOT))
            stamp.write_text(digest)
    return folder / "bin/python"


def lock_file(environment: str) -> Path:
    """Where the versions of an environment are locked."""
    return LOCKS / f"{environment}.txt"


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
    names = arguments.names or frameworks()
    wanted = {environment_of(name, edition): (name, edition) for edition in EDITIONS for name in names}
    for environment, (name, edition) in wanted.items():
        if arguments.lock:
            lock(environment, edition)
        print(f"==> {environment}: {made(name, edition).parents[1]}", flush=True)


if __name__ == "__main__":
    main()
