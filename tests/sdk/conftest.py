"""A live server for what the SDKs' packages are tried against."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.server_process import ServerProcess, fork_server, free_port


@pytest.fixture(scope="module")
def live_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server of each module's own, for the READMEs name the same sessions; `address` is gRPC's, `http_address` HTTP's."""
    root: Path = tmp_path_factory.mktemp("live")
    with ServerProcess(fork_server(), root, http_address=f"127.0.0.1:{free_port()}") as server:
        yield server.start()
