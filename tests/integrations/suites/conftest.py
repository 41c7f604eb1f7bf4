"""Fixtures for the tests of adapters. They run where the server is not installed, so they know it by its program alone."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import os
import re
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Self

import pytest

from threadkeep import AsyncClient, Client, ThreadkeepError

PROGRAM = os.environ["THREADKEEP_TEST_PROGRAM"]
CORE = os.environ.get("THREADKEEP_TEST_CORE") == "1"
"""Whether the tests that start servers or programs of their own are left out: most of the time is theirs."""
_WITH_PROGRAMS = ("test_documents.py", "test_page.py")
READY_WITHIN = 200.0
ROOT = Path(__file__).parents[3]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if CORE:
        gone = [each for each in items if each.path.name in _WITH_PROGRAMS or "killable" in getattr(each, "fixturenames", ())]
        config.hook.pytest_deselected(items=gone)
        items[:] = [each for each in items if each not in gone]


class Server:
    """A server on a file of its own, to be killed and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._at = probe.getsockname()
        self.address = f"127.0.0.1:{self._at[1]}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Starts it and returns when it serves."""
        options = ["--grpc-address", self.address, "--http-address", "", "--data-dir", str(self._folder)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen([PROGRAM, "serve", *options], stdout=log, stderr=log)
        deadline = time.monotonic() + READY_WITHIN
        with Client(self.address, timeout=5) as client:
            while True:
                try:
                    client.info()
                    return self
                except ThreadkeepError:
                    assert self._process.poll() is None, (self._folder / "log").read_text()
                    assert time.monotonic() < deadline, "it does not serve"
                    time.sleep(0.05)

    def kill(self) -> None:
        """Ends it as kill -9 does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None
            with contextlib.suppress(ConnectionError):
                while True:  # what stands in for the program in the short form ends a moment before it
                    socket.create_connection(self._at, timeout=1).close()
                    time.sleep(0.005)


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server that all tests share: the one that is given, else one of these tests' own."""
    if given := os.environ.get("THREADKEEP_TEST_ADDRESS"):
        yield given
        return
    server = Server(tmp_path_factory.mktemp("server"))
    try:
        yield server.start().address
    finally:
        server.kill()


@pytest.fixture
def killable(tmp_path: Path) -> Iterator[Server]:
    """A server of one test, which may kill it."""
    server = Server(tmp_path)
    try:
        yield server.start()
    finally:
        server.kill()


@pytest.fixture
async def client(address: str) -> AsyncIterator[AsyncClient]:
    """A client with an app of its own, so tests see nothing of each other."""
    async with AsyncClient(address, app=f"test-{uuid.uuid4()}", user_id="ada") as opened:
        yield opened


@pytest.fixture
def sync_client(address: str) -> Iterator[Client]:
    """The same, blocking."""
    with Client(address, app=f"test-{uuid.uuid4()}", user_id="ada") as opened:
        yield opened


async def run_block(page: str, address: str) -> None:
    """Runs the first Python block of a page of the documentation, as a notebook does, against the server of the tests."""
    text = await asyncio.to_thread((ROOT / "docs" / page).read_text)
    block = re.search(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block, f"{page} has no block"
    source = block[1].replace("127.0.0.1:7443", address)
    code = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    ran = eval(code, {"__name__": "page"})
    if inspect.iscoroutine(ran):
        await ran
