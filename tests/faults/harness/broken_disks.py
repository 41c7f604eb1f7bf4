"""Disks that are full or fail, and what must hold on each."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

import threadkeep
from tests.support.servers.server_process import ServerProcess
from threadkeep import errors

from .ledger import connect

BIG = "x" * 100_000
SMALL = {"max_event_bytes": 200_000, "max_batch_bytes": 1_100_000, "max_pending_bytes": 1_100_000}
"""Settings of a server: a batch of `on_a_broken_disk` fits, and not much more."""
_BALLAST = "ballast"


@contextmanager
def file_system(place: Path, options: str) -> Iterator[None]:
    """Mounts a file system in memory on this folder, and unmounts it; skips where that is not allowed."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system needs root, and a system that lets it")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def fill(place: Path) -> None:
    """Leaves no room on the file system of this folder."""
    with suppress(OSError), (place / _BALLAST).open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def make_room(place: Path) -> None:
    """Undoes `fill`."""
    (place / _BALLAST).unlink()


def ready(server: ServerProcess) -> tuple[int, dict[str, str]]:
    """Returns status and body of /readyz."""
    with closing(HTTPConnection(server.http_address, timeout=30)) as connection:
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        return response.status, json.load(response)


@asynccontextmanager
async def on_a_broken_disk(
    server: ServerProcess, *, problem: str, fail: Callable[[], None], text: str = BIG
) -> AsyncIterator[None]:
    """A session of one event on a disk that then fails, and everything that must hold meanwhile. `text`: of each of ten events
    for which there is no room then."""
    async with connect(server.address) as client:
        await client.append("s", threadkeep.user("before", event_id="before"), create_if_missing=True)
        assert await asyncio.to_thread(ready, server) == (200, {"status": "ready"})
        fail()
        batch = [threadkeep.user(text, event_id=f"big-{n}") for n in range(10)]
        for _ in range(2):
            with pytest.raises(errors.StoreUnavailable, match="nothing was acknowledged, retry with the same ids") as result:
                await client.append("s", *batch)
            assert problem in result.value.problem
        assert [event.event_id async for event in client.events("s")] == ["before"]
        assert (await client.get_session("s")).last_seq == 1
        status, answer = await asyncio.to_thread(ready, server)
        assert (status, answer["reason"]) == (503, "STORE_UNAVAILABLE")
        assert "disk" in answer["message"]
        yield
        appended = await client.append("s", *batch)
        assert [(event.seq, event.replayed) for event in appended.events] == [(n, False) for n in range(2, 12)]
        assert await asyncio.to_thread(ready, server) == (200, {"status": "ready"})
    assert server.terminate() == 0, server.log
    server.start()
    async with connect(server.address) as client:
        assert [event.seq async for event in client.events("s")] == list(range(1, 12))
