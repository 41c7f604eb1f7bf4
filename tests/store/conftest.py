"""Fixtures with a store and the reference; also rewrites the assertions of the suite, which is not in test files."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.codec import CODEC
from tests.support.databases.migrated import FILE, open_once
from tests.support.databases.postgres import PostgresCluster
from tests.support.databases.scratch import scratch_folder
from tests.support.databases.template_databases import Copies
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.inmemory import InMemoryStore
from threadkeep_server.store.sql.store import open_store

pytest.register_assert_rewrite("tests.store.rows", "tests.store.suite")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Not pytest's own, which is on disk: what is tested here is that it is stored, not that it outlives the machine."""
    with scratch_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def opened_sqlite() -> Iterator[Path]:
    """A folder with the files of a SQLite database that a store was opened on and closed."""
    with scratch_folder() as folder:
        open_once(folder)
        yield folder


@pytest.fixture
def sqlite_url(opened_sqlite: Path, tmp_path: Path) -> str:
    """The URL of a copy of it: migrating takes longer than most tests."""
    shutil.copytree(opened_sqlite, tmp_path, dirs_exist_ok=True)
    return f"sqlite:///{tmp_path}/{FILE}"


@pytest.fixture(scope="session")
def postgres_copies(postgres: PostgresCluster) -> Copies:
    return Copies(postgres, "store")


@pytest.fixture
def postgres_url(postgres_copies: Copies) -> Iterator[str]:
    """The URL of a database that is this test's own, and that a store has once been opened on."""
    with postgres_copies.one() as url:
        yield url


@pytest.fixture(scope="module")
def shared_postgres_url(postgres_copies: Copies) -> Iterator[str]:
    """The same for all tests of a module: see tests.support.databases.emptied."""
    with postgres_copies.one() as url:
        yield url


@pytest.fixture(scope="session")
def pgvector_copies(pgvector_postgres: PostgresCluster) -> Copies:
    return Copies(pgvector_postgres, "store")


@pytest.fixture(scope="module")
def shared_pgvector_url(pgvector_copies: Copies) -> Iterator[str]:
    with pgvector_copies.one() as url:
        yield url


@pytest.fixture
def pgvector_url(pgvector_copies: Copies) -> Iterator[str]:
    """The same where pgvector can be had."""
    with pgvector_copies.one() as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest) -> str:
    made: str = request.getfixturevalue(f"{request.param}_url")
    return made


@dataclass
class Both:
    """The tested store, the reference, and their event loop."""

    runner: asyncio.Runner
    tested: Store
    reference: Store
    sessions: int = 0

    def next_name(self) -> str:
        self.sessions += 1
        return f"s{self.sessions}"


@pytest.fixture
def both(url: str) -> Iterator[Both]:
    # hypothesis calls the test many times and cannot await it, so the stores live on a loop that outlasts the examples.
    with asyncio.Runner() as runner:
        opened = open_store(url, CODEC)
        tested = runner.run(opened.__aenter__())
        try:
            yield Both(runner, tested, InMemoryStore(CODEC))
        finally:
            runner.run(opened.__aexit__(None, None, None))
