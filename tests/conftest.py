"""Fixtures that every layer's tests share: a clock, and PostgreSQL."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.clock import Clock
from tests.support.databases.postgres import HOW_TO_INSTALL, NO_PGVECTOR, PostgresCluster, find_binaries, find_pgvector_binaries
from tests.support.runs.bytecode import compile_first
from tests.support.runs.cpu import CpuTimes
from tests.support.runs.printed import print_said, say
from tests.support.runs.scheduler import Spread, in_order
from tests.support.runs.short_form import leave_out, left_out
from tests.support.runs.thoroughness import examples
from tests.support.runs.toolchains import lacks
from tests.support.servers.authorities import leave_out_public_authorities
from threadkeep_server.app.tuning import collect_rarely

# Deadlines measure the machine, not the code. In CI the examples are the same in every run; elsewhere each run looks further.
settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True, max_examples=examples(150)
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# A shell ignores Ctrl-C for what it runs in the background, and its children would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

leave_out_public_authorities()

# Collecting makes a million objects, all of which stay.
gc.disable()

_databases = count(1)

__all__ = ["say"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu", action="store_true", help="print the processor time of each folder of tests")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cpu"):
        config.pluginmanager.register(CpuTimes(), "cpu-times")


@pytest.hookimpl(tryfirst=True)  # before test processes start
def pytest_sessionstart(session: pytest.Session) -> None:
    compile_first(session.config)


@pytest.hookimpl(trylast=True)  # after what was selected by name
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    in_order(items)
    leave_out(config, items, left_out(items))


def pytest_collection_finish() -> None:
    """The garbage collector passes over the tests and their modules, and collects as seldom as in a server: it took a fifth of
    the run."""
    collect_rarely()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Spread:
    return Spread(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    print_said(terminalreporter)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresCluster]:
    """The cluster of this test run. Tests share it and each take a database of their own."""
    with PostgresCluster(_required(find_binaries(), HOW_TO_INSTALL)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def pgvector_postgres() -> Iterator[PostgresCluster]:
    """The same with the extension pgvector, and without pg_trgm."""
    with PostgresCluster(_required(find_pgvector_binaries(), NO_PGVECTOR)) as cluster:
        yield cluster


def _required(binaries: Path | None, missing: str) -> Path:
    if binaries is None:
        lacks(missing)
    return binaries


@pytest.fixture
def postgres_url(postgres: PostgresCluster) -> Iterator[str]:
    """The URL of an empty database that is this test's own."""
    with _database(postgres) as url:
        yield url


@pytest.fixture
def pgvector_url(pgvector_postgres: PostgresCluster) -> Iterator[str]:
    """The same where pgvector can be had."""
    with _database(pgvector_postgres) as url:
        yield url


@contextmanager
def _database(cluster: PostgresCluster) -> Iterator[str]:
    name = f"test_{os.getpid()}_{next(_databases)}"
    yield cluster.create_database(name)
    cluster.drop_database(name)
