"""Load and data for the measurements, over the public SDK."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from threadkeep import AsyncClient, SessionEvent
from threadkeep.cli.commands.bench.plan import Texts
from threadkeep.errors import ThreadkeepError

APP = USER = "sizing"
_BATCH = 500
_AT_A_TIME = 4


def bench(address: str, seconds: float, **options: int) -> dict[str, Any]:
    """Runs `threadkeep bench` in a process of its own; returns its result."""
    command = [str(Path(sys.executable).with_name("threadkeep")), "bench", "--json", "--address", address]
    command += [each for name, value in options.items() for each in (f"--{name.replace('_', '-')}", str(value))]
    command += ["--duration", f"{seconds:g}s"]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=seconds + 300, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])["result"]
    return result


def fill(address: str, events: int, size: int, sessions: int = 20) -> None:
    """Stores so many events with texts of a size, in new sessions, and waits until the index has them."""
    asyncio.run(_fill(address, events, size, sessions))


async def _fill(address: str, events: int, size: int, sessions: int) -> None:
    each = max(1, events // sessions)
    waiting: Iterator[int] = iter(range(sessions))

    async def worker(client: AsyncClient) -> None:
        for number in waiting:
            texts: Iterator[SessionEvent] = Texts(0, size).of(f"s{number}")
            left = each
            name = f"of-{size}-{number}"
            while left:
                batch = list(islice(texts, min(_BATCH, left, 4_000_000 // size)))
                await client.append(name, *batch, create_if_missing=True)
                left -= len(batch)

    async with AsyncClient(address, app=APP, user_id=USER, timeout=120) as client, asyncio.TaskGroup() as group:
        for _ in range(_AT_A_TIME):
            group.create_task(worker(client))
    await _indexed(address)


def wait_for_index(address: str) -> float:
    """Returns once the search index has everything; the seconds that took."""
    began = time.monotonic()
    asyncio.run(_indexed(address))
    return time.monotonic() - began


async def _indexed(address: str) -> None:
    async with AsyncClient(address) as client:
        while (await client.info()).search_index.lag_batches:  # noqa: ASYNC110 - it is the server that works
            await asyncio.sleep(0.1)


def first_append(address: str, seconds: float = 120.0) -> None:
    """Returns once an append to a stored session succeeds."""
    asyncio.run(_first_append(address, seconds))


async def _first_append(address: str, seconds: float) -> None:
    ends = time.monotonic() + seconds
    async with AsyncClient(address, app=APP, user_id=USER) as client:
        while True:
            try:
                await client.append("again", "still here?", create_if_missing=True, timeout=5)
            except ThreadkeepError:
                if time.monotonic() > ends:
                    raise
                await asyncio.sleep(0.02)
            else:
                return
