"""Real servers on SQLite and PostgreSQL, one, two or three on a database, and the story that they tell."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from tests.faults.serving import Nursery, ServerProcess, nursery, url_settings
from tests.support.postgres import PostgresCluster

from .story import Story, tell

ServerMaker = Callable[..., ServerProcess]

_databases = count(1)


@pytest.fixture(scope="package")
def servers() -> Iterator[Nursery]:
    with nursery() as opened:
        yield opened


@pytest.fixture
def make_server(servers: Nursery, tmp_path: Path) -> Iterator[ServerMaker]:
    """Makes servers, not started, that share a data directory unless told otherwise; all are ended with the test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(ServerProcess(servers, tmp_path, **settings))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """Each engine in turn; None is the SQLite file in the server's data directory."""
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def server(make_server: ServerMaker, database_url: str | None) -> ServerProcess:
    """One of each engine, that beats ten times as often as it would."""
    return make_server(watch_heartbeat="1s", **url_settings(database_url)).start()


@pytest.fixture(
    scope="package",
    params=[
        pytest.param(("sqlite", 1), id="sqlite"),
        pytest.param(("postgresql", 2), id="postgresql-two-servers", marks=pytest.mark.postgres),
        pytest.param(("postgresql", 3), id="postgresql-three-servers", marks=pytest.mark.postgres),
    ],
)
def story(
    request: pytest.FixtureRequest, servers: Nursery, tmp_path_factory: pytest.TempPathFactory, feed_seed: int
) -> Iterator[Story]:
    """Told once for all tests that ask for it; its servers go on serving."""
    engine, how_many = request.param
    with ExitStack() as stack:
        url = None
        if engine == "postgresql":
            cluster: PostgresCluster = request.getfixturevalue("postgres")
            name = f"story_{next(_databases)}"
            stack.callback(cluster.drop_database, name)
            url = cluster.create_database(name)
        root = tmp_path_factory.mktemp("story")
        started = [stack.enter_context(ServerProcess(servers, root, **url_settings(url))).start() for _ in range(how_many)]
        yield asyncio.run(tell([server.address for server in started], feed_seed))


@pytest.fixture(scope="package")
def feed_seed() -> int:
    """Of what writers do. RECOLLECT_SEED repeats a run's; how writers meet each other differs all the same."""
    return int(os.environ.get("RECOLLECT_SEED", "1"))
