"""The server that the adapters' tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.servers.server_process import ServerProcess, fork_server

collect_ignore = ["suites"]
"""`test_frameworks` runs them, where their frameworks are installed."""


@pytest.fixture(scope="module")
def adapted_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server on SQLite."""
    with ServerProcess(fork_server(), tmp_path_factory.mktemp("adapted")) as server:
        yield server.start()
