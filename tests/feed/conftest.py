"""Real servers on SQLite and PostgreSQL, one, two or three per database, and the workload on them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases.postgres import PostgresCluster
from tests.support.runs.thoroughness import some
from tests.support.servers.server_process import ForkServer, ServerProcess, fork_server, url_settings

from .scene import Scene, opened
from .workload import Workload, run_workload

ServerMaker = Callable[..., ServerProcess]

_names = count(1)


@pytest.fixture(scope="package")
def servers() -> ForkServer:
    return fork_server()


@pytest.fixture
def make_server(servers: ForkServer, tmp_path: Path) -> Iterator[ServerMaker]:
    """Makes servers, not started, that share a data directory by default; all end with the test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(ServerProcess(servers, tmp_path, **settings))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """Each engine in turn; None is the SQLite file in the server's data directory."""
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def server(make_server: ServerMaker, database_url: str | None) -> ServerProcess:
    """A server of each engine."""
    return make_server(**_settings(database_url)).start()


@pytest.fixture(
    scope="package",
    params=some(
        [
            pytest.param(("sqlite", 1), id="sqlite"),
            pytest.param(("postgresql", 2), id="postgresql-two-servers", marks=pytest.mark.postgres),
            pytest.param(("postgresql", 3), id="postgresql-three-servers", marks=pytest.mark.postgres),
        ],
        every=2,
    ),
)
def workload(
    request: pytest.FixtureRequest, servers: ForkServer, tmp_path_factory: pytest.TempPathFactory, feed_seed: int
) -> Iterator[Workload]:
    """Runs once for all tests; its servers keep running."""
    engine, how_many = request.param
    with _url(engine, request) as url:
        root = tmp_path_factory.mktemp("workload")
        with ExitStack() as stack:
            opened = [stack.enter_context(ServerProcess(servers, root, **_settings(url))) for _ in range(how_many)]
            yield asyncio.run(run_workload([server.start().address for server in opened], feed_seed))


@pytest.fixture(scope="package")
def feed_seed() -> int:
    """The seed of the writers. THREADKEEP_SEED repeats the actions of a run, but not their interleaving."""
    return int(os.environ.get("THREADKEEP_SEED", "1"))


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def shared_address(
    request: pytest.FixtureRequest, servers: ForkServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A server of each engine for all tests of a module."""
    root = tmp_path_factory.mktemp("shared")
    with _url(request.param, request) as url, ServerProcess(servers, root, **_settings(url)) as server:
        yield server.start().address


@pytest.fixture
async def scene(shared_address: str) -> AsyncIterator[Scene]:
    """A new app on the shared server."""
    async with opened(shared_address, f"app-{next(_names)}") as scene:
        yield scene


@contextmanager
def _url(engine: str, request: pytest.FixtureRequest) -> Iterator[str | None]:
    """A database that outlives a test; None is the SQLite file in the server's data directory."""
    if engine == "sqlite":
        yield None
        return
    cluster: PostgresCluster = request.getfixturevalue("postgres")
    name = f"feed_{next(_names)}"
    yield cluster.create_database(name)
    cluster.drop_database(name)


def _settings(url: str | None) -> dict[str, Any]:
    """Sets a heartbeat fifteen times as frequent as the default. No sweep comes before the deletions of a test."""
    return {"watch_heartbeat": "1s", "sweep_interval": "1h", **url_settings(url)}
