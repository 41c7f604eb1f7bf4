"""One server per engine and one driver per language, for the whole run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from tests.support.databases.postgres import PostgresCluster
from tests.support.databases.scratch import scratch_folder
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import FRONTEND, ForkServer, fork_server

from .drivers import BuildFailed, Driver, build
from .engine import OTHERS, Engine
from .results import Results

EngineOf = Callable[[str], Awaitable[Engine]]
DriverOf = Callable[[str], Driver]


@pytest.fixture(scope="session")
def conformance_fork_server() -> ForkServer:
    return fork_server()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def engine_of(request: pytest.FixtureRequest, conformance_fork_server: ForkServer) -> AsyncIterator[EngineOf]:
    """Returns the server on an engine; starts it at the first call."""
    engines: dict[str, Engine] = {}
    async with AsyncExitStack() as stack:

        async def engine(name: str) -> Engine:
            if name not in engines:
                root = stack.enter_context(scratch_folder())
                urls = _databases(request) if name == "postgresql" else None
                front = name if name == "envoy" else FRONTEND
                engines[name] = await stack.enter_async_context(Engine(conformance_fork_server, root, urls, front))
            return engines[name]

        yield engine


def _say(config: pytest.Config, text: str) -> None:
    """Prints on the terminal, although pytest captures the output of tests."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n{text}", flush=True)


def _databases(request: pytest.FixtureRequest) -> dict[str, str]:
    cluster: PostgresCluster = request.getfixturevalue("postgres")
    return {name: cluster.create_database(f"conformance_{name}") for name in ("", *OTHERS)}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def driver_of(pytestconfig: pytest.Config) -> AsyncIterator[DriverOf]:
    """Returns the driver of a language; builds it at the first call. Skips the test if the toolchain is missing."""
    drivers: dict[str, Driver] = {}
    failures: dict[str, str] = {}

    def driver(language: str) -> Driver:
        require(language)
        if language not in drivers and language not in failures:
            try:
                _say(pytestconfig, f"the driver of {language} was built in {build(language):.1f} s")
                drivers[language] = Driver(language)
            except BuildFailed as error:
                failures[language] = str(error)
                pytest.fail(str(error), pytrace=False)
        if language in failures:
            pytest.fail(
                f"{failures[language].splitlines()[0]} (see the first of its cases for the whole message)", pytrace=False
            )
        return drivers[language]

    yield driver
    for each in drivers.values():
        status = await each.close()
        assert status in (0, None), f"at the end of its input the driver of {each.language} ended with {status}"


@pytest.fixture(scope="session")
def results() -> Iterator[Results]:
    """The outcomes of the cases, saved at the end of the run."""
    kept = Results()
    yield kept
    kept.save()
