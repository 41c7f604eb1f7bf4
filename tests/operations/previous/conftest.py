"""The source of the previous version, and its servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.server_process import ForkServer

from .source import extract, fork_server_of


@pytest.fixture(scope="package")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of its source."""
    return extract(tmp_path_factory.mktemp("previous"))


@pytest.fixture(scope="package")
def previous_servers(previous: Path) -> Iterator[ForkServer]:
    servers = fork_server_of(previous)
    yield servers
    servers.close()
