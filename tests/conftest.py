"""Fixtures that every layer's tests share: a clock, and PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, settings

from tests.support.clock import Clock
from tests.support.postgres import HOW_TO_INSTALL, PostgresCluster, find_binaries

# Deadlines measure the machine, not the code. In CI the examples are the same in every run; elsewhere each run looks further.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

_databases = count(1)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresCluster]:
    """The cluster of this test run. Tests share it and each take a database of their own."""
    binaries = find_binaries()
    if binaries is None:
        if os.environ.get("RECOLLECT_REQUIRE_ALL") == "1":
            pytest.fail(HOW_TO_INSTALL)
        pytest.skip(HOW_TO_INSTALL)
    with PostgresCluster(binaries) as cluster:
        yield cluster


@pytest.fixture
def postgres_url(postgres: PostgresCluster) -> Iterator[str]:
    """The URL of an empty database that is this test's own."""
    name = f"test_{os.getpid()}_{next(_databases)}"
    yield postgres.create_database(name)
    postgres.drop_database(name)
