"""Databases with data of every kind, on each engine, and the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.migration.stored.story import START
from tests.migration.stored.telling import tell
from tests.support.codec import CODEC
from tests.support.databases.postgres import PostgresCluster
from tests.support.databases.scratch import scratch_folder
from threadkeep.cli import main
from threadkeep_server.store.sql.schema.tables import SCHEMA_VERSION
from threadkeep_server.store.sql.store import open_store

Command = Callable[..., dict[str, Any]]
_numbers = count(1)


def fill(url: str) -> None:
    """Stores what a database may hold."""

    async def work() -> None:
        async with open_store(url, CODEC, clock=lambda: START) as store:
            await tell(store, SCHEMA_VERSION)

    asyncio.run(work())


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where possible: these tests do not test what survives a power cut."""
    with scratch_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def filled_sqlite() -> Iterator[str]:
    with scratch_folder() as folder:
        url = f"sqlite:///{folder}/threadkeep.db"
        fill(url)
        yield url


@pytest.fixture(scope="session")
def filled_postgres(postgres: PostgresCluster) -> Iterator[str]:
    name = f"operations_{next(_numbers)}"
    url = postgres.create_database(name)
    fill(url)
    yield url
    postgres.drop_database(name)


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def filled_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database with data of every kind. Tests do not change it."""
    return str(request.getfixturevalue("filled_sqlite" if request.param == "sqlite" else "filled_postgres"))


@pytest.fixture
def db(capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs `threadkeep db` with --json; returns what it prints, and its exit status as `status`. Of a failure, its error."""

    def run(*arguments: object) -> dict[str, Any]:
        status = main(["db", *map(str, arguments), "--json"])
        out, err = capfd.readouterr()
        assert "Traceback" not in err, err
        printed: dict[str, Any] = json.loads(out) if out else json.loads(err.splitlines()[-1])["error"]
        return printed | {"status": status}

    return run


EmptyUrl = Callable[[str], str]


@pytest.fixture
def another_postgres_url(postgres: PostgresCluster) -> Iterator[str]:
    """The URL of a second empty database."""
    name = f"operations_{next(_numbers)}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


@pytest.fixture
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> EmptyUrl:
    """Returns the URL of an empty database of the same engine as that of another URL."""

    def of(url: str) -> str:
        if url.startswith("sqlite"):
            return f"sqlite:///{tmp_path}/restored/threadkeep.db"
        return str(request.getfixturevalue("postgres_url"))

    return of
