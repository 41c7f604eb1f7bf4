"""A store beside the reference; and the suite's assertions explain themselves although it is not in test files."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from recollect_server.store.base import Store
from recollect_server.store.memory import MemoryStore
from recollect_server.store.sql.store import open_store
from tests.support.codec import CODEC

pytest.register_assert_rewrite("tests.store.rows", "tests.store.suite")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/recollect.db"
    made: str = request.getfixturevalue("postgres_url")
    return made


@dataclass
class Both:
    """The store that is tested beside the reference, and the loop that they live on."""

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
            yield Both(runner, tested, MemoryStore(CODEC))
        finally:
            runner.run(opened.__aexit__(None, None, None))
