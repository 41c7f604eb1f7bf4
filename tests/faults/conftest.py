"""Server processes, a PostgreSQL cluster with durable commits, and a database of each engine per test."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest

from tests.support.databases.postgres import HOW_TO_INSTALL, PostgresCluster, find_binaries
from tests.support.runs.toolchains import lacks
from tests.support.servers.server_process import ForkServer, ServerProcess, fork_server

_databases = count(1)
ServerMaker = Callable[..., ServerProcess]
Look = Callable[[str], int]
"""Reads a number directly from the database, without the server."""


@pytest.fixture(scope="package")
def servers() -> ForkServer:
    return fork_server()


@pytest.fixture
def make_server(servers: ForkServer, tmp_path: Path) -> Iterator[ServerMaker]:
    """Makes servers, not started, that share a data directory by default; all end with the test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(ServerProcess(servers, tmp_path, **settings))


@pytest.fixture
def refused(make_server: ServerMaker) -> Callable[..., str]:
    """Starts a server that must exit with status 1; returns its log."""

    def start(**settings: object) -> str:
        server = make_server(**settings)
        server.launch()
        assert server.wait() == 1, server.log
        return server.log

    return start


@pytest.fixture(scope="package")
def durable_postgres() -> Iterator[PostgresCluster]:
    """A cluster with fsync on. These tests may kill it."""
    binaries = find_binaries()
    if binaries is None:
        lacks(HOW_TO_INSTALL)
    with PostgresCluster(binaries, fsync=True) as cluster:
        yield cluster


@pytest.fixture
def durable_url(durable_postgres: PostgresCluster) -> Iterator[str]:
    """An empty database of the durable cluster."""
    name = f"faults_{next(_databases)}"
    yield durable_postgres.create_database(name)
    durable_postgres.drop_database(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """Each engine in turn; None is the SQLite file in the server's data directory."""
    return None if request.param == "sqlite" else str(request.getfixturevalue("durable_url"))


@pytest.fixture
def look(request: pytest.FixtureRequest, database_url: str | None, tmp_path: Path) -> Look:
    """Queries the database of the test; its server may run."""
    if database_url is not None:
        cluster: PostgresCluster = request.getfixturevalue("durable_postgres")
        return lambda sql: int(cluster.execute(sql, database=database_url.rpartition("/")[2]))
    file = tmp_path / "data" / "threadkeep.db"

    def query(sql: str) -> int:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("ATTACH DATABASE ? AS search", (f"{file}.search",))
            return int(connection.execute(sql).fetchone()[0])

    return query
