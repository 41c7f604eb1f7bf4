"""A cluster of PostgreSQL nodes, and servers on it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.databases.postgres import HOW_TO_INSTALL as NO_POSTGRES
from tests.support.databases.postgres import find_binaries
from tests.support.databases.scratch import scratch_folder
from tests.support.runs.thoroughness import size
from tests.support.runs.toolchains import lacks
from tests.support.servers.server_process import ServerProcess, fork_server

from .harness.cluster import Cluster
from .harness.processes import HOW_TO_INSTALL, missing_programs

ServerMaker = Callable[..., ServerProcess]
# Seconds until a node that is lost is replaced; in the example for operators it is 20.
_TTL = size(20, 8)
PACKAGED, LATER, PREPARING = "packaged", "later", "later and preparing"
"""PgBouncer: that of the system, a later version, and one that keeps prepared statements."""
_BUILD = Path(__file__).parents[1] / "support" / "build_pgbouncer.sh"


def required() -> Path:
    """Returns the directory of PostgreSQL's programs; skips, or fails in CI, if a program is missing."""
    binaries, missing = find_binaries(), missing_programs()
    problem = NO_POSTGRES if binaries is None else HOW_TO_INSTALL.format(", ".join(missing)) if missing else ""
    if binaries is None or problem:
        lacks(problem)
    return binaries


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    with Cluster(required(), _TTL) as cluster:
        yield cluster


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[ServerMaker]:
    """Makes servers, not started; all end with the test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(ServerProcess(fork_server(), tmp_path, **settings))


@pytest.fixture(scope="session")
def later_pgbouncer() -> Iterator[Path]:
    """The program of a later PgBouncer."""
    with scratch_folder() as folder:
        built = subprocess.run(["bash", _BUILD, folder], capture_output=True, text=True, check=False, timeout=600)
        if built.returncode != 0:
            lacks(f"no later PgBouncer could be built: {built.stderr[-500:]}")
        yield folder / "pgbouncer"


def program_of(request: pytest.FixtureRequest, folder: Path) -> str:
    """Returns the program of the PgBouncer of a parameter. `folder`: where the user of the programs finds it."""
    if request.param == PACKAGED:
        return "pgbouncer"
    later: Path = request.getfixturevalue("later_pgbouncer")
    return str(shutil.copy(later, folder))
