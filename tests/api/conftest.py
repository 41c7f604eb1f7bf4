"""A real server on loopback for tests over the network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases.migrated import with_database
from tests.support.databases.scratch import scratch_folder
from tests.support.servers.server_process import FRONTEND
from threadkeep.cli import main as command_line
from threadkeep_server.app.fronts import serve
from threadkeep_server.app.server import Running
from threadkeep_server.config.settings import load_settings

Cli = Callable[..., tuple[int, str, str]]


@contextmanager
def running(**flags: Any) -> Iterator[Running]:
    """Runs a server in a thread with its own event loop, on free ports. A new SQLite database is migrated already."""
    if "data_dir" in flags and "database_url" not in flags:
        with_database(Path(flags["data_dir"]))
    settings = load_settings(
        **{"grpc_address": "127.0.0.1:0", "http_address": "127.0.0.1:0", "drain_grace": "1s", "log_format": "text"}
        | {"frontend": FRONTEND}
        | flags
    )
    loop = asyncio.new_event_loop()
    ready: asyncio.Future[Running] = loop.create_future()
    stop = asyncio.Event()

    async def main() -> None:
        try:
            async with serve(settings) as server:
                ready.set_result(server)
                await stop.wait()
        except BaseException as exc:
            if not ready.done():
                ready.set_exception(exc)
            else:
                raise

    async def started() -> Running:
        return await ready

    def target() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(main())

    thread = threading.Thread(target=target, name="server")
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(started(), loop).result(120)
    finally:
        if loop.is_running():
            loop.call_soon_threadsafe(stop.set)
        thread.join(120)


ServerFactory = Callable[..., Running]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where possible, unlike the folder of pytest, because these tests do not test durability."""
    with scratch_folder() as folder:
        yield folder


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[ServerFactory]:
    """Starts servers with their own settings; stops all at the end."""
    with ExitStack() as stack:
        yield lambda **flags: stack.enter_context(running(**{"data_dir": tmp_path / "data"} | flags))


@pytest.fixture
def server(start_server: ServerFactory) -> Running:
    """A server on SQLite."""
    return start_server()


@pytest.fixture
def address(server: Running) -> str:
    return f"127.0.0.1:{server.grpc_port}"


@pytest.fixture
def cli(address: str, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command; returns exit code, output and standard error."""

    def invoke(*arguments: str) -> tuple[int, str, str]:
        code = command_line([*arguments, "--address", address])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return invoke
